// call.hpp: QUANTIZED_LINEAR_CONVOLUTION: a desc or a call on views as a plan's problem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/desc.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/schema.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/views.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/narrow.hpp"
#include "dmlref/view/tensor_view.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#endif

DMLREF_BEGIN

/// How a call of `quantized_linear_convolution` moves its window. One or two entries each, as the input has one or two
/// spatial dimensions; empty: strides and dilations of 1, no padding.
struct QuantizedLinearConvolutionOptions {
  IndexList strides = {};        ///< steps of the window over the padded input, each at least 1
  IndexList dilations = {};      ///< distances between the filter's taps, each at least 1
  IndexList start_padding = {};  ///< elements before the input, of the value of its zero point
  IndexList end_padding = {};    ///< the same after it
  Index group_count = 1;         ///< divides the channels of input and output
};
/// The older name.
using ConvolutionOptions [[deprecated("QuantizedLinearConvolutionOptions; goes in 0.4")]] =
    QuantizedLinearConvolutionOptions;

namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::qlc::Problem& problem, Isa isa, const Tuning& tuning) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_quantized_linear_convolution)(problem, isa, tuning, plan);
  return plan;
#else
  return qlc_plan(problem, isa, tuning);
#endif
}

/// A valid descriptor as the plans see it.
inline fast::qlc::Problem qlc_problem(const QuantizedLinearConvolutionDesc& desc) {
  const auto operand = [](const TensorDesc& tensor) {
    const SeenTensor as = seen(tensor);
    return fast::qlc::Operand{as.layout, true, tensor.data_type == DataType::int8, tensor.owned_by_dml,
                              as.readable_bytes};
  };
  const auto optional = [&](const std::optional<TensorDesc>& tensor) {
    return tensor ? operand(*tensor) : fast::qlc::Operand{};
  };
  return {{operand(desc.input), operand(desc.input_scale), optional(desc.input_zero_point), operand(desc.filter),
           operand(desc.filter_scale), optional(desc.filter_zero_point), optional(desc.bias),
           operand(desc.output_scale), optional(desc.output_zero_point)},
          operand(desc.output),
          {Strides::from<std::uint32_t>(desc.strides), Strides::from<std::uint32_t>(desc.dilations),
           Shape::from<std::uint32_t>(desc.start_padding), static_cast<Index>(desc.group_count)}};
}

template <>
inline PlannedOperator plan(const QuantizedLinearConvolutionDesc& desc, Isa isa, const Tuning& tuning) {
  return planned(desc, plan_of(qlc_problem(desc), isa, tuning));
}

using ConvolutionViews = Views<QuantizedLinearConvolutionDesc>;

/// The arguments of a call on views, read and checked. The facts refer to it.
struct ConvolutionArguments {
  using Desc = QuantizedLinearConvolutionDesc;

  ConvolutionArguments(Report& report, ConvolutionViews& views, const QuantizedLinearConvolutionOptions& options) {
    views.read(report, facts);
    const std::size_t rank = views.inputs[fast::qlc::input_tensor].layout().rank();
    const std::size_t spatial = rank == 3 || rank == 4 ? rank - 2 : 0;  // 0: the rules refuse the input
    if (spatial != 0) rules::count_fact<&Desc::strides>(facts).value = narrow<std::uint32_t>(spatial);
    read_numbers<&Desc::strides>(report, options.strides, 1, spatial);
    read_numbers<&Desc::dilations>(report, options.dilations, 1, spatial);
    read_numbers<&Desc::start_padding>(report, options.start_padding, 0, spatial);
    read_numbers<&Desc::end_padding>(report, options.end_padding, 0, spatial);
    std::uint32_t& groups = rules::fact<&Desc::group_count>(facts) = 1;
    if (options.group_count < 0 || options.group_count > NumberArgument::most) {
      report.add(RuleId::number_range, schema::field_of(&Desc::group_count).name,
                 {"is ", options.group_count, ", expected 1 to ", NumberArgument::most});
    } else {
      groups = narrow<std::uint32_t>(options.group_count);
    }
    rules::apply_rules(report, latest_feature_level, facts);
  }
  ConvolutionArguments(const ConvolutionArguments&) = delete;
  ConvolutionArguments& operator=(const ConvolutionArguments&) = delete;

  template <auto Member>
  std::span<const std::uint32_t> numbers() const noexcept {
    return rules::fact<Member>(facts).values;
  }

  rules::Facts<Desc> facts;

 private:
  /// An empty list stands for `usual` in each spatial dimension.
  template <auto Member>
  void read_numbers(Report& report, const IndexList& list, Index usual, std::size_t spatial) {
    auto& fact = rules::fact<Member>(facts);
    const IndexList values = list.empty() ? IndexList::filled(spatial, usual) : list;
    if (spatial == 0 || values.size() == spatial) {
      return arrays_[next_++].read(report, values.begin(), values.size(), fact);
    }
    report.add(RuleId::array_length, fact.name, {"has ", list.size(), " entries, expected none or ", spatial});
  }

