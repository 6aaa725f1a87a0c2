// slice.hpp: SLICE and SLICE1: from a valid descriptor to a plan.
#pragma once

#include <cstdint>
#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/desc/slice.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/op/plan.hpp"
#include "dmlref/reference/slice.hpp"
#include "dmlref/view/bind.hpp"

DMLREF_BEGIN
namespace detail {

/// Copies elements of sizeof(T) bytes from one layout to another; the element type does not matter.
template <class T>
class SlicePlan final : public Plan {
 public:
  SlicePlan(const Layout& from, const Layout& to) noexcept : from_(from), to_(to) {}

  void execute(const Bindings& bindings, Executor&) const noexcept override {
    reference::copy(bind<const T>(bindings.inputs[0], from_), bind<T>(bindings.output, to_));
  }

 private:
  Layout from_;
  Layout to_;
};

inline std::shared_ptr<const Plan> slice_plan(std::size_t element_size, const Layout& from, const Layout& to) {
  switch (element_size) {
    case 1: return std::make_shared<SlicePlan<std::uint8_t>>(from, to);
    case 2: return std::make_shared<SlicePlan<std::uint16_t>>(from, to);
    case 4: return std::make_shared<SlicePlan<std::uint32_t>>(from, to);
    default: return std::make_shared<SlicePlan<std::uint64_t>>(from, to);
  }
}

inline PlannedOperator plan(const SliceDesc& desc, Isa) {
  const Layout output = layout_of(desc.output);
  const Layout window = reference::slice_layout(layout_of(desc.input), output.shape, desc.offsets, desc.strides);
  return {{slot("InputTensor", desc.input)},
          slot("OutputTensor", desc.output),
          slice_plan(size_of(desc.input.data_type), window, output)};
}

inline PlannedOperator plan(const Slice1Desc& desc, Isa) {
  const Layout output = layout_of(desc.output);
  const Layout window = reference::slice1_layout(layout_of(desc.input), output.shape, desc.window_offsets,
                                                 desc.window_sizes, desc.window_strides);
  return {{slot("InputTensor", desc.input)},
          slot("OutputTensor", desc.output),
          slice_plan(size_of(desc.input.data_type), window, output)};
}

}  // namespace detail
DMLREF_END
