// call.hpp: SLICE and SLICE1: a desc or a call on views as a plan's problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/slice/desc.hpp"
#include "dmlref/operators/slice/problem.hpp"
#include "dmlref/operators/slice/schema.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/views.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/tensor_view.hpp"
#include "dmlref/view/transform.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/slice/plan.hpp"
#endif

DMLREF_BEGIN
namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_slice)(problem, isa, tuning, plan);
  return plan;
#else
  return std::make_shared<SlicePlan>(problem, isa, tuning);
#endif
}

// What the operators read of an input, by operations of views; tests compare it with the reference's layouts.

/// A valid slice of the input, as much of it as the output holds.
inline Layout window_of(const Layout& input, const Shape& output, const Coordinates& offsets, const Shape& sizes,
                        const Strides& strides) noexcept {
  Layout window = try_slice(input, offsets, sizes, strides).value_or(input);
  window.shape = output;
  for (std::size_t d = 0; d < output.size(); ++d) {
    if (output[d] == 1) window.strides[d] = 0;  // never stepped along
  }
  return window;
}

inline Layout slice_window(const Layout& input, const Shape& output, std::span<const std::uint32_t> offsets,
                           std::span<const std::uint32_t> strides) noexcept {
  Shape sizes = output;
  Strides steps = Strides::from(strides);
  for (std::size_t d = 0; d < output.size(); ++d) {
    sizes[d] = 1 + (output[d] - 1) * steps[d];
    if (steps[d] == 0) steps[d] = 1;
  }
  Layout window = window_of(input, output, Coordinates::from(offsets), sizes, steps);
  for (std::size_t d = 0; d < output.size(); ++d) {
    if (strides[d] == 0) window.strides[d] = 0;  // one element, repeated
  }
  return window;
}

inline Layout slice1_window(const Layout& input, const Shape& output, std::span<const std::uint32_t> offsets,
                            std::span<const std::uint32_t> sizes, std::span<const std::int32_t> strides) noexcept {
  return window_of(input, output, Coordinates::from(offsets), Shape::from(sizes), Strides::from(strides));
}

template <class Desc>
PlannedOperator planned_slice(const Desc& desc, const Layout& window, Isa isa, const Tuning& tuning) {
  const fast::SliceProblem problem{window, layout_of(desc.output), size_of(desc.input.data_type),
                                   seen(desc.input).readable_bytes};
  return planned(desc, plan_of(problem, isa, tuning));
}

template <>
inline PlannedOperator plan(const SliceDesc& desc, Isa isa, const Tuning& tuning) {
  const Layout window =
      slice_window(seen(desc.input).layout, Shape::from<std::uint32_t>(desc.output.sizes), desc.offsets, desc.strides);
  return planned_slice(desc, window, isa, tuning);
}

template <>
inline PlannedOperator plan(const Slice1Desc& desc, Isa isa, const Tuning& tuning) {
  const Layout window = slice1_window(seen(desc.input).layout, Shape::from<std::uint32_t>(desc.output.sizes),
                                      desc.window_offsets, desc.window_sizes, desc.window_strides);
  return planned_slice(desc, window, isa, tuning);
}

/// The elements as bits of their size; a type of DirectML's keeps its name.
template <class T>
constexpr DataType slice_type_of() noexcept {
  constexpr DataType of_size[] = {DataType::uint8,   DataType::uint8,   DataType::uint16,
                                  DataType::unknown, DataType::uint32,  DataType::unknown,
                                  DataType::unknown, DataType::unknown, DataType::uint64};
  return data_type_of<T> != DataType::unknown ? data_type_of<T> : of_size[sizeof(T)];
}

/// A call on views has no Sizes: they are the output's.
inline rules::Facts<SliceDesc> check_arguments(Report& report, Views<SliceDesc>& views,
                                               std::span<const std::uint32_t> offsets,
                                               std::span<const std::uint32_t> strides) {
  using namespace rules;
  Facts<SliceDesc> facts;
  views.read(report, facts);
  const std::uint64_t rank = fact<&SliceDesc::input>(facts).rank;
  fact<&SliceDesc::offsets>(facts).values = offsets;
  fact<&SliceDesc::strides>(facts).values = strides;
  if (rank_is_readable(rank)) {
    count_fact<&SliceDesc::sizes>(facts).value = narrow<std::uint32_t>(rank);
    check_array_length(report, fact<&SliceDesc::offsets>(facts), rank);
    check_array_length(report, fact<&SliceDesc::strides>(facts), rank);
  }
  const TensorFacts& output = fact<&SliceDesc::output>(facts);
  if (all_sizes_positive(output))
    fact<&SliceDesc::sizes>(facts).values = output.sizes;  // else its own rule says it all
  apply_rules(report, latest_feature_level, facts);
  return facts;
}

inline rules::Facts<Slice1Desc> check_arguments(Report& report, Views<Slice1Desc>& views,
                                                std::span<const std::uint32_t> offsets,
                                                std::span<const std::uint32_t> sizes,
                                                std::span<const std::int32_t> strides) {
  using namespace rules;
  Facts<Slice1Desc> facts;
  views.read(report, facts);
  fact<&Slice1Desc::window_offsets>(facts).values = offsets;
  fact<&Slice1Desc::window_sizes>(facts).values = sizes;
  fact<&Slice1Desc::window_strides>(facts).values = strides;
  apply_rules(report, latest_feature_level, facts);
  return facts;
}

