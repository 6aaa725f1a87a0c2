// operations_test.cpp: operations of views against what they say of each coordinate, and with arguments that do not
// fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "dmlref/tensor_view.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;

// --- In constant expressions --------------------------------------------------------------------------------------

constexpr int numbers[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
constexpr TensorView<const int> matrix(numbers, {3, 4});

static_assert(matrix.slice({1, 0}, {2, 4}, {1, 2}).shape() == Shape{2, 2} &&
              matrix.slice({1, 0}, {2, 4}, {1, 2})(1, 1) == 10);
static_assert(matrix.slice({0, 1}, {3, 3}, {-2, -1})(0, 0) == 11 && matrix.slice({0, 1}, {3, 3}, {-2, -1})(1, 2) == 1);
static_assert(matrix.slice({0, 0}, {3, 3}, {2, -2})(1, 1) == 8);  // the last of the window, then two before it
static_assert(matrix.slice({3, 4}, {0, 0}, {1, -1}).size() == 0);
static_assert(matrix.flip(1)(2, 0) == 11 && matrix.flip(1).flip(1).layout() == matrix.layout());
static_assert(matrix.select(0, 2).shape() == Shape{4} && matrix.select(0, 2)(1) == 9 && matrix.select(1, 3)(1) == 7);
static_assert(matrix.select(0, 2).select(0, 3)() == 11);
static_assert(matrix.unsqueeze(0).shape() == Shape{1, 3, 4} && matrix.unsqueeze(2).shape() == Shape{3, 4, 1});
static_assert(matrix.unsqueeze(1).squeeze().layout() == matrix.layout());
static_assert(matrix.permute({1, 0})(3, 1) == 7);
static_assert(matrix.reshape({2, 1, 6})(1, 0, 2) == 8 && matrix.reshape({12})(7) == 7);
static_assert(matrix.reshape({3, 2, 2}).permute({0, 2, 1}).try_reshape({3, 4}) == std::nullopt);
static_assert(matrix.select(1, 0).broadcast_to({2, 3})(1, 2) == 8);
static_assert(matrix.at(2, 3) == 11 && !matrix.at(2, 4) && !matrix.at(-1, 0) && !matrix.at(1) && !matrix.at(0, 0, 0));
static_assert(*matrix.data() == 0 && *matrix.flip(0).flip(1).data() == 11);
static_assert(!matrix.try_slice({0, 0}, {3, 4}, {1, 0}) && !matrix.try_select(2, 0) && !matrix.try_permute({0, 0}));
static_assert(matrix.is_contiguous() && !matrix.flip(0).is_contiguous() && matrix.unsqueeze(0).is_contiguous());
static_assert(matrix.flip(0).is_unique() && !matrix.select(0, 0).broadcast_to({2, 4}).is_unique());
static_assert(matrix.flip(0).required_span_size() == 12 &&
              matrix.slice({0, 0}, {2, 2}, {1, 1}).required_span_size() == 6);

constexpr int written() {
  int data[6] = {};
  const TensorView<int> view(data, {2, 3});
  view(1, 2) = 5;
  view.flip(0)(0, 0) += 2;
  const TensorView<const int> seen = view;  // T converts to const T …
  return seen(1, 2) * 10 + seen(1, 0);
}
static_assert(written() == 52);
static_assert(std::is_same_v<decltype(matrix(0, 0)), const int&>);
static_assert(std::is_convertible_v<ByteTensorView<int>, ByteTensorView<const int>>);
static_assert(!std::is_convertible_v<TensorView<const int>, TensorView<int>>);  // … and not back
static_assert(!std::is_convertible_v<TensorView<int>, TensorView<const float>>);

// A wrong argument is an error in a constant expression.
template <auto operation>
concept Constant = requires {
  typename std::bool_constant<(operation(), true)>;
};
static_assert(Constant<[] { return matrix.flip(1); }>);
static_assert(!Constant<[] { return matrix.flip(2); }> && !Constant<[] { return matrix.broadcast_to({4}); }>);
static_assert(!Constant<[] { return matrix.reshape({11}); }> && !Constant<[] { return matrix.permute({1, 2}); }>);

// --- Against every coordinate -------------------------------------------------------------------------------------

class Operations : public testing::Test {
 protected:
  Operations() : seed(dmlref_test::test_seed()), random(seed) {}
  Index number(Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(random); }
  /// Rank 0 to 8, small; strides of any sign, often packed or 0.
  Layout layout() {
    Shape shape;
    const Index rank = number(0, 8);
    for (Index d = 0; d < rank; ++d) shape.push_back(number(0, 30) == 0 ? 0 : number(1, rank > 5 ? 2 : 4));
    Layout made(shape);
    made.offset = number(-50, 50);
    for (Index& stride : made.strides) {
      if (number(0, 3) == 0) stride = number(-9, 9);
    }
    return made;
  }
  /// A number near what fits, or one far from it.
  Index wild(Index low, Index high) {
    constexpr Index far[] = {std::numeric_limits<Index>::min(), std::numeric_limits<Index>::max(), -1};
    return number(0, 9) == 0 ? far[number(0, 2)] : number(low, high);
  }
  template <class List>
  List list(std::size_t rank, Index low, Index high) {
    List made;
    const Index size = number(0, 9) == 0 ? number(0, 9) : static_cast<Index>(rank);
    for (Index d = 0; d < size; ++d) made.push_back(wild(low, high));
    return made;
  }

  std::uint64_t seed;
  std::mt19937_64 random;
};

/// Calls body(at) for all coordinates of the shape.
template <class Body>
void for_each(const Shape& shape, const Body& body) {
  if (element_count(shape) == 0) return;
  auto at = Coordinates::filled(shape.size(), 0);
  do body(at);
  while (advance(at, shape));
}

constexpr int rounds = 20000;

TEST_F(Operations, SlicesAreWindows) {
  int fits = 0;
  for (int round = 0; round < rounds; ++round) {
    const Layout from = layout();
    const auto offsets = list<Coordinates>(from.rank(), 0, 2);
    const auto sizes = list<Shape>(from.rank(), 0, 3);
    const auto strides = list<Strides>(from.rank(), -2, 2);
    bool good = offsets.size() == from.rank() && sizes.size() == from.rank() && strides.size() == from.rank();
    for (std::size_t d = 0; d < from.rank() && good; ++d) {
      const Index n = from.shape[d];
      good = offsets[d] >= 0 && sizes[d] >= 0 && offsets[d] <= n && sizes[d] <= n - offsets[d] && strides[d] != 0;
    }
    const auto to = try_slice(from, offsets, sizes, strides);
    ASSERT_EQ(to.has_value(), good) << "seed " << seed << " round " << round;
    if (!to) continue;
    ++fits;
    Coordinates last = offsets;
    for_each(to->shape, [&](const Coordinates& at) {
      Coordinates in = offsets;
      for (std::size_t d = 0; d < in.size(); ++d) {
        in[d] += strides[d] > 0 ? at[d] * strides[d] : sizes[d] - 1 + at[d] * strides[d];
        EXPECT_TRUE(in[d] >= offsets[d] && in[d] < offsets[d] + sizes[d]);
      }
      ASSERT_EQ((*to)(at), from(in)) << "seed " << seed << " round " << round;
      last = at;
    });
    for (std::size_t d = 0; d < last.size() && element_count(to->shape) > 0; ++d) {  // one more would not be inside
      EXPECT_TRUE(strides[d] > sizes[d] || strides[d] < -sizes[d] || (last[d] + 1) * std::abs(strides[d]) >= sizes[d]);
    }
  }
  EXPECT_GT(fits, rounds / 20);
}

TEST_F(Operations, DimensionsAreMirroredTakenAddedAndReordered) {
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const Layout from = layout();
    const auto d = static_cast<std::size_t>(wild(0, 9));
    const bool known = d < from.rank();

    const auto mirrored = try_flip(from, d);
    ASSERT_EQ(mirrored.has_value(), known);
    const Index i = wild(0, 4);
    const auto selected = try_select(from, d, i);
    ASSERT_EQ(selected.has_value(), known && i >= 0 && i < from.shape[d]);
    const auto deeper = try_unsqueeze(from, d);
    ASSERT_EQ(deeper.has_value(), d <= from.rank() && from.rank() < max_rank);
    if (deeper) {
      EXPECT_EQ(deeper->shape[d], 1);
    }
    IndexList order;
    for (std::size_t k = 0; k < from.rank(); ++k) order.push_back(static_cast<Index>(k));
    std::shuffle(order.begin(), order.end(), random);
    if (number(0, 2) == 0) order = list<IndexList>(from.rank(), 0, static_cast<Index>(from.rank()) - 1);
    const auto reordered = try_permute(from, order);
    const std::set<Index> distinct(order.begin(), order.end());
    ASSERT_EQ(reordered.has_value(),
              order.size() == from.rank() && distinct.size() == order.size() &&
                  (distinct.empty() || (*distinct.begin() == 0 && *distinct.rbegin() == Index(from.rank()) - 1)));
    const Layout flat = squeezed(from);
    EXPECT_EQ(std::count(flat.shape.begin(), flat.shape.end(), 1), 0);

    for_each(from.shape, [&](const Coordinates& at) {
      const Index expected = from(at);
      if (mirrored) {
        Coordinates back = at;
        back[d] = from.shape[d] - 1 - at[d];
        ASSERT_EQ((*mirrored)(back), expected);
      }
      if (selected && at[d] == i) {
        Coordinates rest = at;
        rest.erase(d);
        ASSERT_EQ((*selected)(rest), expected);
      }
      if (deeper) {
        Coordinates more = at;
        more.insert(d, 0);
        ASSERT_EQ((*deeper)(more), expected);
      }
      if (reordered) {
        Coordinates other;
        for (const Index k : order) other.push_back(at[static_cast<std::size_t>(k)]);
        ASSERT_EQ((*reordered)(other), expected);
      }
      Coordinates rest;
      for (std::size_t k = 0; k < at.size(); ++k) {
        if (from.shape[k] != 1) rest.push_back(at[k]);
      }
      ASSERT_EQ(flat(rest), expected);
    });
  }
}

