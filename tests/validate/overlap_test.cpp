// overlap_test.cpp: find_overlap against a set of all addresses.
#include "dmlref/validate/overlap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <unordered_set>
#include <vector>

#include "support/seed.hpp"

namespace {

using Numbers = std::vector<std::uint32_t>;

// Visits every element and remembers its address.
bool overlaps_by_counting(const Numbers& sizes, const Numbers& strides) {
  std::unordered_set<std::uint64_t> seen;
  Numbers at(sizes.size(), 0);
  for (;;) {
    std::uint64_t address = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) address += std::uint64_t{at[d]} * strides[d];
    if (!seen.insert(address).second) return true;
    std::size_t d = sizes.size();
    while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
    if (d == 0) return false;
  }
}

TEST(FindOverlap, AgreesWithCountingAddresses) {
  std::mt19937_64 random(dmlref_test::test_seed());
  const auto upto = [&](std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n)(random); };
  int overlapping = 0;
  const int cases = 20000;
  for (int i = 0; i < cases; ++i) {
    const std::size_t rank = 1 + upto(4);
    Numbers sizes(rank);
    Numbers strides(rank);
    const std::uint32_t largest = 1 + upto(60);
    for (std::size_t d = 0; d < rank; ++d) {
      sizes[d] = 1 + upto(5);
      strides[d] = upto(largest);
      if (upto(9) == 0) strides[d] = 0;
    }
    const bool expected = overlaps_by_counting(sizes, strides);
    overlapping += expected;
    const auto found = dmlref::find_overlap(sizes, strides);
    ASSERT_EQ(expected, found.has_value()) << testing::PrintToString(sizes) << ' ' << testing::PrintToString(strides);
    if (found) {
      // Without the dimension that was named, and those with larger strides, nothing overlaps.
      EXPECT_TRUE(found->certain);
      Numbers fewer = sizes;
      for (std::size_t d = 0; d < rank; ++d) {
        const bool later = strides[d] > strides[found->dimension] ||
                           (strides[d] == strides[found->dimension] && d <= found->dimension);
        if (later) fewer[d] = 1;
      }
      EXPECT_FALSE(overlaps_by_counting(fewer, strides));
    }
  }
  // Both answers are met often.
  EXPECT_GT(overlapping, cases / 10);
  EXPECT_LT(overlapping, cases - cases / 10);
}

TEST(FindOverlap, LayoutsOfPractice) {
  const auto none = [](const Numbers& sizes, const Numbers& strides) {
    return !dmlref::find_overlap(sizes, strides).has_value();
  };
  EXPECT_TRUE(none({2, 3, 4, 5}, {60, 20, 5, 1}));     // packed
  EXPECT_TRUE(none({2, 3, 4, 5}, {60, 1, 15, 3}));     // channels last
  EXPECT_TRUE(none({2, 3, 4, 5}, {1000, 200, 7, 1}));  // padded
  EXPECT_TRUE(none({1, 3, 1, 5}, {0, 5, 0, 1}));       // sizes of 1
  EXPECT_TRUE(none({65535, 65536}, {65537, 65536}));   // not nested, and still no two alike
  EXPECT_FALSE(none({65537, 65538}, {65537, 65536}));  // the first pair alike: 65536 * 65537
  EXPECT_FALSE(none({4, 4}, {1, 1}));
  EXPECT_FALSE(none({3, 4}, {3, 1}));
  EXPECT_TRUE(none({3, 3}, {3, 1}));
  EXPECT_TRUE(none({2, 2}, {3, 2}));
  EXPECT_FALSE(none({2, 1, 2, 2}, {5, 0, 3, 2}));  // 5 = 3 + 2
}

// A layout made to exhaust the search ends soon all the same, with a yes or an undecided yes.
TEST(FindOverlap, EndsOnLayoutsMadeAgainstIt) {
  const Numbers sizes(8, 15);
  const Numbers strides = {33554393, 33554383, 33554371, 33554347, 33554341, 33554317, 33554291, 33554273};
  EXPECT_TRUE(dmlref::find_overlap(sizes, strides).has_value());
}

static_assert(!dmlref::find_overlap(std::array<std::uint32_t, 2>{3, 3}, std::array<std::uint32_t, 2>{3, 1}));
static_assert(dmlref::find_overlap(std::array<std::uint32_t, 2>{3, 4}, std::array<std::uint32_t, 2>{3, 1})->dimension ==
              0);

}  // namespace
