// plan.hpp: QUANTIZED_LINEAR_CONVOLUTION: from a problem to a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/select.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/view/bind.hpp"

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
  if (auto amx = amx::make_plan(problem, flat, isa, tuning)) return amx;
  if (auto tiled = tiled::make_plan(problem, flat, kernels.tiled, tuning)) return tiled;
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
