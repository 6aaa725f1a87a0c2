// reference_test.cpp: SLICE and SLICE1: the documents' examples, corners, and random cases of every layout.
#include "dmlref/operators/slice/reference.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <unsupported/Eigen/CXX11/Tensor>
#include <vector>

#include "dmlref/desc/half.hpp"
#include "dmlref/run/run.hpp"
#include "dmlref/view/bind.hpp"
#include "support/seed.hpp"
#include "support/slice_cases.hpp"

namespace {

using namespace dmlref;
using dmlref_test::SliceCase;

// --- on views, in constant expressions ------------------------------------------------------------------------------

template <std::size_t N>
constexpr std::array<int, N> counting() {
  std::array<int, N> values{};
  for (std::size_t i = 0; i < N; ++i) values[i] = static_cast<int>(i) + 1;
  return values;
}

template <std::size_t N, std::size_t Rank, std::size_t Count>
constexpr std::array<int, N> sliced(const Shape& in, const Shape& out, const std::array<std::uint32_t, Rank>& offsets,
                                    const std::array<std::uint32_t, Rank>& strides,
                                    const std::array<int, Count>& data) {
  std::array<int, N> result{};
  reference::slice(TensorView<const int>(data.data(), in), TensorView<int>(result.data(), out),
                   std::span<const std::uint32_t>(offsets), std::span<const std::uint32_t>(strides));
  return result;
}

template <std::size_t N>
constexpr std::array<int, N> sliced1(const Shape& out, const std::array<std::uint32_t, 4>& offsets,
                                     const std::array<std::uint32_t, 4>& windows,
                                     const std::array<std::int32_t, 4>& strides) {
  const std::array<int, 16> data = counting<16>();
  std::array<int, N> result{};
  reference::slice1(TensorView<const int>(data.data(), Shape{1, 1, 4, 4}), TensorView<int>(result.data(), out),
                    std::span<const std::uint32_t>(offsets), std::span<const std::uint32_t>(windows),
                    std::span<const std::int32_t>(strides));
  return result;
}

using Four = std::array<std::uint32_t, 4>;
using Two = std::array<std::uint32_t, 2>;
constexpr Shape square{1, 1, 4, 4};

// The two examples of SLICE's page.
static_assert(sliced<6>(square, {1, 1, 3, 2}, Four{0, 0, 1, 2}, Four{1, 1, 1, 1}, counting<16>()) ==
              std::array{7, 8, 11, 12, 15, 16});
static_assert(sliced<4>(square, {1, 1, 2, 2}, Four{0, 0, 1, 0}, Four{1, 1, 2, 3}, counting<16>()) ==
              std::array{5, 8, 13, 16});
// The one-row example of an older version of that page: elements 10, 12, 14, 16, 18 (counted from 0).
static_assert(sliced<5>({1, 1, 1, 20}, {1, 1, 1, 5}, Four{0, 0, 0, 10}, Four{1, 1, 1, 2}, counting<20>()) ==
              std::array{11, 13, 15, 17, 19});
// DxDispatch's model dml_slice.json.
static_assert(sliced<6>({1, 1, 5, 5}, {1, 1, 3, 2}, Four{0, 0, 1, 1}, Four{1, 1, 1, 2}, counting<25>()) ==
              std::array{7, 9, 12, 14, 17, 19});
// A stride of 0 repeats one element: SLICE's page forbids it nowhere.
static_assert(sliced<3>({4}, {3}, std::array<std::uint32_t, 1>{2}, std::array<std::uint32_t, 1>{0}, counting<4>()) ==
              std::array{3, 3, 3});

// The two examples of SLICE1's page.
static_assert(sliced1<4>({1, 1, 2, 2}, {0, 0, 0, 1}, {1, 1, 4, 3}, {1, 1, 2, 2}) == std::array{2, 4, 10, 12});
static_assert(sliced1<4>({1, 1, 2, 2}, {0, 0, 0, 1}, {1, 1, 4, 3}, {1, 1, -2, 2}) == std::array{14, 16, 6, 8});
// Both mirrored, and an output that takes less than the window offers.
static_assert(sliced1<4>({1, 1, 2, 2}, {0, 0, 1, 1}, {1, 1, 3, 3}, {1, 1, -1, -2}) == std::array{16, 14, 12, 10});
static_assert(sliced1<2>({1, 1, 1, 2}, {0, 0, 0, 0}, {1, 1, 4, 4}, {1, 1, -1, -1}) == std::array{16, 15});

static_assert(reference::slice1_layout(Layout(Shape{5}), Shape{1}, std::array<std::uint32_t, 1>{1},
                                       std::array<std::uint32_t, 1>{3},
                                       std::array<std::int32_t, 1>{INT32_MIN}) == Layout(Shape{1}, Strides{0}, 3));
// The largest strides are accepted where they are never taken; in constant expressions an overflow would not compile.
constexpr Index largest = 0xFFFFFFFF;
static_assert(reference::slice_layout(Layout(Shape{1, 4}, Strides{largest, 1}), Shape{1, 2}, Two{0, 1},
                                      Two{0xFFFFFFFF, 2}) == Layout(Shape{1, 2}, Strides{0, 2}, 1));
static_assert(reference::slice1_layout(Layout(Shape{1, 4}, Strides{largest, 1}), Shape{1, 2}, Two{0, 1}, Two{1, 3},
                                       std::array<std::int32_t, 2>{INT32_MIN, -2}) ==
              Layout(Shape{1, 2}, Strides{0, -2}, 3));

// --- through run ----------------------------------------------------------------------------------------------------

template <class T>
std::vector<T> run_slice(const OperatorDesc& desc, const std::vector<T>& input, std::size_t outputs) {
  std::vector<T> output(outputs);
  const InputBuffer in = std::as_bytes(std::span(input));
  const OutputBuffer out = std::as_writable_bytes(std::span(output));
  const Report report = run(desc, latest_feature_level, {&in, 1}, {&out, 1});
  EXPECT_TRUE(report) << report.to_string();
  return output;
}

TEST(Slice, TheDocumentsExamplesThroughRun) {
  std::vector<float> input(16);
  for (std::size_t i = 0; i < 16; ++i) input[i] = static_cast<float>(i + 1);
  const TensorDesc in(DataType::float32, {1, 1, 4, 4});
  const TensorDesc two_by_two(DataType::float32, {1, 1, 2, 2});
  EXPECT_EQ(
      run_slice(SliceDesc{in, TensorDesc(DataType::float32, {1, 1, 3, 2}), {0, 0, 1, 2}, {1, 1, 3, 2}, {1, 1, 1, 1}},
                input, 6),
      (std::vector<float>{7, 8, 11, 12, 15, 16}));
  EXPECT_EQ(run_slice(SliceDesc{in, two_by_two, {0, 0, 1, 0}, {1, 1, 2, 2}, {1, 1, 2, 3}}, input, 4),
            (std::vector<float>{5, 8, 13, 16}));
  EXPECT_EQ(run_slice(Slice1Desc{in, two_by_two, {0, 0, 0, 1}, {1, 1, 4, 3}, {1, 1, 2, 2}}, input, 4),
            (std::vector<float>{2, 4, 10, 12}));
  EXPECT_EQ(run_slice(Slice1Desc{in, two_by_two, {0, 0, 0, 1}, {1, 1, 4, 3}, {1, 1, -2, 2}}, input, 4),
            (std::vector<float>{14, 16, 6, 8}));
}

// Signalling and quiet NaNs with payloads, negative zero, subnormals: bits are copied, no float is ever loaded.
TEST(Slice, NanPayloadsSurvive) {
  const std::vector<std::uint64_t> doubles{0x7FF0000000000001, 0xFFF4DEADBEEF0001, 0x7FF8000000000123,
                                           0x8000000000000000, 0x0000000000000001, 0xFFFFFFFFFFFFFFFF};
  const std::vector<std::uint32_t> floats{0x7F800001, 0xFFA12345, 0x7FC00077, 0x80000000, 0x00000001, 0xFFFFFFFF};
  const std::vector<std::uint16_t> halves{0x7C01, 0xFD23, 0x7E07, 0x8000, 0x0001, 0xFFFF};
  const auto reversed = [](DataType type) {
    return Slice1Desc{TensorDesc(type, {6}), TensorDesc(type, {6}), {0}, {6}, {-1}};
  };
  const auto mirror = [](auto values) {
    std::reverse(values.begin(), values.end());
    return values;
  };
  EXPECT_EQ(run_slice(reversed(DataType::float64), doubles, 6), mirror(doubles));
  EXPECT_EQ(run_slice(reversed(DataType::float32), floats, 6), mirror(floats));
  EXPECT_EQ(run_slice(reversed(DataType::float16), halves, 6), mirror(halves));
}

TEST(Slice, EmulatedInt64WithDoubledStrides) {  // a UINT32 tensor over the low words of {1, …, 6}, larger than needed
  const std::vector<std::uint32_t> words{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0};
  TensorDesc in(DataType::uint32, {2, 3}, Dimensions{6, 2});
  EXPECT_EQ(in.total_size_in_bytes, 44u);
  in.total_size_in_bytes = 48;
  const TensorDesc out(DataType::uint32, {2, 2});
  EXPECT_EQ(run_slice(Slice1Desc{in, out, {0, 0}, {2, 3}, {-1, 2}}, words, 4),
            (std::vector<std::uint32_t>{4, 6, 1, 3}));
}

TEST(Slice, StridesThatAreNeverTakenMayBeOfAnySize) {
  constexpr std::uint32_t most = 0xFFFFFFFF;
  const std::vector<double> input{1, 2, 3, 4};
  const TensorDesc in(DataType::float64, {1, 4, 1}, Dimensions{most, 1, most});
  const TensorDesc out(DataType::float64, {1, 2, 1}, Dimensions{most, 1, most});
  EXPECT_EQ(run_slice(SliceDesc{in, out, {0, 1, 0}, {1, 2, 1}, {most, 2, most}}, input, 2),
            (std::vector<double>{2, 4}));
  EXPECT_EQ(run_slice(Slice1Desc{in, out, {0, 0, 0}, {1, 4, 1}, {INT32_MIN, -2, INT32_MAX}}, input, 2),
            (std::vector<double>{4, 2}));
}

// --- properties -----------------------------------------------------------------------------------------------------

template <class T>
void expect_views_agree(const SliceCase& it) {
  std::vector<std::byte> output = it.before;
  const auto in = dmlref::bind<const T>(it.input.data(), layout_of(it.input_desc()));
  const auto out = dmlref::bind<T>(output.data(), layout_of(it.output_desc()));
  if (const auto* slice = std::get_if<SliceDesc>(&it.desc)) {
    reference::slice(in, out, slice->offsets, slice->strides);
  } else {
    const auto& slice1 = std::get<Slice1Desc>(it.desc);
    reference::slice1(in, out, slice1.window_offsets, slice1.window_sizes, slice1.window_strides);
  }
  ASSERT_EQ(dmlref_test::first_difference(output, it.expected), output.size());
}

TEST(Slice, RandomLayoutsGiveTheFormulasElementsAndTouchNothingElse) {
  const std::uint64_t seed = dmlref_test::test_seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < dmlref_test::rounds(4000); ++round) {
    const SliceCase it = dmlref_test::random_slice(random);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round << ' ' << describe(it));
    switch (it.element_size) {
      case 1: expect_views_agree<std::uint8_t>(it); break;
      case 2: expect_views_agree<half>(it); break;
      case 4: expect_views_agree<std::uint32_t>(it); break;
      default: expect_views_agree<std::uint64_t>(it); break;
    }
    if (HasFatalFailure()) return;
    std::vector<std::byte> output = it.before;
    const InputBuffer in(it.input);
    const OutputBuffer out(output);
    const Report report = run(it.desc, latest_feature_level, {&in, 1}, {&out, 1});
    ASSERT_TRUE(report) << report.to_string();
    ASSERT_EQ(dmlref_test::first_difference(output, it.expected), output.size());
  }
}

