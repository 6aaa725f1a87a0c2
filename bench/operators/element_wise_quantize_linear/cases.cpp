#include "operators/element_wise_quantize_linear/cases.hpp"

#include <algorithm>
#include <cmath>

#include "dmlref/desc/half.hpp"
#include "support/exact.hpp"

namespace bench {
namespace {

using dmlref::DataType;

DataType type_of(const std::string& name) {
  if (name == "f32") return DataType::float32;
  if (name == "f16") return DataType::float16;
  if (name == "s32") return DataType::int32;
  return name == "s8" ? DataType::int8 : DataType::uint8;
}

double load(const Memory& memory, DataType type, std::size_t i) {
  switch (type) {
    case DataType::float32: return double{memory.as<float>()[i]};
    case DataType::float16: return static_cast<double>(memory.as<dmlref::half>()[i]);
    case DataType::int32: return memory.as<std::int32_t>()[i];
    case DataType::int8: return memory.as<std::int8_t>()[i];
    default: return memory.as<std::uint8_t>()[i];
  }
}

/// A value that the type holds, or, of floats, one that is rounded to it.
void store(const Memory& memory, DataType type, std::size_t i, double value) {
  switch (type) {
    case DataType::float32: memory.as<float>()[i] = static_cast<float>(value); break;
    case DataType::float16: memory.as<dmlref::half>()[i] = dmlref::half(value); break;
    case DataType::int32: memory.as<std::int32_t>()[i] = static_cast<std::int32_t>(value); break;
    case DataType::int8: memory.as<std::int8_t>()[i] = static_cast<std::int8_t>(value); break;
    default: memory.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(value); break;
  }
}

template <class T>
Outcome compare_as(const Memory& right, std::span<const std::byte> output) {
  return compare_exactly(std::vector<T>(right.as<T>(), right.as<T>() + right.size() / sizeof(T)), output);
}

}  // namespace

DataType QuantizeLinearProblem::scale_type() const {
  return !quantizes() ? to : from == DataType::int32 ? DataType::float32 : from;
}

Outcome QuantizeLinearProblem::compare(std::span<const std::byte> output) const {
  switch (to) {
    case DataType::float32: return compare_as<float>(expected, output);
    case DataType::float16: return compare_as<dmlref::half>(expected, output);
    case DataType::int8: return compare_as<std::int8_t>(expected, output);
    default: return compare_as<std::uint8_t>(expected, output);
  }
}

QuantizeLinearProblem make_problem(const QuantizedMatrix& matrix, const std::string& types, const std::string& scales) {
  QuantizeLinearProblem p;
  p.matrix = matrix;
  const std::size_t split = types.find('_');
  p.from = type_of(types.substr(0, split));
  p.to = type_of(types.substr(split + 1));
  p.scales = scales;
  p.input = Memory(p.count() * size_of(p.from));
  p.expected = Memory(p.count() * size_of(p.to));
  const std::size_t each = scales == "tensor" ? 1 : scales == "rows" ? matrix.rows : matrix.columns;
  p.scale.resize(each);
  Random random(20261127);
  for (float& s : p.scale) {
    s = static_cast<float>(0.015 + 0.01 * random.uniform());
    if (p.scale_type() == DataType::float16) s = static_cast<float>(dmlref::half(s));
  }
  const bool is_signed = p.zero_point_type() != DataType::uint8;
  if (scales == "tensor") p.zero_point = is_signed ? -3 : 121;
  const bool real = p.from == DataType::float32 || p.from == DataType::float16;
  const double low = p.to == DataType::int8 ? -128 : 0;
  for (std::size_t i = 0; i < p.count(); ++i) {
    double x = 0;
    if (real) {
      x = random.normal();
    } else if (p.from == DataType::int32) {
      x = static_cast<double>(static_cast<std::int32_t>(random.next() >> 42)) - 0x1p21;
    } else {
      x = static_cast<double>(random.next() >> 56) - (p.from == DataType::int8 ? 128 : 0);
    }
    store(p.input, p.from, i, x);
    x = load(p.input, p.from, i);
    const auto s = static_cast<double>(p.scale[p.scale_index(i)]);
    if (p.quantizes()) {
      // (A quotient that is no tie is much farther from one than a double errs.)
      store(p.expected, p.to, i, std::clamp(std::nearbyint(x / s) + p.zero_point, low, low + 255));
    } else {
      store(p.expected, p.to, i, (x - p.zero_point) * s);  // (of less than 53 bits)
    }
  }
  return p;
}

}  // namespace bench
