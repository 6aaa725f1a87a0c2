// avx2.hpp: the slice kernels for AVX2.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include "dmlref/fast/slice/avx2/copies.hpp"
#include "dmlref/fast/slice/avx2/programs.hpp"
#include "dmlref/fast/slice/avx2/transposition.hpp"
#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/avx2/whole_rows.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

inline void fence() noexcept { _mm_sfence(); }

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
