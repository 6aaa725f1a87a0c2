// slices_test.cpp: every slice of up to four dimensions of up to four elements, against a naive loop. Of one and two
// dimensions every offset, size and stride that the rules accept; of three and four, one for each set of elements that
// comes out, in each order: what else may differ is not seen behind the rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "dmlref/run/run.hpp"
#include "support/exhaustive.hpp"
#include "support/guarded_buffer.hpp"

namespace {

using namespace dmlref;
using dmlref_test::GuardedBuffer;

/// One dimension of a slice: the operator's numbers, and which elements come out.
struct Line {
  std::uint32_t extent, offset, size;
  std::int32_t stride;
  std::uint32_t out;  // elements of the output
  std::int32_t first() const { return static_cast<std::int32_t>(stride < 0 ? offset + size - 1 : offset); }
};

/// SLICE1: windows in the extent, strides up to the window's size in either direction, outputs up to the possible size.
std::vector<Line> all_windows() {
  std::vector<Line> all;
  for (std::uint32_t extent = 1; extent <= 4; ++extent) {
    for (std::uint32_t offset = 0; offset < extent; ++offset) {
      for (std::uint32_t size = 1; offset + size <= extent; ++size) {
        for (std::uint32_t stride = 1; stride <= size; ++stride) {
          for (std::uint32_t out = 1; out <= 1 + (size - 1) / stride; ++out) {
            const auto forwards = static_cast<std::int32_t>(stride);
            all.push_back({extent, offset, size, forwards, out});
            all.push_back({extent, offset, size, -forwards, out});
          }
        }
      }
    }
  }
  return all;
}

/// SLICE: strides from 0, which repeats an element.
std::vector<Line> all_steps() {
  std::vector<Line> all;
  for (std::uint32_t extent = 1; extent <= 4; ++extent) {
    for (std::uint32_t offset = 0; offset < extent; ++offset) {
      for (std::uint32_t stride = 0; stride <= 4; ++stride) {
        for (std::uint32_t size = 1; size <= 4 && offset + (size - 1) * stride < extent; ++size) {
          all.push_back({extent, offset, size, static_cast<std::int32_t>(stride), size});
        }
      }
    }
  }
  return all;
}

/// One of those that give the same elements.
std::vector<Line> distinct(const std::vector<Line>& lines) {
  std::vector<Line> kept;
  std::set<std::tuple<std::uint32_t, std::int32_t, std::int32_t, std::uint32_t>> seen;
  for (const Line& line : lines) {
    if (seen.insert({line.extent, line.first(), line.out > 1 ? line.stride : 0, line.out}).second) kept.push_back(line);
  }
  return kept;
}

/// How the output lies in memory.
enum class Order { row_major, column_major };

/// Runs slices of one operator, in buffers that end at a page that faults.
template <class Desc>
class Runner {
 public:
  Runner() : input_(elements * 8, GuardedBuffer::Side::end), output_(elements * 8, GuardedBuffer::Side::end) {}

