// cpu.hpp: the instruction sets, what this CPU runs, and the names they go by.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu_features.hpp"
#include "dmlref/isa/system.hpp"

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
[[nodiscard]] constexpr std::optional<Isa> isa_from_name(std::string_view name) noexcept {
  for (const IsaName& row : isa_table) {
    if (row.name == name) return row.isa;
  }
  return std::nullopt;
}

namespace detail {

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