TEST(Slice, AgreesWithEigen) {
  using Tensor = Eigen::Tensor<float, 4, Eigen::RowMajor>;
  const std::uint64_t seed = dmlref_test::test_seed();
  std::mt19937_64 random(seed);
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Eigen::Index compared = 0;
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    Eigen::array<Eigen::Index, 4> sizes, start, stop, steps;
    Eigen::array<bool, 4> mirror;
    Dimensions in_sizes(4), out_sizes(4), offsets(4), windows(4);
    std::vector<std::int32_t> strides(4);
    for (std::size_t d = 0; d < 4; ++d) {
      sizes[d] = number(1, 12);
      start[d] = number(0, static_cast<int>(sizes[d]) - 1);
      const Eigen::Index window = number(1, static_cast<int>(sizes[d] - start[d]));
      stop[d] = start[d] + window;
      steps[d] = number(1, 3);
      mirror[d] = number(0, 1) == 0;
      in_sizes[d] = static_cast<std::uint32_t>(sizes[d]);
      offsets[d] = static_cast<std::uint32_t>(start[d]);
      windows[d] = static_cast<std::uint32_t>(window);
      out_sizes[d] = static_cast<std::uint32_t>(1 + (window - 1) / steps[d]);
      strides[d] = static_cast<std::int32_t>(mirror[d] ? -steps[d] : steps[d]);
    }
    Tensor tensor(sizes);
    tensor.setRandom();
    // A mirrored window is a window of the mirrored tensor: cut it out, mirror it, then take every step-th element.
    Eigen::array<Eigen::Index, 4> extents, zero{0, 0, 0, 0};
    for (std::size_t d = 0; d < 4; ++d) extents[d] = stop[d] - start[d];
    const Tensor expected = tensor.slice(start, extents).reverse(mirror).stridedSlice(zero, extents, steps);
    compared += expected.size();
    const std::vector<float> input(tensor.data(), tensor.data() + tensor.size());
    const Slice1Desc desc{TensorDesc(DataType::float32, in_sizes), TensorDesc(DataType::float32, out_sizes), offsets,
                          windows, strides};
    EXPECT_EQ(run_slice(desc, input, static_cast<std::size_t>(expected.size())),
              std::vector<float>(expected.data(), expected.data() + expected.size()));
  }
  EXPECT_GT(compared, 5000);
}

}  // namespace