  void expect(std::span<const Line> lines, DataType type, Order order) {
    describe(lines, type, order);
    const std::size_t size = size_of(type);
    const auto in = input_.span().last(desc_.input.total_size_in_bytes);
    const auto out = output_.span().last(desc_.output.total_size_in_bytes);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = byte_of(i, size);
    std::fill(out.begin(), out.end(), std::byte{0xA5});
    const InputBuffer inputs[] = {in};
    const OutputBuffer outputs[] = {out};
    const Report report = run(desc_, latest_feature_level, inputs, outputs);
    ASSERT_TRUE(report.ok()) << report.to_string() << text_of(lines, type);

    std::array<std::byte, elements * 8> expected;
    expected.fill(std::byte{0xA5});
    naive(lines, size, in.data(), expected.data());
    ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size()), 0) << text_of(lines, type);
    ++count;
  }
  std::size_t count = 0;

 private:
  static constexpr std::size_t elements = 256;

  /// No two elements alike, whatever their size.
  static std::byte byte_of(std::size_t i, std::size_t size) {
    return static_cast<std::byte>((i / size) * 167 + 13 + 71 * (i % size));
  }

  void describe(std::span<const Line> lines, DataType type, Order order) {
    const std::size_t rank = lines.size();
    Dimensions in(rank), out(rank), steps(rank);
    std::uint32_t step = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      in[d] = lines[d].extent;
      out[d] = lines[d].out;
      steps[d] = step;
      step *= out[d];
    }
    desc_.input = TensorDesc(type, in);
    desc_.output = order == Order::row_major ? TensorDesc(type, out) : TensorDesc(type, out, steps);
    out_steps_ = steps;
    if (order == Order::row_major) {
      step = 1;
      for (std::size_t d = rank; d-- > 0; step *= out[d]) out_steps_[d] = step;
    }
    fill(desc_, lines);
  }
  static void fill(Slice1Desc& desc, std::span<const Line> lines) {
    desc.window_offsets.clear();
    desc.window_sizes.clear();
    desc.window_strides.clear();
    for (const Line& line : lines) {
      desc.window_offsets.push_back(line.offset);
      desc.window_sizes.push_back(line.size);
      desc.window_strides.push_back(line.stride);
    }
  }
  static void fill(SliceDesc& desc, std::span<const Line> lines) {
    desc.offsets.clear();
    desc.sizes.clear();
    desc.strides.clear();
    for (const Line& line : lines) {
      desc.offsets.push_back(line.offset);
      desc.sizes.push_back(line.size);
      desc.strides.push_back(static_cast<std::uint32_t>(line.stride));
    }
  }

  /// Element by element, from the operators' definition.
  void naive(std::span<const Line> lines, std::size_t size, const std::byte* from, std::byte* to) const {
    std::array<std::uint32_t, 4> at{};
    for (;;) {
      std::int32_t source = 0;
      std::size_t target = 0;
      for (std::size_t d = 0; d < lines.size(); ++d) {
        const Line& line = lines[d];
        const std::int32_t place = line.first() + static_cast<std::int32_t>(at[d]) * line.stride;
        source = source * static_cast<std::int32_t>(line.extent) + place;
        target += at[d] * out_steps_[d];
      }
      std::memcpy(to + target * size, from + static_cast<std::size_t>(source) * size, size);
      std::size_t d = lines.size();
      while (d > 0 && ++at[d - 1] == lines[d - 1].out) at[--d] = 0;
      if (d == 0) return;
    }
  }

  static std::string text_of(std::span<const Line> lines, DataType type) {
    std::string text(to_string(type));
    for (const Line& line : lines) {
      text += " {extent " + std::to_string(line.extent) + ", offset " + std::to_string(line.offset) + ", size " +
              std::to_string(line.size) + ", stride " + std::to_string(line.stride) + ", out " +
              std::to_string(line.out) + "}";
    }
    return text;
  }

  GuardedBuffer input_, output_;
  Desc desc_;
  Dimensions out_steps_;
};

/// Which element sizes a slice is run with.
enum class Sizes { all, in_turn };

/// Every `stride`-th slice of `rank` dimensions, each of which is one of `lines`; all of them in the long test. The
/// order of the output alternates; the short test also takes element sizes in turn.
template <class Desc>
void expect_all(const std::vector<Line>& lines, std::size_t rank, std::size_t stride, Sizes sizes) {
  constexpr DataType types[] = {DataType::uint8, DataType::float16, DataType::uint32, DataType::int64};
  const bool all_sizes = sizes == Sizes::all && (rank == 1 || dmlref_test::exhaustive());
  std::size_t combinations = 1;
  for (std::size_t d = 0; d < rank; ++d) combinations *= lines.size();
  Runner<Desc> runner;
  std::vector<Line> chosen(rank);
  std::size_t number = 0;
  for (std::size_t i = 0; i < combinations; ++i) {
    if (!dmlref_test::tried(i, stride)) continue;
    std::size_t rest = i;
    for (std::size_t d = 0; d < rank; ++d, rest /= lines.size()) chosen[d] = lines[rest % lines.size()];
    ++number;
    for (std::size_t t = 0; t < std::size(types); ++t) {
      if (!all_sizes && t != number % 4) continue;
      const Order order = (number / 4 + t) % 3 == 0 ? Order::column_major : Order::row_major;
      ASSERT_NO_FATAL_FAILURE(runner.expect(chosen, types[t], order));
    }
  }
  std::printf("%zu of %zu slices, %zu runs\n", number, combinations, runner.count);
}

TEST(EverySlice, OfOneDimension) { expect_all<SliceDesc>(all_steps(), 1, 1, Sizes::all); }
TEST(EverySlice, OfTwoDimensions) { expect_all<SliceDesc>(all_steps(), 2, 1, Sizes::all); }
TEST(EverySlice, OfThreeDimensions) { expect_all<SliceDesc>(distinct(all_steps()), 3, 3, Sizes::all); }
TEST(EverySlice, OfFourDimensions) { expect_all<SliceDesc>(distinct(all_steps()), 4, 149, Sizes::in_turn); }

TEST(EverySlice1, OfOneDimension) { expect_all<Slice1Desc>(all_windows(), 1, 1, Sizes::all); }
TEST(EverySlice1, OfTwoDimensions) { expect_all<Slice1Desc>(all_windows(), 2, 1, Sizes::all); }
TEST(EverySlice1, OfThreeDimensions) { expect_all<Slice1Desc>(distinct(all_windows()), 3, 1, Sizes::all); }
TEST(EverySlice1, OfFourDimensions) { expect_all<Slice1Desc>(distinct(all_windows()), 4, 31, Sizes::all); }

}  // namespace
