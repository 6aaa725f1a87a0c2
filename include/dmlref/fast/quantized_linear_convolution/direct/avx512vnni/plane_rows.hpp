// plane_rows.hpp: rows of planes that are read where they are, and of the output: strips of 64, 32 or 16 bytes of one,
// two or four planes in a vector.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

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
  std::ptrdiff_t whole_rows = 0;   // output rows from the first one behind which more of this call's rows are written
  __mmask64 there[2];              // the columns of a load that the row has
  int masks = 0;                   // a bit for each load in which there are columns beyond the row, or signed ones
  __m512i inside[2], outside[2];   // (pixels & inside) ^ outside is what counts
  __m512i fills;
  __m512i patterns[4];
};

/// `stride`, and `apart`, as the kernel has them.
template <int Planes>
DMLREF_TARGET_AVX512VNNI inline Strip make_strip(const LaneArgs& t, const PlaneArgs& p, std::ptrdiff_t x,
                                                 std::ptrdiff_t stride, std::ptrdiff_t apart) noexcept {
  constexpr std::ptrdiff_t bytes = 64 / Planes;
  const std::ptrdiff_t columns = bytes / stride;
  Strip s;
  s.x = x;
  s.used = p.out_width - x < columns ? p.out_width - x : columns;
  s.column = x * stride - p.pad_x;
  s.reach = bytes + apart;
  s.whole_rows = p.out_rows;
  if (s.used < columns) {
    const std::ptrdiff_t room = p.out_rows * p.out_width - x - columns;
    s.whole_rows = p.dst_row_step != p.out_width || room < 0 ? 0 : room / p.out_width + 1;
  }
  const auto within = [](std::ptrdiff_t v) { return v < 0 ? 0 : v > bytes ? bytes : v; };
  const auto first_bits = [](std::ptrdiff_t n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; };
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(p.flip));
  s.fills = _mm512_set1_epi8(static_cast<char>(p.fill));
  const std::ptrdiff_t needed = (s.used - 1) * stride + p.kernel_reach + 1;
  for (std::ptrdiff_t load = 0; load < 2; ++load) {
    const std::ptrdiff_t first = s.column + load * apart;
    const std::ptrdiff_t end = within(p.width - first);
    const std::uint64_t there = first_bits(end) & ~first_bits(within(-first));
    const std::uint64_t wanted = first_bits(within(needed - load * apart));
    if (p.flip != 0 || (wanted & ~there) != 0) s.masks |= 1 << load;
    std::uint64_t bits = there;
    for (int copies = 1; copies < Planes; copies *= 2) bits |= bits << bytes * copies;
    const auto mask = static_cast<__mmask64>(bits);
    s.there[load] = mask;
    s.inside[load] = _mm512_maskz_mov_epi8(mask, _mm512_set1_epi8(-1));
    s.outside[load] = _mm512_mask_mov_epi8(s.fills, mask, flips);
  }
  s.patterns[0] = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(t.pattern)));
  s.patterns[1] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(1));
  s.patterns[2] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(8));
  s.patterns[3] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(9));
  return s;
}

/// The first of some planes that are made together.
struct PlaneGroup {
  const std::uint8_t* src;
  std::uint8_t* dst;
  const std::byte* channel;
  bool safe;                 // all that vectors read lies within the tensor
  std::ptrdiff_t safe_rows;  // if not, that is so from the second row until this one
};

template <int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline PlaneGroup make_group(const LaneArgs& t, const PlaneArgs& p,
                                                                             const Strip& strip,
                                                                             std::ptrdiff_t first) noexcept {
  PlaneGroup group{p.src + first * p.plane_step, p.dst + first * p.dst_plane_step, t.weights + first * t.weight_step,
                   true, 0};
  const std::ptrdiff_t begin = group.src - p.tensor + strip.column;
  const std::ptrdiff_t last = begin + (Planes - 1) * p.plane_step + (p.rows - 1) * p.row_step;
  group.safe = begin >= 0 && last + strip.reach <= p.tensor_bytes;
  if (!group.safe && begin + p.row_step >= 0) {
    const std::ptrdiff_t room = p.tensor_bytes - strip.reach - begin - (Planes - 1) * p.plane_step;
    group.safe_rows = room < 0 ? 0 : room / (p.row_step > 0 ? p.row_step : 1) + 1;
    if (group.safe_rows > p.rows) group.safe_rows = p.rows;
  }
  return group;
}

