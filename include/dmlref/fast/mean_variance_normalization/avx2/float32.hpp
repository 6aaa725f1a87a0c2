// float32.hpp: results of float32.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dmlref/fast/mean_variance_normalization/avx2/vectors.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx2 {

/// Eight values rounded, finished and stored; `least` collects the smallest magnitude.
template <Finish finish>
DMLREF_TARGET_AVX2 inline void store8(std::byte* to, std::size_t i, __m256d low, __m256d high, __m256d alpha,
                                      __m256& least, bool stream = false) noexcept {
  const __m256 value = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
  least = _mm256_min_ps(least, absolute(value));
  if constexpr (finish == Finish::values) {
    double* const out = reinterpret_cast<double*>(to) + i;
    _mm256_storeu_pd(out, low);
    _mm256_storeu_pd(out + 4, high);
  } else {
    __m256 result = value;
    if constexpr (finish == Finish::relu) result = _mm256_max_ps(_mm256_setzero_ps(), value);
    if constexpr (finish == Finish::unit) {
      result = _mm256_max_ps(_mm256_setzero_ps(), _mm256_min_ps(_mm256_set1_ps(1.0f), value));
    }
    if constexpr (finish == Finish::leaky_relu) {
      const __m256 scaled =
          _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(high, alpha)), _mm256_cvtpd_ps(_mm256_mul_pd(low, alpha)));
      result = _mm256_blendv_ps(value, scaled, _mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_LT_OQ));
    }
    if (stream) {
      _mm256_stream_ps(reinterpret_cast<float*>(to) + i, result);
    } else {
      _mm256_storeu_ps(reinterpret_cast<float*>(to) + i, result);
    }
  }
  static_cast<void>(alpha);
  static_cast<void>(stream);
}

DMLREF_TARGET_AVX2 inline float least_of(__m256 least) noexcept {
  __m128 four = _mm_min_ps(_mm256_castps256_ps128(least), _mm256_extractf128_ps(least, 1));
  four = _mm_min_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_min_ss(four, _mm_shuffle_ps(four, four, 1)));
}

template <Finish finish, bool wide, bool shifted>
DMLREF_TARGET_AVX2 inline void row_block32(const float* from, const double* doubles, std::byte* to, std::size_t i,
                                           __m256d shift, __m256d slope, __m256d offset, __m256d alpha, __m256& least0,
                                           __m256& least1, bool stream = false) noexcept {
  __m256d v[4];
  DMLREF_UNROLL
  for (int k = 0; k < 4; ++k) {
    v[k] = wide ? _mm256_loadu_pd(doubles + 4 * k) : _mm256_cvtps_pd(_mm_loadu_ps(from + 4 * k));
    if constexpr (shifted) v[k] = _mm256_sub_pd(v[k], shift);
    v[k] = _mm256_fmadd_pd(v[k], slope, offset);
  }
  store8<finish>(to, i, v[0], v[1], alpha, least0, stream);
  store8<finish>(to, i + 8, v[2], v[3], alpha, least1, stream);
}

template <Finish finish, bool wide, bool shifted>
DMLREF_TARGET_AVX2 inline float row32_of(const Row32& row) noexcept {
  const __m256d shift = _mm256_set1_pd(row.line.shift);
  const __m256d slope = _mm256_set1_pd(row.line.slope);
  const __m256d offset = _mm256_set1_pd(row.line.offset);
  const __m256d alpha = _mm256_set1_pd(row.alpha);
  __m256 least0 = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  __m256 least1 = least0;
  const bool stream = row.stream && reinterpret_cast<std::uintptr_t>(row.to) % 32 == 0;
  const std::byte* const from = row.from;  // (copies: for all the compiler knows, a store changes `row`)
  const double* const doubles = row.wide;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  const std::byte* const next = row.next != nullptr ? row.next : from;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __builtin_prefetch(next + i * sizeof(float));
    row_block32<finish, wide, shifted>(floats_at(from, i), wide ? doubles + i : nullptr, to, i, shift, slope, offset,
                                       alpha, least0, least1, stream);
  }
  if (i < row.count) {
    // The last elements again and again: repeated, they change neither the least value nor what is copied back.
    const std::size_t n = row.count - i;
    Tail tail;
    for (std::size_t k = 0; k < 16; ++k) {
      std::memcpy(tail.from + k, row.from + (i + (k < n ? k : n - 1)) * sizeof(float), sizeof(float));
    }
    row_block32<finish, false, shifted>(tail.from, nullptr, reinterpret_cast<std::byte*>(tail.to), 0, shift, slope,
                                        offset, alpha, least0, least1);
    std::memcpy(row.to + i * stored_bytes32<finish>, tail.to, n * stored_bytes32<finish>);
  }
  return least_of(_mm256_min_ps(least0, least1));
}

template <Finish finish>
DMLREF_TARGET_AVX2 inline float row32(const Row32& row) noexcept {
  if (row.line.shift == 0.0) {
    return row.wide != nullptr ? row32_of<finish, true, false>(row) : row32_of<finish, false, false>(row);
  }
  return row.wide != nullptr ? row32_of<finish, true, true>(row) : row32_of<finish, false, true>(row);
}

