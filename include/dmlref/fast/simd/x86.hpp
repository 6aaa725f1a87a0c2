// x86.hpp: vectors of 256 and of 512 bits as far as one source serves both, and no more than such sources need. A
// source is included once per target, where V is one of these. Zips, packs and shuffles stay within 128 bits.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::simd {

inline std::int32_t load_dword(const void* from) noexcept {
  std::int32_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

namespace avx2 {

#define DMLREF_OPERATION DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE static

struct Vector {
  using Bits = __m256i;
  using Floats = __m256;
  static constexpr std::ptrdiff_t lanes = 8;  ///< of 32 bits
  static constexpr int registers = 16;

  DMLREF_OPERATION Bits load(const void* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  DMLREF_OPERATION void store(void* to, Bits v) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
  DMLREF_OPERATION Floats load_floats(const float* from) noexcept { return _mm256_loadu_ps(from); }
  DMLREF_OPERATION Bits broadcast(const void* dword) noexcept { return _mm256_set1_epi32(load_dword(dword)); }
  DMLREF_OPERATION Bits all(std::int32_t x) noexcept { return _mm256_set1_epi32(x); }
  DMLREF_OPERATION Bits all_bytes(std::uint8_t x) noexcept { return _mm256_set1_epi8(static_cast<char>(x)); }
  DMLREF_OPERATION Floats all(float x) noexcept { return _mm256_set1_ps(x); }

  DMLREF_OPERATION Bits bits(Floats x) noexcept { return _mm256_castps_si256(x); }
  DMLREF_OPERATION Floats as_floats(Bits x) noexcept { return _mm256_castsi256_ps(x); }
  DMLREF_OPERATION Floats converted(Bits integers) noexcept { return _mm256_cvtepi32_ps(integers); }
  DMLREF_OPERATION Bits converted(Floats x) noexcept { return _mm256_cvtps_epi32(x); }

  DMLREF_OPERATION Floats sum(Floats a, Floats b) noexcept { return _mm256_add_ps(a, b); }
  DMLREF_OPERATION Floats difference(Floats a, Floats b) noexcept { return _mm256_sub_ps(a, b); }
  DMLREF_OPERATION Floats product(Floats a, Floats b) noexcept { return _mm256_mul_ps(a, b); }
  DMLREF_OPERATION Floats fused(Floats a, Floats b, Floats c) noexcept { return _mm256_fmadd_ps(a, b, c); }
  DMLREF_OPERATION Floats least(Floats a, Floats b) noexcept { return _mm256_min_ps(a, b); }  ///< b if either is NaN
  DMLREF_OPERATION Floats most(Floats a, Floats b) noexcept { return _mm256_max_ps(a, b); }   ///< the same
  DMLREF_OPERATION Floats magnitude(Floats x) noexcept {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF)));
  }
  DMLREF_OPERATION unsigned beyond(Floats x, Floats limit) noexcept {  ///< a bit for each lane
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(x, limit, _CMP_NLE_UQ)));
  }
  DMLREF_OPERATION Bits difference(Bits a, Bits b) noexcept { return _mm256_sub_epi32(a, b); }
  DMLREF_OPERATION Bits either(Bits a, Bits b) noexcept { return _mm256_xor_si256(a, b); }  ///< exclusive or
  DMLREF_OPERATION Bits least_words(Bits a, Bits b) noexcept { return _mm256_min_epu16(a, b); }
  /// sums + the two products of words in each lane.
  DMLREF_OPERATION Bits plus_word_products(Bits sums, Bits a, Bits b) noexcept {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
  }

  DMLREF_OPERATION Bits zip_low_bytes(Bits a, Bits b) noexcept { return _mm256_unpacklo_epi8(a, b); }
  DMLREF_OPERATION Bits zip_high_bytes(Bits a, Bits b) noexcept { return _mm256_unpackhi_epi8(a, b); }
  DMLREF_OPERATION Bits zip_low_words(Bits a, Bits b) noexcept { return _mm256_unpacklo_epi16(a, b); }
  DMLREF_OPERATION Bits zip_high_words(Bits a, Bits b) noexcept { return _mm256_unpackhi_epi16(a, b); }
  DMLREF_OPERATION Bits pack_dwords(Bits a, Bits b) noexcept { return _mm256_packs_epi32(a, b); }
  DMLREF_OPERATION Bits pack_words(Bits a, Bits b) noexcept { return _mm256_packs_epi16(a, b); }
  DMLREF_OPERATION Bits shuffle(Bits x, __m128i pattern) noexcept {
    return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(pattern));
  }
  /// The first 32 bits of each 128, then the second ones, ….
  DMLREF_OPERATION Bits across(Bits x) noexcept {
    return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  /// Nothing, but g++ then keeps an accumulator in one register: it would copy and even store it in the loop for the
  /// sake of what comes after.
  DMLREF_OPERATION void pin(Bits& sums) noexcept { __asm__("" : "+x"(sums)); }
};

