// quantized_linear_convolution.hpp: QUANTIZED_LINEAR_CONVOLUTION: from a problem to a plan.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"
#include "dmlref/op/seam.hpp"
#include "dmlref/reference/quantized_linear_convolution.hpp"
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
  void execute(const Bindings& bindings, Executor& executor) const noexcept {
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
        View<Byte>({bindings.output, flip_of(problem_.output)}, problem_.output.layout)};
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

/// A convolution in blocks (tiled, or after Winograd) behind the public API. Each task has a share of neighbouring
/// units (neighbouring blocks write to neighbouring lines, which two cores had better not do at once) and helps the
/// others when it is done.
template <class Convolution>
class BlockedConvolutionPlan final : public PlanOf<BlockedConvolutionPlan<Convolution>> {
 public:
  static constexpr bool uses_tiles = Convolution::uses_tiles;

  BlockedConvolutionPlan(const fast::qlc::Problem& problem, Convolution convolution)
      : origins_(problem), convolution_(std::move(convolution)) {}

  BindingProperties properties() const noexcept {
    return {convolution_.temporary_bytes(), convolution_.persistent_bytes()};
  }
  std::string_view strategy_name() const noexcept { return convolution_.strategy_name(); }
  bool keeps_owned(std::size_t index) const noexcept { return index != fast::qlc::filter_tensor; }
  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    convolution_.initialize(origins_.inputs(owned.inputs).data(), persistent);
  }
  void execute(const Bindings& bindings, Executor& executor) const noexcept {
    const fast::qlc::Inputs inputs = origins_.inputs(bindings.inputs);
    const fast::qlc::Buffers buffers{inputs.data(), origins_.output(bindings.output), bindings.persistent,
                                     bindings.temporary};
    const Index tasks = convolution_.tasks(executor.concurrency());
    pack(buffers, executor, convolution_.packing_parts(tasks));
    typename Convolution::Run run;
    convolution_.prepare(buffers, run);
    const Index units = convolution_.units(tasks);
    if (tasks > 1) return share_out(run, buffers, tasks, units, executor);
    parallel_for(executor, 1, [&](std::size_t) {
      Index staged = -1;
      for (Index unit = 0; unit < units; ++unit) convolution_.run(run, buffers, 1, 0, unit, staged);
    });
  }

 private:
  void share_out(const typename Convolution::Run& run, const fast::qlc::Buffers& buffers, Index tasks, Index units,
                 Executor& executor) const noexcept {
    struct alignas(64) Counter {
      std::atomic<Index> next{0};
    };
    std::array<Counter, Convolution::most_tasks> counters;
    const auto share = [&](Index task) { return units * task / tasks; };
    for (Index task = 0; task < tasks; ++task) counters[static_cast<std::size_t>(task)].next = share(task);
    parallel_for(executor, static_cast<std::size_t>(tasks), [&](std::size_t index) {
      const auto task = static_cast<Index>(index);
      Index staged = -1;
      for (Index other = task; other < task + tasks; ++other) {
        const Index owner = other % tasks;
        std::atomic<Index>& next = counters[static_cast<std::size_t>(owner)].next;
        for (Index unit = next.fetch_add(1); unit < share(owner + 1); unit = next.fetch_add(1)) {
          convolution_.run(run, buffers, tasks, task, unit, staged);
        }
      }
    });
  }

  void pack(const fast::qlc::Buffers& buffers, Executor& executor, Index parts) const noexcept {
    if (parts == 1) return convolution_.pack_part(buffers, 0, 1);
    if (parts > 1) {
      parallel_for(executor, static_cast<std::size_t>(parts),
                   [&](std::size_t part) { convolution_.pack_part(buffers, static_cast<Index>(part), parts); });
    }
  }

  fast::qlc::Origins origins_;
  Convolution convolution_;
};
using TiledConvolutionPlan = BlockedConvolutionPlan<fast::TiledConvolution>;
#if DMLREF_HAS_AMX_INT8
using AmxConvolutionPlan = BlockedConvolutionPlan<fast::AmxConvolution>;
#endif
using WinogradConvolutionPlan = BlockedConvolutionPlan<fast::WinogradConvolution>;

