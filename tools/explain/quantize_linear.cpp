#include <algorithm>
#include <limits>

#include "dmlref/operators/element_wise_quantize_linear/reference.hpp"
#include "explain/operators.hpp"
#include "explain/tensor_elements.hpp"

namespace dmlref::tool {
namespace {

/// The three inputs at `at`.
struct Read {
  TensorElements input, scale;
  std::optional<TensorElements> zero_point;
  Coordinates at;

  template <class Desc>
  Read(const Desc& desc, std::span<const InputBuffer> inputs, const Coordinates& place)
      : input(desc.input, inputs[0]),
        scale(desc.scale, inputs[1]),
        zero_point(optional_elements(desc.zero_point, inputs[2])),
        at(place) {}

  std::int64_t zero() const { return zero_point ? zero_point->integer(at) : 0; }
  std::optional<ElementValue> zero_value() const {
    return zero_point ? std::optional(zero_point->value(at)) : std::nullopt;
  }
};

}  // namespace

Explanation explain(const ElementWiseQuantizeLinearDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at) {
  const Read read(desc, inputs, at);
  const float scale = read.scale.real(at);
  const ExactQuotient quotient = desc.input.data_type == DataType::int32
                                     ? exact_quotient(read.input.integer(at), 1, 1, scale)
                                     : exact_quotient(1, read.input.real(at), 1, scale);
  const std::int64_t sum = quotient.rounded + read.zero();
  const bool is_signed = desc.output.data_type == DataType::int8;
  const std::int64_t result = std::clamp<std::int64_t>(sum, is_signed ? -128 : 0, is_signed ? 127 : 255);
  return {"ELEMENT_WISE_QUANTIZE_LINEAR", std::string(to_string(desc.output.data_type)),
          element_value(desc.output.data_type, at, static_cast<std::uint8_t>(result & 0xFF)),
          QuantizeLinearExplanation{read.input.value(at), read.scale.value(at), read.zero_value(), quotient,
                                    result != sum}};
}

Explanation explain(const ElementWiseDequantizeLinearDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at) {
  const Read read(desc, inputs, at);
  const float scale = read.scale.real(at);
  const std::int64_t q = read.input.integer(at), difference = q - read.zero();
  DequantizeLinearExplanation how{read.input.value(at), read.scale.value(at), read.zero_value(), difference,
                                  exact_quotient(difference, scale, 1, 1)};
  // (A number of 64 bits as the reference takes it: its zero point is in the difference.)
  const DataType type = desc.output.data_type;
  ElementValue output = type == DataType::float16
                            ? element_value(type, at, reference::dequantize(difference, std::int64_t{0}, half(scale)))
                            : element_value(type, at, reference::dequantize(difference, std::int64_t{0}, scale));
  return {"ELEMENT_WISE_DEQUANTIZE_LINEAR", std::string(to_string(type)), std::move(output), std::move(how)};
}

}  // namespace dmlref::tool
