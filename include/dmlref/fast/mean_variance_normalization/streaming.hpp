// streaming.hpp: from which size on results are stored past the caches.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/isa/cache.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Bytes of input and output that a task may hope to find in the caches again. One core has the use of all of a small
/// last-level cache. A large one is spread over dozens of cores, answers later, and fetches each line that is written.
inline std::uint64_t kept_in_caches() noexcept {
  constexpr std::uint64_t large = std::uint64_t{64} << 20;
  const std::uint64_t bytes = last_level_cache_bytes();
  return bytes > large ? bytes / 4 : bytes;
}

}  // namespace fast::normalization
DMLREF_END
