#include "explain/operators.hpp"
#include "explain/tensor_elements.hpp"

namespace dmlref::tool {
namespace {

std::optional<std::int64_t> channel_integer(const std::optional<TensorElements>& tensor, Index channel) {
  return tensor ? std::optional<std::int64_t>(tensor->integer(tensor->channel(channel))) : std::nullopt;
}

/// Where the window of output position `at` reads for element `within` = {c, ...} of the filter.
template <class Desc>
Coordinates input_position(const Desc& desc, const Coordinates& at, Index first_channel, const Coordinates& within) {
  Coordinates position{at[0], first_channel + within[0]};
  for (std::size_t s = 0; s + 2 < at.size(); ++s) {
    position.push_back(at[s + 2] * desc.strides[s] + within[s + 1] * desc.dilations[s] - desc.start_padding[s]);
  }
  return position;
}

/// Group, terms and sum; zero points are there already.
template <class Desc>
void add_terms(ConvolutionExplanation& how, const Desc& desc, const TensorElements& input, const TensorElements& filter,
               const Coordinates& at, std::size_t most) {
  const Index channel = at[1];
  how.group_count = desc.group_count;
  how.group = channel / (static_cast<Index>(desc.output.sizes[1]) / how.group_count);
  Shape window;  // one output channel of the filter
  for (std::size_t d = 1; d < filter.shape().size(); ++d) window.push_back(filter.shape()[d]);
  how.term_count = static_cast<std::uint64_t>(element_count(window));
  const std::int64_t input_zero = how.input_zero_point.value_or(0);
  const std::int64_t filter_zero = how.filter_zero_point.value_or(0);
  auto within = Coordinates::filled(window.size(), 0);
  do {
    const Coordinates read = input_position(desc, at, how.group * window[0], within);
    Coordinates tap{channel};
    for (const Index i : within) tap.push_back(i);
    const bool padding = !Layout(input.shape()).contains(read);
    const std::int64_t x = padding ? input_zero : input.integer(read);
    const std::int64_t f = filter.integer(tap);
    const std::int64_t product = (x - input_zero) * (f - filter_zero);
    how.sum += product;
    if (how.terms.size() < most) {
      how.terms.push_back(
          {Position(read.begin(), read.end()), padding, x, Position(tap.begin(), tap.end()), f, product});
    }
  } while (advance(within, window));
}

}  // namespace

Explanation explain(const QuantizedLinearConvolutionDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most) {
  const TensorElements input(desc.input, inputs[0]);
  const TensorElements input_scale(desc.input_scale, inputs[1]);
  const TensorElements filter(desc.filter, inputs[3]);
  const TensorElements filter_scale(desc.filter_scale, inputs[4]);
  const TensorElements output_scale(desc.output_scale, inputs[7]);
  const Index channel = at[1];

  ConvolutionExplanation how;
  how.input_zero_point = channel_integer(optional_elements(desc.input_zero_point, inputs[2]), 0);
  how.filter_zero_point = channel_integer(optional_elements(desc.filter_zero_point, inputs[5]), channel);
  how.bias = channel_integer(optional_elements(desc.bias, inputs[6]), channel);
  how.output_zero_point = channel_integer(optional_elements(desc.output_zero_point, inputs[8]), 0);
  how.input_scale = input_scale.real(input_scale.channel(0));
  how.filter_scale = filter_scale.real(filter_scale.channel(channel));
  how.output_scale = output_scale.real(output_scale.channel(0));

  add_terms(how, desc, input, filter, at, most);
  how.accumulator = how.sum + how.bias.value_or(0);
  how.quotient = exact_quotient(how.accumulator, how.input_scale, how.filter_scale, how.output_scale);

  const DataType type = desc.output.data_type;
  ElementValue output =
      quantized_value(type, at, how.quotient.rounded + how.output_zero_point.value_or(0), how.saturated);
  return {"QUANTIZED_LINEAR_CONVOLUTION", std::string(to_string(type)), std::move(output), std::move(how)};
}

Explanation explain(const ConvolutionIntegerDesc& desc, std::span<const InputBuffer> inputs, const Coordinates& at,
                    std::size_t most) {
  ConvolutionExplanation how;
  how.is_integer = true;
  how.input_zero_point = channel_integer(optional_elements(desc.input_zero_point, inputs[1]), 0);
  how.filter_zero_point = channel_integer(optional_elements(desc.filter_zero_point, inputs[3]), at[1]);
  add_terms(how, desc, TensorElements(desc.input, inputs[0]), TensorElements(desc.filter, inputs[2]), at, most);
  how.accumulator = how.sum;
  return {"CONVOLUTION_INTEGER", "INT32", modulo_value(at, how.sum), std::move(how)};
}

}  // namespace dmlref::tool
