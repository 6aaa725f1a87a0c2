// Slice: SLICE1. A window of offset, size and signed stride per axis; ONNX's ends are exclusive and may lie outside.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "onnx/operators.hpp"

namespace dmlref::tool::onnx {
namespace {

struct Ranges {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> steps;
};

/// Attributes before opset 10, inputs since.
Ranges read_ranges(Context& node) {
  Ranges ranges;
  std::optional<std::vector<std::int64_t>> axes;
  if (node.opset() < 10) {
    const auto starts = node.integers("starts");
    const auto ends = node.integers("ends");
    axes = node.integers("axes");
    if (!starts || !ends) node.fail_attribute(starts ? "ends" : "starts", "is missing, expected a list of integers");
    ranges.starts = *starts;
    ranges.ends = *ends;
  } else {
    ranges.starts = node.integers_of_input(1, "starts");
    ranges.ends = node.integers_of_input(2, "ends");
    if (node.has_input(3)) axes = node.integers_of_input(3, "axes");
    if (node.has_input(4)) ranges.steps = node.integers_of_input(4, "steps");
  }
  const std::size_t count = ranges.starts.size();
  if (axes) {
    ranges.axes = *axes;
  } else {
    for (std::size_t i = 0; i < count; ++i) ranges.axes.push_back(static_cast<std::int64_t>(i));
  }
  if (ranges.steps.empty()) ranges.steps.assign(count, 1);
  if (ranges.ends.size() != count || ranges.axes.size() != count || ranges.steps.size() != count) {
    node.fail(fmt::format("has {} starts, {} ends, {} axes and {} steps, expected as many of each", count,
                          ranges.ends.size(), ranges.axes.size(), ranges.steps.size()));
  }
  return ranges;
}

/// What is read of one axis: [low, low + size), every |step|-th from one end.
struct Window {
  std::int64_t low;
  std::int64_t size;
};

/// Clamped as ONNX says, which is not as NumPy does: with a negative step a start lies in [0, extent - 1], so that one
/// before the first element takes that, and an end in [-1, extent - 1].
Window window(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  if (extent == 0) return {0, 0};
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, extent);
    end = std::clamp<std::int64_t>(end, 0, extent);
    return {start, (std::max<std::int64_t>)(end - start, 0)};
  }
  start = std::clamp<std::int64_t>(start, 0, extent - 1);
  end = std::clamp<std::int64_t>(end, -1, extent - 1);
  return {end + 1, (std::max<std::int64_t>)(start - end, 0)};
}

/// ONNX Runtime reads to the last element, or back to the first, where an end is the most of 32 or 64 bits. That
/// differs from ONNX's rule where the step is negative or 2^31 - 1 lies within the axis.
void tell_runtimes_exception(Context& node, std::size_t index, std::int64_t start, std::int64_t end, std::int64_t step,
                             std::int64_t extent, const Window& here) {
  constexpr std::int64_t most32 = (std::numeric_limits<std::int32_t>::max)();
  constexpr std::int64_t least64 = (std::numeric_limits<std::int64_t>::min)();
  constexpr std::int64_t most64 = (std::numeric_limits<std::int64_t>::max)();
  if (end != most32 && end != most64) return;
  const Window there = window(start, step < 0 ? least64 : most64, step, extent);
  if (there.size == here.size) return;  // windows of one start and of one size are the same
  const std::string what =
      fmt::format("ends[{}] is {}, which ONNX Runtime reads as no end; by ONNX's rule ", index, end);
  if (here.size == 0) {
    node.fail(what + fmt::format("nothing is taken, expected {} for all elements", step < 0 ? least64 : most64));
  }
  node.note(what + fmt::format("{} elements are in range, not {}", here.size, there.size));
}

}  // namespace

void lower_slice(Context& node) {
  const Value input = node.input(0, "data");
  const Ranges ranges = read_ranges(node);
  Shape shape = input.shape;
  Slice1Desc desc;
  desc.window_sizes = node.dimensions(shape);
  desc.window_offsets.assign(desc.window_sizes.size(), 0);
  desc.window_strides.assign(desc.window_sizes.size(), 1);
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < ranges.starts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(node.axis(ranges.axes[i], shape.size(), fmt::format("axes[{}]", i)));
    if (!seen.insert(axis).second) node.fail(fmt::format("axes[{}] is {} again, expected each axis once", i, axis));
    if (ranges.steps[i] == 0) node.fail(fmt::format("steps[{}] is 0, expected another number", i));
    constexpr std::int64_t most = (std::numeric_limits<std::int32_t>::max)();
    // A longer step reads the first element alone, as this one does.
    const std::int64_t step = std::clamp(ranges.steps[i], -most, most);
    const auto extent = static_cast<std::int64_t>(input.shape[axis]);
    const Window part = window(ranges.starts[i], ranges.ends[i], step, extent);
    tell_runtimes_exception(node, i, ranges.starts[i], ranges.ends[i], step, extent, part);
    desc.window_offsets[axis] = static_cast<std::uint32_t>(part.size == 0 ? 0 : part.low);
    desc.window_sizes[axis] = static_cast<std::uint32_t>(part.size);
    desc.window_strides[axis] = static_cast<std::int32_t>(step);
    const std::int64_t magnitude = step < 0 ? -step : step;
    shape[axis] = static_cast<std::uint64_t>((part.size + magnitude - 1) / magnitude);
  }
  const Operand from = node.operand(input);
  Value output = node.new_output(0, *input.type, input.stored, shape);
  const Operand to = node.operand(output);
  desc.input = from.desc;
  desc.output = to.desc;
  output.dispatched = node.dispatch(desc, {{"InputTensor", from.resource}, {"OutputTensor", to.resource}});
  node.define(0, output);
}

}  // namespace dmlref::tool::onnx
