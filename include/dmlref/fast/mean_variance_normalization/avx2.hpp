// avx2.hpp: the normalization kernels for AVX2, FMA and F16C.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/scalar.hpp"

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

DMLREF_TARGET_AVX2 inline void widen8(const std::byte* halves, float* floats) noexcept {
  _mm256_storeu_ps(floats, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves))));
}
// (Unrolled: five instructions may lie across two lines of the instruction cache, and then take twice as long.)
DMLREF_TARGET_AVX2 inline void widen(const std::byte* halves, float* floats, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 32; v += 8) widen8(halves + (i + v) * 2, floats + i + v);
  }
  for (; i + 8 <= count; i += 8) widen8(halves + i * 2, floats + i);
  if (i < count) {
    alignas(16) std::uint16_t in[8]{};
    alignas(32) float out[8];
    std::memcpy(in, halves + i * 2, (count - i) * 2);
    _mm256_store_ps(out, _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(in))));
    std::memcpy(floats + i, out, (count - i) * sizeof(float));
  }
}

/// Lanes 0-3, 4-7, 8-11, 12-15 in the order of reference::sum_lanes.
DMLREF_TARGET_AVX2 inline double sum_lanes(__m256d a, __m256d b, __m256d c, __m256d d) noexcept {
  const __m256d four = _mm256_add_pd(_mm256_add_pd(a, c), _mm256_add_pd(b, d));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/// The lanes in registers.
struct Accumulators {
  __m256d sum[4];
  __m256d square[4];
};

DMLREF_TARGET_AVX2 inline Accumulators no_lanes() noexcept {
  Accumulators lanes;
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) lanes.sum[v] = lanes.square[v] = _mm256_setzero_pd();
  return lanes;
}
DMLREF_TARGET_AVX2 inline SumAndSquare total(const Accumulators& lanes) noexcept {
  const auto& [s, q] = lanes;
  return {sum_lanes(s[0], s[1], s[2], s[3]), sum_lanes(q[0], q[1], q[2], q[3])};
}

DMLREF_TARGET_AVX2 inline void add_block(Accumulators& lanes, const float* floats) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) {
    const __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(floats + 4 * v));
    lanes.sum[v] = _mm256_add_pd(lanes.sum[v], x);
    lanes.square[v] = _mm256_fmadd_pd(x, x, lanes.square[v]);
  }
}

/// Adds to the lanes, a multiple of 16 elements unless they are the chunk's last: what is left of a block is taken as
/// zeros, which change no plain sum; where `shifted`, a mask leaves them out. `ask`: for the lines of `output`, which
/// are written next.
template <bool shifted, bool keep, bool ask>
DMLREF_TARGET_AVX2 inline void add_to(Accumulators& lanes, const std::byte* floats, std::size_t count, double pivot,
                                      double* wide, const std::byte* output) noexcept {
  const __m256d p = _mm256_set1_pd(pivot);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    if constexpr (ask) __builtin_prefetch(output + i * sizeof(float), 1);
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(floats_at(floats, i + 4 * v)));
      if constexpr (keep) _mm256_storeu_pd(wide + i + 4 * v, x);
      if constexpr (shifted) x = _mm256_sub_pd(x, p);
      lanes.sum[v] = _mm256_add_pd(lanes.sum[v], x);
      lanes.square[v] = _mm256_fmadd_pd(x, x, lanes.square[v]);
    }
  }
  if (i < count) {
    alignas(32) float last[16]{};
    std::memcpy(last, floats + i * sizeof(float), (count - i) * sizeof(float));
    const __m256i n = _mm256_set1_epi64x(static_cast<long long>(count - i));
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      __m256d x = _mm256_cvtps_pd(_mm_load_ps(last + 4 * v));
      if constexpr (keep) _mm256_storeu_pd(wide + i + 4 * v, x);
      if constexpr (shifted) {
        const auto lane = static_cast<long long>(4 * v);
        const __m256i counts = _mm256_cmpgt_epi64(n, _mm256_setr_epi64x(lane, lane + 1, lane + 2, lane + 3));
        x = _mm256_and_pd(_mm256_sub_pd(x, p), _mm256_castsi256_pd(counts));
      }
      lanes.sum[v] = _mm256_add_pd(lanes.sum[v], x);
      lanes.square[v] = _mm256_fmadd_pd(x, x, lanes.square[v]);
    }
  }
}