/// The direct convolution behind the public API. Tasks draw units of work from a counter.
class DirectConvolutionPlan final : public PlanOf<DirectConvolutionPlan> {
 public:
  DirectConvolutionPlan(const fast::qlc::Problem& problem, fast::DirectConvolution convolution)
      : origins_(problem), convolution_(std::move(convolution)) {}

  std::string_view strategy_name() const noexcept { return convolution_.strategy_name(); }
  BindingProperties properties() const noexcept {
    const std::uint64_t bytes = convolution_.folded_bytes();
    return convolution_.folds_at_initialize() ? BindingProperties{0, bytes} : BindingProperties{bytes, 0};
  }
  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    if (convolution_.folds_at_initialize()) convolution_.fold(origins_.inputs(owned.inputs).data(), persistent);
  }
  void execute(const Bindings& bindings, Executor& executor) const noexcept {
    const fast::qlc::Inputs inputs = origins_.inputs(bindings.inputs);
    std::byte* const output = origins_.output(bindings.output);
    const std::byte* folded = bindings.persistent;
    if (!convolution_.folds_at_initialize()) {
      convolution_.fold(inputs.data(), bindings.temporary);
      folded = bindings.temporary;
    }
    const Index units = convolution_.units();
    const auto threads = static_cast<Index>(executor.concurrency());
    const Index tasks = threads < units ? threads : units;
    const Index grain = (units + 16 * tasks - 1) / (16 * tasks);
    std::atomic<Index> next{0};
    parallel_for(executor, static_cast<std::size_t>(tasks), [&](std::size_t) {
      for (Index first = next.fetch_add(grain); first < units; first = next.fetch_add(grain)) {
        for (Index unit = first; unit < first + grain && unit < units; ++unit) {
          convolution_.run(folded, inputs[fast::qlc::input_tensor], output, unit);
        }
      }
    });
  }

 private:
  fast::qlc::Origins origins_;
  fast::DirectConvolution convolution_;
};

/// The fastest way that there is, by strides of either sign.
inline std::shared_ptr<const Plan> qlc_plan(const fast::qlc::Problem& problem, Isa isa) {
  if (!fast::qlc::offsets_fit(fast::qlc::geometry_of(problem))) return reference_qlc_plan(problem);
  if (fast::DirectConvolution direct(problem, fast::qlc::kernels_of(isa).direct); direct.usable()) {
    return std::make_shared<DirectConvolutionPlan>(problem, std::move(direct));
  }
  if (const fast::qlc::winograd::Kernels* kernels = fast::qlc::kernels_of(isa).winograd; kernels != nullptr) {
    if (fast::WinogradConvolution winograd(problem, *kernels); winograd.worthwhile()) {
      return std::make_shared<WinogradConvolutionPlan>(problem, std::move(winograd));
    }
  }
#if DMLREF_HAS_AMX_INT8
  if (isa == Isa::amx_int8) {
    if (fast::AmxConvolution amx(problem); amx.worthwhile()) {
      return std::make_shared<AmxConvolutionPlan>(problem, std::move(amx));
    }
  }
#endif
  if (fast::TiledConvolution tiled(problem, fast::qlc::kernels_of(isa).tiled); tiled.usable()) {
    return std::make_shared<TiledConvolutionPlan>(problem, std::move(tiled));
  }
  return reference_qlc_plan(problem);
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_quantized_linear_convolution)(const fast::qlc::Problem& problem, Isa isa, const Tuning&,
                                                    std::shared_ptr<const Plan>& plan) {
  plan = qlc_plan(problem, isa);
}
}
#endif

}  // namespace detail
DMLREF_END
