// plan.hpp: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR: from a problem to a plan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/element_wise_quantize_linear/kernels/kernels.hpp"
#include "dmlref/operators/element_wise_quantize_linear/problem.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/simd/address.hpp"
#include "dmlref/view/rows.hpp"

DMLREF_BEGIN
namespace fast::quantize_linear {

/// Elements in memory, `step` of them apart.
template <class Byte>
struct ElementsOf {
  Byte* first;
  Index step;
  std::size_t size;  ///< bytes of an element
};
using Elements = ElementsOf<const std::byte>;
using Results = ElementsOf<std::byte>;

/// Copies `count` elements of Bytes bytes, `from_step` and `to_step` bytes apart.
template <std::size_t Bytes>
void copy_apart(const std::byte* from, Index from_step, std::byte* to, Index to_step, Index count) noexcept {
  for (Index i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, Bytes);
}
inline void copy_elements(const Elements& from, const Results& to, std::size_t count) noexcept {
  const auto n = static_cast<Index>(count), size = static_cast<Index>(to.size);
  const Index from_step = from.step * size, to_step = to.step * size;
  switch (to.size) {
    case 1: return copy_apart<1>(from.first, from_step, to.first, to_step, n);
    case 2: return copy_apart<2>(from.first, from_step, to.first, to_step, n);
    default: return copy_apart<4>(from.first, from_step, to.first, to_step, n);
  }
}
/// Where `count` elements lie side by side: in place, or after they were gathered in `space`.
inline const std::byte* gathered(const Elements& elements, std::size_t count, std::byte* space) noexcept {
  if (elements.step == 1 || count == 1) return elements.first;
  copy_elements(elements, {space, 1, elements.size}, count);
  return space;
}

}  // namespace fast::quantize_linear

namespace detail {

/// Rows of all four tensors at once, in blocks that stay in L1d.
class ElementWiseQuantizeLinearPlan final : public PlanOf<ElementWiseQuantizeLinearPlan> {
 public:
  ElementWiseQuantizeLinearPlan(const fast::quantize_linear::Problem& problem, Isa isa) noexcept
      : problem_(problem), kernels_(fast::quantize_linear::kernels_of(isa)) {
    const Layout* const layouts[] = {&problem.output, &problem.input, &problem.scale,
                                     problem.zero_point ? &*problem.zero_point : nullptr};
    JointLayout<tensors> joint;
    joint.shape = problem.output.shape;
    for (std::size_t k = 0; k < tensors; ++k) {
      const bool present = layouts[k] != nullptr;
      joint.strides[k] = present ? layouts[k]->strides : Strides::filled(joint.rank(), 0);
      offsets_[k] = present ? layouts[k]->offset : 0;
      for (std::size_t d = 0; d < joint.rank(); ++d) {
        if (joint.shape[d] == 1) joint.strides[k][d] = 0;  // never stepped along
      }
    }
    joint_ = coalesce(by_output(joint));
    const auto elements = static_cast<std::uint64_t>(element_count(joint_.shape));
    const std::uint64_t bytes = elements * (size_of(problem.input_type) + size_of(problem.output_type));
    access_ = {bytes > l2_bytes(), bytes > own_cache_bytes()};
  }

  std::string_view strategy_name() const noexcept { return "rows"; }

  void execute(const Bindings& bindings, Executor& executor) const {
    constexpr Index task_elements = Index{1} << 15;  // less is not worth a task
    const Index elements = element_count(joint_.shape);
    const Index wanted = (std::min)(static_cast<Index>(concurrency_of(executor)), elements / task_elements);
    // The outermost dimension whose parts differ little, so that a task's outputs lie side by side; else the widest.
    const auto first = joint_.shape.begin(), last = joint_.shape.end();
    auto found = std::find_if(first, last, [&](Index extent) { return extent >= 8 * wanted; });
    if (found == last) found = std::max_element(first, last);
    const auto split = static_cast<std::size_t>(found - first);
    const Index tasks = (std::min)(wanted, joint_.shape[split]);
    if (tasks <= 1) return run_part(bindings, 0, 0, joint_.shape[0]);
    parallel_for(executor, static_cast<std::size_t>(tasks), [&](std::size_t task) {
      const auto part = [&](Index of) { return joint_.shape[split] * of / tasks; };
      const auto i = static_cast<Index>(task);
      run_part(bindings, split, part(i), part(i + 1));
    });
  }

 private:
  static constexpr std::size_t tensors = 4;  ///< output, input, scale, zero point

  /// The dimensions in the order of the output's steps, the shortest last: elements are independent of one another.
  static JointLayout<tensors> by_output(const JointLayout<tensors>& from) noexcept {
    const auto step = [&](std::size_t d) { return from.strides[0][d] < 0 ? -from.strides[0][d] : from.strides[0][d]; };
    std::size_t order[max_rank];
    for (std::size_t d = 0; d < from.rank(); ++d) {
      std::size_t place = d;
      for (; place > 0 && step(order[place - 1]) < step(d); --place) order[place] = order[place - 1];
      order[place] = d;
    }
    JointLayout<tensors> to;
    for (std::size_t d = 0; d < from.rank(); ++d) {
      to.shape.push_back(from.shape[order[d]]);
      for (std::size_t k = 0; k < tensors; ++k) to.strides[k].push_back(from.strides[k][order[d]]);
    }
    return to;
  }

