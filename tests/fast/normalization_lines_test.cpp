// Results that are collected into lines arrive where they belong, and nothing else does.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "dmlref/fast/mean_variance_normalization/lines.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::fast::normalization;

void store_lines(const std::byte* from, std::byte* to, std::size_t bytes) {
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(from) % 64, 0u);
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(to) % 64, 0u);
  ASSERT_EQ(bytes % 64, 0u);
  std::memcpy(to, from, bytes);
}

TEST(NormalizationLines, RowsArriveAnywhere) {
  std::mt19937_64 random(dmlref_test::test_seed(9));
  const auto pick = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random); };
  Kernels kernels{};
  kernels.store_past = store_lines;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> output(40000, std::byte{0x2A});
    std::vector<std::byte> expected = output;
    {
      Lines lines(kernels);
      std::size_t at = pick(200);
      const std::size_t longest = round % 2 == 0 ? 300 : normalization_chunk * sizeof(float);
      while (true) {
        const std::size_t bytes = 1 + pick(longest - 1);
        if (at + bytes > output.size()) break;
        std::byte* const space = lines.space(output.data() + at);
        for (std::size_t i = 0; i < bytes; ++i) {
          space[i] = static_cast<std::byte>(pick(255));
          expected[at + i] = space[i];
        }
        lines.store(bytes);
        if (pick(9) == 0) {  // as results that are computed again
          lines.flush();
          const std::size_t again = at + pick(bytes - 1);
          output[again] = expected[again] = std::byte{0x55};
        }
        at += bytes + (pick(3) == 0 ? pick(100) : 0);
      }
    }
    ASSERT_EQ(output, expected) << round;
  }
}

}  // namespace