/// What sums of a group are, whether any quad has second parts of weights, and any spare slot one.
struct GroupKind {
  bool floats = true, wide = false, spare = false;
};

template <int Planes>
[[gnu::always_inline]] inline GroupKind kind_of(const LaneArgs& t, const std::byte* channel) noexcept {
  GroupKind kind;
#pragma GCC unroll 4
  for (int l = 0; l < Planes; ++l, channel += t.weight_step) {
    std::int32_t sum;
    std::uint32_t wide, spare;
    std::memcpy(&sum, channel + offsetof(ChannelData, rounded) + offsetof(RoundedSums, sum), sizeof sum);
    std::memcpy(&wide, channel + offsetof(ChannelData, wide), sizeof wide);
    kind.floats = kind.floats && sum != 0;
    std::memcpy(&spare, channel + offsetof(ChannelData, spare), sizeof spare);
    kind.wide = kind.wide || wide != 0;
    kind.spare = kind.spare || spare != 0;
  }
  return kind;
}

/// 16 bytes, `at` bytes from where each plane's channel begins, in every 128 bits of its part of the vector.
template <int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i in_parts(const std::byte* channel, std::ptrdiff_t step,
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

/// Spare slots repeat the taps that the group's channels choose.
template <int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void use_spare_slots(const LaneArgs& t, const PlaneGroup& group,
                                                                            Strip& strip) noexcept {
  const __m512i numbers = in_parts<Planes>(group.channel, t.weight_step, offsetof(ChannelData, spare));
  const __m512i less = _mm512_slli_epi32(_mm512_shuffle_epi32(numbers, _MM_PERM_AAAA), 24);
  for (__m512i& pattern : strip.patterns) pattern = _mm512_sub_epi8(pattern, less);
}
template <int Planes>
DMLREF_TARGET_AVX512VNNI inline Strip with_spare_slots(const LaneArgs& t, const PlaneGroup& group,
                                                       const Strip& strip) noexcept {
  Strip s = strip;
  use_spare_slots<Planes>(t, group, s);
  return s;
}

/// What load `Load` finds at `row` in the first plane, and at the same place in those that follow.
template <int Load, int Planes, bool Masked>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i row_pixels(const Strip& strip, bool safe,
                                                                          const std::uint8_t* row,
                                                                          std::ptrdiff_t plane_step) noexcept {
  __m512i pixels;
  if constexpr (Planes == 1) {
    pixels = __builtin_expect(safe, 1) ? _mm512_loadu_si512(row) : _mm512_maskz_loadu_epi8(strip.there[Load], row);
  } else if constexpr (Planes == 2) {
    const auto half = [&](std::ptrdiff_t l) DMLREF_TARGET_AVX512VNNI {
      const std::uint8_t* const at = row + l * plane_step;
      return __builtin_expect(safe, 1) ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))
                                       : _mm256_maskz_loadu_epi8(static_cast<__mmask32>(strip.there[Load]), at);
    };
    pixels = _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
  } else {
    const auto quarter = [&](std::ptrdiff_t l) DMLREF_TARGET_AVX512VNNI {
      const std::uint8_t* const at = row + l * plane_step;
      return __builtin_expect(safe, 1) ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(at))
                                       : _mm_maskz_loadu_epi8(static_cast<__mmask16>(strip.there[Load]), at);
    };
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(2)), quarter(3), 1);
    pixels = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  constexpr int and_xor = (0xF0 & 0xCC) ^ 0xAA;
  if constexpr (!Masked) return pixels;
  return _mm512_ternarylogic_epi64(pixels, strip.inside[Load], strip.outside[Load], and_xor);
}

/// What the channels of a group need; `weights` and `second` are quads of kernel rows.
struct PlaneConstants {
  __m512i weights[3], second[3], start;
  Epilogue epilogue;
  unsigned wide;  // a bit for each kernel row that has anything in `second`
};

