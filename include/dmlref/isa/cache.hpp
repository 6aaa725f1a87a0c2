// cache.hpp: how much the last-level cache holds.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <cpuid.h>
#endif

DMLREF_BEGIN
namespace detail {

inline std::uint64_t detect_last_level_cache() noexcept {
  std::uint64_t largest = 0;
#if DMLREF_ARCH_X86_64
  // Deterministic cache parameters: leaf 4 (Intel) and 0x8000001D (AMD) have one form.
  for (const unsigned leaf : {4u, 0x8000001Du}) {
    for (unsigned index = 0; index < 8; ++index) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (__get_cpuid_count(leaf, index, &a, &b, &c, &d) == 0 || (a & 0x1Fu) == 0) break;
      const std::uint64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 0x3FFu) + 1, line = (b & 0xFFFu) + 1;
      const std::uint64_t bytes = ways * partitions * line * (std::uint64_t{c} + 1);
      if (bytes > largest) largest = bytes;
    }
  }
#endif
  return largest > 0 ? largest : std::uint64_t{8} << 20;
}

}  // namespace detail

/// Bytes of the largest cache that one core can fill; 8 MiB where the CPU does not say.
inline std::uint64_t last_level_cache_bytes() noexcept {
  static const std::uint64_t bytes = detail::detect_last_level_cache();
  return bytes;
}

DMLREF_END
