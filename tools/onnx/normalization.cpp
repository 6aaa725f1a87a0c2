// Normalizations: MEAN_VARIANCE_NORMALIZATION1 with other axes, scales and epsilons; without the mean
// MEAN_VARIANCE_NORMALIZATION2.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "onnx/operators.hpp"

namespace dmlref::tool::onnx {
namespace {

struct Parameters {
  std::optional<Operand> scale;
  std::optional<Operand> bias;
};

/// Normalizes `from`, whose shape may be another than the node's output has; `desc` says whether with the mean.
template <class Desc>
void normalize_by(Desc desc, Context& node, const Value& x, const Operand& from, const Parameters& parameters,
                  const Shape& axes, float epsilon) {
  if (!x.type->arithmetic) node.fail(fmt::format("has an input of {}, expected FLOAT or FLOAT16", x.type->name));
  Value output = node.new_output(0, *x.type, x.stored, x.shape);
  std::vector<Binding> bindings;
  desc.input = from.desc;
  bindings.emplace_back("InputTensor", from.resource);
  if (parameters.scale) {
    desc.scale = parameters.scale->desc;
    bindings.emplace_back("ScaleTensor", parameters.scale->resource);
  }
  if (parameters.bias) {
    desc.bias = parameters.bias->desc;
    bindings.emplace_back("BiasTensor", parameters.bias->resource);
  }
  desc.output = TensorDesc(output.stored, from.desc.sizes);
  bindings.emplace_back("OutputTensor", output.resource);
  for (const std::uint64_t axis : axes) desc.axes.push_back(static_cast<std::uint32_t>(axis));
  desc.epsilon = epsilon;
  output.dispatched = node.dispatch(desc, std::move(bindings));
  node.define(0, output);
}

void normalize(Context& node, const Value& x, const Operand& from, const Parameters& parameters, const Shape& axes,
               float epsilon) {
  normalize_by(MeanVarianceNormalization1Desc{}, node, x, from, parameters, axes, epsilon);
}

/// `count` elements along one axis of `rank`.
Operand along(Context& node, const Value& value, std::uint64_t count, std::size_t axis, std::size_t rank,
              std::string_view what) {
  if (element_count(value.shape) != count) {
    node.fail(fmt::format("{} is [{}], expected [{}]", what, fmt::join(value.shape, ", "), count));
  }
  Shape shape(rank, 1);
  shape[axis] = count;
  return node.operand(value, shape);
}

/// The axes of `rank` from `first` on.
Shape axes_from(std::size_t first, std::size_t rank) {
  Shape axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

void expect_rank(Context& node, const Value& x, std::size_t least) {
  if (x.shape.size() < least) {
    node.fail(fmt::format("has an input [{}], expected {} dimensions or more", fmt::join(x.shape, ", "), least));
  }
}

/// ONNX's statistics of FLOAT; DirectML's are not chosen, ours are more exact.
void expect_stash_type(Context& node) {
  const std::int64_t type = node.integer("stash_type", 1);
  if (type != 1) node.fail_attribute("stash_type", fmt::format("is {}, expected 1 (FLOAT)", type));
}

/// A parameter that broadcasts to x from the right, as x's rank demands it.
std::optional<Operand> broadcast(Context& node, const std::optional<Value>& value, const Shape& x,
                                 std::string_view what) {
  if (!value) return std::nullopt;
  bool fits = value->shape.size() <= x.size();
  Shape shape(fits ? x.size() - value->shape.size() : 0, 1);
  shape.insert(shape.end(), value->shape.begin(), value->shape.end());
  for (std::size_t d = 0; fits && d < x.size(); ++d) fits = shape[d] == 1 || shape[d] == x[d];
  if (!fits) {
    node.fail(fmt::format("{} is [{}], expected what broadcasts to [{}]", what, fmt::join(value->shape, ", "),
                          fmt::join(x, ", ")));
  }
  return node.operand(*value, shape);
}

}  // namespace

void lower_mean_variance_normalization(Context& node) {
  const Value x = node.input(0, "X");
  const std::vector<std::int64_t> given = node.integers("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  // (It means all axes to ONNX's reductions, and no axis to DirectML's normalization.)
  if (given.empty()) node.fail_attribute("axes", "is empty, expected at least one axis");
  Shape axes;
  for (std::size_t i = 0; i < given.size(); ++i) {
    axes.push_back(static_cast<std::uint64_t>(node.axis(given[i], x.shape.size(), fmt::format("axes[{}]", i))));
  }
  // ONNX divides by the deviation plus 1e-9, DirectML by the root of variance plus epsilon.
  normalize(node, x, node.operand(x), {}, axes, 1e-18f);
}

void lower_instance_normalization(Context& node) {
  const Value x = node.input(0, "input");
  expect_rank(node, x, 3);
  const std::size_t rank = x.shape.size();
  const Parameters parameters{along(node, node.input(1, "scale"), x.shape[1], 1, rank, "scale"),
                              along(node, node.input(2, "B"), x.shape[1], 1, rank, "B")};
  normalize(node, x, node.operand(x), parameters, axes_from(2, rank), node.real("epsilon", 1e-5f));
}

void lower_layer_normalization(Context& node) {
  const Value x = node.input(0, "X");
  expect_rank(node, x, 1);
  expect_stash_type(node);
  const std::size_t rank = x.shape.size();
  const auto first = static_cast<std::size_t>(node.axis(node.integer("axis", -1), rank, "attribute axis:"));
  const Parameters parameters{broadcast(node, node.input(1, "Scale"), x.shape, "Scale"),
                              broadcast(node, node.optional_input(2), x.shape, "B")};
  normalize(node, x, node.operand(x), parameters, axes_from(first, rank), node.real("epsilon", 1e-5f));
  node.not_computed(1);
}

// RMSNormalization, which ONNX Runtime's models call SimplifiedLayerNormalization.
void lower_rms_normalization(Context& node) {
  const Value x = node.input(0, "X");
  expect_rank(node, x, 1);
  expect_stash_type(node);
  const std::size_t rank = x.shape.size();
  const auto first = static_cast<std::size_t>(node.axis(node.integer("axis", -1), rank, "attribute axis:"));
  const Parameters parameters{broadcast(node, node.input(1, "scale"), x.shape, "scale"), std::nullopt};
  MeanVarianceNormalization2Desc desc;
  desc.use_mean = false;
  normalize_by(desc, node, x, node.operand(x), parameters, axes_from(first, rank), node.real("epsilon", 1e-5f));
  node.not_computed(1);
}

void lower_group_normalization(Context& node) {
  const Value x = node.input(0, "X");
  expect_rank(node, x, 3);
  if (node.opset() >= 21) expect_stash_type(node);
  const std::uint64_t channels = x.shape[1];
  const std::int64_t given = node.integer("num_groups", 0);
  const auto groups = static_cast<std::uint64_t>(given);
  if (given < 1 || channels % groups != 0) {
    node.fail_attribute("num_groups", fmt::format("is {}, expected a divisor of {} channels", given, channels));
  }
  // {N, groups, channels of a group, the rest}: statistics over the last two.
  std::uint64_t rest = 1;
  for (std::size_t d = 2; d < x.shape.size(); ++d) rest *= x.shape[d];
  const Shape grouped{x.shape[0], groups, channels / groups, rest};
  // A parameter for each group until opset 20, for each channel since.
  const Shape shape = node.opset() < 21 ? Shape{1, groups, 1, 1} : Shape{1, groups, channels / groups, 1};
  const auto read = [&](std::size_t index, std::string_view what) {
    const Value value = node.input(index, what);
    if (value.shape.size() != 1 || value.shape[0] != element_count(shape)) {
      node.fail(fmt::format("{} is [{}], expected [{}]", what, fmt::join(value.shape, ", "), element_count(shape)));
    }
    return node.operand(value, shape);
  };
  const Parameters parameters{read(1, "scale"), read(2, "bias")};
  normalize(node, x, node.operand(x, grouped), parameters, {2, 3}, node.real("epsilon", 1e-5f));
}

void lower_batch_normalization(Context& node) {
  const Value x = node.input(0, "X");
  expect_rank(node, x, 2);
  node.real("momentum", 0.9f);  // of the running statistics
  if (node.opset() >= 14) {
    if (node.integer("training_mode", 0) != 1) {
      node.fail_attribute("training_mode", "is 0, expected 1: DirectML's normalization computes its own statistics");
    }
  } else if (node.output_count() < 2) {
    node.fail(
        "has one output, which is not training, expected outputs of training: DirectML's normalization computes its "
        "own statistics");
  }
  const std::size_t rank = x.shape.size();
  const Parameters parameters{along(node, node.input(1, "scale"), x.shape[1], 1, rank, "scale"),
                              along(node, node.input(2, "B"), x.shape[1], 1, rank, "B")};
  Shape axes{0};
  for (std::size_t d = 2; d < rank; ++d) axes.push_back(d);
  normalize(node, x, node.operand(x), parameters, axes, node.real("epsilon", 1e-5f));
  node.not_computed(1);
}

}  // namespace dmlref::tool::onnx