template <bool shifted, bool keep, bool ask>
DMLREF_TARGET_AVX2 inline SumAndSquare sums_of(const std::byte* floats, std::size_t count, double pivot, double* wide,
                                               const std::byte* output) noexcept {
  Accumulators lanes = no_lanes();
  add_to<shifted, keep, ask>(lanes, floats, count, pivot, wide, output);
  return total(lanes);
}
DMLREF_TARGET_AVX2 inline SumAndSquare sums(const std::byte* floats, std::size_t count, double* wide,
                                            const std::byte* output) noexcept {
  if (output != nullptr) {
    return wide != nullptr ? sums_of<false, true, true>(floats, count, 0.0, wide, output)
                           : sums_of<false, false, true>(floats, count, 0.0, nullptr, output);
  }
  return wide != nullptr ? sums_of<false, true, false>(floats, count, 0.0, wide, nullptr)
                         : sums_of<false, false, false>(floats, count, 0.0, nullptr, nullptr);
}
DMLREF_TARGET_AVX2 inline SumAndSquare shifted_sums(const std::byte* floats, std::size_t count, double pivot) noexcept {
  return sums_of<true, false, false>(floats, count, pivot, nullptr, nullptr);
}

DMLREF_TARGET_AVX2 inline SumAndSquare piece_sums(const std::byte* from, const Piece* pieces, std::size_t count,
                                                  std::int64_t ahead) noexcept {
  Accumulators lanes = no_lanes();
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    for (std::size_t i = 0; i < pieces[p].count; i += 16) {
      const float* const x = floats_at(start, i);
      _mm_prefetch(reinterpret_cast<const char*>(x) + ahead, _MM_HINT_T1);
      add_block(lanes, x);
    }
  }
  return total(lanes);
}

DMLREF_TARGET_AVX2 inline __m256 absolute(__m256 x) noexcept { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }

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

template <Finish finish>
constexpr std::size_t stored_bytes32 = finish == Finish::values ? sizeof(double) : sizeof(float);
template <Finish finish>
constexpr std::size_t stored_bytes16 = finish == Finish::values ? sizeof(float) : sizeof(half);

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

/// Eight float values finished and stored as halves (Finish::values: as they are).
template <Finish finish>
DMLREF_TARGET_AVX2 inline void store16(std::byte* to, std::size_t i, __m256 value, __m256 alpha) noexcept {
  if constexpr (finish == Finish::values) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to) + i, value);
  } else {
    __m256 result = value;
    if constexpr (finish == Finish::relu) result = _mm256_max_ps(_mm256_setzero_ps(), value);
    if constexpr (finish == Finish::unit) {
      result = _mm256_max_ps(_mm256_setzero_ps(), _mm256_min_ps(_mm256_set1_ps(1.0f), value));
    }
    if constexpr (finish == Finish::leaky_relu) {
      result =
          _mm256_blendv_ps(value, _mm256_mul_ps(value, alpha), _mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_LT_OQ));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * 2), _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
  }
  static_cast<void>(alpha);
}

/// Appends the numbers of the set bits below `limit`.
inline std::size_t list_doubtful(unsigned mask, std::size_t first, std::size_t limit, std::uint16_t* list,
                                 std::size_t count) noexcept {
  for (; mask != 0; mask &= mask - 1) {
    const std::size_t element = first + static_cast<std::size_t>(__builtin_ctz(mask));
    if (element < limit) list[count++] = static_cast<std::uint16_t>(element);
  }
  return count;
}

DMLREF_TARGET_AVX2 inline __m256 doubtful_of(__m256 value, __m256 doubt) noexcept {
  return _mm256_cmp_ps(absolute(value), doubt, _CMP_NGE_UQ);
}
DMLREF_TARGET_AVX2 inline unsigned mask_bits(__m256 mask) noexcept {
  return static_cast<unsigned>(_mm256_movemask_ps(mask));
}
/// Appends the numbers of the doubtful elements of four vectors, the first of which begin `step` apart. One branch for
/// all four: a branch for each costs more than the rest of such a row.
DMLREF_TARGET_AVX2 inline std::size_t list_of_four(const __m256 (&low)[4], std::size_t first, std::size_t step,
                                                   std::uint16_t* list, std::size_t count) noexcept {
  const __m256 any = _mm256_or_ps(_mm256_or_ps(low[0], low[1]), _mm256_or_ps(low[2], low[3]));
  if (mask_bits(any) == 0) return count;
  for (std::size_t v = 0; v < 4; ++v) count = list_doubtful(mask_bits(low[v]), first + step * v, SIZE_MAX, list, count);
  return count;
}

