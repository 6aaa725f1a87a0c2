// address.hpp: addresses that are prefetched.
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

}  // namespace fast
DMLREF_END
