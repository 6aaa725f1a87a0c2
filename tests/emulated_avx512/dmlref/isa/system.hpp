// system.hpp, in place of the library's: a CPU that has all that is emulated, and a system whose answers tests choose.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu_features.hpp"

DMLREF_BEGIN
namespace detail {

/// The system that is emulated.
struct EmulatedSystem {
  bool permits_tiles = true;
  int requests = 0;
};
inline EmulatedSystem emulated_system;

inline bool request_tiles() noexcept {
  ++emulated_system.requests;
  return emulated_system.permits_tiles;
}

inline CpuFeatures detect_cpu() noexcept {
  CpuFeatures cpu;
  const bool emulates = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  cpu.avx2 = cpu.avxvnni = cpu.avx512vnni = cpu.avx512vbmi = cpu.amx_int8 = emulates;
  return cpu;
}

}  // namespace detail
DMLREF_END
