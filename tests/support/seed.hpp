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

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// How many random cases a test takes: a sixteenth of `usual` under the address sanitizer, where each takes many times
/// as long.
constexpr int rounds(int usual) noexcept { return sanitized ? (usual + 15) / 16 : usual; }

/// Whether a random test met what it is for more than `least` times. The few rounds under the address sanitizer may
/// miss a rare kind.
constexpr bool often(int count, int least) noexcept { return sanitized || count > least; }

}  // namespace dmlref_test
