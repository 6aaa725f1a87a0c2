// cache.hpp: how much the last-level cache holds, and for one program.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <cpuid.h>
#endif

DMLREF_BEGIN
namespace detail {

struct LastLevelCache {
  std::uint64_t bytes = 0;
  bool hashed = false;  // addresses are spread over the slices of many cores
};

inline LastLevelCache detect_last_level_cache() noexcept {
  LastLevelCache largest;
#if DMLREF_ARCH_X86_64
  // Deterministic cache parameters: leaf 4 (Intel) and 0x8000001D (AMD) have one form.
  for (const unsigned leaf : {4u, 0x8000001Du}) {
    for (unsigned index = 0; index < 8; ++index) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (__get_cpuid_count(leaf, index, &a, &b, &c, &d) == 0 || (a & 0x1Fu) == 0) break;
      const std::uint64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 0x3FFu) + 1, line = (b & 0xFFFu) + 1;
      const std::uint64_t bytes = ways * partitions * line * (std::uint64_t{c} + 1);
      if (bytes > largest.bytes) largest = {bytes, leaf == 4u && (d & 4u) != 0};
    }
  }
#endif
  return largest.bytes > 0 ? largest : LastLevelCache{std::uint64_t{8} << 20, false};
}

inline const LastLevelCache& last_level_cache() noexcept {
  static const LastLevelCache cache = detect_last_level_cache();
  return cache;
}

}  // namespace detail

/// Bytes of the largest cache that one core can fill; 8 MiB where the CPU does not say.
inline std::uint64_t last_level_cache_bytes() noexcept { return detail::last_level_cache().bytes; }

/// Whether its addresses are spread over the slices of many cores.
inline bool last_level_cache_is_hashed() noexcept { return detail::last_level_cache().hashed; }

/// Bytes of it that one program can count on: a hashed one of more than 48 MiB belongs to dozens of cores, whose
/// programs all fill it, and is not much faster than memory.
inline std::uint64_t own_cache_bytes() noexcept {
  const detail::LastLevelCache& cache = detail::last_level_cache();
  return cache.hashed && cache.bytes > std::uint64_t{48} << 20 ? std::uint64_t{16} << 20 : cache.bytes;
}

DMLREF_END