template <int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void make_constants(const LaneArgs& t, const PlaneGroup& group,
                                                                           PlaneConstants& c) noexcept {
  constexpr std::size_t quads = sizeof(ChannelData);
  const auto parts = [&](std::size_t at)
                         DMLREF_TARGET_AVX512VNNI { return in_parts<Planes>(group.channel, t.weight_step, at); };
  const __m512i first = parts(quads), second = parts(quads + 8);
  c.weights[0] = _mm512_shuffle_epi32(first, _MM_PERM_AAAA);
  c.weights[1] = _mm512_shuffle_epi32(first, _MM_PERM_BBBB);
  c.weights[2] = _mm512_shuffle_epi32(first, _MM_PERM_CCCC);
  c.second[0] = _mm512_shuffle_epi32(second, _MM_PERM_BBBB);
  c.second[1] = _mm512_shuffle_epi32(second, _MM_PERM_CCCC);
  c.second[2] = _mm512_shuffle_epi32(second, _MM_PERM_DDDD);
  // A kernel row has bits 1, 5, 9 and 13, and so on.
  const unsigned quads_there = _mm512_test_epi32_mask(second, second);
  c.wide = (quads_there | quads_there >> 4 | quads_there >> 8 | quads_there >> 12) >> 1 & 7;
  c.epilogue.flip = _mm512_set1_epi8(static_cast<char>(t.flip));
}

/// What integer sums begin with, and what they are rounded with.
template <int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void use_integers(const LaneArgs& t, const PlaneGroup& group,
                                                                         PlaneConstants& c) noexcept {
  constexpr std::size_t band = offsetof(ChannelData, band);
  static_assert(offsetof(ChannelData, sum) == band + 4 && offsetof(ChannelData, scale) == band + 8);
  const __m512i numbers = in_parts<Planes>(group.channel, t.weight_step, band);
  c.start = _mm512_shuffle_epi32(numbers, _MM_PERM_BBBB);
  c.epilogue.scale[0] = fixed_scale(_mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_CCCC)));
  c.epilogue.rounding = make_rounding(_mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_AAAA)), t.zero_point);
}

/// The same for sums that are floats.
template <int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void use_floats(const LaneArgs& t, const PlaneGroup& group,
                                                                       PlaneConstants& c) noexcept {
  static_assert(offsetof(RoundedSums, sum) == 0 && offsetof(RoundedSums, scale) == 4 &&
                offsetof(RoundedSums, shift) == 8);
  const __m512i numbers = in_parts<Planes>(group.channel, t.weight_step, offsetof(ChannelData, rounded));
  c.start = _mm512_shuffle_epi32(numbers, _MM_PERM_AAAA);
  c.epilogue.scale[0] = _mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_BBBB));
  c.epilogue.float_shift[0] = _mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_CCCC));
}

/// The first `count` bytes of 8, as two halves that overlap where there are four.
[[gnu::always_inline]] inline void store_some(std::uint8_t* to, std::uint64_t bytes, std::ptrdiff_t count) noexcept {
  if (count < 4) {
    for (std::ptrdiff_t i = 0; i < count; ++i, bytes >>= 8) to[i] = static_cast<std::uint8_t>(bytes);
    return;
  }
  std::memcpy(to, &bytes, 4);
  bytes >>= 8 * (count - 4);
  std::memcpy(to + count - 4, &bytes, 4);
}

/// The first `count` bytes of 16: halves that overlap, rather than masks, which are slow to store on Zen 4.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_some(std::uint8_t* to, __m128i bytes,
                                                                       std::ptrdiff_t count) noexcept {
  if (count < 8) return store_some(to, static_cast<std::uint64_t>(_mm_cvtsi128_si64(bytes)), count);
  const __m128i last = _mm_add_epi8(_mm_setr_epi8(-8, -7, -6, -5, -4, -3, -2, -1, 0, 0, 0, 0, 0, 0, 0, 0),
                                    _mm_set1_epi8(static_cast<char>(count)));
  _mm_storel_epi64(reinterpret_cast<__m128i_u*>(to), bytes);
  _mm_storel_epi64(reinterpret_cast<__m128i_u*>(to + count - 8), _mm_shuffle_epi8(bytes, last));
}

/// Stores part `Part` of a vector, of 16 or 32 bytes: in one instruction, where g++ takes a second one on the port that
/// shuffles.
template <int Part>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_16(std::uint8_t* to, __m512i bytes) noexcept {
  auto* const part = reinterpret_cast<__m128i_u*>(to);
  if constexpr (Part == 0) {
    _mm_storeu_si128(part, _mm512_castsi512_si128(bytes));
  } else {
#if DMLREF_EMULATE_AVX512
    _mm_storeu_si128(part, _mm512_extracti32x4_epi32(bytes, Part));
#else
    __asm__("vextracti32x4 {%2, %1, %0|%0, %1, %2}" : "=m"(*part) : "v"(bytes), "i"(Part));
#endif
  }
}
template <int Part>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_32(std::uint8_t* to, __m512i bytes) noexcept {
  auto* const part = reinterpret_cast<__m256i_u*>(to);
  if constexpr (Part == 0) {
    _mm256_storeu_si256(part, _mm512_castsi512_si256(bytes));
  } else {
#if DMLREF_EMULATE_AVX512
    _mm256_storeu_si256(part, _mm512_extracti64x4_epi64(bytes, Part));
#else
    __asm__("vextracti64x4 {%2, %1, %0|%0, %1, %2}" : "=m"(*part) : "v"(bytes), "i"(Part));
#endif
  }
}

