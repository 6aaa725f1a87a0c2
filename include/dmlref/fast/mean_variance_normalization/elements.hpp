// elements.hpp: the four tensors of a normalization as bytes, and single elements of them: read, or computed again
// where their result is ill-conditioned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/geometry.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"
#include "dmlref/view/tensor_view.hpp"

#if DMLREF_HAS_AVX2
#include <xmmintrin.h>
#endif

DMLREF_BEGIN
namespace fast::normalization {

/// The four buffers; scale and bias may be null.
struct Buffers {
  const std::byte* input = nullptr;
  const std::byte* scale = nullptr;
  const std::byte* bias = nullptr;
  std::byte* output = nullptr;
  std::byte* temporary = nullptr;
};

/// Elements of T (float or half) of one execution.
template <class T>
struct Elements {
  const Geometry& geometry;
  const reference::NormalizationParameters& parameters;
  const Buffers& buffers;

  T load(Index index) const noexcept { return ByteAccess<const T>{buffers.input}.load(index); }
  float scale_at(Index index) const noexcept {
    return buffers.scale == nullptr ? 1.0f : static_cast<float>(ByteAccess<const T>{buffers.scale}.load(index));
  }
  float bias_at(Index index) const noexcept {
    return buffers.bias == nullptr ? 0.0f : static_cast<float>(ByteAccess<const T>{buffers.bias}.load(index));
  }

  /// Computes elements of the group at `base` again as the reference does, with as many bits as it takes: numbers first
  /// + list[i], or first + i where `list` is null. `found` keeps the group's exact statistics.
  DMLREF_NOINLINE void correct(const Place& base, std::uint64_t first, std::size_t count, const std::uint16_t* list,
                               const GroupCoefficients& group,
                               std::optional<reference::ExactStatistics>& found) const noexcept {
    const auto exact = [&]() -> const reference::ExactStatistics& {
      if (!found) {
        found = reference::ExactStatistics::of(static_cast<std::uint64_t>(geometry.reduced.count()),
                                               [&](std::uint64_t from, std::span<float> values) {
                                                 Walk walk(geometry.reduced, base, static_cast<Index>(from));
                                                 for (float& value : values) {
                                                   value = static_cast<float>(load(walk.place().input));
                                                   walk.advance(1);
                                                 }
                                               });
      }
      return *found;
    };
    const reference::ExactSource source(exact);
    for (std::size_t i = 0; i < count; ++i) {
      Place at = geometry.reduced.place(static_cast<Index>(first + (list != nullptr ? list[i] : i)));
      at.add(base, 1);
      const T result = reference::normalize_element<T>(load(at.input), group, scale_at(at.scale), bias_at(at.bias),
                                                       parameters, source);
      ByteAccess<T>{buffers.output}.store(at.output, result);
    }
  }
};

/// Where the least |value| of a row of float32 is not above this, all of the row is looked at again.
inline float low_of(double error_bound) noexcept {
  if (error_bound != error_bound) return std::numeric_limits<float>::infinity();
  return error_bound > 0.0 ? static_cast<float>(error_bound) : -1.0f;
}
inline bool is_low(float least, double error_bound) noexcept { return !(least > low_of(error_bound)); }

/// Whether an activation jumps somewhere.
constexpr bool jumps(ActivationType type) noexcept {
  return type == ActivationType::thresholded_relu || type == ActivationType::shrink;
}

/// Applies an activation of its own to a row of values and rounds to T.
template <class T, class Real>
inline void activate(const ActivationKernels& kernels, const Activation& activation, const Real* values, std::byte* to,
                     std::size_t count) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    kernels.apply16(activation, values, to, count);
  } else {
    kernels.apply32(activation, values, to, count);
  }
}

/// Lists the values that are ill-conditioned or near a jump of the activation.
template <class Real>
inline std::size_t list_near(const ActivationKernels& kernels, const Activation& activation, const Real* values,
                             std::size_t count, Real error_bound, std::uint16_t* list) noexcept {
  bool any = false;
  if constexpr (std::is_same_v<Real, float>) {
    any = kernels.any_ill_conditioned16(activation, values, count, error_bound);
  } else {
    any = kernels.any_ill_conditioned32(activation, values, count, error_bound);
  }
  if (!any) return 0;
  const Real a = activation.parameters[0];
  const Real b = activation.parameters[1];
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (reference::is_ill_conditioned(activation.type, values[i], error_bound, a, b))
      list[found++] = static_cast<std::uint16_t>(i);
  }
  return found;
}

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
/// chunk would wait for memory each time.
inline void end_task([[maybe_unused]] bool streams) noexcept {
#if DMLREF_HAS_AVX2
  if (streams) _mm_sfence();
#endif
}

}  // namespace fast::normalization
DMLREF_END
