// plane_rows.hpp: rows of planes that are read where they are, and of the output: strips of 64, 32 or 16 bytes of one,
// two or four planes in a vector.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/lanes.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/rows.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// Columns of all rows. Two loads make a vector's quads, `apart` bytes from each other.
struct Strip {
  std::ptrdiff_t x = 0, used = 0;  // the first output column, and how many there are
  std::ptrdiff_t column = 0;       // the first input column
  std::ptrdiff_t reach = 0;        // bytes from there that the loads read
  std::ptrdiff_t safe = 0;         // rows of the first plane that begin less far into the tensor may be read whole
  std::ptrdiff_t whole_rows = 0;   // output rows from the first one behind which more of this call's rows are written
  __m512i inside[2], outside[2];   // (pixels & inside) ^ outside is what counts
  __m512i patterns[4];             // quads of even outputs, of odd ones, and of those 8 bytes on
  alignas(64) std::uint8_t padding[128];
};

/// `stride`, and `apart`, as the kernel has them.
template <int Planes>
DMLREF_TARGET_AVX512VNNI inline Strip make_strip(const PlaneArgs& p, std::ptrdiff_t x, std::ptrdiff_t stride,
                                                 std::ptrdiff_t apart) noexcept {
  constexpr std::ptrdiff_t bytes = 64 / Planes;
  const std::ptrdiff_t columns = bytes / stride;
  Strip s;
  s.x = x;
  s.used = p.out.width - x < columns ? p.out.width - x : columns;
  s.column = x * stride - p.in.pad_x;
  s.reach = bytes + apart;
  s.safe = p.tensor_bytes - s.reach - (Planes - 1) * p.in_plane_step + 1;
  s.whole_rows = p.out.rows;
  if (s.used < columns) {
    const std::ptrdiff_t room = p.out.rows * p.out.width - x - columns;
    s.whole_rows = p.out.row_step != p.out.width || room < 0 ? 0 : room / p.out.width + 1;
  }
  const auto within = [](std::ptrdiff_t v) { return v < 0 ? 0 : v > bytes ? bytes : v; };
  const auto first_bits = [](std::ptrdiff_t n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; };
  const __m512i flips = V::all_bytes(p.in.flip), fills = V::all_bytes(p.in.fill);
  V::store(s.padding, V::either(fills, flips));
  V::store(s.padding + 64, V::either(fills, flips));
  for (std::ptrdiff_t load = 0; load < 2; ++load) {
    const std::ptrdiff_t first = s.column + load * apart;
    std::uint64_t bits = first_bits(within(p.in.width - first)) & ~first_bits(within(-first));
    for (int copies = 1; copies < Planes; copies *= 2) bits |= bits << bytes * copies;
    const auto mask = static_cast<__mmask64>(bits);
    s.inside[load] = _mm512_maskz_mov_epi8(mask, _mm512_set1_epi8(-1));
    s.outside[load] = _mm512_mask_mov_epi8(fills, mask, flips);
  }
  const __m128i columns_of_taps = _mm_set1_epi32(p.dilation == 1 ? 0x03020100 : 0x06040200);
  s.patterns[0] =
      _mm512_broadcast_i32x4(_mm_add_epi8(columns_of_taps, _mm_setr_epi32(0, 0x02020202, 0x04040404, 0x06060606)));
  s.patterns[1] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(1));
  s.patterns[2] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(8));
  s.patterns[3] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(9));
  return s;
}

/// 16 bytes, `at` bytes from where each plane's channel begins, in every 128 bits of its part of the vector.
template <int Planes>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI __m512i in_parts(const std::byte* channel, std::ptrdiff_t step,
                                                               std::size_t at) noexcept {
  const auto load = [&](int l) DMLREF_TARGET_AVX512VNNI {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(channel + l * step + at));
  };
  if constexpr (Planes == 1) return _mm512_broadcast_i32x4(load(0));
  if constexpr (Planes == 2) {
    const __m256i high = _mm256_broadcastsi128_si256(load(1));
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_broadcastsi128_si256(load(0))), high, 1);
  }
  constexpr int last = Planes - 1;
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(last & 1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(last & 2)), load(last), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// Where to read an input row of each plane.
struct RowSource {
  const std::uint8_t* row = nullptr;  // of the first plane
  std::ptrdiff_t plane_step = 0;
};

