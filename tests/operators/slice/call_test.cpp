// call_test.cpp: SLICE and SLICE1 on random views against their descriptors on packed copies, bit by bit.
#include "dmlref/slice.hpp"

#include <gtest/gtest.h>

#include <variant>

#include "support/placed_view.hpp"
#include "support/seed.hpp"
#include "support/slice_cases.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

/// Runs `desc`, whose tensors are packed, on a packed copy of the input, and `call` on the views.
template <class T, class Desc, class Call>
void expect_same(const Desc& desc, const PlacedView<T>& input, const PlacedView<T>& output, Call call) {
  const auto in = input.packed();
  auto out = output.packed();
  const InputBuffer inputs[] = {in};
  const OutputBuffer outputs[] = {out};
  Report report = run(desc, latest_feature_level, inputs, outputs);
  ASSERT_TRUE(report) << report.to_string();
  const auto expected = output.with(out);
  report = call();
  ASSERT_TRUE(report) << report.to_string();
  const auto memory = output.bytes();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin(), memory.end()))
      << "input" << input.describe() << ", output" << output.describe();
}

/// A desc that `described` gives runs on the views' own memory.
template <class T, class Desc>
void expect_described(const DescribeResult<Desc>& described, const PlacedView<T>& input, const PlacedView<T>& output) {
  EXPECT_EQ(static_cast<bool>(described), !input.mirrored() && !output.mirrored());
  if (!described) return;
  const auto padded = [](std::span<const std::byte> bytes) {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    copy.resize((copy.size() + 3) / 4 * 4);
    return copy;
  };
  const auto expected = padded(output.bytes());
  const auto in = padded(input.bytes());
  auto out = expected;
  std::fill(out.begin(), out.end(), std::byte{0});
  const InputBuffer inputs[] = {in};
  const OutputBuffer outputs[] = {out};
  const Report report = run(described.value(), latest_feature_level, inputs, outputs);
  ASSERT_TRUE(report) << report.to_string();
  const auto view = TensorView<T>(DirectAccess<T>{reinterpret_cast<T*>(out.data())}, output.view().layout());
  for (Index i = 0; i < view.size(); ++i) {
    const Coordinates at = unravel(i, view.shape());
    ASSERT_EQ(std::memcmp(view.access().pointer(view.layout()(at)), output.view().access().pointer(view.layout()(at)),
                          sizeof(T)),
              0);
  }
}

template <class T>
void check(std::mt19937_64& random, std::uint64_t elements) {
  SliceLimits limits;
  limits.element_size = sizeof(T);
  limits.elements = elements;
  SliceCase it = random_slice(random, limits);
  std::uint64_t stands_for = 1;  // where the generator broadcasts, a packed copy may not fit memory
  for (const std::uint32_t extent : it.input_desc().sizes) stands_for *= extent;
  if (stands_for > 100 * elements) return;
  const auto any = [&](std::size_t) {
    const std::uint64_t bits = random();
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
  };
  const PlacedView<T> input(random, it.input_desc().sizes, Strided::broadcast, any);
  const PlacedView<T> output(random, it.output_desc().sizes, Strided::own_addresses, any);
  ThreadExecutor threads(3);
  RunOptions options;
  if (elements > 10000) options.executor = &threads;
  SCOPED_TRACE(describe(it));
  if (auto* desc = std::get_if<SliceDesc>(&it.desc)) {
    desc->input = TensorDesc(data_type_of<T>, desc->input.sizes);
    desc->output = TensorDesc(data_type_of<T>, desc->output.sizes);
    expect_same(*desc, input, output,
                [&] { return slice(input.view(), output.view(), desc->offsets, desc->strides, options); });
    expect_described(describe_slice(input.view(), output.view(), desc->offsets, desc->strides), input, output);
  } else {
    auto& desc1 = std::get<Slice1Desc>(it.desc);
    desc1.input = TensorDesc(data_type_of<T>, desc1.input.sizes);
    desc1.output = TensorDesc(data_type_of<T>, desc1.output.sizes);
    expect_same(desc1, input, output, [&] {
      return slice1(input.view(), output.view(), desc1.window_offsets, desc1.window_sizes, desc1.window_strides,
                    options);
    });
    expect_described(
        describe_slice1(input.view(), output.view(), desc1.window_offsets, desc1.window_sizes, desc1.window_strides),
        input, output);
  }
}

TEST(SliceOnViews, AnyStridesGiveTheDescriptorsBits) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < rounds(100) && !HasFailure(); ++i) {
    check<std::uint8_t>(random, 2000);
    check<half>(random, 2000);
    check<float>(random, 2000);
    check<std::int64_t>(random, 2000);
  }
}

TEST(SliceOnViews, ThreadsGiveTheDescriptorsBits) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < rounds(4) && !HasFailure(); ++i) {
    check<std::uint8_t>(random, 300000);
    check<float>(random, 100000);
  }
}

struct Pixel {
  std::uint8_t red, green, blue, alpha;
  bool operator==(const Pixel&) const = default;
};

TEST(SliceOnViews, CopiesAnyTypeOfFourSizes) {
  const Pixel row[] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  Pixel mirrored[3];
  EXPECT_TRUE(slice1(TensorView(row, Shape{3}), TensorView(mirrored, Shape{3}), {0}, {3}, {-1}));
  EXPECT_EQ(mirrored[0], row[2]);
  EXPECT_EQ(mirrored[2], row[0]);
  const bool flags[] = {true, false, true};
  bool every_second[2];
  EXPECT_TRUE(slice(TensorView(flags, Shape{3}), TensorView(every_second, Shape{2}), {0}, {2}));
  EXPECT_TRUE(every_second[0] && every_second[1]);
  static_assert(!SliceElement<const float> && !SliceElement<std::string> && !SliceElement<long double>);
}

}  // namespace