template <class Desc, class... Numbers>
DescribeResult<Desc> described_slice(Views<Desc> views, const Numbers&... numbers) {
  Report report;
  auto facts = check_arguments(report, views, numbers...);
  return described(std::move(report), facts);
}

/// `window_of(layout, shape)` is what the operator reads of an input of that layout.
template <class Desc, class WindowOf>
Report run_slice(Report report, const Views<Desc>& views, const RunOptions& options, WindowOf window_of) {
  const ViewArgument& input = views.inputs[0];
  const ViewArgument& output = views.output;
  const Isa isa = check_run(report, {&input, 1}, output, options).isa;
  if (!report) return report;
  const Layout to = output.layout_in_range();
  const fast::SliceProblem problem{window_of(input.layout_in_range(), to.shape), to, size_of(input.type()),
                                   input.range().size()};
  Bindings bindings;
  bindings.inputs[0] = input.range().data();
  bindings.outputs[0] = const_cast<std::byte*>(output.range().data());
  return run_plan(*plan_of(problem, isa, this_cpu()), bindings, options);
}

inline Report slice_views(Views<SliceDesc> views, std::span<const std::uint32_t> offsets,
                          std::span<const std::uint32_t> strides, const RunOptions& options) {
  Report report;
  check_arguments(report, views, offsets, strides);
  return run_slice(std::move(report), views, options, [&](const Layout& layout, const Shape& shape) {
    return slice_window(layout, shape, offsets, strides);
  });
}

inline Report slice1_views(Views<Slice1Desc> views, std::span<const std::uint32_t> offsets,
                           std::span<const std::uint32_t> sizes, std::span<const std::int32_t> strides,
                           const RunOptions& options) {
  Report report;
  check_arguments(report, views, offsets, sizes, strides);
  return run_slice(std::move(report), views, options, [&](const Layout& layout, const Shape& shape) {
    return slice1_window(layout, shape, offsets, sizes, strides);
  });
}

template <class Desc, class T>
Views<Desc> slice_views_of(const InputView<T>& input, const TensorView<T>& output) {
  constexpr DataType type = slice_type_of<T>();
  return {{{{input, type}}}, {output, type}};
}

}  // namespace detail

/// What SLICE and SLICE1 copy on views: any type of 1, 2, 4 or 8 bytes, bit by bit.
template <class T>
concept SliceElement = std::is_trivially_copyable_v<T> && !std::is_const_v<T> &&
                       (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

/// SLICE on views: output element c is input element offsets + strides * c. Ranks 1 to 8, any strides of views; no two
/// elements of the output at one address, its bytes apart from the input's. Nothing is written where the Report is not
/// ok: it names wrong ranks, extents, offsets, strides, overlapping memory and null data by the document's names.
template <SliceElement T>
[[nodiscard]] Report slice(const InputView<T>& input, const TensorView<T>& output, NumberList<std::uint32_t> offsets,
                           NumberList<std::uint32_t> strides, const RunOptions& options = {}) {
  return detail::slice_views(detail::slice_views_of<SliceDesc, T>(input, output), offsets, strides, options);
}

/// SLICE1 on views: a negative stride starts at the window's last element. The output may be smaller than what the
/// window offers. All else as in `slice`.
template <SliceElement T>
[[nodiscard]] Report slice1(const InputView<T>& input, const TensorView<T>& output,
                            NumberList<std::uint32_t> window_offsets, NumberList<std::uint32_t> window_sizes,
                            NumberList<std::int32_t> window_strides, const RunOptions& options = {}) {
  return detail::slice1_views(detail::slice_views_of<Slice1Desc, T>(input, output), window_offsets, window_sizes,
                              window_strides, options);
}

/// The desc of a call of `slice`, to be compiled once and executed often. Its buffers begin at the views' data.
template <SliceElement T>
[[nodiscard]] DescribeResult<SliceDesc> describe_slice(const InputView<T>& input, const TensorView<T>& output,
                                                       NumberList<std::uint32_t> offsets,
                                                       NumberList<std::uint32_t> strides) {
  return detail::described_slice(detail::slice_views_of<SliceDesc, T>(input, output), offsets, strides);
}
/// The same for `slice1`.
template <SliceElement T>
[[nodiscard]] DescribeResult<Slice1Desc> describe_slice1(const InputView<T>& input, const TensorView<T>& output,
                                                         NumberList<std::uint32_t> window_offsets,
                                                         NumberList<std::uint32_t> window_sizes,
                                                         NumberList<std::int32_t> window_strides) {
  return detail::described_slice(detail::slice_views_of<Slice1Desc, T>(input, output), window_offsets, window_sizes,
                                 window_strides);
}
/// The older name of describe_slice.
template <SliceElement T>
[[deprecated("describe_slice; goes in 0.5")]] [[nodiscard]] DescribeResult<SliceDesc> describe(
    const InputView<T>& input, const TensorView<T>& output, NumberList<std::uint32_t> offsets,
    NumberList<std::uint32_t> strides) {
  return describe_slice<T>(input, output, offsets, strides);
}
/// The older name of describe_slice1.
template <SliceElement T>
[[deprecated("describe_slice1; goes in 0.5")]] [[nodiscard]] DescribeResult<Slice1Desc> describe(
    const InputView<T>& input, const TensorView<T>& output, NumberList<std::uint32_t> window_offsets,
    NumberList<std::uint32_t> window_sizes, NumberList<std::int32_t> window_strides) {
  return describe_slice1<T>(input, output, window_offsets, window_sizes, window_strides);
}

DMLREF_END
