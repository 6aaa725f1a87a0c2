// quantized_linear_convolution.hpp: QUANTIZED_LINEAR_CONVOLUTION: from a valid descriptor to a plan.
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
#include "dmlref/desc/quantized_linear_convolution.hpp"
#include "dmlref/fast/quantized_linear_convolution.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"
#include "dmlref/op/seam.hpp"
#include "dmlref/reference/quantized_linear_convolution.hpp"
#include "dmlref/view/bind.hpp"

DMLREF_BEGIN
namespace detail {

/// The layouts of a valid QLC descriptor; absent tensors have none.
struct QuantizedLinearConvolutionLayouts {
  explicit QuantizedLinearConvolutionLayouts(const QuantizedLinearConvolutionDesc& desc)
      : input(layout_of(desc.input)),
        input_scale(layout_of(desc.input_scale)),
        filter(layout_of(desc.filter)),
        filter_scale(layout_of(desc.filter_scale)),
        output_scale(layout_of(desc.output_scale)),
        output(layout_of(desc.output)) {
    if (desc.input_zero_point) input_zero_point = layout_of(*desc.input_zero_point);
    if (desc.filter_zero_point) filter_zero_point = layout_of(*desc.filter_zero_point);
    if (desc.bias) bias = layout_of(*desc.bias);
    if (desc.output_zero_point) output_zero_point = layout_of(*desc.output_zero_point);
    geometry.strides = Strides::from<std::uint32_t>(desc.strides);
    geometry.dilations = Strides::from<std::uint32_t>(desc.dilations);
    geometry.start_padding = Shape::from<std::uint32_t>(desc.start_padding);
    geometry.group_count = static_cast<Index>(desc.group_count);
  }

  Layout input, input_scale, filter, filter_scale, output_scale, output;
  std::optional<Layout> input_zero_point, filter_zero_point, bias, output_zero_point;
  reference::ConvolutionGeometry geometry;
};

/// Places of the tensors in the desc, and so in the bindings.
enum class QlcInput : std::size_t {
  input,
  input_scale,
  input_zero_point,
  filter,
  filter_scale,
  filter_zero_point,
  bias,
  output_scale,
  output_zero_point
};

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

/// The reference behind the public API: right for every descriptor, and slow. One for all element types, as it is
/// seldom what runs.
class ReferenceQuantizedLinearConvolutionPlan final : public PlanOf<ReferenceQuantizedLinearConvolutionPlan> {
 public:
  explicit ReferenceQuantizedLinearConvolutionPlan(const QuantizedLinearConvolutionDesc& desc)
      : layouts_(desc),
        input_flip_(flip_of(desc.input)),
        filter_flip_(flip_of(desc.filter)),
        output_flip_(flip_of(desc.output)) {}

  std::string_view strategy_name() const noexcept { return "reference"; }
  void execute(const Bindings& bindings, Executor& executor) const noexcept {
    using Byte = std::uint8_t;
    const reference::QuantizedLinearConvolutionTensors<Byte, Byte, Byte, View> tensors{
        bytes(bindings, QlcInput::input, layouts_.input, input_flip_),
        bound<float>(bindings, QlcInput::input_scale, layouts_.input_scale),
        zero_point(bindings, QlcInput::input_zero_point, layouts_.input_zero_point, input_flip_),
        bytes(bindings, QlcInput::filter, layouts_.filter, filter_flip_),
        bound<float>(bindings, QlcInput::filter_scale, layouts_.filter_scale),
        zero_point(bindings, QlcInput::filter_zero_point, layouts_.filter_zero_point, filter_flip_),
        layouts_.bias ? std::optional(bound<std::int32_t>(bindings, QlcInput::bias, *layouts_.bias)) : std::nullopt,
        bound<float>(bindings, QlcInput::output_scale, layouts_.output_scale),
        zero_point(bindings, QlcInput::output_zero_point, layouts_.output_zero_point, output_flip_),
        View<Byte>({bindings.output, output_flip_}, layouts_.output)};
    const Index channels = layouts_.output.shape[1];
    auto plane = [&](std::size_t index) {
      const auto i = static_cast<Index>(index);
      reference::quantized_linear_convolution(tensors, layouts_.geometry, i / channels, i % channels);
    };
    parallel_for(executor, static_cast<std::size_t>(layouts_.output.shape[0] * channels), plane);
  }

