// vectors.hpp: what the kernels of all elements share.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx2 {

// Rows whose length is no multiple of 16 end in a block of 16 that is copied here and back.
struct Tail {
  alignas(32) float from[16];
  alignas(32) double to[16];  // floats, halves or doubles
  alignas(32) double scale[16];
  alignas(32) double bias[16];
};

DMLREF_TARGET_AVX2 inline const float* floats_at(const std::byte* bytes, std::size_t element) noexcept {
  return reinterpret_cast<const float*>(bytes + element * sizeof(float));
}

DMLREF_TARGET_AVX2 inline __m256 absolute(__m256 x) noexcept { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }

template <Finish finish>
constexpr std::size_t stored_bytes32 = finish == Finish::values ? sizeof(double) : sizeof(float);
template <Finish finish>
constexpr std::size_t stored_bytes16 = finish == Finish::values ? sizeof(float) : sizeof(half);

}  // namespace fast::normalization::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