/// `both`: asks for what is read and what is written `near` further on; else for one line that is wanted next.
template <Finish finish, bool shifted, bool both>
DMLREF_TARGET_AVX2 inline float pieces32_of(const Pieces32& chunk) noexcept {
  const __m256d shift = _mm256_set1_pd(chunk.line.shift);
  const __m256d slope = _mm256_set1_pd(chunk.line.slope);
  const __m256d offset = _mm256_set1_pd(chunk.line.offset);
  const __m256d alpha = _mm256_set1_pd(chunk.alpha);
  __m256 least0 = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  __m256 least1 = least0;
  const std::int64_t near = chunk.near;
  for (std::size_t p = 0; p < chunk.count; ++p) {
    const Piece piece = chunk.pieces[p];
    const std::byte* const from = chunk.from + piece.from;
    std::byte* const to = chunk.to + piece.to;
    const bool stream = chunk.stream && reinterpret_cast<std::uintptr_t>(to) % 32 == 0;
    // (What is stored past the caches is not asked for.)
    const std::byte* const next = near != 0 || chunk.stream ? from + near : to + chunk.ahead;
    for (std::size_t i = 0; i < piece.count; i += 16) {
      __builtin_prefetch(next + i * sizeof(float));
      if constexpr (both) __builtin_prefetch(to + near + i * sizeof(float), 1);
      row_block32<finish, false, shifted>(floats_at(from, i), nullptr, to, i, shift, slope, offset, alpha, least0,
                                          least1, stream);
    }
  }
  return least_of(_mm256_min_ps(least0, least1));
}
template <Finish finish>
DMLREF_TARGET_AVX2 inline float pieces32(const Pieces32& chunk) noexcept {
  const bool both = chunk.near != 0 && !chunk.stream;
  if (chunk.line.shift == 0.0) {
    return both ? pieces32_of<finish, false, true>(chunk) : pieces32_of<finish, false, false>(chunk);
  }
  return both ? pieces32_of<finish, true, true>(chunk) : pieces32_of<finish, true, false>(chunk);
}

template <Finish finish, bool shifted>
DMLREF_TARGET_AVX2 inline void each_block32(const float* from, std::byte* to, std::size_t i, const double* scale,
                                            const double* bias, __m256d shift, __m256d rate, __m256d rest,
                                            __m256d alpha, __m256& least) noexcept {
  DMLREF_UNROLL
  for (int half8 = 0; half8 < 2; ++half8) {
    __m256d v[2];
    DMLREF_UNROLL
    for (int k = 0; k < 2; ++k) {
      const int at = 8 * half8 + 4 * k;
      const __m256d slope = _mm256_mul_pd(rate, _mm256_loadu_pd(scale + at));
      const __m256d offset = _mm256_fnmadd_pd(rest, slope, _mm256_loadu_pd(bias + at));
      __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(from + at));
      if constexpr (shifted) x = _mm256_sub_pd(x, shift);
      v[k] = _mm256_fmadd_pd(x, slope, offset);
    }
    store8<finish>(to, i + static_cast<std::size_t>(8 * half8), v[0], v[1], alpha, least);
  }
}

template <Finish finish, bool shifted>
DMLREF_TARGET_AVX2 inline float each_row32_of(const EachRow32& row) noexcept {
  const GroupCoefficients& group = *row.group;
  const __m256d shift = _mm256_set1_pd(group.shift);
  const __m256d rate = _mm256_set1_pd(group.rate);
  const __m256d rest = _mm256_set1_pd(group.rest);
  const __m256d alpha = _mm256_set1_pd(row.alpha);
  __m256 least = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  const std::byte* const from = row.from;
  const double* const scales = row.scale;
  const double* const biases = row.bias;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  const std::byte* const next = row.next != nullptr ? row.next : from;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __builtin_prefetch(next + i * sizeof(float));
    each_block32<finish, shifted>(floats_at(from, i), to, i, scales + i, biases + i, shift, rate, rest, alpha, least);
  }
  if (i < row.count) {
    const std::size_t n = row.count - i;
    Tail tail;
    for (std::size_t k = 0; k < 16; ++k) {
      const std::size_t at = i + (k < n ? k : n - 1);
      std::memcpy(tail.from + k, row.from + at * sizeof(float), sizeof(float));
      tail.scale[k] = row.scale[at];
      tail.bias[k] = row.bias[at];
    }
    each_block32<finish, shifted>(tail.from, reinterpret_cast<std::byte*>(tail.to), 0, tail.scale, tail.bias, shift,
                                  rate, rest, alpha, least);
    std::memcpy(row.to + i * stored_bytes32<finish>, tail.to, n * stored_bytes32<finish>);
  }
  return least_of(least);
}
template <Finish finish>
DMLREF_TARGET_AVX2 inline float each_row32(const EachRow32& row) noexcept {
  return row.group->shift == 0.0 ? each_row32_of<finish, false>(row) : each_row32_of<finish, true>(row);
}

}  // namespace fast::normalization::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
