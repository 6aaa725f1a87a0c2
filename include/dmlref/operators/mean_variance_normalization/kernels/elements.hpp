// elements.hpp: the four tensors of a normalization as bytes, and single elements of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/view/tensor_view.hpp"

#if DMLREF_HAS_AVX2
#include <xmmintrin.h>
#endif

DMLREF_BEGIN
namespace fast::normalization {

/// The four buffers; scale and bias may be null.
struct Buffers {
  const std::byte* input;
  const std::byte* scale;
  const std::byte* bias;
  std::byte* output;
  std::byte* temporary;

  explicit Buffers(const detail::Bindings& bindings) noexcept
      : input(bindings.inputs[0]),
        scale(bindings.inputs[1]),
        bias(bindings.inputs[2]),
        output(bindings.outputs[0]),
        temporary(bindings.temporary) {}
};

/// Elements of T (float or half) of one execution.
template <class T>
struct Elements {
  const Buffers& buffers;

  float scale_at(Index index) const noexcept {
    return buffers.scale == nullptr ? 1.0f : static_cast<float>(ByteAccess<const T>{buffers.scale}.load(index));
  }
  float bias_at(Index index) const noexcept {
    return buffers.bias == nullptr ? 0.0f : static_cast<float>(ByteAccess<const T>{buffers.bias}.load(index));
  }
};

template <class T>
inline T nan_result() noexcept {
  return reference::round_result<T>(std::numeric_limits<float>::quiet_NaN());
}

/// Where the minimum magnitude of a row of float32 is not above this, all of the row is looked at again.
inline float threshold_of(double error_bound) noexcept {
  if (error_bound != error_bound) return std::numeric_limits<float>::infinity();
  return error_bound > 0.0 ? static_cast<float>(error_bound) : -1.0f;
}
inline bool is_below(float minimum, double error_bound) noexcept { return !(minimum > threshold_of(error_bound)); }

/// Bytes of a part of the temporary memory.
constexpr std::uint64_t round_up(std::uint64_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

#if DMLREF_HAS_AVX2
template <class Task>
DMLREF_TARGET_AVX2 __attribute__((flatten)) inline void run_with_fma(const Task& task) noexcept {
  task();
}
#endif
/// Runs `task`, which is full of std::fma: an instruction where this function is compiled for it and a call of the
/// library elsewhere; the bits are the same. What `task` calls is inlined unless it is DMLREF_NOINLINE.
template <class Task>
inline void with_fma(bool has_fma, const Task& task) noexcept {
#if DMLREF_HAS_AVX2
  has_fma ? run_with_fma(task) : task();
#else
  static_cast<void>(has_fma);
  task();
#endif
}
/// At the end of a task. `streams`: its stores were non-temporal. One fence shows that to other threads; one for each
/// summation block would wait for memory each time.
inline void end_task([[maybe_unused]] bool streams) noexcept {
#if DMLREF_HAS_AVX2
  if (streams) _mm_sfence();
#endif
}

}  // namespace fast::normalization
DMLREF_END
