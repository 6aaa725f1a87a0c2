// sums.hpp: sums over the input, for filter zero points.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/avx2/staging.hpp"
#include "dmlref/int8/portable.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <type_traits>

DMLREF_BEGIN
namespace fast::qlc::avx2 {

DMLREF_TARGET_AVX2 inline std::int32_t sum_lanes(__m256i v) noexcept {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
  return _mm_cvtsi128_si32(s);
}

/// -1 in the first `count` of 16 lanes.
DMLREF_TARGET_AVX2 inline __m256i first_lanes(std::ptrdiff_t count) noexcept {
  alignas(32) static constexpr std::int16_t ones_then_zeros[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                                   -1, -1, -1, -1, -1, -1, -1, -1};
  return load(ones_then_zeros + 16 - count);
}

/// The sum of `count` staged values, lane by lane. Bytes (Group 4) may be the caller's: `count` fills vectors. Widened
/// values are in our memory, which has slack beyond the last one.
template <int Group>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i sum_vectors(const std::uint8_t* src, std::ptrdiff_t count) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i total = zero;
  for (; count >= 8 * Group; count -= 8 * Group, src += 32) {
    const __m256i part = Group == 4 ? _mm256_sad_epu8(load(src), zero) : _mm256_madd_epi16(load(src), ones);
    total = _mm256_add_epi32(total, part);
  }
  if constexpr (Group == 2) {
    if (count != 0) {
      total = _mm256_add_epi32(total, _mm256_madd_epi16(_mm256_and_si256(load(src), first_lanes(count)), ones));
    }
  }
  return total;
}

template <int Group>
DMLREF_TARGET_AVX2 inline void sum_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t pixel_step,
                                        std::ptrdiff_t pixels, std::int32_t* sums) noexcept {
  using Value = std::conditional_t<Group == 4, std::uint8_t, std::uint16_t>;
  if (count < 4) return portable::sum_runs<Value>(src, count, pixel_step, pixels, sums);
  const std::ptrdiff_t rest = Group == 4 ? count % 32 : 0;
  const std::ptrdiff_t whole = count - rest;
  for (std::ptrdiff_t p = 0; p < pixels; ++p) {
    const std::uint8_t* const run = src + p * pixel_step;
    auto sum = static_cast<std::uint32_t>(sum_lanes(sum_vectors<Group>(run, whole)));
    for (std::ptrdiff_t i = whole; i < count; ++i) sum += run[i];
    sums[p] = static_cast<std::int32_t>(sum);
  }
}

}  // namespace fast::qlc::avx2
DMLREF_END
#endif