/// What rows of float16 are made of: eight elements as floats, which they are already or become here.
struct FromFloats {
  static constexpr std::size_t size = sizeof(float);
  DMLREF_TARGET_AVX2 static __m256 load8(const std::byte* from) noexcept {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
};
struct FromHalves {
  static constexpr std::size_t size = sizeof(half);
  DMLREF_TARGET_AVX2 static __m256 load8(const std::byte* from) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
};

/// A Line16 in registers.
struct LineVectors {
  __m256 shift, slope, offset, doubt, alpha;
};
DMLREF_TARGET_AVX2 inline LineVectors vectors_of(const Line16& line, float alpha) noexcept {
  return {_mm256_set1_ps(line.shift), _mm256_set1_ps(line.slope), _mm256_set1_ps(line.offset),
          _mm256_set1_ps(line.doubt), _mm256_set1_ps(alpha)};
}

template <class Source, bool shifted>
DMLREF_TARGET_AVX2 inline __m256 value16(const std::byte* from, const LineVectors& line) noexcept {
  __m256 x = Source::load8(from);
  if constexpr (shifted) x = _mm256_sub_ps(x, line.shift);
  return _mm256_fmadd_ps(x, line.slope, line.offset);
}
template <Finish finish, class Source, bool shifted>
DMLREF_TARGET_AVX2 inline __m256 block16(const std::byte* from, std::byte* to, std::size_t i,
                                         const LineVectors& line) noexcept {
  const __m256 value = value16<Source, shifted>(from, line);
  store16<finish>(to, i, value, line.alpha);
  return doubtful_of(value, line.doubt);
}

/// Normalizes `count` elements, numbers `first` on of their row, and lists the doubtful ones behind `doubtful` others.
template <Finish finish, class Source, bool shifted>
DMLREF_TARGET_AVX2 inline std::size_t listed16(const std::byte* from, std::byte* to, std::size_t count,
                                               const LineVectors& line, std::size_t first, std::uint16_t* list,
                                               std::size_t doubtful) noexcept {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256 low[4];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      const std::size_t at = i + 8 * v;
      low[v] = block16<finish, Source, shifted>(from + at * Source::size, to, at, line);
    }
    doubtful = list_of_four(low, first + i, 8, list, doubtful);
  }
  for (; i + 8 <= count; i += 8) {
    const __m256 low = block16<finish, Source, shifted>(from + i * Source::size, to, i, line);
    doubtful = list_doubtful(mask_bits(low), first + i, SIZE_MAX, list, doubtful);
  }
  if (i < count) {
    Tail tail{};
    std::memcpy(tail.from, from + i * Source::size, (count - i) * Source::size);
    const __m256 low = block16<finish, Source, shifted>(reinterpret_cast<const std::byte*>(tail.from),
                                                        reinterpret_cast<std::byte*>(tail.to), 0, line);
    std::memcpy(to + i * stored_bytes16<finish>, tail.to, (count - i) * stored_bytes16<finish>);
    doubtful = list_doubtful(mask_bits(low), first + i, first + count, list, doubtful);
  }
  return doubtful;
}

/// Whether the least magnitude of some lines' results may be looked for, which costs less than a list, at the risk that
/// both are wanted: where no bias makes doubts frequent.
DMLREF_TARGET_AVX2 inline bool seldom_doubtful(__m256 doubt) noexcept {
  return _mm256_movemask_ps(_mm256_cmp_ps(doubt, _mm256_set1_ps(0x1p-16f), _CMP_LT_OQ)) == 0xFF;
}

