// tasks.hpp: how many tasks a plan has memory for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

#include "dmlref/config.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast {

inline constexpr Index max_tasks = 64;

/// As many as the machine has threads, within bounds: memory is counted at compile, before the executor is known. The
/// system is asked once: that takes longer than all else of a small convolution's plan.
inline Index max_tasks_here() noexcept {
  static const auto threads = static_cast<Index>(std::thread::hardware_concurrency());
  return threads < 1 ? 1 : threads > max_tasks ? max_tasks : threads;
}

/// Tasks for an executor of that concurrency, which is not 0; at most `limit`.
inline Index tasks_for(std::size_t concurrency, Index limit) noexcept {
  return concurrency < static_cast<std::uint64_t>(limit) ? static_cast<Index>(concurrency) : limit;
}

}  // namespace fast
DMLREF_END
