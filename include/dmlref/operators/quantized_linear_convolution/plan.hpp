// plan.hpp: QUANTIZED_LINEAR_CONVOLUTION: from a problem to a plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/select.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/view/bind.hpp"
#if DMLREF_HAS_AMX_INT8
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/block.hpp"
#endif

DMLREF_BEGIN
namespace detail {

/// Bytes of either sign as unsigned ones. With its top bit flipped a signed byte is its value plus 128, and so is its
/// zero point: what a convolution knows of both, their difference, stays.
template <class T>
struct UnsignedAccess {
  typename ByteAccess<T>::Byte* data = nullptr;
  std::uint8_t flip = 0;  // 0x80 where they are signed
  std::uint8_t load(Index index) const noexcept {
    return static_cast<std::uint8_t>(ByteAccess<T>{data}.load(index) ^ flip);
  }
  void store(Index index, std::uint8_t value) const noexcept requires(!std::is_const_v<T>) {
    ByteAccess<T>{data}.store(index, static_cast<std::uint8_t>(value ^ flip));
  }
};

/// The reference behind the public API: right for every problem, and slow. One for all element types, as it is seldom
/// what runs.
class ReferenceQuantizedLinearConvolutionPlan final : public PlanOf<ReferenceQuantizedLinearConvolutionPlan> {
 public:
  explicit ReferenceQuantizedLinearConvolutionPlan(const fast::qlc::Problem& problem) : problem_(problem) {}

  std::string_view strategy_name() const noexcept { return "reference"; }
  void execute(const Bindings& bindings, Executor& executor) const {
    using namespace fast::qlc;
    using Byte = std::uint8_t;
    const reference::QuantizedLinearConvolutionTensors<Byte, Byte, Byte, View> tensors{
        bytes(bindings, input_tensor),
        words<float>(bindings, input_scale_tensor),
        zero_point(bindings, input_zero_point_tensor, problem_.inputs[input_tensor]),
        bytes(bindings, filter_tensor),
        words<float>(bindings, filter_scale_tensor),
        zero_point(bindings, filter_zero_point_tensor, problem_.inputs[filter_tensor]),
        problem_.inputs[bias_tensor].present ? std::optional(words<std::int32_t>(bindings, bias_tensor)) : std::nullopt,
        words<float>(bindings, output_scale_tensor),
        zero_point(bindings, output_zero_point_tensor, problem_.output),
        View<Byte>({bindings.outputs[0], flip_of(problem_.output)}, problem_.output.layout)};
    const Shape& out = problem_.output.layout.shape;
    auto plane = [&](std::size_t index) {
      const auto i = static_cast<Index>(index);
      reference::quantized_linear_convolution(tensors, problem_.geometry, i / out[1], i % out[1]);
    };
    parallel_for(executor, static_cast<std::size_t>(out[0] * out[1]), plane);
  }

 private:
  template <class T>
  using View = TensorView<T, std::conditional_t<sizeof(T) == 1, UnsignedAccess<T>, ByteAccess<T>>>;
  using Bytes = View<const std::uint8_t>;

  static std::uint8_t flip_of(const fast::qlc::Operand& tensor) noexcept { return tensor.is_signed ? 0x80 : 0; }
  template <class T>
  View<const T> words(const Bindings& bindings, fast::qlc::Input which) const noexcept {
    return bind<const T>(bindings.inputs[which], problem_.inputs[which].layout);
  }
  Bytes bytes(const Bindings& bindings, fast::qlc::Input which) const noexcept {
    const fast::qlc::Operand& tensor = problem_.inputs[which];
    return Bytes({bindings.inputs[which], flip_of(tensor)}, tensor.layout);
  }
  // An absent one is 0, which is 128 where the bytes that it belongs to are signed.
  Bytes zero_point(const Bindings& bindings, fast::qlc::Input which, const fast::qlc::Operand& of) const noexcept {
    static constexpr std::byte none{0};
    return problem_.inputs[which].present ? bytes(bindings, which) : Bytes({&none, flip_of(of)}, Layout(Shape{1}));
  }

  fast::qlc::Problem problem_;
};

inline std::shared_ptr<const Plan> reference_qlc_plan(const fast::qlc::Problem& problem) {
  return std::make_shared<ReferenceQuantizedLinearConvolutionPlan>(problem);
}

/// How many groups to convolve at a time. Of groups with few channels what is packed and precomputed, which is padded,
/// may be many times what is given: then so many that it stays small.
inline Index groups_at_a_time(const fast::qlc::Problem& problem, std::uint64_t constants_bytes) noexcept {
  constexpr std::uint64_t small_bytes = std::uint64_t{16} << 20, in_proportion = 4, part_bytes = std::uint64_t{4} << 20;
  constexpr Index bytes_per_channel = 9;  // scale, zero point, bias
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

/// By tiles, of a geometry whose offsets fit; null where its filter is too deep for them.
inline std::shared_ptr<const Plan> tiled_plan(const fast::qlc::Problem& problem, const fast::qlc::Geometry& flat,
                                              const fast::qlc::Kernels& kernels, const Tuning::Convolution& tuning) {
  using namespace fast::qlc;
  const tiled::Blocking blocking(flat, kernels, tuning);
  if (!blocking.usable()) return nullptr;
  return plan_of_groups<tiled::Plan>(problem, tiled::constants_bytes(flat, kernels, blocking),
                                     [&](const Problem& some) { return tiled::Plan(some, kernels, blocking, tuning); });
}

/// The fastest way that there is, by strides of either sign. What suits is asked of the geometry, then its plan is
/// made.
inline std::shared_ptr<const Plan> fastest_qlc_plan(const fast::qlc::Problem& problem, Isa isa,
                                                    const Tuning::Convolution& tuning) {
  using namespace fast::qlc;
  const Geometry g = geometry_of(problem);
  if (!offsets_fit(g) || mostly_padding(g)) return reference_qlc_plan(problem);
  const TargetKernels kernels = kernels_of(isa);
  if (auto direct = direct::make_plan(problem, kernels.direct)) return direct;
  if (kernels.winograd != nullptr && problem.inputs[filter_tensor].owned) {
    const std::optional<winograd::Tiling> tiling = winograd::choose_tiling(g, *kernels.winograd, tuning);
    if (tiling && winograd::worthwhile(g, *tiling)) {
      return std::make_shared<winograd::Plan>(problem, *kernels.winograd, *tiling);
    }
  }
  const Geometry flat = flatten(g);
#if DMLREF_HAS_AMX_INT8
  if (isa == Isa::amx_int8 && amx::worthwhile(flat, problem)) {
    if (const amx::Blocking blocking(flat, tuning); blocking.usable) {
      return plan_of_groups<amx::Plan>(problem, amx::constants_bytes(flat, blocking),
                                       [&](const Problem& some) { return amx::Plan(some, blocking); });
    }
  }
#endif
  if (auto tiled = tiled_plan(problem, flat, kernels.tiled, tuning)) return tiled;
  return reference_qlc_plan(problem);
}

inline std::shared_ptr<const Plan> qlc_plan(const fast::qlc::Problem& problem, Isa isa, const Tuning& tuning) {
  return in_default_environment([&] { return fastest_qlc_plan(problem, isa, tuning.convolution); });
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_quantized_linear_convolution)(const fast::qlc::Problem& problem, Isa isa, const Tuning& tuning,
                                                    std::shared_ptr<const Plan>& plan) {
  plan = qlc_plan(problem, isa, tuning);
}
}
#endif

}  // namespace detail
DMLREF_END
