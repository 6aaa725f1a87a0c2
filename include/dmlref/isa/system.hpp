// system.hpp: asks the CPU and the system what they have.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu_features.hpp"

#if DMLREF_ARCH_X86_64
#include <cpuid.h>
#endif
#if DMLREF_HAS_NEON_DOTPROD && defined(__linux__)
#include <sys/auxv.h>
#endif

DMLREF_BEGIN
namespace detail {

/// Asks the system for AMX's tiles, which changes the process: they are 8 KiB of state that Linux saves only for
/// processes that ask, by arch_prctl(ARCH_REQ_XCOMP_PERM, 18). Without the C library, whose headers need not know it.
inline bool request_tiles() noexcept {
#if DMLREF_ARCH_X86_64 && defined(__linux__)
  long result = 158;
  __asm__ volatile("syscall" : "+a"(result) : "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
  return result == 0;
#else
  return false;
#endif
}

// Read with cpuid and xgetbv: clang 14's __builtin_cpu_supports knows neither "avxvnni" nor "f16c".
inline CpuFeatures detect_cpu() noexcept {
  CpuFeatures cpu;
#if DMLREF_ARCH_X86_64
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return cpu;
  constexpr unsigned fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
  if ((c & (fma | osxsave | avx | f16c)) != (fma | osxsave | avx | f16c)) return cpu;
  unsigned state = 0, state_high = 0;
  __asm__ volatile("xgetbv" : "=a"(state), "=d"(state_high) : "c"(0));
  if ((state & 0x06u) != 0x06u) return cpu;  // the system saves ymm
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return cpu;
  const unsigned subleaves = a;
  cpu.avx2 = (b & (1u << 5)) != 0;
  constexpr unsigned avx512 = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);  // F, DQ, BW, VL
  const bool zmm = (state & 0xE6u) == 0xE6u;
  cpu.avx512vnni = cpu.avx2 && zmm && (b & avx512) == avx512 && (c & (1u << 11)) != 0;
  constexpr unsigned tiles = (1u << 24) | (1u << 25);  // AMX-TILE, AMX-INT8
  constexpr unsigned vbmi = (1u << 1) | (1u << 6);     // VBMI, VBMI2
  cpu.avx512vbmi = cpu.avx512vnni && (c & (1u << 1)) != 0;
  cpu.amx_int8 = DMLREF_HAS_AMX_INT8 && cpu.avx512vnni && (c & vbmi) == vbmi && (d & tiles) == tiles &&
                 (state & 0x60000u) == 0x60000u;
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) cpu.avxvnni = cpu.avx2 && (a & (1u << 4)) != 0;
#elif DMLREF_ARCH_ARM64
  cpu.neon = true;
#if DMLREF_HAS_NEON_DOTPROD && defined(__linux__)
  cpu.neon_dotprod = (getauxval(AT_HWCAP) & (1ul << 20)) != 0;  // HWCAP_ASIMDDP
#elif defined(__ARM_FEATURE_DOTPROD)
  cpu.neon_dotprod = true;
#endif
#endif
  return cpu;
}

}  // namespace detail
DMLREF_END
