// tensor_desc_test.cpp: how many elements and bytes a layout spans.
#include "dmlref/desc/tensor_desc.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>

namespace {

using dmlref::buffer_tensor_size;
using dmlref::DataType;
using dmlref::Dimensions;
using dmlref::spanned_elements;
using dmlref::TensorDesc;

using List = std::initializer_list<std::uint32_t>;

constexpr std::optional<std::uint64_t> bytes(DataType type, List sizes, List strides = {}) {
  return buffer_tensor_size(type, std::span(sizes.begin(), sizes.size()), std::span(strides.begin(), strides.size()));
}
constexpr std::optional<std::uint64_t> elements(List sizes, List strides = {}) {
  return spanned_elements(std::span(sizes.begin(), sizes.size()), std::span(strides.begin(), strides.size()));
}

static_assert(bytes(DataType::float32, {1, 1, 4, 4}) == 64);
static_assert(bytes(DataType::float16, {1, 1, 3, 5}) == 32);  // 30, rounded up to a multiple of 4
static_assert(bytes(DataType::int8, {1, 1, 3, 5}) == 16);
static_assert(bytes(DataType::int8, {1, 1, 1, 1}) == 4);
static_assert(bytes(DataType::float16, {1, 1, 2, 3}, {10, 10, 5, 1}) == 16);
static_assert(bytes(DataType::uint8, {1, 3, 4, 5}, {0, 1, 0, 0}) == 4);
static_assert(bytes(DataType::float32, {2, 8, 4, 4}, {0, 1, 0, 0}) == 32);
static_assert(bytes(DataType::float64, {3}) == 24 && bytes(DataType::int64, {3}, {2}) == 40);

// The published helper sums in 32 bits and answers 4.
static_assert(bytes(DataType::float32, {2, 2}, {4294967295u, 1}) == 17179869188ull);

static_assert(bytes(DataType::unknown, {1}) == std::nullopt);
static_assert(bytes(static_cast<DataType>(12), {1}) == std::nullopt);  // UINT4
static_assert(bytes(DataType::float32, {2, 0, 2}) == std::nullopt);
static_assert(bytes(DataType::float32, {2, 0, 2}, {1, 1, 1}) == std::nullopt);

static_assert(elements({2, 3, 4}) == 24 && elements({2, 3, 4}, {12, 4, 1}) == 24);
static_assert(elements({2, 3, 4}, {1, 2, 6}) == 24);  // permuted
static_assert(elements({5}, {0}) == 1 && elements({1, 1}, {9, 9}) == 1);
static_assert(elements({4, 4}, {1, 1}) == 7);  // overlapping

constexpr std::uint32_t huge = std::numeric_limits<std::uint32_t>::max();
static_assert(elements({huge, huge}) == std::uint64_t{huge} * huge);
static_assert(elements({huge, huge, huge}) == std::nullopt);
static_assert(elements({huge}, {huge}) == std::uint64_t{huge - 1} * huge + 1);
static_assert(elements({huge, huge, huge}, {huge, huge, huge}) == std::nullopt);
static_assert(bytes(DataType::float64, {huge, huge}) == std::nullopt);  // elements fit 64 bits, bytes do not

TEST(TensorDesc, ComputesItsSize) {
  EXPECT_EQ(TensorDesc(DataType::float16, {1, 1, 3, 5}).total_size_in_bytes, 32u);
  EXPECT_EQ(TensorDesc(DataType::uint8, {1, 3, 4, 5}, Dimensions{0, 1, 0, 0}).total_size_in_bytes, 4u);
  EXPECT_EQ(TensorDesc(DataType::float32, {2, 2}, Dimensions{1}).total_size_in_bytes, 0u);  // left to the validator
  EXPECT_EQ(TensorDesc(DataType::float64, {huge, huge}).total_size_in_bytes, 0u);
}

TEST(TensorDesc, EverySizeIsAMultipleOfFourAndHoldsTheLastElement) {
  const std::array types{DataType::uint8, DataType::float16, DataType::float32, DataType::float64};
  for (const DataType type : types) {
    for (std::uint32_t n = 1; n < 70; ++n) {
      for (std::uint32_t step = 0; step < 5; ++step) {
        const std::array sizes{n};
        const std::array strides{step};
        const auto size = buffer_tensor_size(type, sizes, strides);
        ASSERT_TRUE(size);
        const std::uint64_t exact = (std::uint64_t{n - 1} * step + 1) * size_of(type);
        EXPECT_EQ(*size % 4, 0u);
        EXPECT_GE(*size, exact);
        EXPECT_LT(*size, exact + 4);
      }
    }
  }
}

}  // namespace
