// quantized_linear_convolution_amx_test.cpp: the convolution in AMX's tiles against the reference: what it reads, what
// it leaves to others, and sums that 32 bits do not hold.
#include <gtest/gtest.h>

#include <string>

#include "support/quantized_linear_convolution_plan.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

class AmxConvolution : public testing::Test {
 protected:
  void SetUp() override {
    if (!supported(Isa::amx_int8)) GTEST_SKIP() << "this CPU or system has no tiles of bytes";
  }
};

#if DMLREF_ARCH_X86_64
QlcShape shape_of(std::uint32_t in_channels, std::uint32_t out_channels, std::uint32_t size, std::uint32_t kernel) {
  QlcShape s;
  s.in_channels = in_channels;
  s.out_channels = out_channels;
  s.in = {size, size};
  s.kernel = {kernel, kernel};
  s.start = s.end = {kernel / 2, kernel / 2};
  return s;
}

/// Whether there was a plan. Inputs and outputs end, or begin, at a page that must not be touched.
bool expect_equal_to_reference(QlcCase test, Random& random, std::size_t threads, const std::string& what) {
  test.desc.filter.owned_by_dml = chance(random, 70);
  fast::AmxConvolution convolution(test.desc);
  if (!convolution.usable()) return false;
  const bool owned = test.desc.filter.owned_by_dml;
  const detail::AmxConvolutionPlan plan(std::move(convolution));
  dmlref_test::ThreadExecutor several(threads);
  compare(test, run_plan(plan, test, random, threads == 1 ? sequential() : several, owned), what);
  return true;
}

TEST_F(AmxConvolution, EqualsTheReferenceWithinItsMemory) {
  Random random(dmlref_test::test_seed());
  constexpr QlcData all[] = {QlcData::random,   QlcData::ties,        QlcData::random,    QlcData::huge_bias,
                             QlcData::extremes, QlcData::all_highest, QlcData::all_lowest};
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::packed,
                                   QlcLayout::channels_last, QlcLayout::any};
  int taken = 0;
  const int rounds = dmlref_test::rounds(400);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    QlcShape shape;
    do {
      const bool deep = chance(random, 20);
      shape = shape_of(pick(random, 1, deep ? 300 : 70), pick(random, 1, deep ? 200 : 40), 1, 1);
      shape.batch = pick(random, 1, 3);
      shape.groups = chance(random, 20) ? pick(random, 2, 3) : 1;
      for (std::size_t d = 0; d < 2; ++d) {
        shape.in[d] = pick(random, 1, deep ? 9 : d == 1 && chance(random, 20) ? 150 : 30);
        shape.kernel[d] = chance(random, 30) ? 1 : pick(random, 1, 6);
        shape.stride[d] = chance(random, 60) ? 1 : pick(random, 1, 4);
        shape.dilation[d] = chance(random, 75) ? 1 : pick(random, 1, 3);
        shape.start[d] = pick(random, 0, 3);
        shape.end[d] = chance(random, 50) ? shape.start[d] : pick(random, 0, 4);
      }
    } while (!shape.fits());
    const QlcCase test = make_qlc_case(random, shape, all[i % 7], layouts[i % 5]);
    const std::size_t threads = i % 7 == 0 ? pick(random, 2, 5) : 1;
    if (expect_equal_to_reference(test, random, threads, "case " + std::to_string(i) + ": " + describe(shape))) ++taken;
  }
  EXPECT_GT(2 * taken, rounds) << "most of these are for the tiles";
}

// Pixels that are read where they lie, the last of them too close to the end of the input for a whole tile.
TEST_F(AmxConvolution, ReadsPixelsInPlace) {
  Random random(dmlref_test::test_seed());
  for (const std::uint32_t channels : {3u, 16u, 20u, 64u, 96u, 100u, 130u, 512u}) {
    for (const std::uint32_t size : {1u, 3u, 4u, 7u, 16u, 33u}) {
      QlcCase test = make_qlc_case(random, shape_of(channels, 40, size, 1), QlcData::random, QlcLayout::channels_last);
      expect_equal_to_reference(test, random, 1, std::to_string(channels) + " channels, size " + std::to_string(size));
    }
  }
}

// Images of so many pixels are cut into smaller blocks for several tasks.
TEST_F(AmxConvolution, SmallerBlocksForSeveralTasks) {
  Random random(dmlref_test::test_seed());
  for (const QlcLayout layout : {QlcLayout::packed, QlcLayout::channels_last}) {
    for (const std::uint32_t kernel : {1u, 3u, 4u}) {
      for (const std::uint32_t size : {30u, 47u, 64u}) {
        QlcShape shape = shape_of(16, 20, size, kernel);
        shape.stride[0] = shape.stride[1] = pick(random, 1, 2);
        const QlcCase test = make_qlc_case(random, shape, QlcData::random, layout);
        const fast::qlc::amx::Plan plan(test.desc);
        EXPECT_LE(plan.grid_for(8).rows * plan.grid_for(8).columns, 1024) << describe(shape);
        expect_equal_to_reference(test, random, 8, describe(shape));
      }
    }
  }
}

// The products of 65536 values are within 32 bits, their sum with all else is not; deeper filters are not for tiles.
TEST_F(AmxConvolution, DepthBeyondThirtyTwoBits) {
  Random random(dmlref_test::test_seed());
  for (const QlcData data : {QlcData::all_highest, QlcData::all_lowest, QlcData::extremes}) {
    for (const QlcLayout layout : {QlcLayout::packed, QlcLayout::channels_last}) {
      for (int i = 0; i < 4; ++i) {  // types and zero points are random
        const QlcCase test = make_qlc_case(random, shape_of(65536, 3, 2, 1), data, layout);
        EXPECT_TRUE(expect_equal_to_reference(test, random, 1, "65536 channels"));
      }
    }
  }
  const QlcCase deeper = make_qlc_case(random, shape_of(65537, 3, 2, 1), QlcData::random, QlcLayout::packed);
  EXPECT_FALSE(fast::AmxConvolution(deeper.desc).usable());
}
#endif

}  // namespace
