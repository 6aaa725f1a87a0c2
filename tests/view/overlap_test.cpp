// overlap_test.cpp: find_overlap against a set of all addresses.
#include "dmlref/view/overlap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <unordered_set>

#include "dmlref/view/layout.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;

// Visits every element and remembers its address.
bool overlaps_by_counting(const Shape& shape, const Strides& strides) {
  const Layout layout(shape, strides);
  std::unordered_set<Index> seen;
  auto at = Coordinates::filled(shape.size(), 0);
  do {
    if (!seen.insert(layout(at)).second) return true;
  } while (advance(at, shape));
  return false;
}

TEST(FindOverlap, AgreesWithCountingAddresses) {
  std::mt19937_64 random(dmlref_test::test_seed());
  const auto number = [&](Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(random); };
  int overlapping = 0;
  const int cases = 20000;
  for (int i = 0; i < cases; ++i) {
    Shape shape;
    Strides strides;
    const Index rank = number(1, 5);
    const Index largest = number(1, 61);
    for (Index d = 0; d < rank; ++d) {
      shape.push_back(number(1, 6));
      strides.push_back(number(0, 9) == 0 ? 0 : number(-largest, largest));
    }
    const bool expected = overlaps_by_counting(shape, strides);
    overlapping += expected;
    const auto found = find_overlap(shape, strides);
    ASSERT_EQ(expected, found.has_value()) << testing::PrintToString(shape) << ' ' << testing::PrintToString(strides);
    ASSERT_EQ(expected, !Layout(shape, strides, number(-99, 99)).is_unique());
    if (found) {
      // Without the dimension that was named, and those with larger strides, nothing overlaps.
      EXPECT_TRUE(found->certain);
      Shape fewer = shape;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const Index stride = std::abs(strides[d]), named = std::abs(strides[found->dimension]);
        if (stride > named || (stride == named && d <= found->dimension)) fewer[d] = 1;
      }
      EXPECT_FALSE(overlaps_by_counting(fewer, strides));
    }
  }
  // Both answers are met often.
  EXPECT_GT(overlapping, cases / 10);
  EXPECT_LT(overlapping, cases - cases / 10);
}

constexpr bool none(const Shape& shape, const Strides& strides) { return !find_overlap(shape, strides); }
static_assert(none({2, 3, 4, 5}, {60, 20, 5, 1}));     // packed
static_assert(none({2, 3, 4, 5}, {60, 1, 15, 3}));     // channels last
static_assert(none({2, 3, 4, 5}, {1000, 200, 7, 1}));  // padded
static_assert(none({2, 3, 4, 5}, {-60, 20, -5, 1}));   // mirrored
static_assert(none({1, 3, 1, 5}, {0, 5, 0, 1}));       // extents of 1
static_assert(!none({4, 4}, {1, 1}));
static_assert(!none({4, 4}, {1, -1}));
static_assert(!none({3, 4}, {3, 1}));
static_assert(none({3, 3}, {3, 1}));
static_assert(none({2, 2}, {3, 2}));
static_assert(!none({2, 1, 2, 2}, {5, 0, 3, 2}));  // 5 = 3 + 2
static_assert(!none({2, 3}, {0, 1}));
static_assert(find_overlap({3, 4}, {3, 1})->dimension == 0);

TEST(FindOverlap, DecidesLayoutsThatAreNotNested) {
  EXPECT_TRUE(none({65535, 65536}, {65537, 65536}));   // no two alike
  EXPECT_FALSE(none({65537, 65538}, {65537, 65536}));  // the first pair alike: 65536 * 65537
}

// A layout made to exhaust the search ends soon all the same, with a yes or an undecided yes.
TEST(FindOverlap, EndsOnLayoutsMadeAgainstIt) {
  const Strides strides{33554393, 33554383, 33554371, 33554347, 33554341, 33554317, 33554291, 33554273};
  EXPECT_TRUE(find_overlap(Shape::filled(8, 15), strides).has_value());
}

TEST(FindOverlap, CountsRanksBeyondEightAsOverlapping) {
  EXPECT_FALSE(none(Shape::filled(9, 2), Strides::filled(9, 1)));
}

}  // namespace
