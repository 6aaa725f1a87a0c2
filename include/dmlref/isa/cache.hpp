// cache.hpp: how much the caches hold, and the latter for one program.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <cpuid.h>
#endif

DMLREF_BEGIN
namespace detail {

struct Cache {
  std::uint64_t bytes = 0;
  bool hashed = false;  // addresses are spread over the slices of many cores
};

struct Caches {
  std::uint64_t first_bytes = 0;
  std::uint64_t second_bytes = 0;
  Cache largest;
};

inline Caches detect_caches() noexcept {
  Caches caches;
#if DMLREF_ARCH_X86_64
  // Deterministic cache parameters: leaf 4 (Intel) and 0x8000001D (AMD) have one form.
  for (const unsigned leaf : {4u, 0x8000001Du}) {
    for (unsigned index = 0; index < 8; ++index) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (__get_cpuid_count(leaf, index, &a, &b, &c, &d) == 0) break;
      const unsigned type = a & 0x1Fu;
      if (type == 0) break;
      if (type == 2) continue;  // instructions alone
      const unsigned level = (a >> 5) & 7u;
      const std::uint64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 0x3FFu) + 1, line = (b & 0xFFFu) + 1;
      // Every third-level cache of Intel's is hashed; the bit for it (edx, 2) is missing in some virtual machines.
      const Cache cache{ways * partitions * line * (std::uint64_t{c} + 1), leaf == 4u && level == 3};
      if (level == 1 && caches.first_bytes == 0) caches.first_bytes = cache.bytes;
      if (level == 2 && caches.second_bytes == 0) caches.second_bytes = cache.bytes;
      if (cache.bytes > caches.largest.bytes) caches.largest = cache;
    }
  }
#endif
  if (caches.largest.bytes == 0) caches.largest.bytes = std::uint64_t{8} << 20;
  return caches;
}

inline const Caches& caches() noexcept {
  static const Caches detected = detect_caches();
  return detected;
}

}  // namespace detail

/// Bytes of the first cache of data; 0 where the CPU does not say.
inline std::uint64_t l1d_bytes() noexcept { return detail::caches().first_bytes; }

/// Bytes of the second cache; 0 where the CPU does not say.
inline std::uint64_t l2_bytes() noexcept { return detail::caches().second_bytes; }

/// Bytes of the largest cache that one core can fill (8 MiB where the CPU does not say), as far as one program can
/// count on it: a hashed one of more than 48 MiB belongs to dozens of cores, whose programs all fill it, and is not
/// much faster than memory.
inline std::uint64_t own_cache_bytes() noexcept {
  const detail::Cache& cache = detail::caches().largest;
  return cache.hashed && cache.bytes > std::uint64_t{48} << 20 ? std::uint64_t{16} << 20 : cache.bytes;
}

DMLREF_END
