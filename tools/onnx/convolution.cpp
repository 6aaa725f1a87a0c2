// QLinearConv: QUANTIZED_LINEAR_CONVOLUTION. ConvInteger: CONVOLUTION_INTEGER.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "onnx/operators.hpp"

namespace dmlref::tool::onnx {
namespace {

/// Of a convolution over two axes; one axis becomes two, as DirectML has no one-dimensional convolution.
struct Geometry {
  Shape input;   // {N, C, H, W}
  Shape filter;  // {M, C / groups, H, W}
  Shape output;  // as ONNX declares it: with as many dimensions as the input
  std::vector<std::uint64_t> strides;
  std::vector<std::uint64_t> dilations;
  std::vector<std::uint64_t> start_padding;
  std::vector<std::uint64_t> end_padding;
  std::uint64_t groups = 1;

  Shape output4() const { return widened(output); }
  /// {N, C, W} as {N, C, 1, W}.
  static Shape widened(Shape shape) {
    if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
    return shape;
  }
};

/// A list with an entry for each spatial axis, each at least `least`.
std::vector<std::uint64_t> spatial(Context& node, const char* name, std::size_t count, std::uint64_t otherwise,
                                   std::int64_t least) {
  const auto given = node.integers(name);
  if (!given) return std::vector<std::uint64_t>(count, otherwise);
  const bool right = given->size() == count && std::all_of(given->begin(), given->end(),
                                                           [&](std::int64_t v) { return v >= least && v <= 1 << 30; });
  if (!right) {
    node.fail_attribute(name,
                        fmt::format("is [{}], expected {} integers from {}", fmt::join(*given, ", "), count, least));
  }
  return {given->begin(), given->end()};
}

/// Padding of one axis so that the output has ceil(input / stride) elements; an odd one goes to the end or the start.
void pad_same(std::uint64_t input, std::uint64_t reach, std::uint64_t stride, bool upper, std::uint64_t& start,
              std::uint64_t& end) {
  const std::uint64_t outputs = (input + stride - 1) / stride;
  const std::uint64_t needed = (outputs - 1) * stride + reach;
  const std::uint64_t total = needed > input ? needed - input : 0;
  start = upper ? total / 2 : total - total / 2;
  end = total - start;
}

Geometry read_geometry(Context& node, const Value& x, const Value& w) {
  const std::size_t rank = x.shape.size();
  if ((rank != 3 && rank != 4) || w.shape.size() != rank) {
    node.fail(fmt::format("has an input [{}] and a filter [{}], expected both with one or both with two spatial axes",
                          fmt::join(x.shape, ", "), fmt::join(w.shape, ", ")));
  }
  const std::size_t axes = rank - 2;
  const auto usable = [](std::uint64_t extent) { return extent != 0 && extent <= std::uint64_t{1} << 30; };
  if (!std::all_of(x.shape.begin(), x.shape.end(), usable) || !std::all_of(w.shape.begin(), w.shape.end(), usable)) {
    node.fail(fmt::format("has an input [{}] and a filter [{}], expected extents from 1 to 2^30",
                          fmt::join(x.shape, ", "), fmt::join(w.shape, ", ")));
  }
  Geometry geometry;
  const auto kernel = node.integers("kernel_shape");
  if (kernel && !std::equal(kernel->begin(), kernel->end(), w.shape.begin() + 2, w.shape.end(), std::equal_to<>())) {
    node.fail_attribute("kernel_shape", fmt::format("is [{}], expected the filter's [{}]", fmt::join(*kernel, ", "),
                                                    fmt::join(w.shape.begin() + 2, w.shape.end(), ", ")));
  }
  geometry.strides = spatial(node, "strides", axes, 1, 1);
  geometry.dilations = spatial(node, "dilations", axes, 1, 1);
  // ONNX lists all starts, then all ends.
  const std::vector<std::uint64_t> pads = spatial(node, "pads", 2 * axes, 0, 0);
  const std::string automatic = node.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID") {
    node.fail_attribute("auto_pad",
                        fmt::format("is \"{}\", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", automatic));
  }
  if (automatic != "NOTSET" && std::any_of(pads.begin(), pads.end(), [](std::uint64_t pad) { return pad != 0; })) {
    node.fail_attribute("pads", fmt::format("is there beside auto_pad \"{}\", expected one of them", automatic));
  }
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > 1 << 30) node.fail_attribute("group", fmt::format("is {}, expected 1 or more", groups));
  geometry.groups = static_cast<std::uint64_t>(groups);
  geometry.output = {x.shape[0], w.shape[0]};
  for (std::size_t a = 0; a < axes; ++a) {
    const std::uint64_t input = x.shape[2 + a];
    const std::uint64_t taps = w.shape[2 + a];
    const std::uint64_t reach = (taps - 1) * geometry.dilations[a] + 1;
    std::uint64_t start = pads[a];
    std::uint64_t end = pads[axes + a];
    if (same) pad_same(input, reach, geometry.strides[a], automatic == "SAME_UPPER", start, end);
    if (input + start + end < reach) {
      node.fail(fmt::format("spans {} elements of axis {}, expected at most the {} that input and padding have", reach,
                            2 + a, input + start + end));
    }
    geometry.output.push_back((input + start + end - reach) / geometry.strides[a] + 1);
    geometry.start_padding.push_back(start);
    geometry.end_padding.push_back(end);
  }
  geometry.input = Geometry::widened(x.shape);
  geometry.filter = Geometry::widened(w.shape);
  if (axes == 1) {
    geometry.strides.insert(geometry.strides.begin(), 1);
    geometry.dilations.insert(geometry.dilations.begin(), 1);
    geometry.start_padding.insert(geometry.start_padding.begin(), 0);
    geometry.end_padding.insert(geometry.end_padding.begin(), 0);
  }
  return geometry;
}

