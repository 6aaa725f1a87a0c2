// plan.hpp: QUANTIZED_LINEAR_CONVOLUTION: from a problem to a plan.
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
#include "dmlref/config/floating_point.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/strategies.hpp"
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
  void execute(const Bindings& bindings, Executor& executor) const {
    const fast::qlc::Inputs inputs = origins_.inputs(bindings.inputs);
    const fast::qlc::Buffers buffers{inputs.data(), origins_.output(bindings.outputs[0]), bindings.persistent,
                                     bindings.temporary};
    const std::size_t concurrency = concurrency_of(executor);
    pack(buffers, executor, convolution_.packing_parts(concurrency));
    typename Convolution::Run run;
    convolution_.prepare(buffers, run);
    const Index tasks = convolution_.tasks(concurrency), units = convolution_.units(tasks);
    if (tasks > 1) return share_out(run, buffers, tasks, units, executor);
    parallel_for(executor, 1, [&](std::size_t) {
      Index staged = -1;
      for (Index unit = 0; unit < units; ++unit) convolution_.run(run, buffers, 1, 0, unit, staged);
    });
  }

 private:
  void share_out(const typename Convolution::Run& run, const fast::qlc::Buffers& buffers, Index tasks, Index units,
                 Executor& executor) const {
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

  void pack(const fast::qlc::Buffers& buffers, Executor& executor, Index parts) const {
    if (parts == 1) return convolution_.pack_part(buffers, 0, 1);
    if (parts > 1) {
      parallel_for(executor, static_cast<std::size_t>(parts),
                   [&](std::size_t part) { convolution_.pack_part(buffers, static_cast<Index>(part), parts); });
    }
  }

  fast::qlc::Origins origins_;
  Convolution convolution_;
};

/// How many groups to convolve at a time. Of groups with few channels what is packed and folded, which is padded, may
/// be many times what is given: then so many that it stays small.
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
template <class Convolution>
class GroupedConvolutionPlan final : public PlanOf<GroupedConvolutionPlan<Convolution>> {
 public:
  static constexpr bool uses_tiles = Convolution::uses_tiles;

  /// `make(problem)`: a convolution.
  template <class Make>
  GroupedConvolutionPlan(const fast::qlc::Problem& problem, Index groups_at_a_time, const Make& make)
      : origins_(problem),
        groups_(problem.geometry.group_count),
        at_a_time_(groups_at_a_time),
        steps_(problem),
        part_(steps_.part_of(problem, at_a_time_), make(steps_.part_of(problem, at_a_time_))) {}

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
      output = step(problem.output, 1);
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
      cut(part.output, 1, 1);
      part.geometry.group_count = count;
      return part;
    }
    std::array<Index, fast::qlc::input_count> inputs{};
    Index output = 0;
  };

  fast::qlc::Origins origins_;
  Index groups_, at_a_time_;
  GroupSteps steps_;
  BlockedConvolutionPlan<Convolution> part_;
};

/// Of one problem; `make(problem)`: a convolution.
template <class Convolution, class Make>
std::shared_ptr<const Plan> plan_in_blocks(const fast::qlc::Problem& problem, Convolution convolution,
                                           const Make& make) {
  const Index groups = groups_at_a_time(problem, convolution.constants_bytes());
  if (groups < problem.geometry.group_count) {
    return std::make_shared<GroupedConvolutionPlan<Convolution>>(problem, groups, make);
  }
  return std::make_shared<BlockedConvolutionPlan<Convolution>>(problem, std::move(convolution));
}

using TiledConvolutionPlan = BlockedConvolutionPlan<fast::TiledConvolution>;
#if DMLREF_HAS_AMX_INT8
using AmxConvolutionPlan = BlockedConvolutionPlan<fast::AmxConvolution>;
#endif
using WinogradConvolutionPlan = BlockedConvolutionPlan<fast::WinogradConvolution>;

/// The fastest way that there is, by strides of either sign.
inline std::shared_ptr<const Plan> fastest_qlc_plan(const fast::qlc::Problem& problem, Isa isa) {
  const fast::qlc::Geometry g = fast::qlc::geometry_of(problem);
  if (!fast::qlc::offsets_fit(g) || fast::qlc::mostly_padding(g)) return reference_qlc_plan(problem);
  if (auto direct = fast::qlc::direct::make_plan(problem, fast::qlc::kernels_of(isa).direct)) return direct;
  if (const fast::qlc::winograd::Kernels* winograd_kernels = fast::qlc::kernels_of(isa).winograd;
      winograd_kernels != nullptr) {
    if (fast::WinogradConvolution winograd(problem, *winograd_kernels); winograd.worthwhile()) {
      return std::make_shared<WinogradConvolutionPlan>(problem, std::move(winograd));
    }
  }
#if DMLREF_HAS_AMX_INT8
  if (isa == Isa::amx_int8) {
    if (fast::AmxConvolution amx(problem); amx.worthwhile()) {
      return plan_in_blocks(problem, std::move(amx), [](const auto& part) { return fast::AmxConvolution(part); });
    }
  }
#endif
  const fast::qlc::Kernels& kernels = fast::qlc::kernels_of(isa).tiled;
  if (fast::TiledConvolution tiled(problem, kernels); tiled.usable()) {
    return plan_in_blocks(problem, std::move(tiled),
                          [&](const auto& part) { return fast::TiledConvolution(part, kernels); });
  }
  return reference_qlc_plan(problem);
}

inline std::shared_ptr<const Plan> qlc_plan(const fast::qlc::Problem& problem, Isa isa) {
  return in_default_environment([&] { return fastest_qlc_plan(problem, isa); });
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
