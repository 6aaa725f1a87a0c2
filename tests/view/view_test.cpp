// view_test.cpp: shapes, layouts, views, rows and coalescing, at run time and in constant expressions.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "dmlref/view/bind.hpp"
#include "dmlref/view/coalesce.hpp"
#include "dmlref/view/rows.hpp"
#include "dmlref/view/shape.hpp"
#include "dmlref/view/tensor_view.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;

// --- Shape -------------------------------------------------------------------------------------------------------

static_assert(Shape{2, 3, 4}.size() == 3 && Shape{2, 3, 4}.back() == 4);
static_assert(Shape::filled(3, 7) == Shape{7, 7, 7});
static_assert(element_count(Shape{}) == 1 && element_count(Shape{2, 3, 4}) == 24 && element_count(Shape{2, 0, 4}) == 0);
static_assert(packed_strides(Shape{2, 3, 4}) == Strides{12, 4, 1});
static_assert(packed_strides(Shape{5}) == Strides{1} && packed_strides(Shape{}) == Strides{});
static_assert(unravel(17, Shape{2, 3, 4}) == Coordinates{1, 1, 1});
static_assert(Shape{1, 2} != Shape{1, 2, 1});

constexpr Shape edited() {
  Shape shape{3, 4};
  shape.insert_front(2);
  shape.push_back(5);
  shape.erase(1);
  return shape;
}
static_assert(edited() == Shape{2, 4, 5});

// More than eight numbers always make the rank nine, which every check refuses.
static_assert(Shape{1, 2, 3, 4, 5, 6, 7, 8}.size() == 8);
static_assert(Shape{1, 2, 3, 4, 5, 6, 7, 8, 9}.size() == 9 && Shape::filled(12, 1).size() == 9);
static_assert(Shape::filled(8, 1) != Shape::filled(9, 1));
static_assert(!try_element_count(Shape::filled(9, 1)) && !Layout(Shape::filled(9, 1)).is_valid());

TEST(Shape, MoreThanEightAreNotCutToEight) {
  Shape shape;
  for (Index d = 1; d <= 12; ++d) shape.push_back(d);
  EXPECT_EQ(shape.size(), max_rank + 1);
  shape.insert_front(99);
  EXPECT_EQ(shape.size(), max_rank + 1);
  EXPECT_EQ(shape[0], 99);
  const std::array<std::uint32_t, 30> many{};
  EXPECT_EQ(Shape::from<std::uint32_t>(many).size(), max_rank + 1);
  shape = Shape::filled(8, 2);
  shape.insert(3, 1);
  EXPECT_EQ(shape.size(), max_rank + 1);
}

// Roles of lists cannot be mixed up.
template <class To, class... From>
concept Takes = requires(From... from) {
  To(from...);
};
template <class... Args>
concept Advances = requires(Args&... args) {
  advance(args...);
};
static_assert(Takes<Layout, Shape, Strides> && !Takes<Layout, Strides, Shape> && !Takes<Layout, Shape, Shape>);
static_assert(Takes<TensorView<int>, int*, Shape, Strides> && !Takes<TensorView<int>, int*, Strides, Shape>);
static_assert(!Takes<TensorView<int>, int*, Strides> && !Takes<TensorView<int>, int*, IndexList>);
static_assert(Advances<Coordinates, Shape> && !Advances<Shape, Coordinates> && !Advances<Coordinates, Coordinates>);
static_assert(!std::is_convertible_v<Shape, Strides> && !std::is_convertible_v<Strides, Coordinates> &&
              !std::is_convertible_v<Coordinates, Shape> && !std::is_convertible_v<IndexList, Shape>);
static_assert(std::is_convertible_v<Shape, IndexList> && Strides(Shape{2, 3}) == Strides{2, 3});
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
static_assert(Comparable<Shape, Shape> && !Comparable<Shape, Strides>);

static_assert(try_element_count(Shape{2, 3}) == 6 && try_element_count(Shape{}) == 1);
static_assert(try_element_count(Shape{Index{1} << 40, 0, 2}) == 0);
static_assert(!try_element_count(Shape{2, -1}) && !try_element_count(Shape{Index{1} << 40, Index{1} << 40}));

TEST(Shape, ProductsBeyond32BitsAreExact) {
  EXPECT_EQ(element_count(Shape{65536, 65536, 16}), Index{1} << 36);
  EXPECT_EQ(packed_strides(Shape{2, 65536, 65536})[0], Index{1} << 32);
}

TEST(Shape, AdvanceVisitsEveryPositionInRowMajorOrderOnce) {
  for (std::size_t rank = 1; rank <= max_rank; ++rank) {
    Shape shape;
    for (std::size_t d = 0; d < rank; ++d) shape.push_back(static_cast<Index>(1 + (d * 5 + rank) % 3));
    auto at = Coordinates::filled(rank, 0);
    Index linear = 0;
    do {
      ASSERT_EQ(at, unravel(linear, shape));
      ++linear;
    } while (advance(at, shape));
    EXPECT_EQ(linear, element_count(shape));
    EXPECT_EQ(at, Coordinates::filled(rank, 0));
  }
}

