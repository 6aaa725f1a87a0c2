// arguments.hpp: what calls of QUANTIZED_LINEAR_CONVOLUTION and CONVOLUTION_INTEGER share: tensors and the window's way
// over the input, from a desc or from views.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/views.hpp"
#include "dmlref/validate/one_operator.hpp"
#include "dmlref/view/narrow.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

/// How a call of `quantized_linear_convolution` or `convolution_integer` moves its window. One or two entries each, as
/// the input has one or two spatial dimensions; empty: strides and dilations of 1, no padding.
struct QuantizedLinearConvolutionOptions {
  IndexList strides = {};        ///< steps of the window over the padded input, each at least 1
  IndexList dilations = {};      ///< distances between the filter's taps, each at least 1
  IndexList start_padding = {};  ///< elements before the input, of the value of its zero point
  IndexList end_padding = {};    ///< the same after it
  Index group_count = 1;         ///< divides the channels of input and output
};

namespace detail {

// Tensors as the plans see them.
inline fast::qlc::Operand convolution_operand(const TensorDesc& tensor) {
  const SeenTensor as = seen(tensor);
  return {as.layout, true, tensor.data_type == DataType::int8, tensor.owned_by_dml, as.readable_bytes};
}
inline fast::qlc::Operand convolution_operand(const std::optional<TensorDesc>& tensor) {
  return tensor ? convolution_operand(*tensor) : fast::qlc::Operand{};
}
inline fast::qlc::Operand convolution_operand(const ViewArgument& view) {
  if (!view.present()) return {};
  return {view.layout_in_range(), true, view.type() == DataType::int8, false, view.range().size()};
}

/// Of a valid desc.
template <class Desc>
reference::ConvolutionGeometry convolution_geometry(const Desc& desc) {
  return {Strides::from<std::uint32_t>(desc.strides), Strides::from<std::uint32_t>(desc.dilations),
          Shape::from<std::uint32_t>(desc.start_padding), static_cast<Index>(desc.group_count)};
}

/// The arguments of a call on views, read and checked. The facts refer to it.
template <class Desc>
struct ConvolutionArguments {
  ConvolutionArguments(Report& report, Views<Desc>& views, const QuantizedLinearConvolutionOptions& options) {
    views.read(report, facts);
    const std::size_t rank = views.inputs[0].layout().rank();
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

  /// Of valid arguments.
  reference::ConvolutionGeometry geometry(const QuantizedLinearConvolutionOptions& options) const noexcept {
    return {Strides::from(rules::fact<&Desc::strides>(facts).values),
            Strides::from(rules::fact<&Desc::dilations>(facts).values),
            Shape::from(rules::fact<&Desc::start_padding>(facts).values), options.group_count};
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

template <class Desc>
DescribeResult<Desc> described_convolution(Views<Desc> views, const QuantizedLinearConvolutionOptions& options) {
  Report report;
  ConvolutionArguments<Desc> arguments(report, views, options);
  return described(std::move(report), arguments.facts);
}

/// `make_plan(problem, isa)` gives the plan of a Problem.
template <class Problem, class Desc, class MakePlan>
Report run_convolution(Views<Desc> views, const QuantizedLinearConvolutionOptions& options,
                       const RunOptions& run_options, const MakePlan& make_plan) {
  Report report;
  const ConvolutionArguments<Desc> arguments(report, views, options);
  const ChosenIsa chosen = check_run(report, views.inputs, views.output, run_options);
  if (!report) return report;
  Problem problem;
  Bindings bindings;
  for (std::size_t i = 0; i < views.inputs.size(); ++i) {
    problem.inputs[i] = convolution_operand(views.inputs[i]);
    bindings.inputs[i] = views.inputs[i].range().data();
  }
  problem.output = convolution_operand(views.output);
  problem.geometry = arguments.geometry(options);
  bindings.outputs[0] = const_cast<std::byte*>(views.output.range().data());
  const auto plan = plan_permitted(chosen, report, [&](Isa of) { return make_plan(problem, of); });
  if (!report) return report;
  return run_plan(*plan, bindings, run_options);
}

}  // namespace detail
DMLREF_END
