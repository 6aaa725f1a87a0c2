// upper_halves.hpp: vector registers as code without AVX wants to find them.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace detail {

#if DMLREF_HAS_AVX2 && !defined(__clang__)
DMLREF_TARGET_AVX2 DMLREF_NOINLINE inline void zero_upper_halves() noexcept { __builtin_ia32_vzeroupper(); }
#endif

/// For the end of whatever ran kernels: zeroes the upper halves of vector registers. While they hold anything, SSE code
/// on Intel's CPUs waits for the old value of each register that it writes: a loop that calls a C library's fma takes
/// 47 times as long. GCC zeroes them at the end of functions with AVX from -O2 on, but not with -O0, -O1, -Og and -Os;
/// Clang always does.
inline void clear_upper_halves() noexcept {
#if DMLREF_HAS_AVX2 && !defined(__clang__)
  if (cpu_features().avx2) zero_upper_halves();
#endif
}

}  // namespace detail
DMLREF_END
