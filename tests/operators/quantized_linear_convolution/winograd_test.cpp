// The convolution after Winograd, in plain C++ and with the kernels of the instruction set in use, against the
// reference, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "dmlref/int8/scalar.hpp"
#include "dmlref/operators/quantized_linear_convolution/call.hpp"
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/quantized_linear_convolution_plan.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"
#include "support/winograd_portable.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;
using fast::qlc::winograd::Kernels;

std::vector<const Kernels*> sets() {
  using namespace fast::qlc;
  static const fast::qlc::Kernels shared = winograd::portable::of_pairs(scalar::kernels);
  static const Kernels portable = winograd::portable::make_kernels(shared);
  const Kernels* of_isa = fast::qlc::kernels_of(isa_in_use()).winograd;
  if (of_isa != nullptr) return {of_isa};
  if (isa_in_use() == Isa::scalar) return {&portable};
  return {};
}

constexpr const fast::qlc::winograd::Transform* transforms[] = {
    &fast::qlc::winograd::tiles_of_2, &fast::qlc::winograd::tiles_of_4, &fast::qlc::winograd::strided_tiles_of_2,
    &fast::qlc::winograd::strided_tiles_of_4};

/// The sizes of tiles there are for a shape.
std::vector<int> tile_sizes(const QlcShape& shape) {
  return shape.in_channels <= 1824 ? std::vector<int>{2, 4} : std::vector<int>{2};
}

void expect_equal_to_reference(QlcCase test, const Kernels& kernels, int outputs, Random& random, std::size_t threads,
                               const std::string& what) {
  test.desc.filter.owned_by_dml = true;
  const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
  const auto plan = winograd_plan(problem, kernels, outputs);
  ASSERT_NE(plan, nullptr) << what;
  dmlref_test::ThreadExecutor several(threads);
  compare(test, run_plan(*plan, test, random, threads == 1 ? sequential() : several, true),
          what + ", tiles of " + std::to_string(outputs));
}

QlcShape shape_of(std::uint32_t in_channels, std::uint32_t out_channels, std::uint32_t height, std::uint32_t width) {
  QlcShape s;
  s.in_channels = in_channels;
  s.out_channels = out_channels;
  s.in = {height, width};
  s.kernel = {3, 3};
  s.start = s.end = {1, 1};
  return s;
}