// --- Layout: the worked examples of DirectML's page on strides ------------------------------------------------------

static_assert(Layout(Shape{2, 2, 3})(Coordinates{1, 0, 1}) == 7);
static_assert(Layout(Shape{1, 1, 3, 5}).strides == Strides{15, 15, 5, 1});
static_assert(Layout(Shape{2, 3}, Strides{0, 1})(Coordinates{1, 2}) == 2);  // a broadcast row
static_assert(Layout(Shape{2, 3}, Strides{5, 1})(Coordinates{1, 0}) == 5);  // padded rows
static_assert(Layout(Shape{2, 3}, Strides{1, 2})(Coordinates{1, 2}) == 5);  // column major
static_assert(Layout(Shape{4}, Strides{-1}, 3)(Coordinates{3}) == 0);       // reversed
static_assert(Layout(Shape{})(Coordinates{}) == 0);

// --- TensorView -----------------------------------------------------------------------------------------------------

constexpr std::array<int, 12> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
constexpr TensorView<const int> matrix(numbers.data(), Shape{3, 4});

static_assert(matrix(1, 2) == 6 && matrix.load({2, 3}) == 11);
static_assert(matrix.rank() == 2 && matrix.size() == 12 && matrix.extent(1) == 4 && matrix.stride(0) == 4);
static_assert(matrix.permute({1, 0}).shape() == Shape{4, 3} && matrix.permute({1, 0})(3, 1) == matrix(1, 3));
static_assert(matrix.with_layout(Layout(Shape{3, 4}, Strides{-4, -1}, 11))(0, 0) == 11);
static_assert(matrix.with_layout(Layout(Shape{3, 4}, Strides{-4, -1}, 11))(2, 1) == 2);
static_assert(TensorView<const int>(numbers.data(), Shape{1, 4}).broadcast_to(Shape{2, 3, 4})(1, 2, 3) == 3);
static_assert(TensorView<const int>(numbers.data(), Shape{3, 1}).broadcast_to(Shape{3, 5})(2, 4) == 2);
static_assert(TensorView(numbers.data(), Shape{2, 2}, Strides{0, 3})(1, 1) == 3);

constexpr int transposed_sum() {
  std::array<int, 12> to{};
  const TensorView<int> out(to.data(), Shape{4, 3});
  const TensorView<const int> in = matrix.permute({1, 0});
  auto at = Coordinates::filled(2, 0);
  do out.store(at, in.load(at));
  while (advance(at, out.shape()));
  int sum = 0;
  for (std::size_t i = 0; i < to.size(); ++i) sum += static_cast<int>(i) * to[i];
  return sum;
}
// sum over r, c of (r * 3 + c) * (c * 4 + r) for r < 4, c < 3
static_assert(transposed_sum() ==
              0 * 0 + 1 * 4 + 2 * 8 + 3 * 1 + 4 * 5 + 5 * 9 + 6 * 2 + 7 * 6 + 8 * 10 + 9 * 3 + 10 * 7 + 11 * 11);

TEST(TensorView, BytesAtAnyAddress) {
  std::vector<std::byte> bytes(1 + 6 * sizeof(double));
  const Layout layout(Shape{2, 3});
  const ByteTensorView<double> view = dmlref::bind<double>(bytes.data() + 1, layout);
  auto at = Coordinates::filled(2, 0);
  double value = 0.5;
  do view.store(at, value++);
  while (advance(at, layout.shape));
  EXPECT_EQ(view(0, 0), 0.5);
  EXPECT_EQ(view(1, 2), 5.5);
  double direct = 0;
  std::memcpy(&direct, bytes.data() + 1 + 4 * sizeof(double), sizeof direct);
  EXPECT_EQ(direct, 4.5);
  EXPECT_EQ(dmlref::bind<const double>(bytes.data() + 1, layout)(1, 1), 4.5);
}

TEST(TensorView, ADescriptorBecomesALayout) {
  EXPECT_EQ(layout_of(TensorDesc(DataType::float32, {1, 1, 3, 5})), Layout(Shape{1, 1, 3, 5}));
  const Layout nhwc = layout_of(TensorDesc(DataType::float32, {1, 1, 3, 5}, Dimensions{15, 1, 5, 1}));
  EXPECT_EQ(nhwc.strides, (Strides{15, 1, 5, 1}));
  const Layout large = layout_of(TensorDesc(DataType::uint8, {2, 2}, Dimensions{4294967295u, 0}));
  EXPECT_EQ(large(Coordinates{1, 1}), Index{4294967295});
}

// --- coalesce -------------------------------------------------------------------------------------------------------