Operand eight_bits(Context& node, const Value& value, const Shape& shape, std::string_view what) {
  node.expect_eight_bits(value, what);
  // A view of four dimensions may keep its strides; with one spatial axis it gets another shape.
  return shape == value.shape ? node.operand(value) : node.operand(value, shape);
}

/// One element, or one for each of `channels`; stands along the axis of channels.
Operand parameter(Context& node, const Value& value, std::uint64_t channels, std::string_view what) {
  node.expect_numbers(value, what);
  const std::uint64_t count = element_count(value.shape);
  const bool one = count == 1;
  if (!one && (count != channels || value.shape.size() != 1)) {
    node.fail(fmt::format("{} is [{}], expected one element{}", what, fmt::join(value.shape, ", "),
                          channels > 1 ? fmt::format(" or {}", channels) : ""));
  }
  return node.operand(value, {1, one ? 1 : channels, 1, 1});
}

/// Fills the desc and binds its tensors.
template <class Desc>
class Convolution {
 public:
  Convolution(Context& node, const Value& x, const Value& w) : node_(node), geometry_(read_geometry(node, x, w)) {
    desc_.strides = node.dimensions(geometry_.strides);
    desc_.dilations = node.dimensions(geometry_.dilations);
    desc_.start_padding = node.dimensions(geometry_.start_padding);
    desc_.end_padding = node.dimensions(geometry_.end_padding);
    desc_.group_count = static_cast<std::uint32_t>(geometry_.groups);
    bind("InputTensor", eight_bits(node, x, geometry_.input, "x"), desc_.input);
    bind("FilterTensor", eight_bits(node, w, geometry_.filter, "w"), desc_.filter);
  }

  const Geometry& geometry() const noexcept { return geometry_; }
  std::uint64_t channels() const noexcept { return geometry_.filter[0]; }
  Desc& desc() noexcept { return desc_; }

  template <class Member>
  void bind(std::string_view name, const Operand& operand, Member& member) {
    member = operand.desc;
    bindings_.emplace_back(name, operand.resource);
  }

  void finish(const ElementType& type, DataType stored) {
    Value output = node_.new_output(0, type, stored, geometry_.output);
    bind("OutputTensor", node_.operand(output, geometry_.output4()), desc_.output);
    output.dispatched = node_.dispatch(desc_, bindings_);
    node_.define(0, output);
  }

 private:
  Context& node_;
  Geometry geometry_;
  Desc desc_;
  std::vector<Binding> bindings_;
};

}  // namespace

void lower_qlinear_conv(Context& node) {
  const Value x = node.input(0, "x");
  const Value w = node.input(3, "w");
  const Value y_zero = node.input(7, "y_zero_point");
  Convolution<QuantizedLinearConvolutionDesc> convolution(node, x, w);
  QuantizedLinearConvolutionDesc& desc = convolution.desc();
  const std::uint64_t channels = convolution.channels();
  convolution.bind("InputScaleTensor", parameter(node, node.input(1, "x_scale"), 1, "x_scale"), desc.input_scale);
  convolution.bind("InputZeroPointTensor", parameter(node, node.input(2, "x_zero_point"), 1, "x_zero_point"),
                   desc.input_zero_point);
  convolution.bind("FilterScaleTensor", parameter(node, node.input(4, "w_scale"), channels, "w_scale"),
                   desc.filter_scale);
  convolution.bind("FilterZeroPointTensor", parameter(node, node.input(5, "w_zero_point"), channels, "w_zero_point"),
                   desc.filter_zero_point);
  // ONNX's bias is its last input, DirectML's stands before the output's scale.
  if (const auto bias = node.optional_input(8)) {
    if (element_count(bias->shape) != channels) {
      node.fail(fmt::format("B is [{}], expected [{}]", fmt::join(bias->shape, ", "), channels));
    }
    convolution.bind("BiasTensor", node.operand(*bias, {1, channels, 1, 1}), desc.bias);
  }
  convolution.bind("OutputScaleTensor", parameter(node, node.input(6, "y_scale"), 1, "y_scale"), desc.output_scale);
  convolution.bind("OutputZeroPointTensor", parameter(node, y_zero, 1, "y_zero_point"), desc.output_zero_point);
  convolution.finish(*y_zero.type, y_zero.stored);
}

void lower_conv_integer(Context& node) {
  Convolution<ConvolutionIntegerDesc> convolution(node, node.input(0, "x"), node.input(1, "w"));
  ConvolutionIntegerDesc& desc = convolution.desc();
  if (const auto zero = node.optional_input(2)) {
    convolution.bind("InputZeroPointTensor", parameter(node, *zero, 1, "x_zero_point"), desc.input_zero_point);
  }
  if (const auto zero = node.optional_input(3)) {
    convolution.bind("FilterZeroPointTensor", parameter(node, *zero, convolution.channels(), "w_zero_point"),
                     desc.filter_zero_point);
  }
  const ElementType& int32 = *find_element_type(6);
  convolution.finish(int32, int32.stored);
}

}  // namespace dmlref::tool::onnx