TEST_F(Operations, BroadcastingRepeatsWhatNumPyRepeats) {
  int fits = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const Layout from = layout();
    Shape shape = from.shape;
    for (Index& extent : shape) extent = extent == 1 ? number(0, 2) : extent;
    while (number(0, 2) == 0) shape.insert_front(number(1, 2));
    if (number(0, 4) == 0) shape = list<Shape>(from.rank(), 0, 3);
    bool good = shape.size() >= from.rank() && shape.size() <= max_rank;
    for (const Index extent : shape) good = good && extent >= 0 && extent < 100;
    for (std::size_t d = 0; d < from.rank() && good; ++d) {
      const Index extent = shape[shape.size() - from.rank() + d];
      good = from.shape[d] == extent || from.shape[d] == 1;
    }
    const auto to = try_broadcast_to(from, shape);
    if (std::count(shape.begin(), shape.end(), std::numeric_limits<Index>::max()) == 0) {
      ASSERT_EQ(to.has_value(), good);
    }
    if (!good) continue;
    ++fits;
    for_each(shape, [&](const Coordinates& at) {
      Coordinates in;
      for (std::size_t d = 0; d < from.rank(); ++d) {
        in.push_back(from.shape[d] == 1 ? 0 : at[at.size() - from.rank() + d]);
      }
      ASSERT_EQ((*to)(at), from(in));
    });
  }
  EXPECT_GT(fits, rounds / 3);
}