#undef DMLREF_OPERATION

}  // namespace avx2

namespace avx512 {

#define DMLREF_OPERATION DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static

/// As avx2::Vector.
struct Vector {
  using Bits = __m512i;
  using Floats = __m512;
  static constexpr std::ptrdiff_t lanes = 16;
  static constexpr int registers = 32;

  DMLREF_OPERATION Bits load(const void* from) noexcept { return _mm512_loadu_si512(from); }
  DMLREF_OPERATION void store(void* to, Bits v) noexcept { _mm512_storeu_si512(to, v); }
  DMLREF_OPERATION Floats load_floats(const float* from) noexcept { return _mm512_loadu_ps(from); }
  DMLREF_OPERATION Bits broadcast(const void* dword) noexcept { return _mm512_set1_epi32(load_dword(dword)); }
  DMLREF_OPERATION Bits all(std::int32_t x) noexcept { return _mm512_set1_epi32(x); }
  DMLREF_OPERATION Bits all_bytes(std::uint8_t x) noexcept { return _mm512_set1_epi8(static_cast<char>(x)); }
  DMLREF_OPERATION Floats all(float x) noexcept { return _mm512_set1_ps(x); }

  DMLREF_OPERATION Bits bits(Floats x) noexcept { return _mm512_castps_si512(x); }
  DMLREF_OPERATION Floats as_floats(Bits x) noexcept { return _mm512_castsi512_ps(x); }
  DMLREF_OPERATION Floats converted(Bits integers) noexcept { return _mm512_cvtepi32_ps(integers); }
  DMLREF_OPERATION Bits converted(Floats x) noexcept { return _mm512_cvtps_epi32(x); }

  DMLREF_OPERATION Floats sum(Floats a, Floats b) noexcept { return _mm512_add_ps(a, b); }
  DMLREF_OPERATION Floats difference(Floats a, Floats b) noexcept { return _mm512_sub_ps(a, b); }
  DMLREF_OPERATION Floats product(Floats a, Floats b) noexcept { return _mm512_mul_ps(a, b); }
  DMLREF_OPERATION Floats fused(Floats a, Floats b, Floats c) noexcept { return _mm512_fmadd_ps(a, b, c); }
  DMLREF_OPERATION Floats least(Floats a, Floats b) noexcept { return _mm512_min_ps(a, b); }
  DMLREF_OPERATION Floats most(Floats a, Floats b) noexcept { return _mm512_max_ps(a, b); }
  DMLREF_OPERATION Floats magnitude(Floats x) noexcept { return _mm512_abs_ps(x); }
  DMLREF_OPERATION unsigned beyond(Floats x, Floats limit) noexcept {
    return _mm512_cmp_ps_mask(x, limit, _CMP_NLE_UQ);
  }
  DMLREF_OPERATION Bits difference(Bits a, Bits b) noexcept { return _mm512_sub_epi32(a, b); }
  DMLREF_OPERATION Bits either(Bits a, Bits b) noexcept { return _mm512_xor_si512(a, b); }
  DMLREF_OPERATION Bits least_words(Bits a, Bits b) noexcept { return _mm512_min_epu16(a, b); }
  DMLREF_OPERATION Bits plus_word_products(Bits sums, Bits a, Bits b) noexcept {
    return _mm512_dpwssd_epi32(sums, a, b);
  }

  DMLREF_OPERATION Bits zip_low_bytes(Bits a, Bits b) noexcept { return _mm512_unpacklo_epi8(a, b); }
  DMLREF_OPERATION Bits zip_high_bytes(Bits a, Bits b) noexcept { return _mm512_unpackhi_epi8(a, b); }
  DMLREF_OPERATION Bits zip_low_words(Bits a, Bits b) noexcept { return _mm512_unpacklo_epi16(a, b); }
  DMLREF_OPERATION Bits zip_high_words(Bits a, Bits b) noexcept { return _mm512_unpackhi_epi16(a, b); }
  DMLREF_OPERATION Bits pack_dwords(Bits a, Bits b) noexcept { return _mm512_packs_epi32(a, b); }
  DMLREF_OPERATION Bits pack_words(Bits a, Bits b) noexcept { return _mm512_packs_epi16(a, b); }
  DMLREF_OPERATION Bits shuffle(Bits x, __m128i pattern) noexcept {
    return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(pattern));
  }
  DMLREF_OPERATION Bits across(Bits x) noexcept {
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x);
  }
  DMLREF_OPERATION void pin(Bits& sums) noexcept { __asm__("" : DMLREF_IN_ZMM(sums)); }
};

#undef DMLREF_OPERATION

}  // namespace avx512

}  // namespace fast::simd
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
