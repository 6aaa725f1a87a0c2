// groups.hpp: a convolution in parts of some of its groups.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace detail {

/// How many groups to convolve at a time. Of groups with few channels what is packed and precomputed, which is padded,
/// may be many times what is given: then so many that it stays small.
inline Index groups_at_a_time(const fast::qlc::Problem& problem, std::uint64_t constants_bytes) noexcept {
  constexpr std::uint64_t small_bytes = std::uint64_t{16} << 20, in_proportion = 4, part_bytes = std::uint64_t{4} << 20;
  const Index bytes_per_channel = problem.results == fast::qlc::Results::sums ? 1 : 9;  // zero point; scale, bias
  const Shape& filter = problem.inputs[fast::qlc::filter_tensor].layout.shape;
  const auto groups = static_cast<std::uint64_t>(problem.geometry.group_count);
  const auto given = static_cast<std::uint64_t>(element_count(filter) + filter[0] * bytes_per_channel);
  if (constants_bytes <= small_bytes || constants_bytes <= in_proportion * given) return problem.geometry.group_count;
  const std::uint64_t fit = part_bytes / (constants_bytes / groups + 1) + 1;
  return static_cast<Index>(fit < groups ? fit : groups);
}

/// A convolution in blocks, some of its groups at a time, whose constants are packed when it is their turn.
template <class PlanOfSome>
class GroupedConvolutionPlan final : public PlanOf<GroupedConvolutionPlan<PlanOfSome>> {
 public:
  static constexpr bool uses_tiles = PlanOfSome::uses_tiles;

  /// `make(problem)`: a plan.
  template <class Make>
  GroupedConvolutionPlan(const fast::qlc::Problem& problem, Index groups_at_a_time, const Make& make)
      : origins_(problem),
        groups_(problem.geometry.group_count),
        at_a_time_(groups_at_a_time),
        steps_(problem),
        part_(make(steps_.part_of(problem, at_a_time_))) {}

  BindingProperties properties() const noexcept { return part_.properties(); }
  std::string_view strategy_name() const noexcept { return part_.strategy_name(); }
  void execute(const Bindings& bindings, Executor& executor) const {
    const fast::qlc::Inputs inputs = origins_.inputs(bindings.inputs);
    Bindings part = bindings;
    for (Index next = 0; next < groups_; next += at_a_time_) {
      const Index first = fast::qlc::smaller(next, groups_ - at_a_time_);  // the last ones with some of those before
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        part.inputs[i] = inputs[i] == nullptr ? nullptr : inputs[i] + first * steps_.inputs[i];
      }
      part.outputs[0] = origins_.output(bindings.outputs[0]) + first * steps_.output;
      part_.execute(part, executor);
    }
  }

 private:
  /// Bytes from a group to the next one.
  struct GroupSteps {
    explicit GroupSteps(const fast::qlc::Problem& problem) {
      using namespace fast::qlc;
      const Index groups = problem.geometry.group_count;
      const auto step = [groups](const Operand& tensor, std::size_t dimension) {
        return tensor.layout.shape[dimension] / groups * tensor.layout.strides[dimension];
      };
      for (std::size_t i = 0; i < input_count; ++i) {
        const Operand& tensor = problem.inputs[i];
        if (!tensor.present) continue;
        if (const std::size_t d = channels_of(i, tensor.layout); d < tensor.layout.rank()) {
          inputs[i] = step(tensor, d) * element_bytes(i);
        }
      }
      output = step(problem.output, 1) * problem.output_element_bytes();
    }
    /// The dimension that groups share; the rank where there is none.
    static std::size_t channels_of(std::size_t input, const Layout& layout) noexcept {
      if (input == fast::qlc::input_tensor) return 1;
      if (input == fast::qlc::filter_tensor) return 0;
      std::size_t d = 0;
      while (d < layout.rank() && layout.shape[d] == 1) ++d;
      return d;
    }
    /// Of the first `count` groups, or of any others: their pointers lead to elements (0, …, 0).
    fast::qlc::Problem part_of(const fast::qlc::Problem& problem, Index count) const {
      using namespace fast::qlc;
      const Index groups = problem.geometry.group_count;
      Problem part = problem;
      const auto cut = [&](Operand& tensor, std::size_t d, Index bytes) {
        tensor.owned = false;
        tensor.readable_bytes -= static_cast<std::uint64_t>(tensor.layout.offset * bytes);
        tensor.layout.offset = 0;
        if (d < tensor.layout.rank()) tensor.layout.shape[d] = tensor.layout.shape[d] / groups * count;
      };
      for (std::size_t i = 0; i < input_count; ++i) {
        Operand& tensor = part.inputs[i];
        if (!tensor.present) continue;
        cut(tensor, channels_of(i, tensor.layout), element_bytes(i));
        tensor.readable_bytes -= static_cast<std::uint64_t>(larger(0, (groups - count) * inputs[i]));
      }
      cut(part.output, 1, problem.output_element_bytes());
      part.geometry.group_count = count;
      return part;
    }
    std::array<Index, fast::qlc::input_count> inputs{};
    Index output = 0;
  };

  fast::qlc::Origins origins_;
  Index groups_, at_a_time_;
  GroupSteps steps_;
  PlanOfSome part_;
};

/// Of one problem; `make(problem)`: a plan that packs its filter and precomputes its constants.
template <class PlanOfAll, class Make>
std::shared_ptr<const Plan> plan_of_groups(const fast::qlc::Problem& problem, std::uint64_t constants_bytes,
                                           const Make& make) {
  const Index groups = groups_at_a_time(problem, constants_bytes);
  if (groups < problem.geometry.group_count) {
    return std::make_shared<GroupedConvolutionPlan<PlanOfAll>>(problem, groups, make);
  }
  return std::make_shared<PlanOfAll>(make(problem));
}

}  // namespace detail
DMLREF_END
