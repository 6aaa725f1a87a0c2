// arguments.hpp: what calls on views of QUANTIZED_LINEAR_CONVOLUTION and CONVOLUTION_INTEGER share: the window's way
// over the input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
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

}  // namespace detail
DMLREF_END