TEST_F(Operations, ReshapingKeepsTheOrderOrSaysThatItCannot) {
  int fits = 0, cannot = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const Layout from = layout();
    const Index count = element_count(from.shape);
    Shape shape;
    for (Index left = count; shape.size() < 7 && left > 1;) {
      const Index extent = number(1, 4);
      if (left % extent != 0) continue;
      shape.push_back(extent);
      left /= extent;
      if (shape.size() == 7) shape.push_back(left);
    }
    if (count == 0) shape = Shape{3, 0};
    if (number(0, 4) == 0) shape = list<Shape>(from.rank(), 0, 3);
    const auto to = try_reshape(from, shape);
    if (try_element_count(shape) != count) {
      ASSERT_FALSE(to);
      continue;
    }
    // The only strides that can do are the distances from element 0 to the second of each dimension.
    const auto place = [&](const Coordinates& at) { return from(unravel(Layout(shape)(at), from.shape)); };
    Layout wanted(shape);
    wanted.offset = from.offset;
    bool possible = true;
    if (count > 0) {
      for (std::size_t d = 0; d < shape.size(); ++d) {
        auto second = Coordinates::filled(shape.size(), 0);
        if (shape[d] > 1) second[d] = 1;
        wanted.strides[d] = place(second) - from.offset;
      }
      for_each(shape, [&](const Coordinates& at) { possible = possible && wanted(at) == place(at); });
    }
    ASSERT_EQ(to.has_value(), possible);
    (possible ? fits : cannot)++;
    if (!to) continue;
    ASSERT_EQ(to->shape, shape);
    for_each(shape, [&](const Coordinates& at) { ASSERT_EQ((*to)(at), place(at)); });
  }
  EXPECT_GT(fits, rounds / 20);
  EXPECT_GT(cannot, rounds / 20);
}

