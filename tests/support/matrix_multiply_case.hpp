// matrix_multiply_case.hpp: random matrix products with data, and their exact sums written a second way.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmlref/operators/matrix_multiply_integer/desc.hpp"
#include "dmlref/reference/quantize.hpp"
#include "support/operator_case.hpp"
#include "support/quantized_linear_convolution_case.hpp"

namespace dmlref::test {

struct ProductShape {
  std::size_t rank = 2;
  std::uint32_t batch = 1, channel = 1, m = 1, k = 1, n = 1;

  Dimensions sizes(std::uint32_t rows, std::uint32_t columns) const {
    if (rank == 4) return {batch, channel, rows, columns};
    if (rank == 3) return {channel, rows, columns};
    return {rows, columns};
  }
};

inline ProductShape random_product_shape(Random& random) {
  ProductShape s;
  s.rank = pick(random, 2, 4);
  if (s.rank == 4) s.batch = pick(random, 1, 3);
  if (s.rank >= 3) s.channel = pick(random, 1, 3);
  const auto size = [&] { return chance(random, 20) ? 1 : pick(random, 1, chance(random, 10) ? 70 : 12); };
  s.m = size();
  s.k = size();
  s.n = chance(random, 3) ? pick(random, 250, 600) : size();  // more columns than a task has
  return s;
}

inline std::string describe(const ProductShape& s) {
  return "rank " + std::to_string(s.rank) + ", " + std::to_string(s.batch) + " x " + std::to_string(s.channel) +
         ", M " + std::to_string(s.m) + ", K " + std::to_string(s.k) + ", N " + std::to_string(s.n);
}

/// What an input's strides may be.
enum class ProductLayout { packed, any };

class ProductMaker {
 public:
  ProductMaker(Random& random, const ProductShape& shape, ProductLayout layout)
      : random_(random), shape_(shape), layout_(layout) {}

  OperatorCase<MatrixMultiplyIntegerDesc> integer() {
    OperatorCase<MatrixMultiplyIntegerDesc> c;
    const DataType a = byte_type(), b = byte_type();
    c.desc.a = input(a, shape_.sizes(shape_.m, shape_.k));
    if (chance(random_, 75)) c.desc.a_zero_point = rows(a, any_rank(), true);
    c.desc.b = input(b, shape_.sizes(shape_.k, shape_.n));
    if (chance(random_, 75)) c.desc.b_zero_point = columns(b, any_rank());
    c.desc.output = output(DataType::int32);
    c.inputs = {data(c.desc.a), data(c.desc.a_zero_point), data(c.desc.b), data(c.desc.b_zero_point)};
    c.output = pattern(c.desc.output);
    return c;
  }
  OperatorCase<QuantizedLinearMatrixMultiplyDesc> quantized() {
    OperatorCase<QuantizedLinearMatrixMultiplyDesc> c;
    const DataType a = byte_type(), b = byte_type(), out = byte_type();
    const std::size_t rank = any_rank();
    c.desc.a = input(a, shape_.sizes(shape_.m, shape_.k));
    c.desc.a_scale = rows(DataType::float32, rank);
    if (chance(random_, 75)) c.desc.a_zero_point = rows(a, rank);
    c.desc.b = input(b, shape_.sizes(shape_.k, shape_.n));
    c.desc.b_scale = columns(DataType::float32, rank);
    if (chance(random_, 75)) c.desc.b_zero_point = columns(b, rank);
    c.desc.output_scale = rows(DataType::float32, rank);
    if (chance(random_, 75)) c.desc.output_zero_point = rows(out, rank);
    c.desc.output = output(out);
    // The output's deviation shall be some tens of steps, so that most values are neither 0 nor clamped.
    const bool powers = chance(random_, 25), special = chance(random_, 25);
    const double spread = 5000 * std::sqrt(static_cast<double>(shape_.k)) / 60;
    c.inputs = {data(c.desc.a),
                scales(c.desc.a_scale, powers ? 0.5 : 0.02, powers, special),
                data(c.desc.a_zero_point),
                data(c.desc.b),
                scales(c.desc.b_scale, powers ? 0.25 : 0.005, powers, special),
                data(c.desc.b_zero_point),
                scales(c.desc.output_scale, powers ? 32.0 : 0.02 * 0.005 * spread, powers, special),
                data(c.desc.output_zero_point)};
    c.output = pattern(c.desc.output);
    return c;
  }

