// cpu.hpp: the instruction sets, what this CPU runs, and the names they go by.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <cpuid.h>
#endif
#if DMLREF_HAS_NEON_DOTPROD && defined(__linux__)
#include <sys/auxv.h>
#endif

DMLREF_BEGIN

// Every instruction set: ISA(name, number), those of one architecture from the least to the best.
#define DMLREF_ISAS(ISA) \
  ISA(scalar, 0)         \
  ISA(avx2, 1)           \
  ISA(avxvnni, 2)        \
  ISA(avx512vnni, 3)     \
  ISA(amx_int8, 6)       \
  ISA(neon, 4)           \
  ISA(neon_dotprod, 5)

/// What a kernel may use. Each is a cluster of features: avx2 is AVX2 + FMA + F16C; avxvnni adds AVX-VNNI (256 bit);
/// avx512vnni is avx2 plus AVX-512 F, BW, DQ, VL and VNNI; neon is baseline aarch64, neon_dotprod adds SDOT and UDOT;
/// amx_int8 is avx512vnni plus AVX-512 VBMI and VBMI2 and AMX's tiles of bytes.
enum class Isa {
#define DMLREF_ISA_ENUMERATOR(name, number) name = number,
  DMLREF_ISAS(DMLREF_ISA_ENUMERATOR)
#undef DMLREF_ISA_ENUMERATOR
};

/// An instruction set and its name.
struct IsaName {
  Isa isa;                ///< which one
  std::string_view name;  ///< what DMLREF_ISA and --isa take
};

/// All instruction sets, the better ones last.
inline constexpr auto isa_table = std::to_array<IsaName>({
#define DMLREF_ISA_ROW(name, number) {Isa::name, #name},
    DMLREF_ISAS(DMLREF_ISA_ROW)
#undef DMLREF_ISA_ROW
});
#undef DMLREF_ISAS

/// "avx2" for Isa::avx2; "unknown" for a value that is no enumerator.
constexpr std::string_view to_string(Isa isa) noexcept {
  for (const IsaName& row : isa_table) {
    if (row.isa == isa) return row.name;
  }
  return "unknown";
}

/// The set of that name; empty where there is none.
constexpr std::optional<Isa> isa_from_name(std::string_view name) noexcept {
  for (const IsaName& row : isa_table) {
    if (row.name == name) return row.isa;
  }
  return std::nullopt;
}

namespace detail {

struct CpuFeatures {
  bool avx2 = false;
  bool avxvnni = false;
  bool avx512vnni = false;
  bool avx512vbmi = false;  // beside avx512vnni: permutations of bytes
  bool amx_int8 = false;
  bool neon = false;
  bool neon_dotprod = false;
};

#if DMLREF_EMULATE_AVX512
/// The system that the library's own tests emulate besides.
struct EmulatedSystem {
  bool permits_tiles = true;
  int requests = 0;
};
inline EmulatedSystem emulated_system;
#endif

/// Asks the system for AMX's tiles, which changes the process: they are 8 KiB of state that Linux saves only for
/// processes that ask, by arch_prctl(ARCH_REQ_XCOMP_PERM, 18). Without the C library, whose headers need not know it.
inline bool request_tiles() noexcept {
#if DMLREF_EMULATE_AVX512
  ++emulated_system.requests;
  return emulated_system.permits_tiles;
#elif DMLREF_ARCH_X86_64 && defined(__linux__)
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
#if DMLREF_EMULATE_AVX512
  static_cast<void>(subleaves);
  cpu.avxvnni = cpu.avx512vnni = cpu.avx512vbmi = cpu.amx_int8 = cpu.avx2;
#else
  constexpr unsigned avx512 = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);  // F, DQ, BW, VL
  const bool zmm = (state & 0xE6u) == 0xE6u;
  cpu.avx512vnni = cpu.avx2 && zmm && (b & avx512) == avx512 && (c & (1u << 11)) != 0;
  constexpr unsigned tiles = (1u << 24) | (1u << 25);  // AMX-TILE, AMX-INT8
  constexpr unsigned vbmi = (1u << 1) | (1u << 6);     // VBMI, VBMI2
  cpu.avx512vbmi = cpu.avx512vnni && (c & (1u << 1)) != 0;
  cpu.amx_int8 = DMLREF_HAS_AMX_INT8 && cpu.avx512vnni && (c & vbmi) == vbmi && (d & tiles) == tiles &&
                 (state & 0x60000u) == 0x60000u;
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) cpu.avxvnni = cpu.avx2 && (a & (1u << 4)) != 0;
#endif
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

inline const CpuFeatures& cpu_features() noexcept {
  static const CpuFeatures features = detect_cpu();
  return features;
}

}  // namespace detail

/// Whether this CPU and system run `isa`, and DMLREF_TARGETS does not leave it out. Changes nothing: the permission for
/// AMX's tiles is asked for when a plan that uses them is made.
inline bool supported(Isa isa) noexcept {
  const detail::CpuFeatures& cpu = detail::cpu_features();
  switch (isa) {
    case Isa::scalar: return true;
    case Isa::avx2: return DMLREF_HAS_AVX2 && cpu.avx2;
    case Isa::avxvnni: return DMLREF_HAS_AVXVNNI && cpu.avxvnni;
    case Isa::avx512vnni: return DMLREF_HAS_AVX512VNNI && cpu.avx512vnni;
    case Isa::amx_int8: return DMLREF_HAS_AMX_INT8 && cpu.amx_int8;
    case Isa::neon: return DMLREF_HAS_NEON && cpu.neon;
    case Isa::neon_dotprod: return DMLREF_HAS_NEON_DOTPROD && cpu.neon_dotprod;
  }
  return false;
}

/// Whether this CPU has AVX-512's permutations of bytes (VBMI), which avx512vnni does not include.
inline bool supports_byte_permutations() noexcept { return detail::cpu_features().avx512vbmi; }

/// The best set that this CPU runs.
inline Isa best_isa() noexcept {
  Isa best = Isa::scalar;
  for (const IsaName& row : isa_table) {
    if (supported(row.isa)) best = row.isa;
  }
  return best;
}

DMLREF_END
