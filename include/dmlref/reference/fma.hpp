// fma.hpp: a * b + c, rounded once. MinGW-w64's library rounds about every seventh random sum otherwise; there the
// instruction is used, if the CPU has it.
#pragma once

#include <cmath>

#include "dmlref/config.hpp"
#if defined(__MINGW32__)
#include "dmlref/isa/cpu.hpp"
#endif

DMLREF_BEGIN
namespace reference {

#if defined(__MINGW32__) && DMLREF_ARCH_X86_64
namespace detail {

template <class Real>
__attribute__((target("fma"))) inline Real fma_instruction(Real a, Real b, Real c) noexcept {
  if constexpr (sizeof(Real) == sizeof(float)) {
    return __builtin_fmaf(a, b, c);
  } else {
    return __builtin_fma(a, b, c);
  }
}

}  // namespace detail

template <class Real>
inline Real fma(Real a, Real b, Real c) noexcept {
  return dmlref::detail::cpu_features().avx2 ? detail::fma_instruction(a, b, c) : std::fma(a, b, c);
}
#else
using std::fma;
#endif

}  // namespace reference
DMLREF_END