TEST_F(Operations, PropertiesAgreeWithAllPlaces) {
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const Layout from = layout();
    std::vector<Index> places;
    for_each(from.shape, [&](const Coordinates& at) { places.push_back(from(at)); });
    const auto count = static_cast<Index>(places.size());
    bool packed = true;
    for (Index i = 0; i < count; ++i) packed = packed && places[static_cast<std::size_t>(i)] == from.offset + i;
    EXPECT_EQ(from.is_contiguous(), packed);
    std::sort(places.begin(), places.end());
    EXPECT_EQ(from.lowest_index(), places.empty() ? from.offset : places.front());
    EXPECT_EQ(from.required_span_size(), places.empty() ? 0 : places.back() - places.front() + 1);
    EXPECT_EQ(from.is_unique(), std::adjacent_find(places.begin(), places.end()) == places.end());
    EXPECT_TRUE(from.is_valid());
  }
}

// --- Bad layouts and arguments at run time --------------------------------------------------------------------------

TEST(BadInput, LayoutsThatNoViewMayHave) {
  constexpr Index huge = std::numeric_limits<Index>::max();
  EXPECT_FALSE(Layout(Shape{2, -1}).is_valid());
  EXPECT_FALSE(Layout(Shape{huge, huge}).is_valid());
  EXPECT_FALSE(Layout(Shape{0, huge, huge}).is_valid());
  EXPECT_FALSE(Layout(Shape{2}, Strides{huge}).is_valid());
  EXPECT_FALSE(Layout(Shape{2}, Strides{-huge - 1}).is_valid());
  EXPECT_FALSE(Layout(Shape{2, 2}, Strides{huge / 3, huge / 3}).is_valid());
  EXPECT_FALSE(Layout(Shape{3}, Strides{1}, huge).is_valid());
  EXPECT_FALSE(Layout(Shape{2, 2}, Strides{1}).is_valid());
  EXPECT_FALSE(Layout(Shape::filled(9, 1)).is_valid());
  EXPECT_TRUE(Layout(Shape{1, 0}, Strides{huge, -huge}).is_valid());  // never stepped along
  EXPECT_TRUE(Layout(Shape{Index{1} << 32, 2}, Strides{-2, 1}).is_valid());
}

// The unchecked build: tests/view/checked_test.cpp has the other.
TEST(BadInput, AWrongArgumentGivesAViewOfNoElements) {
  volatile std::size_t ninth = 9;  // (no constant expression)
  int data[4] = {1, 2, 3, 4};
  const TensorView<int> view(data, {2, 2});
  for (const TensorView<int>& wrong :
       {view.flip(ninth), view.select(ninth, 0), view.select(0, 2), view.unsqueeze(ninth), view.permute({0, 2}),
        view.slice({0}, {2}, {1}), view.slice({0, 0}, {2, 3}, {1, 1}), view.broadcast_to({2}), view.reshape({3}),
        view.broadcast_to(Shape::filled(9, 2)), TensorView<int>(data, Shape::filled(8, 1)).unsqueeze(0)}) {
    EXPECT_EQ(wrong.shape(), Shape{0});
    EXPECT_EQ(wrong.required_span_size(), 0);
    for (const auto row : rows(wrong)) FAIL() << "a row of " << row.size();
  }
}

}  // namespace
