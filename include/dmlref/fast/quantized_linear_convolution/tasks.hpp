// tasks.hpp: how many tasks of a convolution may run at once. Each has memory of its own.
#pragma once

#include <cstddef>
#include <thread>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc {

inline constexpr Index most_tasks = 64;

/// As many as the machine has threads, within bounds: memory is counted at compile, before the executor is known.
inline Index task_slots() noexcept {
  const auto threads = static_cast<Index>(std::thread::hardware_concurrency());
  return threads < 1 ? 1 : threads > most_tasks ? most_tasks : threads;
}

/// Tasks for an executor of that concurrency.
inline Index tasks_for(std::size_t concurrency, Index slots) noexcept {
  return concurrency < static_cast<std::size_t>(slots) ? static_cast<Index>(concurrency) : slots;
}

}  // namespace fast::qlc
DMLREF_END
