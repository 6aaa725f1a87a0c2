// kernels_test.cpp: integer convolutions by every instruction set against sums written a second way.
#include "dmlref/convolution_integer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "support/compiled_case.hpp"
#include "support/convolution_integer_case.hpp"
#include "support/direct_shapes.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

/// Whether by the reference: what kernels cannot do.
enum class Runs { kernels, reference };

void expect_bits(Random& random, const IntegerConvolutionCase& c, Runs by = Runs::kernels) {
  const StagedCase<ConvolutionIntegerDesc> staged(random, c);
  const CompileResult compiled = compile(staged.desc, latest_feature_level);
  ASSERT_TRUE(compiled) << compiled.report().to_string();
  EXPECT_EQ(compiled.value().strategy_name() == "reference", by == Runs::reference);
  expect_executed(random, compiled.value(), staged, c.output, expected_output(c));
}

/// Any type pair and zero points, packed in either order or of any strides.
void expect_sums(Random& random, const QlcShape& shape) {
  SCOPED_TRACE(describe(shape));
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any};
  expect_bits(random, make_integer_case(random, shape, QlcData::random, layouts[pick(random, 0, 2)]));
}

/// Leaves gaps between the output's channels, pixels, rows or planes; their order stays.
void widen_output(Random& random, IntegerConvolutionCase& c) {
  const Dimensions sizes = c.desc.output.sizes;
  const bool last = c.desc.output.strides && (*c.desc.output.strides)[1] == 1 && sizes[1] > 1;
  std::uint32_t step = 1;
  Dimensions strides(4);
  for (const std::size_t d : last ? std::array{1u, 3u, 2u, 0u} : std::array{3u, 2u, 1u, 0u}) {
    strides[d] = step;
    step = step * sizes[d] + (chance(random, 40) ? pick(random, 1, 40) : 0);
  }
  c.desc.output = TensorDesc(DataType::int32, sizes, strides);
  c.output.assign(c.desc.output.total_size_in_bytes, std::byte{0x5A});
}

TEST(ConvolutionIntegerKernels, RandomShapes) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(400) && !HasFailure(); ++i) expect_sums(random, random_integer_shape(random));
}

// Rows and channels around the sizes of tiles and blocks of channels.
TEST(ConvolutionIntegerKernels, EndsOfTilesAndBlocks) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(80) && !HasFailure(); ++i) {
    QlcShape shape;
    shape.batch = pick(random, 1, 2);
    shape.groups = chance(random, 30) ? pick(random, 2, 3) : 1;
    shape.in_channels = pick(random, 1, 40);
    shape.out_channels = pick(random, 1, 70);
    shape.in = {pick(random, 3, 9), pick(random, 3, 80)};
    shape.kernel = chance(random, 50) ? decltype(shape.kernel){1, 1} : decltype(shape.kernel){3, 3};
    shape.stride = {pick(random, 1, 2), pick(random, 1, 2)};
    shape.start = shape.end = {shape.kernel[0] / 2, shape.kernel[1] / 2};
    expect_sums(random, shape);
  }
}

// Layers that AMX's tiles suit, whose output may have gaps between pixels and between rows. Half of them have no
// zero-point compensation, so that tiles may store in the output.
TEST(ConvolutionIntegerKernels, TilesOfBytes) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(200) && !HasFailure(); ++i) {
    QlcShape shape;
    do {
      const bool deep = chance(random, 20);
      shape.batch = pick(random, 1, 2);
      shape.groups = chance(random, 20) ? pick(random, 2, 3) : 1;
      shape.in_channels = pick(random, 1, deep ? 300 : 70);
      shape.out_channels = chance(random, 40) ? 16 * pick(random, 1, 9) : pick(random, 1, deep ? 200 : 70);
      for (std::size_t d = 0; d < 2; ++d) {
        shape.in[d] = chance(random, 30) ? 16 : pick(random, 1, deep ? 9 : d == 1 && chance(random, 20) ? 150 : 30);
        shape.kernel[d] = chance(random, 50) ? 1 : pick(random, 1, 5);
        shape.stride[d] = chance(random, 60) ? 1 : pick(random, 1, 4);
        shape.dilation[d] = chance(random, 75) ? 1 : pick(random, 1, 3);
        shape.start[d] = chance(random, 50) ? shape.kernel[d] / 2 : pick(random, 0, 3);
        shape.end[d] = chance(random, 50) ? shape.start[d] : pick(random, 0, 4);
      }
    } while (!shape.fits());
    SCOPED_TRACE(describe(shape));
    IntegerConvolutionCase c = make_integer_case(random, shape, QlcData::random,
                                                 chance(random, 50) ? QlcLayout::packed : QlcLayout::channels_last);
    if (chance(random, 50)) {
      c.desc.filter.data_type = DataType::int8;
      c.desc.filter_zero_point.reset();
      c.inputs[3] = {};
    }
    if (chance(random, 40)) widen_output(random, c);
    expect_bits(random, c);
  }
}