  std::array<NumberArgument, 4> arrays_;
  std::size_t next_ = 0;
};

inline DescribeResult<QuantizedLinearConvolutionDesc> described_convolution(
    ConvolutionViews views, const QuantizedLinearConvolutionOptions& options) {
  Report report;
  ConvolutionArguments arguments(report, views, options);
  return described(std::move(report), arguments.facts);
}

inline Report convolution_views(ConvolutionViews views, const QuantizedLinearConvolutionOptions& options,
                                const RunOptions& run_options) {
  Report report;
  const ConvolutionArguments arguments(report, views, options);
  const ChosenIsa chosen = check_run(report, views.inputs, views.output, run_options);
  if (!report) return report;
  const auto operand = [](const ViewArgument& view) {
    if (!view.present()) return fast::qlc::Operand{};
    return fast::qlc::Operand{view.layout_in_range(), true, view.type() == DataType::int8, false, view.range().size()};
  };
  fast::qlc::Problem problem;
  Bindings bindings;
  for (std::size_t i = 0; i < views.inputs.size(); ++i) {
    problem.inputs[i] = operand(views.inputs[i]);
    bindings.inputs[i] = views.inputs[i].range().data();
  }
  problem.output = operand(views.output);
  bindings.outputs[0] = const_cast<std::byte*>(views.output.range().data());
  using Desc = QuantizedLinearConvolutionDesc;
  problem.geometry = {Strides::from(arguments.numbers<&Desc::strides>()),
                      Strides::from(arguments.numbers<&Desc::dilations>()),
                      Shape::from(arguments.numbers<&Desc::start_padding>()), options.group_count};
  const auto plan = plan_permitted(chosen, report, [&](Isa of) { return plan_of(problem, of, this_cpu()); });
  if (!report) return report;
  return run_plan(*plan, bindings, run_options);
}

template <class In, class Filter, class Out>
ConvolutionViews convolution_views_of(const QuantizedLinearConvolutionTensors<In, Filter, Out>& t) {
  constexpr DataType in = data_type_of<In>, filter = data_type_of<Filter>, out = data_type_of<Out>;
  constexpr DataType f32 = DataType::float32;
  return {{{{t.input, in},
            {t.input_scale, f32},
            {t.input_zero_point, in},
            {t.filter, filter},
            {t.filter_scale, f32},
            {t.filter_zero_point, filter},
            {t.bias, DataType::int32},
            {t.output_scale, f32},
            {t.output_zero_point, out}}},
          {t.output, out}};
}

template <class T>
concept QuantizedElement = std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t>;

}  // namespace detail

/// QUANTIZED_LINEAR_CONVOLUTION on views of std::int8_t or std::uint8_t, of any strides and of the shapes that
/// QuantizedLinearConvolutionTensors lists; no two elements of the output at one address, its bytes apart from the
/// inputs'. Nothing is written where the Report is not ok: it names wrong ranks, extents, options, overlapping memory
/// and null data by the document's names. Each call packs the filter: who calls often
/// compiles what `describe_quantized_linear_convolution` gives.
template <detail::QuantizedElement In, detail::QuantizedElement Filter, detail::QuantizedElement Out>
[[nodiscard]] Report quantized_linear_convolution(const QuantizedLinearConvolutionTensors<In, Filter, Out>& tensors,
                                                  const QuantizedLinearConvolutionOptions& options = {},
                                                  const RunOptions& run_options = {}) {
  return detail::convolution_views(detail::convolution_views_of(tensors), options, run_options);
}

/// The desc of such a call, to be compiled once and executed often. Its buffers begin at the views' data.
template <detail::QuantizedElement In, detail::QuantizedElement Filter, detail::QuantizedElement Out>
[[nodiscard]] DescribeResult<QuantizedLinearConvolutionDesc> describe_quantized_linear_convolution(
    const QuantizedLinearConvolutionTensors<In, Filter, Out>& tensors,
    const QuantizedLinearConvolutionOptions& options = {}) {
  return detail::described_convolution(detail::convolution_views_of(tensors), options);
}
/// The older name of describe_quantized_linear_convolution.
template <detail::QuantizedElement In, detail::QuantizedElement Filter, detail::QuantizedElement Out>
[[deprecated(
    "describe_quantized_linear_convolution; goes in 0.4")]] [[nodiscard]] DescribeResult<QuantizedLinearConvolutionDesc>
describe(const QuantizedLinearConvolutionTensors<In, Filter, Out>& tensors,
         const QuantizedLinearConvolutionOptions& options) {
  return describe_quantized_linear_convolution(tensors, options);
}

DMLREF_END