TEST(WinogradConvolution, EqualsTheReference) {
  if (sets().empty()) GTEST_SKIP() << "this set multiplies every tap";
  Random random(dmlref_test::test_seed());
  constexpr QlcData all[] = {QlcData::random,   QlcData::random,      QlcData::random,     QlcData::ties,
                             QlcData::extremes, QlcData::all_highest, QlcData::all_lowest, QlcData::huge_bias};
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any};
  for (int i = 0; i < dmlref_test::rounds(300); ++i) {
    const bool deep = chance(random, 20);
    const bool strided = chance(random, 40);
    QlcShape shape = shape_of(pick(random, 1, deep ? 300 : 40), pick(random, 1, 40), 1, 1);
    do {
      shape.batch = pick(random, 1, deep ? 2 : 5);
      const std::uint32_t most = deep ? 9 : chance(random, 10) ? 140 : strided ? 40 : 20;
      for (std::size_t d = 0; d < 2; ++d) {
        shape.in[d] = pick(random, 1, d == 0 && most > 100 ? 8 : most);
        shape.stride[d] = strided ? 2 : 1;
        shape.dilation[d] = strided || chance(random, 75) ? 1 : pick(random, 1, 5);
        shape.start[d] = pick(random, 0, chance(random, 10) ? 12 : 3);
        shape.end[d] = chance(random, 50) ? shape.start[d] : pick(random, 0, chance(random, 10) ? 12 : 3);
      }
    } while (!shape.fits());
    const QlcCase test = make_qlc_case(random, shape, all[i % 8], layouts[i % 3]);
    for (const Kernels* kernels : sets()) {
      for (const int outputs : tile_sizes(shape)) {
        expect_equal_to_reference(test, *kernels, outputs, random, i % 7 == 0 ? pick(random, 2, 5) : 1,
                                  "case " + std::to_string(i) + ": " + describe(shape));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

// As many channels as one sum can hold, one more, and many splits of them, all of the largest magnitude.
TEST(WinogradConvolution, AllChannelsExtreme) {
  if (sets().empty()) GTEST_SKIP() << "this set multiplies every tap";
  Random random(dmlref_test::test_seed());
  const auto compare_all = [&](const QlcShape& shape) {
    for (const QlcData data : {QlcData::all_highest, QlcData::all_lowest}) {
      for (int i = 0; i < 8; ++i) {  // types and zero points are random
        const QlcCase test = make_qlc_case(random, shape, data, QlcLayout::packed);
        for (const Kernels* kernels : sets()) {
          for (const int outputs : tile_sizes(shape)) {
            expect_equal_to_reference(test, *kernels, outputs, random, 1, describe(shape));
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  };
  for (const std::uint32_t channels : {112u, 113u, 114u, 128u, 1824u}) compare_all(shape_of(channels, 3, 5, 6));
  for (const std::uint32_t channels : {64u, 128u, 144u, 512u, 528u, 1824u, 7296u}) {
    QlcShape shape = shape_of(channels, 3, 5, 6);
    shape.stride = {2, 2};
    compare_all(shape);
  }
}

// What compile chooses, told apart by the size of the packed filter.
TEST(WinogradConvolution, IsChosenWhereItIsFaster) {
  const Kernels* kernels = fast::qlc::kernels_of(isa_in_use()).winograd;
  if (kernels == nullptr) GTEST_SKIP() << "this set multiplies every tap";
  struct Layer {
    std::uint32_t channels, size, stride;
    bool chosen;
  };
  constexpr Layer layers[] = {{64, 56, 1, true},  {512, 7, 1, true},  {64, 112, 2, true}, {128, 56, 2, true},
                              {64, 55, 2, true},  {256, 28, 2, true}, {512, 28, 2, true}, {512, 14, 2, false},
                              {16, 56, 2, false}, {256, 14, 2, false}};
  Random random(dmlref_test::test_seed());
  for (const Layer& layer : layers) {
    for (const QlcLayout layout : {QlcLayout::packed, QlcLayout::channels_last}) {
      QlcShape shape = shape_of(layer.channels, layer.channels, layer.size, layer.size);
      shape.stride = {layer.stride, layer.stride};
      QlcCase test = make_qlc_case(random, shape, QlcData::random, layout);
      test.desc.filter.owned_by_dml = true;
      const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
      const auto winograd = winograd_plan(problem, *kernels);
      ASSERT_NE(winograd, nullptr) << describe(shape);
      const auto plan = detail::qlc_plan(problem, isa_in_use(), this_cpu());
      const bool chosen = plan->strategy_name() == winograd->strategy_name();
      EXPECT_EQ(chosen, layer.chosen) << describe(shape);
    }
  }
}

TEST(WinogradConvolution, LeavesOtherStridesAlone) {
  if (sets().empty()) GTEST_SKIP() << "this set multiplies every tap";
  Random random(dmlref_test::test_seed());
  const auto usable = [&](std::array<std::uint32_t, 2> stride, std::uint32_t dilation) {
    QlcShape shape = shape_of(16, 16, 20, 20);
    shape.stride = stride;
    shape.dilation = {dilation, dilation};
    QlcCase test = make_qlc_case(random, shape, QlcData::random, QlcLayout::packed);
    test.desc.filter.owned_by_dml = true;
    return winograd_plan(detail::qlc_problem(test.desc), *sets().front()) != nullptr;
  };
  EXPECT_TRUE(usable({1, 1}, 1));
  EXPECT_TRUE(usable({1, 1}, 2));
  EXPECT_TRUE(usable({2, 2}, 1));
  EXPECT_FALSE(usable({2, 2}, 2));
  EXPECT_FALSE(usable({1, 2}, 1));
  EXPECT_FALSE(usable({2, 1}, 1));
  EXPECT_FALSE(usable({3, 3}, 1));
}

// Inputs and filters whose transforms are as large as they get at one position after the other.
TEST(WinogradConvolution, EveryPositionAtItsLargest) {
  if (sets().empty()) GTEST_SKIP() << "this set multiplies every tap";
  Random random(dmlref_test::test_seed());
  for (const Kernels* kernels : sets()) {
    for (const fast::qlc::winograd::Tiles& tiles : kernels->tiles) {
      const fast::qlc::winograd::Transform& t = *tiles.transform;
      const auto n = static_cast<std::uint32_t>(t.inputs());
      for (int position = 0; position < t.positions(); ++position) {
        const int i = position / t.inputs(), j = position % t.inputs();
        QlcShape shape = shape_of(112, 2, n, n);
        shape.start = shape.end = {0, 0};
        shape.stride[0] = shape.stride[1] = static_cast<std::uint32_t>(t.stride);
        QlcCase test = make_qlc_case(random, shape, QlcData::extremes, QlcLayout::packed);
        const auto lowest = [](DataType type) { return type == DataType::uint8 ? 0 : -128; };
        const int low = lowest(test.desc.input.data_type), filter_low = lowest(test.desc.filter.data_type);
        const bool flip = position % 2 != 0;
        for (std::size_t e = 0; e < test.inputs[0].size(); ++e) {
          const std::size_t y = e / n % n, x = e % n;
          const bool positive = (t.input[i][y] * t.input[j][x] > 0) != flip;
          test.inputs[0][e] = static_cast<std::byte>(positive ? low + 255 : low);
        }
        for (std::size_t e = 0; e < test.inputs[3].size(); ++e) {
          const std::size_t y = e / 3 % 3, x = e % 3;
          const bool positive = t.filter[i][y] * t.filter[j][x] > 0;
          test.inputs[3][e] = static_cast<std::byte>(positive ? filter_low + 255 : filter_low);
        }
        expect_equal_to_reference(test, *kernels, t.outputs, random, 1, "position " + std::to_string(position));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

// The algebra's ranges, from the matrices: V and U fit 16 bits, a pair of products 32.
TEST(WinogradConvolution, RangesFollowFromTheMatrices) {
  for (const fast::qlc::winograd::Transform* t : transforms) {
    std::int64_t input = 0, filter = 0, pair = 0;
    for (int i = 0; i < t->inputs(); ++i) {
      for (int j = 0; j < t->inputs(); ++j) {
        const auto sum = [](const std::int16_t* row, int count) {
          std::int64_t total = 0;
          for (int k = 0; k < count; ++k) total += row[k] < 0 ? -row[k] : row[k];
          return total;
        };
        const std::int64_t v = sum(t->input[i], t->inputs()) * sum(t->input[j], t->inputs()) * 255;
        const std::int64_t u = sum(t->filter[i], 3) * sum(t->filter[j], 3) * 128;
        input = std::max(input, v);
        filter = std::max(filter, u);
        pair = std::max(pair, 2 * v * u);
      }
    }
    EXPECT_LE(input, 32767);
    EXPECT_LE(filter, 32767);
    EXPECT_LT(pair, std::int64_t{1} << 31);
    const std::int64_t channels = t->max_channels();
    EXPECT_LT(channels * 9 * 255 * 128, std::int64_t{1} << (31 - t->shift));
    EXPECT_GE((channels + 1) * 9 * 255 * 128, std::int64_t{1} << (31 - t->shift));
  }
}

// Outputs are what the kernel of ones at one place selects: scale^2 times the input, for every place and every output.
TEST(WinogradConvolution, TheMatricesAreAConvolution) {
  for (const fast::qlc::winograd::Transform* t : transforms) {
    const int n = t->inputs();
    for (int tap = 0; tap < 3; ++tap) {
      for (int place = 0; place < n; ++place) {
        for (int output = 0; output < t->outputs; ++output) {
          std::int32_t scaled = 0;  // in one dimension
          for (int k = 0; k < n; ++k) {
            scaled += t->output[output][t->component_of(k)] * t->filter[k][tap] * t->input[k][place];
          }
          const std::int32_t expected = place == output * t->stride + tap ? 1 : 0;
          EXPECT_EQ(t->unscale(static_cast<std::uint32_t>(scaled * scaled)), expected);
        }
      }
    }
  }
}

}  // namespace
