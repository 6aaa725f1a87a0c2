// tasks.hpp: how many tasks of a convolution may run at once. Each has memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc {

inline constexpr Index most_tasks = 64;

/// As many as the machine has threads, within bounds: memory is counted at compile, before the executor is known.
inline Index most_slots() noexcept {
  const auto threads = static_cast<Index>(std::thread::hardware_concurrency());
  return threads < 1 ? 1 : threads > most_tasks ? most_tasks : threads;
}

/// Tasks for an executor of that concurrency, which is not 0; at most `most`.
inline Index tasks_for(std::size_t concurrency, Index most) noexcept {
  return concurrency < static_cast<std::uint64_t>(most) ? static_cast<Index>(concurrency) : most;
}

/// Into how many ranges of strips of output channels a plan's blocks are cut, at the price of staging a block several
/// times.
template <class Plan>
Index channel_ranges(const Plan& plan, Index blocks, Index tasks) noexcept {
  Index count = 1;
  while (tasks > 1 && blocks * count < Plan::units_per_task * tasks &&
         plan.strips() / (2 * count) >= Plan::least_strips) {
    count *= 2;
  }
  return count;
}

/// The tasks that have memory of their own: as many as there are pieces of work, where these are fewer than threads.
template <class Plan>
Index slots_for(const Plan& plan) noexcept {
  const Index most = most_slots(), blocks = plan.grid_for(most).blocks(plan.g);
  return smaller(most, blocks * channel_ranges(plan, blocks, most));
}

}  // namespace fast::qlc
DMLREF_END