/// Copies a row of each plane from which vectors would read beyond the tensor.
template <int Planes>
[[gnu::noinline]] inline RowSource copy_edge(const PlaneArgs& p, const Strip& strip, std::ptrdiff_t row,
                                             std::uint8_t* copy) noexcept {
  const std::ptrdiff_t begin = strip.column < 0 ? -strip.column : 0;
  const std::ptrdiff_t left = p.in.width - strip.column, end = left < strip.reach ? left : strip.reach;
  constexpr std::ptrdiff_t step = 128 / Planes;
  for (int l = 0; l < Planes; ++l, row += p.in_plane_step) {
    for (std::ptrdiff_t i = begin; i < end; ++i) copy[l * step + i] = p.tensor[row + i];
  }
  return {copy, step};
}

/// Input row `y`, which begins `row` bytes into the tensor and may lie above or below the plane.
template <int Planes>
DMLREF_ALWAYS_INLINE RowSource source_of(const PlaneArgs& p, const Strip& strip, std::ptrdiff_t y, std::ptrdiff_t row,
                                         std::uint8_t* copy) noexcept {
  if (y < 0 || y >= p.in.rows) return {strip.padding, 0};
  if (__builtin_expect(row < 0 || row >= strip.safe, 0)) return copy_edge<Planes>(p, strip, row, copy);
  return {p.tensor + row, p.in_plane_step};
}

/// Load `Load` of a row of each plane.
template <int Load, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI __m512i row_pixels(const Strip& strip, const RowSource& source,
                                                                 std::ptrdiff_t at) noexcept {
  const std::uint8_t* const row = source.row + at;
  const auto half = [&](std::ptrdiff_t l) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(row + l * source.plane_step));
  };
  const auto quarter = [&](std::ptrdiff_t l) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(row + l * source.plane_step));
  };
  __m512i pixels;
  if constexpr (Planes == 1) {
    pixels = _mm512_loadu_si512(row);
  } else if constexpr (Planes == 2) {
    pixels = _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
  } else {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(2)), quarter(3), 1);
    pixels = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  constexpr int and_xor = (0xF0 & 0xCC) ^ 0xAA;
  return _mm512_ternarylogic_epi64(pixels, strip.inside[Load], strip.outside[Load], and_xor);
}

/// Part `Part` of a vector, of `Bytes`.
template <int Bytes, int Part>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void store_part(std::uint8_t* to, __m512i bytes) noexcept {
  if constexpr (Bytes == 64) {
    _mm512_storeu_si512(to, bytes);
  } else if constexpr (Bytes == 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to), _mm512_extracti64x4_epi64(bytes, Part));
  } else if constexpr (Bytes == 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to), _mm512_extracti32x4_epi32(bytes, Part));
  } else {
    const __m128i two = _mm512_extracti32x4_epi32(bytes, Part / 2);
    const std::int64_t one = Part % 2 == 0 ? _mm_cvtsi128_si64(two) : _mm_extract_epi64(two, 1);
    std::memcpy(to, &one, sizeof one);
  }
}

/// An output row of each plane, the first one to `dst`: of the `Rows` in a vector number `Row`, `used` bytes long.
/// `whole`: what lies behind it is not yet final.
template <int Rows, int Row, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void store_row(std::uint8_t* dst, std::ptrdiff_t plane_step, bool whole,
                                                             std::ptrdiff_t used, __m512i bytes) noexcept {
  constexpr int each = 64 / Rows / Planes, first = Row * Planes;
  if (__builtin_expect(whole, 1)) {
    store_part<each, first>(dst, bytes);
    if constexpr (Planes > 1) store_part<each, first + 1>(dst + plane_step, bytes);
    if constexpr (Planes > 2) store_part<each, first + 2>(dst + 2 * plane_step, bytes);
    if constexpr (Planes > 2) store_part<each, first + 3>(dst + 3 * plane_step, bytes);
  } else {
    alignas(64) std::uint8_t parts[64];
    _mm512_store_si512(parts, bytes);
    DMLREF_UNROLL
    for (int l = 0; l < Planes; ++l) copy_some<each>(dst + l * plane_step, parts + (first + l) * each, used);
  }
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
