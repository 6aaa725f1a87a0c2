// first_cache.hpp: how much the first cache holds.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <cpuid.h>
#endif

DMLREF_BEGIN
namespace fast::normalization {

inline std::uint64_t detect_first_cache() noexcept {
#if DMLREF_ARCH_X86_64
  // Deterministic cache parameters: leaf 4 (Intel) and 0x8000001D (AMD) have one form.
  for (const unsigned leaf : {4u, 0x8000001Du}) {
    for (unsigned index = 0; index < 8; ++index) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (__get_cpuid_count(leaf, index, &a, &b, &c, &d) == 0 || (a & 0x1Fu) == 0) break;
      const bool holds_data = (a & 0x1Fu) != 2;
      const unsigned level = (a >> 5) & 7u;
      const std::uint64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 0x3FFu) + 1, line = (b & 0xFFFu) + 1;
      if (holds_data && level == 1) return ways * partitions * line * (std::uint64_t{c} + 1);
    }
  }
#endif
  return 0;
}

/// Bytes of the first cache; 0 where the CPU does not say.
inline std::uint64_t first_cache_bytes() noexcept {
  static const std::uint64_t bytes = detect_first_cache();
  return bytes;
}

}  // namespace fast::normalization
DMLREF_END
