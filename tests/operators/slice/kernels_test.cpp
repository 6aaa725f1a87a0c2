// kernels_test.cpp: the fast slice against the bytes that the formulas give: every layout, address, task count and
// path.
#include "dmlref/operators/slice/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "dmlref/operators/slice/reference.hpp"
#include "dmlref/run/run.hpp"
#include "dmlref/view/bind.hpp"
#include "support/guarded_buffer.hpp"
#include "support/seed.hpp"
#include "support/slice_cases.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using dmlref::detail::SlicePlan;
using dmlref_test::GuardedBuffer;
using dmlref_test::SliceCase;
using dmlref_test::SliceLimits;

Isa isa_under_test() {
  const char* name = std::getenv("DMLREF_ISA");
  return name == nullptr ? best_isa() : isa_from_name(name).value();
}

class FastSlice : public testing::Test {
 protected:
  FastSlice() : seed(dmlref_test::test_seed()), random(seed) {}

  std::uint32_t number(std::uint32_t low, std::uint32_t high) { return dmlref_test::detail::number(random, low, high); }

  /// The numbers of one CPU model after the other: no byte may depend on them.
  const Tuning::Slice& next_model() { return tuning_table[models++ % tuning_table.size()].slice; }

  /// Without `thresholds`, those of the model.
  SlicePlan prepare(const SliceCase& it, const Tuning::Slice& model, std::optional<fast::SliceThresholds> given = {}) {
    const Layout output = layout_of(it.output_desc());
    const Layout input = layout_of(it.input_desc());
    Layout window;
    if (const auto* slice = std::get_if<SliceDesc>(&it.desc)) {
      window = reference::slice_layout(input, output.shape, slice->offsets, slice->strides);
    } else {
      const auto& s = std::get<Slice1Desc>(it.desc);
      window = reference::slice1_layout(input, output.shape, s.window_offsets, s.window_sizes, s.window_strides);
    }
    const fast::SliceThresholds thresholds = given.value_or(fast::SliceThresholds(isa_under_test(), model));
    return {
        {window, output, it.element_size, it.input.size()}, fast::slice_kernels(isa_under_test(), model), thresholds};
  }
  SlicePlan prepare(const SliceCase& it, const fast::SliceThresholds& thresholds) {
    return prepare(it, this_cpu().slice, thresholds);
  }

  static fast::SliceKernels kernels() { return fast::slice_kernels(isa_under_test(), this_cpu().slice); }
  static fast::SliceThresholds thresholds_of_this_cpu() {
    return fast::SliceThresholds(isa_under_test(), this_cpu().slice);
  }

  static void take_irregular_order(fast::SliceThresholds& thresholds) {
    thresholds.irregular_from = 0;
    thresholds.irregular_to = ~std::uint64_t{0};
  }

  /// Every way to run the case must give the expected bytes and leave the rest alone.
  void check(const SliceCase& it) {
    const Tuning::Slice& model = next_model();
    fast::SliceThresholds thresholds(isa_under_test(), model);
    if (number(0, 1) == 0) thresholds.stream_bytes = 0;
    if (number(0, 2) != 0) thresholds.kept_bytes = 0;
    if (number(0, 2) == 0) thresholds.output_prefetch = std::nullopt;
    if (number(0, 2) == 0) thresholds.output_prefetch = 256;
    if (number(0, 1) == 0) thresholds.interleave_from = number(0, 1) * 4096;
    if (number(0, 2) == 0) thresholds.prefetch_own_row = !thresholds.prefetch_own_row;
    if (number(0, 1) == 0) take_irregular_order(thresholds);
    if (number(0, 1) == 0) thresholds.columns_from = 0;
    thresholds.task_bytes = number(1, 4) == 1 ? 1 : 4096;
    const SlicePlan slice = prepare(it, model, thresholds);
    for (const fast::RowWalk& walk : slice.walks()) ++seen[walk.strategy().name];
    const std::size_t tasks = number(0, 2) == 0 ? number(2, 7) : 1;

    // Unaligned addresses.
    const std::size_t in_shift = number(0, 63), out_shift = number(0, 63);
    std::vector<std::byte> input(it.input.size() + 64), output(it.before.size() + 128);
    std::memcpy(input.data() + in_shift, it.input.data(), it.input.size());
    std::memcpy(output.data() + out_shift, it.before.data(), it.before.size());
    for (std::size_t task = tasks; task-- > 0;) {  // the order of tasks is free
      slice.run(input.data() + in_shift, output.data() + out_shift, task, tasks);
    }
    const std::span<const std::byte> written(output.data() + out_shift, it.expected.size());
    ASSERT_EQ(dmlref_test::first_difference(written, it.expected), it.expected.size()) << tasks << " tasks";

    // Memory that ends, and memory that begins, at a page that must not be touched.
    for (const auto side : {GuardedBuffer::Side::end, GuardedBuffer::Side::begin}) {
      const GuardedBuffer from(it.input.size(), side);
      const GuardedBuffer to(it.before.size(), side);
      std::memcpy(from.data(), it.input.data(), it.input.size());
      std::memcpy(to.data(), it.before.data(), it.before.size());
      for (std::size_t task = 0; task < tasks; ++task) slice.run(from.data(), to.data(), task, tasks);
      ASSERT_EQ(dmlref_test::first_difference(to.span(), it.expected), it.expected.size())
          << tasks << " tasks, guarded";
    }
  }