 private:
  template <class T>
  using View = TensorView<T, std::conditional_t<sizeof(T) == 1, UnsignedAccess<T>, ByteAccess<T>>>;
  using Bytes = View<const std::uint8_t>;

  static std::uint8_t flip_of(const TensorDesc& tensor) noexcept {
    return tensor.data_type == DataType::int8 ? 0x80 : 0;
  }
  static const std::byte* data(const Bindings& bindings, QlcInput which) noexcept {
    return bindings.inputs[static_cast<std::size_t>(which)];
  }
  template <class T>
  static View<const T> bound(const Bindings& bindings, QlcInput which, const Layout& layout) noexcept {
    return bind<const T>(data(bindings, which), layout);
  }
  static Bytes bytes(const Bindings& bindings, QlcInput which, const Layout& layout, std::uint8_t flip) noexcept {
    return Bytes({data(bindings, which), flip}, layout);
  }
  // An absent one is 0, which is 128 where bytes are signed.
  static Bytes zero_point(const Bindings& bindings, QlcInput which, const std::optional<Layout>& layout,
                          std::uint8_t flip) noexcept {
    static constexpr std::byte none{0};
    return layout ? bytes(bindings, which, *layout, flip) : Bytes({&none, flip}, Layout(Shape{1}));
  }

  QuantizedLinearConvolutionLayouts layouts_;
  std::uint8_t input_flip_, filter_flip_, output_flip_;
};

inline std::shared_ptr<const Plan> reference_qlc_plan(const QuantizedLinearConvolutionDesc& desc) {
  return std::make_shared<ReferenceQuantizedLinearConvolutionPlan>(desc);
}

/// A convolution in blocks (tiled, or after Winograd) behind the public API. Each task has a share of neighbouring
/// units (neighbouring blocks write to neighbouring lines, which two cores had better not do at once) and helps the
/// others when it is done.
template <class Convolution>
class BlockedConvolutionPlan final : public PlanOf<BlockedConvolutionPlan<Convolution>> {
 public:
  explicit BlockedConvolutionPlan(Convolution convolution) : convolution_(std::move(convolution)) {}

  BindingProperties properties() const noexcept {
    return {convolution_.temporary_bytes(), convolution_.persistent_bytes()};
  }
  std::string_view strategy_name() const noexcept { return convolution_.strategy_name(); }
  bool keeps_owned(std::size_t index) const noexcept { return index != static_cast<std::size_t>(QlcInput::filter); }
  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    convolution_.initialize(owned.inputs.data(), persistent);
  }
  void execute(const Bindings& bindings, Executor& executor) const noexcept {
    const fast::qlc::Buffers buffers{bindings.inputs.data(), bindings.output, bindings.persistent, bindings.temporary};
    const Index tasks = convolution_.tasks(executor.concurrency());
    // Winograd's transforms take filters that DML owns, hence packed at initialize.
    if constexpr (requires { &Convolution::pack_part; }) pack(buffers, executor, convolution_.packing_parts(tasks));
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

  Convolution convolution_;
};
using TiledConvolutionPlan = BlockedConvolutionPlan<fast::TiledConvolution>;
#if DMLREF_ARCH_X86_64
using AmxConvolutionPlan = BlockedConvolutionPlan<fast::AmxConvolution>;
#endif
using WinogradConvolutionPlan = BlockedConvolutionPlan<fast::WinogradConvolution>;

/// The direct convolution behind the public API. Tasks draw units of work from a counter.
class DirectConvolutionPlan final : public PlanOf<DirectConvolutionPlan> {
 public:
  DirectConvolutionPlan(const QuantizedLinearConvolutionDesc& desc, fast::DirectConvolution convolution)
      : convolution_(std::move(convolution)), reference_(reference_qlc_plan(desc)) {}