 private:
  DataType byte_type() { return chance(random_, 50) ? DataType::uint8 : DataType::int8; }
  std::size_t any_rank() { return pick(random_, 1, 4); }
  std::optional<Dimensions> strides(const Dimensions& sizes) {
    return random_strides(random_, sizes, layout_ == ProductLayout::any ? QlcLayout::any : QlcLayout::packed);
  }
  TensorDesc input(DataType type, const Dimensions& sizes) {
    std::optional<Dimensions> steps = strides(sizes);
    for (std::uint32_t& step : steps ? *steps : no_strides_) {
      if (chance(random_, 10)) step = 0;
    }
    return TensorDesc(type, sizes, steps);
  }
  TensorDesc output(DataType type) {
    const Dimensions sizes = shape_.sizes(shape_.m, shape_.n);
    return TensorDesc(type, sizes, strides(sizes));
  }
  /// One value or one per row; of one dimension only where that means rows.
  TensorDesc rows(DataType type, std::size_t rank, bool one_is_rows = false) {
    Dimensions sizes(rank, 1);
    if (chance(random_, 60) && rank > 1) sizes[rank - 2] = shape_.m;
    if (chance(random_, 60) && rank == 1 && one_is_rows) sizes[0] = shape_.m;
    return input(type, sizes);
  }
  TensorDesc columns(DataType type, std::size_t rank) {
    Dimensions sizes(rank, 1);
    if (chance(random_, 60)) sizes[rank - 1] = shape_.n;
    return input(type, sizes);
  }
  std::vector<std::byte> data(const TensorDesc& tensor) {
    const std::uint32_t kind = pick(random_, 0, 9);
    return bytes_from<std::uint8_t>(tensor, [&] {
      if (kind == 0) return tensor.data_type == DataType::int8 ? 0x7Fu : 0xFFu;
      if (kind == 1) return tensor.data_type == DataType::int8 ? 0x80u : 0x00u;
      return static_cast<std::uint32_t>(random_() & 0xFF);
    });
  }
  std::vector<std::byte> data(const std::optional<TensorDesc>& tensor) {
    return tensor ? data(*tensor) : std::vector<std::byte>();
  }
  std::vector<std::byte> scales(const TensorDesc& tensor, double around, bool powers, bool special) {
    using Limits = std::numeric_limits<float>;
    const float odd[] = {
        0.0f,    -0.0f,           Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
        -1e-40f, (Limits::max)(), (Limits::min)()};
    return bytes_from<float>(tensor, [&] {
      if (special && chance(random_, 30)) return odd[pick(random_, 0, 8)];
      const double factor = powers ? 1.0 : std::uniform_real_distribution<double>(0.5, 2.0)(random_);
      return static_cast<float>((chance(random_, 10) ? -around : around) * factor);
    });
  }
  static std::vector<std::byte> pattern(const TensorDesc& tensor) {
    std::vector<std::byte> bytes(tensor.total_size_in_bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(37 * i + 11);
    return bytes;
  }

  Random& random_;
  const ProductShape& shape_;
  ProductLayout layout_;
  Dimensions no_strides_;
};

// ---- expected results, written independently of the reference ----

/// Where an element lies, in elements.
inline std::size_t place_of(const TensorDesc& tensor, const std::vector<std::size_t>& at) {
  std::size_t place = 0, packed = 1;
  for (std::size_t d = at.size(); d-- > 0;) {
    place += at[d] * (tensor.strides ? (*tensor.strides)[d] : packed);
    packed *= tensor.sizes[d];
  }
  return place;
}

inline std::int64_t byte_at(const TensorDesc& tensor, const std::vector<std::byte>& bytes, std::size_t place) {
  const auto value = static_cast<std::uint8_t>(bytes[place]);
  return tensor.data_type == DataType::int8 ? static_cast<std::int8_t>(value) : static_cast<std::int64_t>(value);
}

/// The place of the value of `index` in a parameter, whose values lie in dimension `d`.
inline std::size_t place_in_parameter(const TensorDesc& tensor, std::size_t d, std::size_t index) {
  std::vector<std::size_t> at(tensor.sizes.size(), 0);
  if (tensor.sizes[d] > 1) at[d] = index;
  return place_of(tensor, at);
}
inline std::size_t place_of_row(const TensorDesc& tensor, std::size_t row) {
  return place_in_parameter(tensor, tensor.sizes.size() < 2 ? 0 : tensor.sizes.size() - 2, row);
}
inline std::size_t place_of_column(const TensorDesc& tensor, std::size_t column) {
  return place_in_parameter(tensor, tensor.sizes.size() - 1, column);
}

/// An element of the output: its coordinates, where it lies, and the exact sum.
struct ProductElement {
  std::size_t row, column, place;
  std::int64_t sum;
};

/// All elements of the output. The sums by another formula than the reference's: the sum of A B, less
/// zB sum(A) + zA sum(B) - K zA zB.
template <class Desc>
std::vector<ProductElement> product_elements(const OperatorCase<Desc>& c, const std::vector<std::byte>& a,
                                             const std::vector<std::byte>& a_zero_point,
                                             const std::vector<std::byte>& b,
                                             const std::vector<std::byte>& b_zero_point) {
  const Desc& desc = c.desc;
  const Dimensions& sizes = desc.output.sizes;
  const std::size_t rank = sizes.size(), depth = desc.a.sizes.back();
  std::vector<ProductElement> elements;
  std::vector<std::size_t> at(rank, 0);
  while (true) {
    const std::size_t row = at[rank - 2], column = at[rank - 1];
    const std::int64_t za =
        desc.a_zero_point ? byte_at(*desc.a_zero_point, a_zero_point, place_of_row(*desc.a_zero_point, row)) : 0;
    const std::int64_t zb =
        desc.b_zero_point ? byte_at(*desc.b_zero_point, b_zero_point, place_of_column(*desc.b_zero_point, column)) : 0;
    std::int64_t products = 0, of_a = 0, of_b = 0;
    std::vector<std::size_t> in_a = at, in_b = at;
    for (std::size_t k = 0; k < depth; ++k) {
      in_a[rank - 1] = in_b[rank - 2] = k;
      const std::int64_t x = byte_at(desc.a, a, place_of(desc.a, in_a));
      const std::int64_t y = byte_at(desc.b, b, place_of(desc.b, in_b));
      products += x * y;
      of_a += x;
      of_b += y;
    }
    const std::int64_t sum = products - zb * of_a - za * of_b + static_cast<std::int64_t>(depth) * za * zb;
    elements.push_back({row, column, place_of(desc.output, at), sum});
    std::size_t d = rank;
    while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
    if (d == 0) return elements;
  }
}

/// What MATRIX_MULTIPLY_INTEGER must make of the case's output.
inline std::vector<std::byte> expected_output(const OperatorCase<MatrixMultiplyIntegerDesc>& c) {
  std::vector<std::byte> output = c.output;
  for (const ProductElement& e : product_elements(c, c.inputs[0], c.inputs[1], c.inputs[2], c.inputs[3])) {
    constexpr std::int64_t all = std::int64_t{1} << 32;
    std::int64_t sum = ((e.sum % all) + all) % all;  // the residue in -2^31 … 2^31 - 1
    if (sum >= all / 2) sum -= all;
    const auto value = static_cast<std::int32_t>(sum);
    std::memcpy(output.data() + e.place * sizeof(value), &value, sizeof(value));
  }
  return output;
}

inline float float_at(const std::vector<std::byte>& bytes, std::size_t place) {
  float value;
  std::memcpy(&value, bytes.data() + place * sizeof value, sizeof value);
  return value;
}

/// What QUANTIZED_LINEAR_MATRIX_MULTIPLY must make of the case's output, by the reference's rounding of those sums.
inline std::vector<std::byte> expected_output(const OperatorCase<QuantizedLinearMatrixMultiplyDesc>& c) {
  std::vector<std::byte> output = c.output;
  const auto& desc = c.desc;
  for (const ProductElement& e : product_elements(c, c.inputs[0], c.inputs[2], c.inputs[3], c.inputs[5])) {
    const reference::RequantizeScale scale(float_at(c.inputs[1], place_of_row(desc.a_scale, e.row)),
                                           float_at(c.inputs[4], place_of_column(desc.b_scale, e.column)),
                                           float_at(c.inputs[6], place_of_row(desc.output_scale, e.row)));
    const auto& zero = desc.output_zero_point;
    const std::int64_t z = zero ? byte_at(*zero, c.inputs[7], place_of_row(*zero, e.row)) : 0;
    if (desc.output.data_type == DataType::int8) {
      output[e.place] = std::byte(reference::requantize<std::int8_t>(e.sum, scale, static_cast<std::int8_t>(z)));
    } else {
      output[e.place] = std::byte{reference::requantize<std::uint8_t>(e.sum, scale, static_cast<std::uint8_t>(z))};
    }
  }
  return output;
}

}  // namespace dmlref::test
