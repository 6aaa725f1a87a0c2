// multiply_add.hpp, in place of the library's, which is assembler.
#pragma once

#include <immintrin.h>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void multiply_add(__m512i& sum, __m512i bytes, __m512i weights) noexcept {
  sum = _mm512_dpbusd_epi32(sum, bytes, weights);
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END
