// ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR once more, in long double.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "dmlref/desc/half.hpp"
#include "kernels.hpp"

namespace dmlref::test::kit {
namespace {

using Real = long double;

/// The nearest integer, halves to even, without the rounding mode.
Real nearest(Real x, Fault fault) {
  if (fault == Fault::quantize_truncated) return std::trunc(x);
  if (fault == Fault::quantize_half_up) return std::floor(x + Real{0.5});
  if (fault == Fault::quantize_half_away_from_zero) return std::round(x);
  const Real below = std::floor(x), rest = x - below;
  if (rest != Real{0.5}) return rest < Real{0.5} ? below : below + 1;
  return std::fmod(below, Real{2}) == 0 ? below : below + 1;
}

/// The three inputs of an element.
struct Element {
  Real input;
  float scale;
  Real zero_point;
};

std::int64_t quantized(const Element& e, bool is_signed, Fault fault) {
  Real quotient = e.input / static_cast<Real>(e.scale);
  if (fault == Fault::quantize_float32_quotient) quotient = static_cast<float>(e.input) / e.scale;
  if (fault == Fault::quantize_reciprocal) quotient = static_cast<float>(e.input) * (1 / e.scale);
  if (fault == Fault::quantize_multiplies) quotient = e.input * static_cast<Real>(e.scale);
  const Real zero = fault == Fault::quantize_zero_point_ignored ? 0 : e.zero_point;
  const Real least = is_signed ? -128 : 0, greatest = is_signed ? 127 : 255;
  if (fault == Fault::quantize_rounded_after_zero_point) {
    return static_cast<std::int64_t>(std::clamp(nearest(quotient + zero, fault), least, greatest));
  }
  Real rounded = nearest(quotient, fault);
  if (fault == Fault::quantize_wraps && std::fabs(rounded) < 1e9L) return static_cast<std::int64_t>(rounded + zero);
  if (fault == Fault::quantize_clamped_before_zero_point) {
    return static_cast<std::int64_t>(std::clamp(rounded, least, greatest) + zero);
  }
  return static_cast<std::int64_t>(std::clamp(rounded + zero, least, greatest));
}

/// By long double's 64 bits the product is exact.
Real dequantized(const Element& e, Fault fault) {
  const Real scale = static_cast<Real>(e.scale);
  if (fault == Fault::dequantize_zero_point_ignored) return e.input * scale;
  if (fault == Fault::dequantize_zero_point_after_scale) return e.input * scale - e.zero_point;
  const Real difference = e.input - e.zero_point;
  if (fault == Fault::dequantize_divides) return difference / scale;
  if (fault == Fault::dequantize_difference_wraps) {
    return static_cast<Real>(static_cast<std::int32_t>(static_cast<std::int64_t>(difference))) * scale;
  }
  if (fault == Fault::dequantize_difference_of_8_bits) {
    return static_cast<Real>(static_cast<std::int8_t>(static_cast<std::int64_t>(difference))) * scale;
  }
  return difference * scale;
}

}  // namespace

std::vector<std::byte> run_quantize_linear(const Case& one, Fault fault) {
  const bool quantizes = one.op == "ELEMENT_WISE_QUANTIZE_LINEAR";
  std::vector<std::byte> bytes(one.output.bytes.size(), std::byte{0});
  Tensor input(one, "InputTensor"), scale(one, "ScaleTensor"), zero_point(one, "ZeroPointTensor");
  Tensor output = Tensor::output(one, bytes);
  if (fault == Fault::quantize_input_strides_ignored) input.ignore_strides();
  if (fault == Fault::quantize_output_strides_ignored) output.ignore_strides();
  if (fault == Fault::quantize_parameters_packed) {
    scale.ignore_strides();
    if (zero_point.present()) zero_point.ignore_strides();
  }
  const bool is_real = input.type() == DataType::float32 || input.type() == DataType::float16;
  const auto integer = [&](const Tensor& tensor, const List& at) {
    const bool other = fault == Fault::dequantize_sign && tensor.element_bytes() == 1;
    return static_cast<Real>(other ? tensor.integer_of_other_sign(at) : tensor.integer(at));
  };
  List at(output.rank(), 0);
  do {
    const List first(output.rank(), 0);
    const List& place = fault == Fault::quantize_first_parameters ? first : at;
    Element e{is_real ? static_cast<Real>(input.real(at)) : integer(input, at), scale.real(place),
              zero_point.present() ? integer(zero_point, place) : Real{0}};
    if (fault == Fault::quantize_input_as_float32) e.input = static_cast<float>(e.input);
    if (quantizes) {
      output.set_bits(at, static_cast<std::uint64_t>(quantized(e, output.type() == DataType::int8, fault)) & 0xFF);
    } else if (output.is_half()) {
      output.set_bits(at, half(static_cast<double>(dequantized(e, fault))).bits);
    } else {
      const auto result = static_cast<float>(dequantized(e, fault));
      std::uint32_t bits = 0;
      std::memcpy(&bits, &result, sizeof bits);
      output.set_bits(at, bits);
    }
  } while (next(at, output.sizes()));
  return bytes;
}

}  // namespace dmlref::test::kit
