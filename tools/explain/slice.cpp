#include "explain/operators.hpp"
#include "explain/tensor_elements.hpp"

namespace dmlref::tool {
namespace {

Explanation from_steps(const char* name, const TensorDesc& input, InputBuffer bytes, const Coordinates& at,
                       std::vector<SliceStep> steps) {
  Coordinates source;
  for (const SliceStep& step : steps) source.push_back(step.input);
  const TensorElements elements(input, bytes);
  const ElementValue read = elements.value(source);
  return {name,
          std::string(to_string(input.data_type)),
          {Position(at.begin(), at.end()), read.value, read.bits},
          SliceExplanation{std::move(steps), read, elements.byte(source)}};
}

SliceStep step_of(Index output, Index first, Index stride) { return {output, first, stride, first + stride * output}; }

}  // namespace

Explanation explain(const SliceDesc& desc, std::span<const InputBuffer> inputs, const Coordinates& at) {
  std::vector<SliceStep> steps;
  for (std::size_t d = 0; d < at.size(); ++d) steps.push_back(step_of(at[d], desc.offsets[d], desc.strides[d]));
  return from_steps("SLICE", desc.input, inputs[0], at, std::move(steps));
}

Explanation explain(const Slice1Desc& desc, std::span<const InputBuffer> inputs, const Coordinates& at) {
  std::vector<SliceStep> steps;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const Index first = desc.window_offsets[d];
    const Index last = first + desc.window_sizes[d] - 1;
    // A negative stride starts at the window's last element.
    steps.push_back(step_of(at[d], desc.window_strides[d] > 0 ? first : last, desc.window_strides[d]));
  }
  return from_steps("SLICE1", desc.input, inputs[0], at, std::move(steps));
}

}  // namespace dmlref::tool