/// The first `used` bytes of each plane's row in 128-bit parts from `Part` on, where `Left` parts are left of a row.
template <int Part, int Left>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_parts(std::uint8_t* to, std::ptrdiff_t used,
                                                                        __m512i bytes) noexcept {
  if (Left == 1 || used < 16) return store_some(to, _mm512_extracti32x4_epi32(bytes, Part), used);
  store_16<Part>(to, bytes);
  if constexpr (Left > 1) {
    if (used > 16) store_parts<Part + 1, Left - 1>(to + 16, used - 16, bytes);
  }
}

/// store_row, without a byte more than there are.
template <int Rows, int Row, int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_row_exactly(std::uint8_t* dst,
                                                                              std::ptrdiff_t plane_step,
                                                                              std::ptrdiff_t used,
                                                                              __m512i bytes) noexcept {
  constexpr int parts = 4 / Rows / Planes, first = 4 / Rows * Row;
  if constexpr (parts > 0) {
    store_parts<first, parts>(dst, used, bytes);
    if constexpr (Planes > 1) store_parts<first + parts, parts>(dst + plane_step, used, bytes);
    if constexpr (Planes > 2) {
      store_parts<first + 2 * parts, parts>(dst + 2 * plane_step, used, bytes);
      store_parts<first + 3 * parts, parts>(dst + 3 * plane_step, used, bytes);
    }
  } else {
    const __m128i low = _mm512_extracti32x4_epi32(bytes, first), high = _mm512_extracti32x4_epi32(bytes, first + 1);
    store_some(dst, static_cast<std::uint64_t>(_mm_cvtsi128_si64(low)), used);
    store_some(dst + plane_step, static_cast<std::uint64_t>(_mm_extract_epi64(low, 1)), used);
    store_some(dst + 2 * plane_step, static_cast<std::uint64_t>(_mm_cvtsi128_si64(high)), used);
    store_some(dst + 3 * plane_step, static_cast<std::uint64_t>(_mm_extract_epi64(high, 1)), used);
  }
}

/// An output row of each plane, the first one to `dst`: row `Row` of the `Rows` in a vector. `whole`: what lies behind
/// it is not yet final.
template <int Rows, int Row, int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_row(std::uint8_t* dst, std::ptrdiff_t plane_step,
                                                                      bool whole, std::ptrdiff_t used,
                                                                      __m512i bytes) noexcept {
  constexpr int each = 64 / Rows / Planes;
  if (__builtin_expect(!whole, 0)) return store_row_exactly<Rows, Row, Planes>(dst, plane_step, used, bytes);
  if constexpr (each == 64) {
    _mm512_storeu_si512(dst, bytes);
  } else if constexpr (each == 32) {
    store_32<Row>(dst, bytes);
    if constexpr (Planes == 2) store_32<1>(dst + plane_step, bytes);
  } else if constexpr (each == 16) {
    store_16<2 * Row>(dst, bytes);
    store_16<2 * Row + 1>(dst + plane_step, bytes);
    if constexpr (Planes == 4) {
      store_16<2>(dst + 2 * plane_step, bytes);
      store_16<3>(dst + 3 * plane_step, bytes);
    }
  } else {
    static_assert(each == 8 && Planes == 4);
    const __m128i low = _mm512_extracti32x4_epi32(bytes, 2 * Row), high = _mm512_extracti32x4_epi32(bytes, 2 * Row + 1);
    const std::int64_t parts[4] = {_mm_cvtsi128_si64(low), _mm_extract_epi64(low, 1), _mm_cvtsi128_si64(high),
                                   _mm_extract_epi64(high, 1)};
#pragma GCC unroll 4
    for (int l = 0; l < 4; ++l, dst += plane_step) std::memcpy(dst, &parts[l], 8);
  }
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