/// Shapes of the direct convolution. Zero points are anywhere, so that many weights do not fit eight bits.
void expect_sums_of(int rounds, QlcShape (*make_shape)(Random&)) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(rounds) && !testing::Test::HasFailure(); ++i)
    expect_sums(random, make_shape(random));
}

TEST(ConvolutionIntegerKernels, FewChannels) { expect_sums_of(200, random_few_channels); }
TEST(ConvolutionIntegerKernels, DepthwisePlanes) { expect_sums_of(400, random_planes); }
TEST(ConvolutionIntegerKernels, DepthwiseColumns) { expect_sums_of(200, random_columns); }
TEST(ConvolutionIntegerKernels, GroupsOfChannels) { expect_sums_of(100, random_groups); }

// Groups of few channels, whose packed filters are so much larger than they are that some are convolved at a time.
TEST(ConvolutionIntegerKernels, SomeGroupsAtATime) {
  Random random(dmlref_test::test_seed());
  QlcShape shape;
  shape.groups = 20000;
  shape.in_channels = 5;
  shape.in = {3, 4};
  shape.kernel = {3, 3};
  shape.start = shape.end = {1, 1};
  expect_sums(random, shape);
}

// Sums beyond 2^31 wrap, of the greatest products of all, too.
TEST(ConvolutionIntegerKernels, SumsThatWrap) {
  Random random(dmlref_test::test_seed());
  for (const std::uint32_t depth : {32639u, 32640u, 33026u, 65537u, 200000u}) {
    QlcShape shape;
    shape.in_channels = depth;
    shape.out_channels = pick(random, 1, 3);
    shape.in = {1, pick(random, 1, 3)};
    expect_sums(random, shape);
    if (HasFailure()) return;
    SCOPED_TRACE(describe(shape));
    for (const std::uint8_t filter_zero_point : {std::uint8_t{0}, std::uint8_t{255}}) {
      IntegerConvolutionCase c = make_integer_case(random, shape, QlcData::random, QlcLayout::packed);
      c.desc.input.data_type = c.desc.filter.data_type = DataType::uint8;
      c.desc.input_zero_point.reset();
      c.desc.filter_zero_point = TensorDesc(DataType::uint8, {1, 1, 1, 1});
      c.inputs[1] = {};
      c.inputs[3].assign(4, std::byte{filter_zero_point});
      std::memset(c.inputs[0].data(), 0xFF, c.inputs[0].size());
      std::memset(c.inputs[2].data(), filter_zero_point == 0 ? 0xFF : 0, c.inputs[2].size());
      expect_bits(random, c);
      if (HasFailure()) return;
    }
  }
}

// Where an axis has one output, its stride does not count, however large it is.
TEST(ConvolutionIntegerKernels, OneOutputWithAnyStride) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(100) && !HasFailure(); ++i) {
    QlcShape shape;
    shape.groups = pick(random, 1, 5);
    shape.in_channels = pick(random, 1, 5);
    shape.out_channels = pick(random, 1, 20);
    shape.kernel = {pick(random, 1, 3), pick(random, 1, 3)};
    shape.in = {shape.kernel[0] + pick(random, 0, 20), shape.kernel[1] + pick(random, 0, 20)};
    shape.start = {pick(random, 0, 2), pick(random, 0, 2)};
    const bool one_row = chance(random, 60), one_column = !one_row || chance(random, 50);
    const auto far_or_near = [&] { return chance(random, 50) ? pick(random, 23, 60000) : pick(random, 23, 40); };
    shape.stride = {one_row ? far_or_near() : 1u, one_column ? far_or_near() : 1u};
    expect_sums(random, shape);
  }
}

// What the tiles cannot do.
TEST(ConvolutionIntegerKernels, FarStridesRunTheReference) {
  Random random(dmlref_test::test_seed());
  QlcShape shape;
  shape.in = {1, 5000};
  shape.stride = {1, 4097};
  SCOPED_TRACE(describe(shape));
  expect_bits(random, make_integer_case(random, shape, QlcData::random, QlcLayout::any), Runs::reference);
}

}  // namespace