  std::string_view strategy_name() const noexcept { return convolution_.strategy_name(); }
  BindingProperties properties() const noexcept {
    const std::uint64_t bytes = convolution_.folded_bytes();
    return convolution_.folds_at_initialize() ? BindingProperties{0, bytes} : BindingProperties{bytes, 0};
  }
  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    if (convolution_.folds_at_initialize()) convolution_.fold(owned.inputs.data(), persistent);
  }
  void execute(const Bindings& bindings, Executor& executor) const noexcept {
    const std::byte* folded = bindings.persistent;
    if (!convolution_.folds_at_initialize()) {
      convolution_.fold(bindings.inputs.data(), bindings.temporary);
      folded = bindings.temporary;
    }
    if (!fast::DirectConvolution::fits(folded)) return reference_->execute(bindings, executor);
    const Index units = convolution_.units();
    const auto threads = static_cast<Index>(executor.concurrency());
    const Index tasks = threads < units ? threads : units;
    const Index grain = (units + 16 * tasks - 1) / (16 * tasks);
    std::atomic<Index> next{0};
    parallel_for(executor, static_cast<std::size_t>(tasks), [&](std::size_t) {
      for (Index first = next.fetch_add(grain); first < units; first = next.fetch_add(grain)) {
        for (Index unit = first; unit < first + grain && unit < units; ++unit) {
          convolution_.run(folded, bindings.inputs[static_cast<std::size_t>(QlcInput::input)], bindings.output, unit);
        }
      }
    });
  }

 private:
  fast::DirectConvolution convolution_;
  std::shared_ptr<const Plan> reference_;  // where a bias is too large for 32-bit sums
};

inline std::shared_ptr<const Plan> qlc_plan(const QuantizedLinearConvolutionDesc& desc, Isa isa) {
  if (!fast::qlc::offsets_fit(fast::qlc::geometry_of(desc))) return reference_qlc_plan(desc);
  if (fast::DirectConvolution direct(desc, fast::qlc::direct::kernels_of(isa)); direct.usable()) {
    return std::make_shared<DirectConvolutionPlan>(desc, std::move(direct));
  }
  if (const fast::qlc::winograd::Kernels* kernels = fast::qlc::winograd::kernels_of(isa); kernels != nullptr) {
    if (fast::WinogradConvolution winograd(desc, *kernels); winograd.worthwhile()) {
      return std::make_shared<WinogradConvolutionPlan>(std::move(winograd));
    }
  }
#if DMLREF_ARCH_X86_64
  if (isa == Isa::amx_int8) {
    if (fast::AmxConvolution amx(desc); amx.worthwhile()) return std::make_shared<AmxConvolutionPlan>(std::move(amx));
  }
#endif
  if (fast::TiledConvolution tiled(desc, fast::qlc::kernels_of(isa)); tiled.usable()) {
    return std::make_shared<TiledConvolutionPlan>(std::move(tiled));
  }
  return reference_qlc_plan(desc);
}

#if DMLREF_HAS_KERNELS

inline PlannedOperator make_plan(const QuantizedLinearConvolutionDesc& desc, Isa isa, const Tuning&) {
  return {{slot("InputTensor", desc.input), slot("InputScaleTensor", desc.input_scale),
           slot("InputZeroPointTensor", desc.input_zero_point), slot("FilterTensor", desc.filter),
           slot("FilterScaleTensor", desc.filter_scale), slot("FilterZeroPointTensor", desc.filter_zero_point),
           slot("BiasTensor", desc.bias), slot("OutputScaleTensor", desc.output_scale),
           slot("OutputZeroPointTensor", desc.output_zero_point)},
          slot("OutputTensor", desc.output),
          qlc_plan(desc, isa)};
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_quantized_linear_convolution)(const QuantizedLinearConvolutionDesc& desc, Isa isa,
                                                    const Tuning& tuning, PlannedOperator& planned) {
  planned = make_plan(desc, isa, tuning);
}
}
#elif !defined(DMLREF_SEPARATE)
inline PlannedOperator plan(const QuantizedLinearConvolutionDesc& desc, Isa isa, const Tuning& tuning) {
  return make_plan(desc, isa, tuning);
}
#endif

#endif

}  // namespace detail
DMLREF_END