  /// Each number of tasks must give the expected bytes.
  static void check_tasks(const SlicePlan& slice, const SliceCase& it, std::initializer_list<std::size_t> numbers) {
    for (const std::size_t tasks : numbers) {
      std::vector<std::byte> output = it.before;
      for (std::size_t task = 0; task < tasks; ++task) slice.run(it.input.data(), output.data(), task, tasks);
      ASSERT_EQ(dmlref_test::first_difference(output, it.expected), output.size()) << tasks << " tasks";
    }
  }

  void check_random(int rounds, const SliceLimits& limits) {
    for (int round = 0; round < rounds; ++round) {
      const SliceCase it = dmlref_test::random_slice(random, limits);
      SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round << ' ' << describe(it));
      check(it);
      if (HasFatalFailure()) return;
    }
  }

  std::uint64_t seed;
  std::mt19937_64 random;
  std::size_t models = 0;
  std::map<std::string_view, int> seen;
};

TEST_F(FastSlice, RandomCasesOfEveryRankAndElementSize) {
  for (std::size_t rank = 1; rank <= 8; ++rank) {
    for (const std::size_t size : {1u, 2u, 4u, 8u}) {
      SliceLimits limits;
      limits.rank = rank;
      limits.element_size = size;
      check_random(60, limits);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(seen["copy"], 0);
  EXPECT_GT(seen["fill"], 0);
  EXPECT_GT(seen["steps"], 0);
  EXPECT_GT(seen["transpose"], 0);
  if (isa_under_test() != Isa::scalar) {
    EXPECT_GT(seen["shuffle"], 0);
  }
}

TEST_F(FastSlice, LargerRandomCases) {
  SliceLimits limits;
  limits.elements = 200000;
  limits.spanned = 1u << 21;
  check_random(40, limits);
}

SliceCase slice1_case(std::mt19937_64& random, DataType type, Dimensions sizes, std::vector<std::int32_t> strides,
                      Dimensions in_strides = {}, Dimensions out_strides = {}) {
  SliceCase it;
  Dimensions out(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    out[d] = 1 + (sizes[d] - 1) / static_cast<std::uint32_t>(std::abs(strides[d]));
  }
  const auto tensor = [type](const Dimensions& s, const Dimensions& steps) {
    return steps.empty() ? TensorDesc(type, s) : TensorDesc(type, s, steps);
  };
  it.desc =
      Slice1Desc{tensor(sizes, in_strides), tensor(out, out_strides), Dimensions(sizes.size(), 0), sizes, strides};
  expect(it, random);
  return it;
}

const DataType types[] = {DataType::uint8, DataType::float16, DataType::float32, DataType::float64};

TEST_F(FastSlice, EveryLengthOfEveryInnerStride) {
  for (const DataType type : types) {
    for (const std::int32_t stride : {1, -1, 2, -2, 3, -3, 4, -4, 5, -7, 8, 16, -33}) {
      for (std::uint32_t length = 1; length <= 300; length += number(1, 3)) {
        const std::uint32_t size = (length - 1) * static_cast<std::uint32_t>(std::abs(stride)) + 1 + number(0, 1);
        const SliceCase it = slice1_case(random, type, {number(1, 3), size}, {1, stride});
        SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
        check(it);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rows long enough to be written around the caches, at any address.
TEST_F(FastSlice, LongRowsOfEveryInnerStride) {
  for (const DataType type : types) {
    const auto element = static_cast<std::uint32_t>(size_of(type));
    for (const std::int32_t stride : {1, -1, 2, -2, 3}) {
      for (int round = 0; round < 12; ++round) {
        const std::uint32_t length = number(1000, 1700) / element;
        const std::uint32_t size = (length - 1) * static_cast<std::uint32_t>(std::abs(stride)) + 1;
        const SliceCase it = slice1_case(random, type, {number(1, 3), size}, {1, stride});
        SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
        check(it);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rows that each begin where the one before it ends, at every place in a line: written around the caches as one stream.
TEST_F(FastSlice, JoinedRowsOfEveryLength) {
  if (!kernels().lines) GTEST_SKIP() << "no kernel for joined rows";
  for (std::uint32_t length = 60; length <= 400; length += number(1, 3)) {
    const SliceCase it = slice1_case(random, DataType::uint8, {2 * number(1, 40), length}, {2, 1});
    SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
    fast::SliceThresholds thresholds = thresholds_of_this_cpu();
    thresholds.stream_bytes = 0;
    const SlicePlan slice = prepare(it, thresholds);
    const fast::RowWalk& walk = slice.walks()[0];
    if (walk.rows() > 1) {
      EXPECT_EQ(walk.stores(1) == fast::Stores::joined, length >= fast::LineKernels::min_joined_bytes);
    }
    check(it);
    if (HasFatalFailure()) return;
  }
}

// Rows are visited in the direction in which the input lies, so whether they are joined depends on that.
TEST_F(FastSlice, ReversedRowsAreNotJoined) {
  if (!kernels().lines) GTEST_SKIP() << "no kernel for joined rows";
  fast::SliceThresholds thresholds = thresholds_of_this_cpu();
  thresholds.stream_bytes = 0;
  for (const std::int32_t step : {2, -2}) {
    const SliceCase it = slice1_case(random, DataType::uint8, {2 * number(2, 9), number(1024, 5000)}, {step, 1});
    SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
    EXPECT_EQ(prepare(it, thresholds).walks()[0].stores(1) == fast::Stores::joined, step > 0);
    check(it);
    if (HasFatalFailure()) return;
  }
}

// Short rows that follow one another in a large output: mirrored, thinned out, and copies of less than a line.
TEST_F(FastSlice, ShortRowsOfALargeOutput) {
  for (const DataType type : types) {
    for (const std::int32_t step : {1, -1, 2, -2, 3}) {
      const auto size = static_cast<std::uint32_t>(size_of(type));
      for (std::uint32_t bytes = size; bytes < 1100; bytes += size * number(1, bytes < 100 ? 3 : 60)) {
        const auto length = bytes / size * static_cast<std::uint32_t>(std::abs(step));
        const SliceCase it = slice1_case(random, type, {2 * number(1, 300), length}, {2, step});
        SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
        check(it);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Copies of rows out of wider ones, at any place and line by line.
TEST_F(FastSlice, RowsCutOut) {
  std::vector<std::uint32_t> lengths{1023, 1024, 1024, 1025, 2048, 2048, 3072,
                                     3072, 4096, 4096, 5120, 8191, 8192, 8200};
  for (std::uint32_t length = 1; length <= 400; length += number(1, 3)) lengths.push_back(length);
  for (const std::uint32_t length : lengths) {
    for (const std::uint32_t unit : {1u, 64u}) {
      const std::uint32_t offset = unit * number(0, 3), rows = number(1, 9);
      const std::uint32_t pitch = (offset + length + unit - 1) / unit * unit + unit * number(0, 5);
      SliceCase it;
      it.desc = Slice1Desc{TensorDesc(DataType::uint8, Dimensions{rows, pitch}),
                           TensorDesc(DataType::uint8, Dimensions{rows, length}),
                           {0, offset},
                           {rows, length},
                           {number(0, 1) == 0 ? 1 : -1, 1}};
      expect(it, random);
      SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
      check(it);
      if (HasFatalFailure()) return;
    }
  }
}

// Rows in an irregular order, cut into pieces or not, in more tables than one and in tasks that begin anywhere.
TEST_F(FastSlice, RowsInAnIrregularOrder) {
  for (const DataType type : types) {
    const auto size = static_cast<std::uint32_t>(size_of(type));
    for (const std::int32_t step : {1, -1, 2, -2}) {
      for (const std::uint32_t bytes :
           {32u, 40u, 48u, 56u, 64u, 72u, 128u, 248u, 256u, 320u, 512u, 568u, 1024u, 4096u}) {
        const std::uint32_t rows = 1 + number(1, bytes < 300 ? 700 : 60);
        const auto apart = static_cast<std::uint32_t>(std::abs(step));
        const SliceCase it = slice1_case(random, type, {2 * rows, bytes / size * apart}, {2, step});
        SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
        fast::SliceThresholds thresholds = thresholds_of_this_cpu();
        thresholds.stream_bytes = ~std::uint64_t{0};
        take_irregular_order(thresholds);
        const SlicePlan slice = prepare(it, thresholds);
        const bool lines = kernels().lines && bytes > 64 && bytes % 64 == 0;
        if (step == 1 ? bytes <= 256 : lines && step != -2) {
          EXPECT_EQ(slice.walks()[0].order(), fast::Order::irregular);
        }
        check_tasks(slice, it, {1, 3});
        check(it);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Pieces of rows cut out of longer ones, in columns: rows that end with a piece and rows that do not, in more tables
// than one and in tasks that begin anywhere.
TEST_F(FastSlice, RowsInColumns) {
  for (const DataType type : types) {
    const auto size = static_cast<std::uint32_t>(size_of(type));
    for (const std::int32_t step : {1, -1, 2, -2}) {
      for (const std::uint32_t bytes : {248u, 256u, 264u, 512u, 520u, 568u, 576u, 768u, 1000u, 2048u, 4104u, 8192u}) {
        const auto apart = static_cast<std::uint32_t>(std::abs(step));
        const std::uint32_t length = bytes / size * apart, rows = number(2, bytes < 300 ? 1200 : 200);
        const SliceCase it = slice1_case(random, type, {rows, length}, {number(0, 1) == 0 ? 1 : -1, step},
                                         {length + (1024 + number(0, 64)) / size, 1});
        SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
        fast::SliceThresholds thresholds = thresholds_of_this_cpu();
        const bool streams = number(0, 2) == 0;
        thresholds.stream_bytes = streams ? 0 : ~std::uint64_t{0};
        thresholds.columns_from = 0;
        const SlicePlan slice = prepare(it, thresholds);
        EXPECT_EQ(slice.walks()[0].order() == fast::Order::columns, kernels().lines && !streams && step > 0 &&
                                                                        bytes >= 256 && bytes * apart >= 512 &&
                                                                        bytes * apart <= 16 * 1024);
        check_tasks(slice, it, {1, 3});
        check(it);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Short rows reversed and of every second element, at both ends of the input.
TEST_F(FastSlice, NarrowRows) {
  for (const DataType type : types) {
    const auto size = static_cast<std::uint32_t>(size_of(type));
    for (const std::int32_t step : {2, -1}) {
      for (std::uint32_t bytes = 16; bytes < 136; bytes += size) {
        for (const std::uint32_t rows : {1u, 2u, 30u}) {
          const std::uint32_t length = step == 2 ? bytes / size * 2 - number(0, 1) : bytes / size;
          const SliceCase it = slice1_case(random, type, {number(0, 1) == 0 ? rows : 2 * rows, length}, {-2, step});
          SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
          check(it);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Streamed rows of a page and more are interleaved: numbers of rows and lengths that leave a rest.
TEST_F(FastSlice, InterleavedLongRows) {
  for (const DataType type : types) {
    const auto size = static_cast<std::uint32_t>(size_of(type));
    for (const std::int32_t step : {1, -1, 2, -2}) {
      for (const std::uint32_t bytes : {4032u, 4096u, 4097u, 5000u, 7680u}) {
        const std::int32_t down = number(0, 1) == 0 ? 1 : -1;
        const SliceCase it = slice1_case(random, type, {number(1, 10), bytes / size + number(0, 40)}, {down, step});
        SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
        check(it);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Which streamed rows are interleaved depends on their length.
TEST_F(FastSlice, RowsAreInterleavedFromALengthOn) {
  if (!kernels().lines) GTEST_SKIP() << "no kernel for interleaved rows";
  fast::SliceThresholds thresholds = thresholds_of_this_cpu();
  thresholds.stream_bytes = 0;
  thresholds.interleave_from = 4096;
  for (const std::int32_t step : {1, -1}) {
    for (const std::uint32_t length : {4095u, 4096u}) {
      const SliceCase it = slice1_case(random, DataType::uint8, {4, length}, {2, step}, {}, {length + 1, 1});
      EXPECT_EQ(prepare(it, thresholds).walks()[0].stores(1),
                length >= 4096 ? fast::Stores::interleaved : fast::Stores::non_temporal);
    }
  }
}

// A copy that reads more than it writes fills the caches as well.
TEST_F(FastSlice, TheLargerSideDecidesAboutStreaming) {
  if (!kernels().shuffle) GTEST_SKIP() << "every second element takes steps, which have no such stores";
  const SliceCase thinned = slice1_case(random, DataType::uint8, {3, 8192}, {1, 2});
  const SliceCase cropped = slice1_case(random, DataType::uint8, {3, 8192}, {2, 1});
  const auto streamed = [&](const SliceCase& it, std::uint64_t from) {
    fast::SliceThresholds thresholds = thresholds_of_this_cpu();
    thresholds.stream_bytes = from;
    return prepare(it, thresholds).walks()[0].stores(1) != fast::Stores::cached;
  };
  EXPECT_TRUE(streamed(thinned, 2 * 3 * 8192));
  EXPECT_FALSE(streamed(thinned, 2 * 3 * 8192 + 1));
  EXPECT_TRUE(streamed(cropped, 2 * 2 * 8192));
  EXPECT_FALSE(streamed(cropped, 2 * 2 * 8192 + 1));
}

// What several tasks keep in the caches is the input and three times the output.
TEST_F(FastSlice, SeveralTasksStreamLess) {
  if (!kernels().shuffle) GTEST_SKIP() << "every second element takes steps, which have no such stores";
  const SliceCase it = slice1_case(random, DataType::uint8, {3, 8192}, {1, 2});
  fast::SliceThresholds thresholds = thresholds_of_this_cpu();
  thresholds.stream_bytes = 0;
  for (const bool stays : {true, false}) {
    thresholds.kept_bytes = 3 * 8192 + 3 * 3 * 4096 - (stays ? 0 : 1);
    const SlicePlan slice = prepare(it, thresholds);
    const fast::RowWalk& walk = slice.walks()[0];
    EXPECT_NE(walk.stores(1), fast::Stores::cached);
    EXPECT_EQ(walk.stores(2), stays ? fast::Stores::cached : walk.stores(1));
  }
}

// Pixels: the innermost dimension is short; mirrored, thinned out, its order reversed.
TEST_F(FastSlice, EveryShortInnerDimension) {
  for (const DataType type : types) {
    for (std::uint32_t inner = 1; inner <= 17; ++inner) {
      for (const std::int32_t channel : {1, -1, 2, -2}) {
        for (const std::int32_t column : {1, -1, 2, -3}) {
          const SliceCase it = slice1_case(random, type, {2, number(1, 40), inner}, {1, column, channel});
          SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
          check(it);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Periods that are nearly a vector, in rows that do not follow one another: with and without slack around them.
TEST_F(FastSlice, RowsOfPeriodsNearlyAVector) {
  int apart = 0;
  const auto is_apart = [](const fast::RowWalk& walk) {
    return kernels().shuffle && walk.strategy().kernel == *kernels().shuffle &&
           static_cast<const fast::PatternRows&>(walk.strategy()).pattern.pitch < 16;
  };
  for (std::uint32_t period = 7; period <= 17; ++period) {
    for (const std::int32_t step : {1, -1}) {
      for (int round = 0; round < 12; ++round) {
        const std::uint32_t rows = number(1, 20), count = number(1, round < 10 ? 12 : 400);
        const std::uint32_t pitch = period + number(1, 9), plane = (2 * count + number(0, 3)) * pitch;
        SliceCase it;
        const std::uint32_t offset = number(0, pitch - period);
        it.desc =
            Slice1Desc{TensorDesc(DataType::uint8, Dimensions{rows, 2 * count, pitch}, Dimensions{plane, pitch, 1}),
                       TensorDesc(DataType::uint8, Dimensions{rows, count, period}),
                       {0, 0, offset},
                       {rows, 2 * count, period},
                       {1, number(0, 1) == 0 ? 2 : -2, step}};
        expect(it, random);
        SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
        fast::SliceThresholds thresholds = thresholds_of_this_cpu();
        const SlicePlan slice = prepare(it, thresholds);
        for (const fast::RowWalk& walk : slice.walks()) apart += is_apart(walk) ? 1 : 0;
        check(it);
        if (HasFatalFailure()) return;
      }
    }
  }
  if (kernels().shuffle) {
    EXPECT_GT(apart, 0);
  }
}

// Short rows that are one permutation: periods of every unit and step.
TEST_F(FastSlice, RowsOfOnePermutation) {
  const Tuning::Slice& model = tuning_of(CpuModel::zen4).slice;
  const std::optional<fast::RowKernel> kernel = fast::slice_kernels(isa_under_test(), model).permute;
  std::map<std::size_t, int> permuted, read;  // by bytes of output and of input
  for (const DataType type : types) {
    for (const std::int32_t step : {1, -1, 2, -2, 3}) {
      for (std::uint32_t units = 1; units <= 9; ++units) {
        for (int round = 0; round < 6; ++round) {
          const std::uint32_t rows = number(1, 30), count = number(1, 9), apart = number(1, 2);
          const SliceCase it = slice1_case(
              random, type, {rows, apart * count, static_cast<std::uint32_t>(std::abs(step)) * units},
              {1, number(0, 1) == 0 ? static_cast<std::int32_t>(apart) : -static_cast<std::int32_t>(apart), step});
          SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
          const SlicePlan slice = prepare(it, model);
          for (const fast::RowWalk& walk : slice.walks()) {
            if (!kernel || walk.strategy().kernel != *kernel) continue;
            ++permuted[walk.strategy().out_bytes];
            ++read[static_cast<const fast::PermutedRows&>(walk.strategy()).in_bytes];
          }
          check(it);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  if (!kernel) GTEST_SKIP() << "no permutation of bytes, so these were patterns";
  EXPECT_GT(permuted.size(), 3u);
  EXPECT_LE(read.begin()->first, 32u);
  EXPECT_GE(read.rbegin()->first, 48u);
  for (const auto& [bytes, rows] : permuted) {
    EXPECT_GT(bytes, 16u);
    EXPECT_LE(bytes, 32u);
  }
}

// Input and output disagree on the fast axis: channels first and channels last.
TEST_F(FastSlice, EveryTransposition) {
  for (const DataType type : types) {
    for (int round = 0; round < 150; ++round) {
      const std::uint32_t most = round % 5 == 0 ? 200 : 70;  // squares of up to 64 by 64
      const std::uint32_t c = number(1, most), h = number(1, 9), w = number(1, most);
      const Dimensions nhwc{h * w * c, 1, w * c, c};
      const std::vector<std::int32_t> strides{1, number(0, 3) == 0 ? -1 : 1, number(0, 3) == 0 ? -1 : 1,
                                              number(0, 3) == 0   ? -1
                                              : number(0, 3) == 0 ? 2
                                                                  : 1};
      Dimensions out_nhwc;
      const std::uint32_t out_w = strides[3] == 2 ? (w + 1) / 2 : w;
      out_nhwc = {h * out_w * c, 1, out_w * c, c};
      const bool to_channels_last = round % 2 == 0;
      const SliceCase it = to_channels_last ? slice1_case(random, type, {1, c, h, w}, strides, {}, out_nhwc)
                                            : slice1_case(random, type, {1, c, h, w}, strides, nhwc, {});
      SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
      check(it);
      if (HasFatalFailure()) return;
    }
  }
}

// The squares of a transposition are whole lines of the output.
TEST_F(FastSlice, TranspositionOfLines) {
  for (const DataType type : types) {
    const auto element = static_cast<std::uint32_t>(size_of(type));
    for (int round = 0; round < 12; ++round) {
      const std::uint32_t c = (1024 + 64 * number(0, 3)) / element, w = number(60, 140);
      const SliceCase it = slice1_case(random, type, {1, c, 1, w}, {1, 1, 1, 1}, {}, {c * w, 1, c * w, c});
      SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << describe(it));
      check(it);
      if (HasFatalFailure()) return;
    }
  }
}

// Layouts that no descriptor gives: strides of either sign on both sides, in any order of memory, offsets anywhere.
// Bytes around and between the output's elements stay, and nothing outside of the readable bytes is read.
class SliceOfLayouts : public FastSlice {
 protected:
  /// Strides under which no two elements share memory, the lowest element up to 40 from the address.
  Layout layout(const Shape& shape) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (number(0, 1) == 0) std::shuffle(order.begin(), order.end(), random);
    Layout result(shape, Strides::filled(shape.size(), 0), number(0, 40));
    Index step = number(0, 3) == 0 ? number(2, 4) : 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::size_t d = order[i];
      const bool downwards = number(0, 1) == 0;
      if (downwards) result.offset += step * (shape[d] - 1);
      result.strides[d] = downwards ? -step : step;
      step *= shape[d];
      if (number(0, 2) == 0) step += number(1, 5);
    }
    return result;
  }

  /// Elements from the address on up to the last one's end, and some beyond.
  std::size_t span_of(const Layout& layout) {
    Index last = layout.offset;
    for (std::size_t d = 0; d < layout.rank(); ++d) {
      if (layout.strides[d] > 0) last += layout.strides[d] * (layout.shape[d] - 1);
    }
    return static_cast<std::size_t>(last) + 1 + (number(0, 1) == 0 ? 0 : number(1, 40));
  }

  void check_layouts(const Layout& from, const Layout& to, std::size_t size) {
    const auto input = dmlref_test::detail::random_bytes(random, span_of(from) * size);
    const auto before = dmlref_test::detail::random_bytes(random, span_of(to) * size);
    std::vector<std::byte> expected = before;
    auto at = Coordinates::filled(to.rank(), 0);
    do {
      Index source = from.offset, target = to.offset;
      for (std::size_t d = 0; d < to.rank(); ++d) {
        source += at[d] * from.strides[d];
        target += at[d] * to.strides[d];
      }
      std::memcpy(expected.data() + static_cast<std::size_t>(target) * size,
                  input.data() + static_cast<std::size_t>(source) * size, size);
    } while (advance(at, to.shape));

    const Tuning::Slice& model = next_model();
    fast::SliceThresholds thresholds(isa_under_test(), model);
    if (number(0, 1) == 0) thresholds.stream_bytes = 0;
    if (number(0, 1) == 0) take_irregular_order(thresholds);
    if (number(0, 1) == 0) thresholds.columns_from = 0;
    const SlicePlan slice({from, to, size, input.size()}, fast::slice_kernels(isa_under_test(), model), thresholds);
    const std::size_t tasks = number(1, 3);
    const bool input_first = number(0, 1) == 0;  // the first buffer gets the lowest addresses
    for (const auto side : {GuardedBuffer::Side::end, GuardedBuffer::Side::begin}) {
      const GuardedBuffer first((input_first ? input : before).size(), side);
      const GuardedBuffer second((input_first ? before : input).size(), side);
      const GuardedBuffer& in = input_first ? first : second;
      const GuardedBuffer& out = input_first ? second : first;
      std::memcpy(in.data(), input.data(), input.size());
      std::memcpy(out.data(), before.data(), before.size());
      for (std::size_t task = 0; task < tasks; ++task) slice.run(in.data(), out.data(), task, tasks);
      ASSERT_EQ(dmlref_test::first_difference(out.span(), expected), expected.size()) << tasks << " tasks";
    }
  }
};

TEST_F(SliceOfLayouts, StridesOfEitherSignOnBothSides) {
  for (const std::size_t size : {1u, 2u, 4u, 8u}) {
    for (std::size_t rank = 1; rank <= 5; ++rank) {
      for (int round = 0; round < 60; ++round) {
        auto shape = Shape::filled(rank, 1);
        for (std::size_t d = 0; d < rank; ++d) shape[d] = number(1, 6);
        shape[number(0, static_cast<std::uint32_t>(rank) - 1)] = number(1, round % 6 == 0 ? 1500 : 90);
        SCOPED_TRACE(testing::Message() << "seed " << seed << " element size " << size << " rank " << rank << " round "
                                        << round);
        check_layouts(layout(shape), layout(shape), size);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A step below the lowest element of a buffer at a low address wraps: -fsanitize=pointer-overflow sees a pointer there,
// although nothing is read.
TEST_F(SliceOfLayouts, LongStepsDownwards) {
  for (const std::size_t size : {1u, 2u, 4u, 8u}) {
    const Index step = (Index{1} << 19) / static_cast<Index>(size);  // more than lies below such buffers
    for (const Index outer : {1, 2}) {
      for (const Index inner : {2, 3}) {
        auto shape = Shape::filled(2, outer);
        shape[1] = inner;
        const Layout packed(shape);
        for (const bool outer_is_long : {false, true}) {
          Layout down(shape, Strides::filled(2, -step), 0);
          (outer_is_long ? down.strides[1] : down.strides[0]) = 1;
          for (std::size_t d = 0; d < 2; ++d) {
            if (down.strides[d] < 0) down.offset -= down.strides[d] * (shape[d] - 1);
          }
          SCOPED_TRACE(testing::Message() << "element size " << size << ", " << outer << " x " << inner);
          check_layouts(down, packed, size);
          check_layouts(packed, down, size);
          check_layouts(down, down, size);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Both sides of a transposition downwards, in squares and in what is left of them.
TEST_F(SliceOfLayouts, TranspositionsDownwards) {
  for (const std::size_t size : {1u, 2u, 4u, 8u}) {
    for (int round = 0; round < 24; ++round) {
      const Index rows = number(1, 200), columns = number(1, 200);
      auto shape = Shape::filled(2, rows);
      shape[1] = columns;
      Layout from(shape, Strides::filled(2, 1), 0), to(shape, Strides::filled(2, 1), 0);
      from.strides[1] = rows;
      to.strides[0] = columns;
      for (Layout* side : {&from, &to}) {
        for (std::size_t d = 0; d < 2; ++d) {
          if (number(0, 1) == 0) continue;
          side->offset += side->strides[d] * (shape[d] - 1);
          side->strides[d] = -side->strides[d];
        }
      }
      SCOPED_TRACE(testing::Message() << "seed " << seed << " element size " << size << ' ' << rows << " x "
                                      << columns);
      check_layouts(from, to, size);
      if (HasFatalFailure()) return;
    }
  }
}

// A strategy from outside the library, as docs/kernels/slices.md says under "Adding a strategy": a struct with what a
// row takes, a kernel that reads it, and walks over rows of it. Nothing else knows of it.
struct MaskedRows : fast::RowCopy {
  std::byte mask{};
};

void copy_masked_rows(const fast::RowCopy& strategy, const std::byte* in, std::byte* out, const fast::RowPlace* rows,
                      std::size_t count, const fast::RowAccess&) noexcept {
  const std::byte mask = static_cast<const MaskedRows&>(strategy).mask;
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t b = 0; b < strategy.out_bytes; ++b) out[rows[r].out + Index(b)] = in[rows[r].in + Index(b)] & mask;
  }
}

TEST_F(FastSlice, RunsAStrategyFromOutside) {
  const Layout from({7, 5}, Strides{9, 1}, 2), to({7, 5}, Strides{5, 1}, 0);
  const std::vector<std::byte> input = dmlref_test::detail::random_bytes(random, 70);
  std::vector<std::byte> output(35);

  fast::RowPlace first;
  const fast::CopyDims dims = fast::copy_dims(from, to, 1, first);
  const MaskedRows rows{{"masked", &copy_masked_rows, dims.unit}, std::byte{0x0F}};
  std::vector<fast::RowWalk> walks;
  walks.emplace_back(std::make_shared<const MaskedRows>(rows), dims, first);
  const SlicePlan slice(std::move(walks), input.size(), 3);

  EXPECT_EQ(slice.strategy_name(), "masked");
  for (std::size_t task = 0; task < 3; ++task) slice.run(input.data(), output.data(), task, 3);
  for (std::size_t i = 0; i < output.size(); ++i) {
    EXPECT_EQ(output[i], input[2 + i / 5 * 9 + i % 5] & std::byte{0x0F}) << i;
  }
}

TEST_F(FastSlice, ThreadsShareTheWork) {
  for (const DataType type : types) {
    for (const auto& strides : std::vector<std::vector<std::int32_t>>{{1, 1, -1}, {1, -1, 1}, {1, 2, 2}, {1, 1, -3}}) {
      const SliceCase it = slice1_case(random, type, {3, 211, 1733}, strides);
      const CompileResult compiled = compile(it.desc, latest_feature_level);
      ASSERT_TRUE(compiled) << compiled.report().to_string();
      for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
        SCOPED_TRACE(testing::Message() << threads << " threads " << describe(it));
        dmlref_test::ThreadExecutor executor(threads);
        std::vector<std::byte> output = it.before;
        const InputBuffer in(it.input);
        const OutputBuffer out(output);
        const Report report = compiled.value().execute({&in, 1}, {&out, 1}, {}, {}, executor);
        ASSERT_TRUE(report) << report.to_string();
        ASSERT_EQ(dmlref_test::first_difference(output, it.expected), output.size());
      }
    }
  }
}

TEST_F(FastSlice, OneLongRowIsShared) {
  for (const std::int32_t stride : {1, -1, 2, -2, 3}) {
    const SliceCase it = slice1_case(random, DataType::float16, {1500001}, {stride});
    fast::SliceThresholds thresholds = thresholds_of_this_cpu();
    thresholds.stream_bytes = stride == 1 || stride == -1 ? 0 : ~std::uint64_t{0};
    thresholds.kept_bytes = 0;
    const SlicePlan slice = prepare(it, thresholds);
    SCOPED_TRACE(stride);
    check_tasks(slice, it, {1, 2, 5});
    ASSERT_GT(slice.walks()[0].rows(), 1u);
  }
}

}  // namespace
