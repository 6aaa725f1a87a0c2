// exhaustive.hpp: how much of an exhaustive test runs: all of it where DMLREF_EXHAUSTIVE is set, else a part that takes
// seconds.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "support/seed.hpp"

namespace dmlref_test {

inline bool exhaustive() {
  static const bool all = std::getenv("DMLREF_EXHAUSTIVE") != nullptr;
  return all;
}

/// Whether the `index`-th of many cases is tried: every one, or every `stride`-th.
inline bool tried(std::size_t index, std::size_t stride) {
  return exhaustive() || index % (sanitized ? 16 * stride : stride) == 0;
}

}  // namespace dmlref_test
