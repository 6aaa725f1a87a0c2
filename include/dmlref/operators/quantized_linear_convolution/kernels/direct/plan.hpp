// plan.hpp: the base of the direct convolution's strategies: what is bound, and how tasks share the work.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/layout.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// Units of work are numbered by images, parts of the channels, bands of rows.
struct Work {
  Index band, part, image;
  Work(Index unit, Index bands, Index parts) noexcept
      : band(unit % bands), part(unit / bands % parts), image(unit / bands / parts) {}
};

/// A strategy `Concrete` has a `name`, `bands()` and `parts()`, which count units of work, and run(constants, input,
/// output, unit), which makes one of them. Tasks draw units from a counter.
template <class Concrete, class LanesOf>
class DirectPlan : public detail::PlanOf<Concrete> {
 public:
  std::string_view strategy_name() const noexcept { return Concrete::name; }
  BindingProperties properties() const noexcept {
    const auto bytes = static_cast<std::uint64_t>(round_up(lanes_.constants_bytes, 256));
    return constants_owned_ ? BindingProperties{0, bytes} : BindingProperties{bytes, 0};
  }
  void initialize(const detail::Bindings& owned, std::byte* persistent) const noexcept {
    if (constants_owned_) precompute(owned, PrecomputeTime::initialize, persistent);
  }
  void execute(const detail::Bindings& bindings, Executor& executor) const {
    const std::byte* constants = bindings.persistent;
    if (!constants_owned_) {
      precompute(bindings, PrecomputeTime::execute, bindings.temporary);
      constants = bindings.temporary;
    }
    const auto* const input = reinterpret_cast<const std::uint8_t*>(origins_.inputs(bindings.inputs)[input_tensor]);
    auto* const output = reinterpret_cast<std::uint8_t*>(origins_.output(bindings.outputs[0]));
    const auto& strategy = static_cast<const Concrete&>(*this);
    const Index units = layer_.g.batch * strategy.parts() * strategy.bands();
    const Index tasks = tasks_for(detail::concurrency_of(executor), units);
    const Index grain = ceil_div(units, 16 * tasks);
    std::atomic<Index> next{0};
    detail::parallel_for(executor, static_cast<std::size_t>(tasks), [&](std::size_t) {
      for (Index first = next.fetch_add(grain); first < units; first = next.fetch_add(grain)) {
        for (Index unit = first; unit < first + grain && unit < units; ++unit) {
          strategy.run(constants, input, output, unit);
        }
      }
    });
  }

 protected:
  using Lanes = LanesOf;

  DirectPlan(const Problem& problem, Layer layer, Lanes lanes)
      : layer_(std::move(layer)),
        lanes_(std::move(lanes)),
        origins_(problem),
        constants_owned_(constants_owned(problem)) {}
  ~DirectPlan() = default;

  Layer layer_;
  Lanes lanes_;

 private:
  void precompute(const detail::Bindings& bindings, PrecomputeTime time, std::byte* to) const noexcept {
    precompute_constants(layer_, lanes_, origins_.inputs(bindings.inputs).data(), time, to);
  }

  Origins origins_;
  bool constants_owned_;  // precomputed once, at initialize; else at each execute
};

}  // namespace fast::qlc::direct
DMLREF_END