DMLREF_TARGET_AVX2 inline __m256i joined(__m128i low, __m128i high) noexcept { return _mm256_set_m128i(high, low); }
DMLREF_TARGET_AVX2 inline __m128i to_halves(__m256 floats) noexcept {
  return _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT);
}
DMLREF_TARGET_AVX2 inline __m256i magnitude16(__m256i halves) noexcept {
  return _mm256_and_si256(halves, _mm256_set1_epi16(0x7FFF));
}
/// Sixteen values rounded.
template <class Source, bool shifted>
DMLREF_TARGET_AVX2 inline __m256i rounded16(const std::byte* from, const LineVectors& low,
                                            const LineVectors& high) noexcept {
  return joined(to_halves(value16<Source, shifted>(from, low)),
                to_halves(value16<Source, shifted>(from + 8 * Source::size, high)));
}
/// Whether results of these magnitudes may be below the doubts of their values: rounding keeps the order.
DMLREF_TARGET_AVX2 inline bool any_low16(__m256i least, __m256 doubt_low, __m256 doubt_high) noexcept {
  const __m256i doubt = joined(to_halves(doubt_low), to_halves(doubt_high));
  return _mm256_movemask_epi8(_mm256_cmpgt_epi16(least, doubt)) != -1;
}

/// Normalizes `count` elements; `least` collects the magnitudes of their results, as halves.
template <class Source, bool shifted>
DMLREF_TARGET_AVX2 inline void quick16(const std::byte* from, std::byte* to, std::size_t count, const LineVectors& line,
                                       __m256i& least) noexcept {
  __m256i low = least;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i result = rounded16<Source, shifted>(from + i * Source::size, line, line);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * sizeof(half)), result);
    low = _mm256_min_epu16(low, magnitude16(result));
  }
  if (i < count) {
    // The last element again and again: it does not change the least value.
    const std::size_t n = count - i;
    Tail tail;
    auto* const space = reinterpret_cast<std::byte*>(tail.from);
    for (std::size_t k = 0; k < 16; ++k) {
      std::memcpy(space + k * Source::size, from + (i + (k < n ? k : n - 1)) * Source::size, Source::size);
    }
    const __m256i result = rounded16<Source, shifted>(space, line, line);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(tail.to), result);
    std::memcpy(to + i * sizeof(half), tail.to, n * sizeof(half));
    low = _mm256_min_epu16(low, magnitude16(result));
  }
  least = low;
}

template <Finish finish, bool shifted>
DMLREF_TARGET_AVX2 inline std::size_t row16_of(const Row16& row) noexcept {
  const LineVectors line = vectors_of(row.line, row.alpha);
  const auto* const from = reinterpret_cast<const std::byte*>(row.from);
  if constexpr (finish == Finish::identity) {
    if (seldom_doubtful(line.doubt)) {
      __m256i least = _mm256_set1_epi16(0x7FFF);
      quick16<FromFloats, shifted>(from, row.to, row.count, line, least);
      if (!any_low16(least, line.doubt, line.doubt)) return 0;
    }
  }
  return listed16<finish, FromFloats, shifted>(from, row.to, row.count, line, 0, row.doubtful, 0);
}
template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t row16(const Row16& row) noexcept {
  return row.line.shift == 0.0f ? row16_of<finish, false>(row) : row16_of<finish, true>(row);
}

template <Finish finish, bool shifted>
DMLREF_TARGET_AVX2 inline std::size_t pieces16_of(const Pieces16& chunk) noexcept {
  const LineVectors line = vectors_of(chunk.line, chunk.alpha);
  const Piece* const end = chunk.pieces + chunk.count;
  if constexpr (finish == Finish::identity) {
    if (seldom_doubtful(line.doubt)) {
      __m256i least = _mm256_set1_epi16(0x7FFF);
      for (const Piece* piece = chunk.pieces; piece != end; ++piece) {
        std::byte* const to = chunk.to + piece->to;
        if (chunk.ahead != 0) prefetch<1>(to + chunk.ahead, piece->count * sizeof(half));
        quick16<FromHalves, shifted>(chunk.from + piece->from, to, piece->count, line, least);
      }
      if (!any_low16(least, line.doubt, line.doubt)) return 0;
    }
  }
  std::size_t first = 0;
  std::size_t doubtful = 0;
  for (const Piece* piece = chunk.pieces; piece != end; ++piece) {
    std::byte* const to = chunk.to + piece->to;
    if (chunk.ahead != 0) prefetch<1>(to + chunk.ahead, piece->count * sizeof(half));
    doubtful = listed16<finish, FromHalves, shifted>(chunk.from + piece->from, to, piece->count, line, first,
                                                     chunk.doubtful, doubtful);
    first += piece->count;
  }
  return doubtful;
}
template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t pieces16(const Pieces16& chunk) noexcept {
  return chunk.line.shift == 0.0f ? pieces16_of<finish, false>(chunk) : pieces16_of<finish, true>(chunk);
}

