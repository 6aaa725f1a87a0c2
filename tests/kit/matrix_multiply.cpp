// MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY once more, with exact rationals.
#include <gmpxx.h>

#include <algorithm>
#include <utility>

#include "kernels.hpp"

namespace dmlref::test::kit {
namespace {

/// Half to even, or what the fault says.
mpz_class rounded_value(const mpq_class& value, Fault fault) {
  const mpq_class magnitude = abs(value);
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), magnitude.get_num_mpz_t(), magnitude.get_den_mpz_t());
  const mpq_class rest = magnitude - mpq_class(whole);
  const mpq_class half(1, 2);
  const bool odd = mpz_odd_p(whole.get_mpz_t()) != 0;
  if (rest > half || (rest == half && (odd || fault == Fault::mm_half_away_from_zero))) ++whole;
  return value < 0 ? mpz_class(-whole) : whole;
}

/// Where the value of a row or a column stands; `from_end` counts dimensions from the last.
List parameter_position(const Tensor& tensor, std::int64_t index, std::size_t from_end) {
  List at(tensor.rank(), 0);
  const std::size_t d = tensor.rank() > from_end ? tensor.rank() - 1 - from_end : 0;
  if (tensor.sizes()[d] > 1) at[d] = index % tensor.sizes()[d];
  return at;
}

/// A scale or a zero point, by the element's row and column.
struct Parameters {
  const Case& one;
  Fault fault;

  List position(const Tensor& tensor, bool by_row, std::int64_t row, std::int64_t column) const {
    if (fault == Fault::mm_first_row_only) row = 0;
    if (fault == Fault::mm_first_column_only) column = 0;
    if (fault == Fault::mm_parameters_swapped) std::swap(row, column);
    return parameter_position(tensor, by_row ? row : column, by_row ? 1 : 0);
  }
  std::int64_t integer(const char* name, bool by_row, std::int64_t row, std::int64_t column) const {
    const Tensor tensor(one, name);
    if (!tensor.present() || fault == Fault::mm_zero_points_ignored) return 0;
    return tensor.integer(position(tensor, by_row, row, column));
  }
  mpq_class real(const char* name, bool by_row, std::int64_t row, std::int64_t column) const {
    const Tensor tensor(one, name);
    return mpq_class(tensor.real(position(tensor, by_row, row, column)));
  }
};

std::uint64_t quantized(std::int64_t sum, const Parameters& parameters, DataType type, std::int64_t row,
                        std::int64_t column) {
  const Fault fault = parameters.fault;
  const mpq_class out = parameters.real("OutputScaleTensor", true, row, column);
  const mpq_class scale =
      parameters.real("AScaleTensor", true, row, column) * parameters.real("BScaleTensor", false, row, column);
  const mpq_class exact_sum(static_cast<double>(sum));  // below 2^53
  const mpq_class value = fault == Fault::mm_output_scale_multiplied ? mpq_class(exact_sum * scale * out)
                                                                     : mpq_class(exact_sum * scale / out);
  const auto zero = static_cast<double>(parameters.integer("OutputZeroPointTensor", true, row, column));
  mpz_class result = fault == Fault::mm_rounded_after_zero_point
                         ? rounded_value(value + mpq_class(zero), fault)
                         : mpz_class(rounded_value(value, fault) + mpz_class(zero));
  const std::int64_t low = type == DataType::int8 ? -128 : 0;
  if (fault != Fault::mm_wraps) result = std::clamp<mpz_class>(result, low, low + 255);
  mpz_class byte;
  mpz_fdiv_r_ui(byte.get_mpz_t(), result.get_mpz_t(), 256);
  return byte.get_ui();
}

}  // namespace

std::vector<std::byte> run_matrix_multiply(const Case& one, Fault fault) {
  std::vector<std::byte> bytes(one.output.bytes.size(), std::byte{0});
  Tensor a(one, "ATensor");
  Tensor b(one, "BTensor");
  Tensor output = Tensor::output(one, bytes);
  if (fault == Fault::mm_a_strides_ignored) a.ignore_strides();
  if (fault == Fault::mm_b_strides_ignored) b.ignore_strides();
  if (fault == Fault::mm_output_strides_ignored) output.ignore_strides();
  const Parameters parameters{one, fault};
  const std::size_t rank = output.rank(), row_at = rank - 2, column_at = rank - 1;
  const std::int64_t depth = a.sizes()[column_at];
  const std::int64_t taken = fault == Fault::mm_depth_in_fours && depth > 4 ? depth / 4 * 4 : depth;
  const bool transposed = fault == Fault::mm_b_transposed && b.sizes()[row_at] == b.sizes()[column_at];

  List at(rank, 0);
  do {
    const std::int64_t row = at[row_at], column = at[column_at];
    const std::int64_t a_zero = parameters.integer("AZeroPointTensor", true, row, column);
    const std::int64_t b_zero = parameters.integer("BZeroPointTensor", false, row, column);
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < taken; ++k) {
      List in_a = at, in_b = at;
      in_a[column_at] = k;
      in_b[row_at] = k;
      if (fault == Fault::mm_first_batch_only) std::fill(in_b.begin(), in_b.end() - 2, 0);
      if (transposed) std::swap(in_b[row_at], in_b[column_at]);
      const std::int64_t x = fault == Fault::mm_a_sign ? a.integer_of_other_sign(in_a) : a.integer(in_a);
      const std::int64_t y = fault == Fault::mm_b_sign ? b.integer_of_other_sign(in_b) : b.integer(in_b);
      sum += (x - a_zero) * (y - b_zero);
    }
    if (fault == Fault::mm_saturates) sum = std::clamp<std::int64_t>(sum, -2147483648, 2147483647);
    if (fault == Fault::mm_int32_wraps) sum = static_cast<std::int32_t>(sum);
    if (one.op.starts_with("QUANTIZED")) {
      output.set_bits(at, quantized(sum, parameters, output.type(), row, column));
    } else {
      output.set_bits(at, static_cast<std::uint64_t>(sum) & 0xFFFFFFFF);
    }
  } while (next(at, output.sizes()));
  return bytes;
}

}  // namespace dmlref::test::kit
