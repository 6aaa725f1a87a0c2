// address.hpp: addresses that are prefetched; the fence after non-temporal stores.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace fast {

/// It may lie outside of all buffers, where no pointer may go.
using Address = std::uintptr_t;

/// `offset` bytes from `p` on.
inline Address address_of(const void* p, std::int64_t offset = 0) noexcept {
  return reinterpret_cast<Address>(p) + static_cast<Address>(offset);
}

/// Prefetches the line of the cache at `at`, to be read or to be written; `locality` 3: into L1d. Always inline: g++
/// takes a function that only prefetches for one without an effect.
template <int written = 0, int locality = 3>
DMLREF_ALWAYS_INLINE void prefetch_line(Address at) noexcept {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(reinterpret_cast<const void*>(at), written, locality);
#endif
}

/// Orders non-temporal stores before later ones.
inline void store_fence() noexcept {
#if DMLREF_ARCH_X86_64
  __builtin_ia32_sfence();
#endif
}

}  // namespace fast
DMLREF_END