template <Finish finish>
DMLREF_TARGET_AVX2 inline __m256 each_block16(const float* from, std::byte* to, std::size_t i, const float* scale,
                                              const float* bias, __m256 shift, __m256 rate, __m256 rest,
                                              __m256 slope_doubt, __m256 alpha) noexcept {
  const __m256 b = _mm256_loadu_ps(bias);
  const __m256 slope = _mm256_mul_ps(rate, _mm256_loadu_ps(scale));
  const __m256 offset = _mm256_fnmadd_ps(rest, slope, b);
  const __m256 doubt =
      _mm256_fmadd_ps(absolute(slope), slope_doubt, _mm256_mul_ps(absolute(b), _mm256_set1_ps(0x1p-9f)));
  const __m256 value = _mm256_fmadd_ps(_mm256_sub_ps(_mm256_loadu_ps(from), shift), slope, offset);
  store16<finish>(to, i, value, alpha);
  return doubtful_of(value, doubt);
}

template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t each_row16(const EachRow16& row) noexcept {
  const __m256 shift = _mm256_set1_ps(row.shift);
  const __m256 rate = _mm256_set1_ps(row.rate);
  const __m256 rest = _mm256_set1_ps(row.rest);
  const __m256 slope_doubt = _mm256_set1_ps(row.slope_doubt);
  const __m256 alpha = _mm256_set1_ps(row.alpha);
  const float* const from = row.from;
  const float* const scales = row.scale;
  const float* const biases = row.bias;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  std::size_t doubtful = 0;
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256 low[4];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      const std::size_t at = i + 8 * v;
      low[v] = each_block16<finish>(from + at, to, at, scales + at, biases + at, shift, rate, rest, slope_doubt, alpha);
    }
    doubtful = list_of_four(low, i, 8, row.doubtful, doubtful);
  }
  for (; i + 8 <= count; i += 8) {
    const __m256 low =
        each_block16<finish>(from + i, to, i, scales + i, biases + i, shift, rate, rest, slope_doubt, alpha);
    doubtful = list_doubtful(mask_bits(low), i, count, row.doubtful, doubtful);
  }
  if (i < row.count) {
    const std::size_t n = row.count - i;
    Tail tail{};
    alignas(32) float scale[8]{};
    alignas(32) float bias[8]{};
    std::memcpy(tail.from, row.from + i, n * sizeof(float));
    std::memcpy(scale, row.scale + i, n * sizeof(float));
    std::memcpy(bias, row.bias + i, n * sizeof(float));
    const __m256 low = each_block16<finish>(tail.from, reinterpret_cast<std::byte*>(tail.to), 0, scale, bias, shift,
                                            rate, rest, slope_doubt, alpha);
    std::memcpy(row.to + i * stored_bytes16<finish>, tail.to, n * stored_bytes16<finish>);
    doubtful = list_doubtful(mask_bits(low), i, row.count, row.doubtful, doubtful);
  }
  return doubtful;
}

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{
      widen,
      sums,
      shifted_sums,
      piece_sums,
      {row32<identity>, row32<relu>, row32<leaky_relu>, row32<unit>, row32<values>},
      {each_row32<identity>, each_row32<relu>, each_row32<leaky_relu>, each_row32<unit>, each_row32<values>},
      {pieces32<identity>, pieces32<relu>, pieces32<leaky_relu>, pieces32<unit>},
      {row16<identity>, row16<relu>, row16<leaky_relu>, row16<unit>, row16<values>},
      {pieces16<identity>, pieces16<relu>, pieces16<leaky_relu>, pieces16<unit>},
      {each_row16<identity>, each_row16<relu>, each_row16<leaky_relu>, each_row16<unit>, each_row16<values>},
      1024};
  return table;
}

}  // namespace fast::normalization::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