static_assert(coalesce(Layout(Shape{2, 3, 4})) == Layout(Shape{24}, Strides{1}));
static_assert(coalesce(Layout(Shape{})).shape == Shape{1});
static_assert(coalesce(Layout(Shape{1, 1, 1})).shape == Shape{1});
static_assert(coalesce(Layout(Shape{2, 1, 4}, Strides{4, 77, 1})) == Layout(Shape{8}, Strides{1}));
static_assert(coalesce(Layout(Shape{2, 3, 4}, Strides{15, 5, 1})) == Layout(Shape{6, 4}, Strides{5, 1}));
static_assert(coalesce(Layout(Shape{3, 4}, Strides{-4, -1}, 11)) == Layout(Shape{12}, Strides{-1}, 11));
static_assert(coalesce(Layout(Shape{3, 4}, Strides{0, 0})) == Layout(Shape{12}, Strides{0}));
static_assert(coalesce(Layout(Shape{3, 4}, Strides{0, 1})).shape == Shape{3, 4});
static_assert(coalesce(Layout(Shape{3, 4}, Strides{4, -1}, 3)).shape == Shape{3, 4});

constexpr std::size_t joint_rank() {
  JointLayout<2> joint;
  joint.shape = Shape{2, 3, 4, 5};
  joint.strides[0] = Strides{60, 20, 5, 1};
  joint.strides[1] = Strides{80, 20, 5, 1};  // only the outermost dimension breaks
  return coalesce(joint).rank();
}
static_assert(joint_rank() == 2);

// --- rows -----------------------------------------------------------------------------------------------------------

constexpr int weighted(const TensorView<const int>& view) {
  int sum = 0;
  int weight = 0;
  for (const auto row : rows(view)) {
    for (Index i = 0; i < row.size(); ++i) sum += ++weight * row[i];
  }
  return sum;
}
constexpr int row_count(const TensorView<const int>& view) {
  int count = 0;
  for (const auto row : rows(view)) count += row.size() > 0 ? 1 : 0;
  return count;
}
static_assert(row_count(matrix) == 1 && row_count(matrix.permute({1, 0})) == 4);
static_assert(row_count(TensorView<const int>(numbers.data(), Shape{0, 4})) == 0);
static_assert(row_count(TensorView<const int>(numbers.data(), Shape{})) == 1);
static_assert(weighted(TensorView<const int>(numbers.data(), Shape{2, 2}, Strides{4, 2})) ==
              1 * 0 + 2 * 2 + 3 * 4 + 4 * 6);

class RandomLayouts : public testing::Test {
 protected:
  RandomLayouts() : seed(dmlref_test::test_seed()), random(seed) {}
  Index number(Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(random); }
  std::uint64_t seed;
  std::mt19937_64 random;
};

// Rows, coalesced or not, must name the same indices in the same order as walking all coordinates.
TEST_F(RandomLayouts, RowsAndCoalescedRowsNameEveryElementInOrder) {
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    const auto rank = static_cast<std::size_t>(number(1, 8));
    JointLayout<2> joint;
    for (std::size_t d = 0; d < rank; ++d) joint.shape.push_back(number(1, 3));
    joint.strides[0] = packed_strides(joint.shape);
    joint.strides[1] = packed_strides(joint.shape);
    for (std::size_t d = 0; d < rank; ++d) {
      if (number(0, 3) == 0) joint.strides[0][d] = number(-9, 9);
      if (number(0, 5) == 0) joint.strides[1][d] = number(-2, 2);
      if (number(0, 4) == 0) joint.strides[0][d] = joint.strides[1][d] = 0;
    }
    const Index offsets[2] = {number(0, 100), number(0, 100)};

    std::vector<std::array<Index, 2>> expected;
    const Layout a(joint.shape, joint.strides[0], offsets[0]);
    const Layout b(joint.shape, joint.strides[1], offsets[1]);
    for (Index i = 0; i < element_count(joint.shape); ++i) {
      expected.push_back({a(unravel(i, joint.shape)), b(unravel(i, joint.shape))});
    }
    const JointLayout<2> merged = coalesce(joint);
    for (const JointLayout<2>& walked : {joint, merged}) {
      std::vector<std::array<Index, 2>> found;
      for (RowIterator<2> row(walked, offsets); row; ++row) {
        for (Index i = 0; i < row.count(); ++i) {
          found.push_back({row.start(0) + i * row.step(0), row.start(1) + i * row.step(1)});
        }
      }
      ASSERT_EQ(found, expected);
    }
    ASSERT_LE(merged.rank(), joint.rank());
    for (std::size_t d = 0; d + 1 < merged.rank(); ++d) {  // nothing that could merge is left
      const Index extent = merged.shape[d + 1];
      ASSERT_FALSE(merged.strides[0][d] == merged.strides[0][d + 1] * extent &&
                   merged.strides[1][d] == merged.strides[1][d + 1] * extent);
    }
  }
}

}  // namespace