  /// Coordinates `begin` to `end` of one dimension. Rows are cut into blocks where each element has its own parameters,
  /// which are prepared once for all rows that share them, and where elements do not lie side by side.
  DMLREF_NOINLINE void run_part(const Bindings& bindings, std::size_t dimension, Index begin,
                                Index end) const noexcept {
    using namespace fast::quantize_linear;
    JointLayout<tensors> part = joint_;
    Index offsets[tensors], step[tensors];
    for (std::size_t k = 0; k < tensors; ++k) {
      offsets[k] = offsets_[k] + begin * joint_.strides[k][dimension];
      step[k] = joint_.strides[k].back();
    }
    part.shape[dimension] = end - begin;
    const bool quantizes = problem_.direction == Direction::quantize;
    const Kernels::OfType& kernels = kernels_.of(problem_.input_type);
    const Kernels::Block run = quantizes                                   ? kernels.quantize
                               : problem_.output_type == DataType::float16 ? kernels.dequantize_to_halves
                                                                           : kernels.dequantize;
    Parameters parameters;
    parameters.is_signed = problem_.output_type == DataType::int8;
    parameters.mask = step[2] != 0 || step[3] != 0 ? ~std::size_t{0} : 0;
    const bool in_place = step[0] == 1;
    const Access access{access_.prefetches, access_.streams && in_place};
    constexpr Index gathered_elements = 1024;
    alignas(64) std::byte input[gathered_elements * sizeof(float)], results[gathered_elements * sizeof(float)];
    const Index row = part.shape.back();
    const Index length = (std::min)(row, !in_place || step[1] != 1 ? gathered_elements
                                         : parameters.mask != 0    ? static_cast<Index>(block_elements)
                                                                   : row);
    for (Index first = 0; first < row; first += length) {
      Index& extent = part.shape[part.rank() - 1];
      extent = (std::min)(length, row - first);
      const auto count = static_cast<std::size_t>(extent);
      std::optional<Index> scale, zero_point;  // of the row before
      for (RowIterator<tensors> rows(part, offsets); rows; ++rows) {
        const bool other_scale = scale != rows.start(2), other_zero_point = zero_point != rows.start(3);
        if (other_scale) load_scales(bindings, *(scale = rows.start(2)), count, parameters);
        if (other_zero_point) load_zero_points(bindings, *(zero_point = rows.start(3)), count, parameters);
        if (other_scale || other_zero_point) kernels_.prepare(parameters, count, quantizes);
        const std::size_t input_size = size_of(problem_.input_type), output_size = size_of(problem_.output_type);
        const Elements from{bindings.inputs[0] + rows.start(1) * static_cast<Index>(input_size), step[1], input_size};
        const Results output{bindings.outputs[0] + rows.start(0) * static_cast<Index>(output_size), step[0],
                             output_size};
        run(parameters, gathered(from, count, input), count, in_place ? output.first : results, access);
        if (!in_place) copy_elements({results, 1, output.size}, output, count);
      }
      for (std::size_t k = 0; k < tensors; ++k) offsets[k] += length * step[k];
    }
    if (access.streams) fast::store_fence();
  }

  /// The scales of `count` elements, and of as many more as vectors read.
  void load_scales(const Bindings& bindings, Index at, std::size_t count,
                   fast::quantize_linear::Parameters& to) const noexcept {
    using namespace fast::quantize_linear;
    const std::size_t entries = to.mask != 0 ? count : 1, size = size_of(problem_.scale_type);
    const Elements scales{bindings.inputs[1] + at * static_cast<Index>(size), joint_.strides[2].back(), size};
    auto* const space = reinterpret_cast<std::byte*>(to.inverses);  // that prepare() writes after this
    kernels_.of(problem_.scale_type).to_floats(gathered(scales, entries, space), entries, to.scales);
    if (to.mask != 0) std::fill(to.scales + entries, to.scales + padded(entries), to.scales[0]);
  }
  void load_zero_points(const Bindings& bindings, Index at, std::size_t count,
                        fast::quantize_linear::Parameters& to) const noexcept {
    using namespace fast::quantize_linear;
    const DataType type = problem_.direction == Direction::quantize ? problem_.output_type : problem_.input_type;
    const std::size_t entries = to.mask != 0 ? count : 1, size = size_of(type);
    static constexpr std::byte zero[sizeof(std::uint32_t)] = {};
    const std::byte* const first = problem_.zero_point ? bindings.inputs[2] : zero;
    auto* const integers = reinterpret_cast<std::byte*>(to.offsets);
    copy_elements({first + at * static_cast<Index>(size), joint_.strides[3].back(), size}, {integers, 1, size},
                  entries);
    copy_elements({integers, 0, size}, {integers + entries * size, 1, size}, padded(entries) - entries);
    kernels_.of(type).to_floats(integers, padded(entries), to.zero_points);
  }
  static std::size_t padded(std::size_t count) noexcept {
    return (count + fast::quantize_linear::group_elements - 1) / fast::quantize_linear::group_elements *
           fast::quantize_linear::group_elements;
  }

  fast::quantize_linear::Problem problem_;
  const fast::quantize_linear::Kernels& kernels_;
  JointLayout<tensors> joint_;
  Index offsets_[tensors];
  fast::quantize_linear::Access access_;
};

inline std::shared_ptr<const Plan> element_wise_quantize_linear_plan(const fast::quantize_linear::Problem& problem,
                                                                     Isa isa) {
  return std::make_shared<ElementWiseQuantizeLinearPlan>(problem, isa);
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_element_wise_quantize_linear)(const fast::quantize_linear::Problem& problem, Isa isa,
                                                    std::shared_ptr<const Plan>& plan) {
  plan = element_wise_quantize_linear_plan(problem, isa);
}
}
#endif

}  // namespace detail
DMLREF_END
