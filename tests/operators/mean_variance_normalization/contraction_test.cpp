// A program may be compiled with -mfma -ffp-contract=fast: not a bit of a normalization may move.
#include <gtest/gtest.h>

#include <cmath>

#include "operators/mean_variance_normalization/bits.hpp"

TEST(Contraction, TheFlagsDoContract) {
  const double a = 1 + 0x1p-30;
  EXPECT_EQ(contracts_uncontracted(a, a, -(1 + 0x1p-29)), 0.0);
  EXPECT_EQ(contracts_contracted(a, a, -(1 + 0x1p-29)), 0x1p-60);
}

TEST(Contraction, MovesNoBitOfANormalization) {
  for (const std::uint64_t seed : {3u, 4u}) {
    const auto plain = bits_uncontracted(seed);
    const auto fused = bits_contracted(seed);
    ASSERT_EQ(plain.size(), fused.size()) << "seed " << seed;
    std::size_t different = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) different += plain[i] != fused[i] ? 1u : 0u;
    EXPECT_EQ(different, 0u) << "of " << plain.size() << ", seed " << seed;
  }
}
