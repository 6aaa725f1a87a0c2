// edges_test.cpp: the first and the last of what a view accepts, one step on either side.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "dmlref/view/interop.hpp"
#include "dmlref/view/layout.hpp"
#include "dmlref/view/print.hpp"
#include "dmlref/view/rows.hpp"
#include "dmlref/view/tensor_view.hpp"

namespace {

using namespace dmlref;

constexpr Layout layout(Shape{2, 3});
static_assert(layout.contains({0, 0}) && layout.contains({1, 2}) && layout.contains({0, 2}) && layout.contains({1, 0}));
static_assert(!layout.contains({-1, 0}) && !layout.contains({0, -1}) && !layout.contains({2, 0}));
static_assert(!layout.contains({0, 3}) && !layout.contains({0}) && !layout.contains({0, 0, 0}));

// Every stride a little below 2^62 divided by the extents, less what offset and other dimensions reach.
constexpr Index most = Index{1} << 61;
constexpr bool is_valid(const Shape& shape, const Strides& strides, Index offset = 0) {
  return Layout(shape, strides, offset).is_valid();
}
static_assert(is_valid({2}, {most - 2}) && !is_valid({2}, {most - 1}));
static_assert(is_valid({2}, {-most + 1}) && !is_valid({2}, {-most}));
static_assert(is_valid({2}, {most - 3}, 2) && !is_valid({2}, {most - 2}, 2));
static_assert(is_valid({2}, {most - 3}, -3) && !is_valid({2}, {most - 2}, -3));
static_assert(is_valid({2, 2}, {most / 2 - 1, most / 2 - 2}) && !is_valid({2, 2}, {most / 2 - 1, most / 2 - 1}));
constexpr Index highest = (std::numeric_limits<Index>::max)();
static_assert(is_valid({1}, {highest}) && is_valid({0}, {highest}));

// A view without elements stays where it is, whichever way it would go.
constexpr Index offset_of_slice(Index first, Index size, Index stride) {
  const auto to = try_slice(Layout(Shape{4}), {first}, {size}, {stride});
  return to ? to->offset : -1;
}
static_assert(offset_of_slice(2, 0, 1) == 0 && offset_of_slice(2, 0, -1) == 0 && offset_of_slice(0, 0, -1) == 0);
static_assert(offset_of_slice(2, 1, 1) == 2 && offset_of_slice(2, 2, -1) == 3 && offset_of_slice(0, 1, -1) == 0);

// A number alone is a row of one.
constexpr Index no_offset[] = {0};
static_assert(RowIterator<1>(JointLayout<1>{}, no_offset).count() == 1);
static_assert(RowIterator<1>(JointLayout<1>{}, no_offset).step(0) == 1);

// The memory of no element, of one, of two with a gap.
TEST(Edges, OfTheMemoryOfAView) {
  int numbers[] = {0, 1, 2, 3, 4, 5};
  const auto memory = [&](const Shape& shape, const Strides& strides) {
    return memory_of(TensorView<int>(DirectAccess<int>{numbers + 3}, Layout(shape, strides)));
  };
  EXPECT_TRUE(memory({0}, {1}).empty());
  EXPECT_EQ(memory({1}, {7}).data(), numbers + 3);
  EXPECT_EQ(memory({1}, {7}).size(), 1u);
  EXPECT_EQ(memory({1, 1}, {-5, 0}).size(), 1u);
  EXPECT_EQ(memory({2}, {2}).size(), 3u);
  EXPECT_EQ(memory({2}, {-2}).data(), numbers + 1);
  EXPECT_EQ(memory({2}, {-2}).size(), 3u);
}

/// DLPack's tensor, as far as a view of it needs.
struct DlTensor {
  void* data = nullptr;
  struct {
    int device_type = 1, device_id = 0;
  } device;
  std::int32_t ndim = 1;
  struct {
    std::uint8_t code = 0, bits = 32;
    std::uint16_t lanes = 1;
  } dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;
  std::uint64_t byte_offset = 0;
};
TEST(Edges, OfDlpacksMemory) {
  std::int64_t extent = 0;
  DlTensor tensor;
  tensor.shape = &extent;
  EXPECT_TRUE(try_view_of<std::int32_t>(tensor).has_value());  // nothing of it is read
  extent = 1;
  EXPECT_FALSE(try_view_of<std::int32_t>(tensor).has_value());
}

// The checked forms give the element, or nothing.
TEST(Edges, OfCheckedAccess) {
  const int numbers[] = {0, 1, 2, 3, 4, 5};
  const TensorView<const int> view(DirectAccess<const int>{numbers}, layout);
  for (Index i = -1; i <= 2; ++i) {
    for (Index j = -1; j <= 3; ++j) {
      const bool inside = i >= 0 && i < 2 && j >= 0 && j < 3;
      EXPECT_EQ(view.at(i, j), inside ? std::optional<int>(static_cast<int>(3 * i + j)) : std::nullopt);
    }
  }
}

template <class T>
std::string printed(const std::vector<T>& values, const Shape& shape) {
  return to_string(TensorView<const T>(DirectAccess<const T>{values.data()}, Layout(shape)));
}

// As NumPy prints them: where exponents begin, and where the middle is left out.
TEST(Edges, OfPrinting) {
  EXPECT_EQ(printed<double>({1e-4}, {}), "0.0001");
  EXPECT_EQ(printed<double>({-1e-4}, {}), "-0.0001");
  EXPECT_EQ(printed<double>({9.999999999999999e-05}, {}), "9.999999999999999e-05");
  EXPECT_EQ(printed<double>({9999999999999998.0}, {}), "9999999999999998.0");
  EXPECT_EQ(printed<double>({99999999}, {1}), "[99999999.]");
  EXPECT_EQ(printed<double>({1e8}, {1}), "[1.e+08]");
  EXPECT_EQ(printed<double>({1e-4}, {1}), "[0.0001]");
  EXPECT_EQ(printed<double>({9e-5}, {1}), "[9.e-05]");
  EXPECT_EQ(printed<double>({1, 1000}, {2}), "[   1. 1000.]");
  EXPECT_EQ(printed<double>({1, 1001}, {2}), "[1.000e+00 1.001e+03]");
  EXPECT_EQ(printed<double>({0, 1e-4}, {2}), "[0.     0.0001]");
  EXPECT_EQ(printed<std::int8_t>(std::vector<std::int8_t>(1000), {1000}).find("..."), std::string::npos);
  EXPECT_EQ(printed<std::int8_t>(std::vector<std::int8_t>(1001), {1001}), "[0 0 0 ... 0 0 0]");
  const std::string row = "[0 0 0 ... 0 0 0]";
  std::string six = "[" + row;
  for (int i = 0; i < 5; ++i) six += "\n " + row;
  EXPECT_EQ(printed<std::int8_t>(std::vector<std::int8_t>(6 * 167), {6, 167}), six + "]");
  EXPECT_NE(printed<std::int8_t>(std::vector<std::int8_t>(7 * 143), {7, 143}).find("\n ...\n"), std::string::npos);
}

}  // namespace
