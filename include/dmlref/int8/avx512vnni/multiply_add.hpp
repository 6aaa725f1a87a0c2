// multiply_add.hpp: the dot product of bytes, in place. A file of its own, because the emulation replaces it.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

/// _mm512_dpbusd_epi32 in place. Of that, g++ 12 makes two variables where sums outlive the loop over them, and stores
/// one of them in each step.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void multiply_add(__m512i& sum, __m512i bytes, __m512i weights) noexcept {
  __asm__("vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(bytes), "v"(weights));
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
