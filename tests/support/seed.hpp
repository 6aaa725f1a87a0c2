// seed.hpp: where random tests begin, and how a failure is repeated: DMLREF_TEST_SEED=N ctest …
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>

namespace dmlref_test {

/// DMLREF_TEST_SEED where it is set, else `usual`, else a new one; printed.
inline std::uint64_t test_seed(std::optional<std::uint64_t> usual = std::nullopt) {
  const char* given = std::getenv("DMLREF_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                             : usual          ? *usual
                                              : std::random_device{}();
  std::printf("DMLREF_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace dmlref_test
