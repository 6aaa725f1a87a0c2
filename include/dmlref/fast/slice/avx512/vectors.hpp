// vectors.hpp: loads and stores of lines, whole and in part.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

DMLREF_TARGET_AVX512VNNI inline __m512i load64(const std::byte* p) noexcept { return _mm512_loadu_si512(p); }
DMLREF_TARGET_AVX512VNNI inline void store64(std::byte* p, __m512i v) noexcept { _mm512_storeu_si512(p, v); }
DMLREF_TARGET_AVX512VNNI inline void stream64(std::byte* p, __m512i v) noexcept {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v);
}

/// The bytes whose bits are set.
DMLREF_TARGET_AVX512VNNI inline void store_part(std::byte* p, std::uint64_t bytes, __m512i v) noexcept {
  _mm512_mask_storeu_epi8(p, static_cast<__mmask64>(bytes), v);
}

/// The lowest `count` of 64 bits, 0 to 64.
inline std::uint64_t lowest(std::size_t count) noexcept { return count >= 64 ? ~0ull : (1ull << count) - 1; }

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
