// The kernels for AVX-512 give the plain ones' bits; what corrections take for granted holds.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/repeated.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/select.hpp"
#include "support/normalization_case.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::fast::normalization;

template <class Real>
reference::ElementCoefficients<Real> random_line(dmlref_test::Random& random) {
  const auto number = [&](int low, int high) {
    return static_cast<Real>(
        std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), dmlref_test::pick(random, low, high)));
  };
  const int kind = dmlref_test::pick(random, 0, 3);
  return {kind == 0 ? 0 : number(-20, 14), kind == 1 ? 0 : number(-12, 12), kind == 2 ? 0 : number(-20, 10),
          std::fabs(number(-30, 8))};
}

// All halves, by a line's formula: none is missing, and none too much.
TEST(NormalizationCorrections, IllConditionedHalvesAreAnInterval) {
  dmlref_test::Random random(dmlref_test::test_seed(8));
  int found = 0;
  for (int round = 0; round < 400; ++round) {
    const auto line = random_line<float>(random);
    const auto interval = ill_conditioned_elements<half>(line);
    if (interval.size == 0) continue;
    ++found;
    for (std::uint32_t all = 0; all < 0x10000; ++all) {
      const auto bits = static_cast<std::uint16_t>(all);
      if ((bits & 0x7C00u) == 0x7C00u) continue;  // not finite
      const bool expected = !(std::fabs(line.value(static_cast<float>(half::from_bits(bits)))) >= line.error_bound);
      const auto mask = interval.mask_of(bits);
      ASSERT_EQ(mask, expected ? 0xFFFF : 0) << "round " << round << ", bits " << bits;
    }
  }
  EXPECT_GT(found, 100);
}

TEST(NormalizationCorrections, IllConditionedFloatsAreAnInterval) {
  dmlref_test::Random random(dmlref_test::test_seed(9));
  int found = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto line = random_line<double>(random);
    const auto interval = ill_conditioned_elements<float>(line);
    if (interval.size == 0) continue;
    ++found;
    const auto expect = [&](std::uint32_t bits) {
      const auto x = static_cast<double>(std::bit_cast<float>(bits));
      if (!std::isfinite(x)) return;
      const bool expected = !(std::fabs(line.value(x)) >= line.error_bound);
      ASSERT_EQ(interval.mask_of(bits), expected ? ~0u : 0u) << "round " << round << ", " << x;
    };
    for (std::uint32_t k = 0; k < 8; ++k) {  // around both ends
      expect(ordered(interval.first - 4 + k));
      expect(ordered(interval.first + interval.size - 4 + k));
    }
    for (int k = 0; k < 100; ++k) expect(static_cast<std::uint32_t>(random()));
    if (HasFailure()) return;
  }
  EXPECT_GT(found, 1000);
}

TEST(NormalizationCorrections, SumsOfHalvesAreExact) {
  using dmlref_test::pick;
  dmlref_test::Random random(dmlref_test::test_seed(10));
  for (int round = 0; round < 400; ++round) {
    std::vector<half> elements(static_cast<std::size_t>(pick(random, 1, pick(random, 0, 9) == 0 ? 20000 : 1500)));
    const auto regime = static_cast<dmlref_test::Regime>(round % static_cast<int>(dmlref_test::Regime::with_nan));
    dmlref_test::fill(elements, regime, random);
    const auto read = [&](std::uint64_t first, std::span<float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(elements[first + i]);
    };
    const auto mean = reference::group_statistics(elements.size(), read).mean;
    if (!std::isfinite(mean.high)) continue;  // (Results then take no exact statistics.)
    const auto exact = reference::ExactStatistics::of(elements.size(), read).mean;
    ASSERT_EQ(mean.high, exact.high) << dmlref_test::name_of(regime) << ", round " << round;
    ASSERT_EQ(mean.low, exact.low) << dmlref_test::name_of(regime) << ", round " << round;
  }
}

#if DMLREF_HAS_AVX512VNNI

constexpr std::size_t finishes = 3;

/// A row with its parameters, and what a kernel made of it.
struct RowCase {
  std::size_t count;
  std::vector<float> floats, others;
  std::vector<double> scale, bias;
  GroupCoefficients group;

  RowCase(std::size_t n, double shift, dmlref_test::Random& random)
      : count(n), floats(n), others(n), scale(n), bias(n) {
    const auto number = [&] { return std::uniform_real_distribution<float>(-4.0f, 4.0f)(random); };
    for (std::size_t i = 0; i < n; ++i) {
      floats[i] = number();
      others[i] = number();
      scale[i] = number();
      bias[i] = number();
    }
    group.shift = shift;
    group.rest = 0.1;
    group.rate = 1.7;
  }

  struct Result {
    std::vector<std::byte> stored;
    std::vector<double> wide;
    float least = 0;
    SumAndSquare sums, sums_ahead;
  };
  const std::byte* bytes(const std::vector<float>& row) const { return reinterpret_cast<const std::byte*>(row.data()); }

  enum class Source { floats, doubles, doubles_and_sums };
  Result run(const Kernels& kernels, std::size_t finish, bool each, Source source) const {
    Result r;
    r.stored.resize(count * (finish == static_cast<std::size_t>(Finish::values) ? sizeof(double) : sizeof(float)));
    r.wide.resize((count + 15) / 16 * 16);
    r.sums = kernels.sums(bytes(floats), count, source == Source::floats ? nullptr : r.wide.data(), nullptr);
    const bool overlaps = kernels.pipelined;
    RowAhead ahead;
    if (source == Source::doubles_and_sums && overlaps) {
      ahead = {bytes(others), &r.sums_ahead, fast::address_of(bytes(floats)), bytes(others)};  // (prefetches the third)
    } else {
      r.sums_ahead = kernels.sums(bytes(others), count, nullptr, nullptr);
    }
    double* const wide = source == Source::floats ? nullptr : r.wide.data();
    const std::byte* const from = wide != nullptr && overlaps ? nullptr : bytes(floats);
    std::byte* const to = r.stored.data();
    const float upper = 0.3f;
    r.least = each ? kernels.each_row32[finish](
                         {from, wide, to, count, &group, scale.data(), bias.data(), upper, false, 0, ahead})
                   : kernels.row32[finish]({from, wide, to, count, {group.shift, 1.25, -0.5}, upper, false, 0, ahead});
    return r;
  }
};

void expect_same(const RowCase::Result& a, const RowCase::Result& b) {
  EXPECT_EQ(std::memcmp(a.stored.data(), b.stored.data(), a.stored.size()), 0);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(a.least), std::bit_cast<std::uint32_t>(b.least));
  EXPECT_EQ(a.sums.sum, b.sums.sum);
  EXPECT_EQ(a.sums.square, b.sums.square);
  EXPECT_EQ(a.sums_ahead.sum, b.sums_ahead.sum);
  EXPECT_EQ(a.sums_ahead.square, b.sums_ahead.square);
}

TEST(NormalizationKernels, RowsOfEveryLengthAndSource) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "no AVX-512";
  dmlref_test::Random random(dmlref_test::test_seed(5));
  for (const std::size_t n : {1u, 7u, 8u, 15u, 16u, 17u, 31u, 32u, 47u, 100u, 768u, 1023u, 1024u}) {
    for (const double shift : {0.0, 0.75}) {
      const RowCase c(n, shift, random);
      for (std::size_t finish = 0; finish < finishes; ++finish) {
        for (const bool each : {false, true}) {
          const auto expected = c.run(scalar::kernels(), finish, each, RowCase::Source::floats);
          for (const auto source :
               {RowCase::Source::floats, RowCase::Source::doubles, RowCase::Source::doubles_and_sums}) {
            SCOPED_TRACE(testing::Message() << n << " elements, shift " << shift << ", finish " << finish << ", each "
                                            << each << ", source " << static_cast<int>(source));
            const auto result = c.run(avx512::kernels(), finish, each, source);
            expect_same(result, expected);
            for (std::size_t i = 0; source == RowCase::Source::doubles_and_sums && i < n; ++i) {
              ASSERT_EQ(result.wide[i], c.others[i]) << i;
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(NormalizationKernels, PiecesWithSumsOfOthers) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "no AVX-512";
  dmlref_test::Random random(dmlref_test::test_seed(8));
  const RowCase c(1024, 0.0, random);
  // (Another order in the output, and a gap between the second piece and the third.)
  const Piece pieces[3] = {{0, 1280, 16}, {64, 0, 304}, {2048, 1344, 512}};
  for (const double shift : {0.0, 0.75}) {
    for (std::size_t finish = 0; finish < finishes - 1; ++finish) {
      for (const bool stream : {false, true}) {
        const auto run = [&](const Kernels& of, std::vector<std::byte>& to, SumAndSquare& sums, std::int64_t ahead) {
          Pieces32 chunk{c.bytes(c.floats), to.data(), pieces, 3, 0, {shift, 1.25, -0.5}, 0.3f, stream};
          if (of.pipelined) {
            chunk.summed = c.bytes(c.others);
            chunk.sums = &sums;
            chunk.summed_ahead = ahead;
          } else {
            sums = of.piece_sums(c.bytes(c.others), pieces, 3, 0);
          }
          return of.pieces32[finish](chunk);
        };
        std::vector<std::byte> expected(1024 * sizeof(float)), result(expected.size());
        SumAndSquare expected_sums, sums;
        const float least = run(scalar::kernels(), expected, expected_sums, 0);
        for (const std::int64_t ahead : {0, 64}) {
          EXPECT_EQ(run(avx512::kernels(), result, sums, ahead), least);
          EXPECT_EQ(result, expected);
          EXPECT_EQ(sums.sum, expected_sums.sum);
          EXPECT_EQ(sums.square, expected_sums.square);
        }
        Pieces32 alone{c.bytes(c.floats), result.data(), pieces, 3, 0, {shift, 1.25, -0.5}, 0.3f, stream};
        for (const std::int64_t prefetch_distance : {0, 64}) {
          alone.prefetch_distance = prefetch_distance;
          EXPECT_EQ(avx512::kernels().pieces32[finish](alone), least);
          EXPECT_EQ(result, expected);
        }
      }
    }
  }
}

/// Rows, or pieces, of halves with everything a kernel requires.
struct HalvesCase {
  std::vector<half> row, other;
  std::vector<float> scale, bias;

  HalvesCase(std::size_t n, dmlref_test::Random& random) : row(n), other(n), scale(n), bias(n) {
    const auto number = [&] { return std::uniform_real_distribution<float>(-4.0f, 4.0f)(random); };
    for (std::size_t i = 0; i < n; ++i) {
      row[i] = static_cast<half>(number());
      other[i] = static_cast<half>(i % 7 == 0 ? 60000.0f : number());
      scale[i] = number();
      bias[i] = number() * 0x1p-6f;
    }
  }
  static const std::byte* bytes(const std::vector<half>& halves) {
    return reinterpret_cast<const std::byte*>(halves.data());
  }
  static std::vector<float> widened(const std::vector<half>& halves) {
    return std::vector<float>(halves.begin(), halves.end());
  }
  static SumAndSquare sums_of(const std::vector<half>& halves) {
    const std::vector<float> floats = widened(halves);
    return scalar::kernels().sums(reinterpret_cast<const std::byte*>(floats.data()), floats.size(), nullptr, nullptr);
  }

  struct Result {
    std::vector<std::byte> stored;
    std::vector<std::uint16_t> list;
    bool operator==(const Result&) const = default;
  };
  /// Two lines that give the first element the value 0; the second one's error bound is often met.
  Line16 line(bool often, float shift) const {
    return {shift, 1.25f, -1.25f * (static_cast<float>(row[0]) - shift), often ? 0.01f : 0x1p-17f};
  }
  std::size_t stored_bytes(std::size_t finish) const {
    return row.size() * (finish == static_cast<std::size_t>(Finish::values) ? sizeof(float) : sizeof(half));
  }
  Result rows(const Kernels& kernels, std::size_t finish, bool each, const Line16& line, float* floats,
              const RowAhead& ahead) const {
    Result r{std::vector<std::byte>(stored_bytes(finish)), std::vector<std::uint16_t>(row.size())};
    std::byte* const to = r.stored.data();
    r.list.resize(each ? kernels.each_row16[finish]({floats, to, row.size(), line.shift, 0x1p-14f, 1.5f, 0x1p-15f,
                                                     0x1p-10f, scale.data(), bias.data(), 0.3f, r.list.data(), ahead})
                       : kernels.row16[finish]({floats, to, row.size(), line, 0.3f, r.list.data(), ahead}));
    return r;
  }
  Result in_pieces(const Kernels& kernels, std::size_t finish, const Line16& line, bool stream) const {
    const std::size_t first = row.size() / 3;
    const auto at = static_cast<std::int64_t>(first * sizeof(half));
    const Piece two[2] = {{0, 0, first}, {at, at, row.size() - first}};
    Result r{std::vector<std::byte>(stored_bytes(finish)), std::vector<std::uint16_t>(row.size())};
    r.list.resize(
        kernels.pieces16[finish]({bytes(row), r.stored.data(), two, 2, 0, line, 0.3f, r.list.data(), 0, stream}));
    return r;
  }
};

void expect_halves(const Kernels& kernels) {
  dmlref_test::Random random(dmlref_test::test_seed(7));
  for (const std::size_t n : {1u, 15u, 16u, 17u, 31u, 32u, 47u, 100u, 768u, 1023u, 1024u}) {
    const HalvesCase c(n, random);
    const SumAndSquare expected_sums = HalvesCase::sums_of(c.other);
    const std::size_t first = n / 32 * 16;
    const Piece two[2] = {{0, 0, first}, {static_cast<std::int64_t>(2 * first), 0, n - first}};
    const SumAndSquare in_pieces = kernels.half_sums(HalvesCase::bytes(c.other), two, 2, 0);
    EXPECT_EQ(in_pieces.sum, expected_sums.sum) << n;
    EXPECT_EQ(in_pieces.square, expected_sums.square) << n;
    for (const float shift : {0.0f, 0.75f}) {
      for (const bool often : {false, true}) {
        const Line16 line = c.line(often, shift);
        for (std::size_t finish = 0; finish < finishes; ++finish) {
          SCOPED_TRACE(testing::Message()
                       << n << " elements, shift " << shift << ", finish " << finish << ", often " << often);
          for (const bool each : {false, true}) {
            std::vector<float> floats = HalvesCase::widened(c.row);
            const auto expected = c.rows(scalar::kernels(), finish, each, line, floats.data(), {});
            EXPECT_EQ(c.rows(kernels, finish, each, line, floats.data(), {}), expected) << each;
            SumAndSquare sums;
            std::vector<float> floats_ahead((n + 15) / 16 * 16);
            const RowAhead ahead{HalvesCase::bytes(c.other), &sums, 0, nullptr, floats_ahead.data()};
            EXPECT_EQ(c.rows(kernels, finish, each, line, floats.data(), ahead), expected) << each;
            floats_ahead.resize(n);
            EXPECT_EQ(floats_ahead, HalvesCase::widened(c.other)) << each;
            EXPECT_EQ(sums.sum, expected_sums.sum) << each;
            EXPECT_EQ(sums.square, expected_sums.square) << each;
          }
          if (finish == static_cast<std::size_t>(Finish::values)) continue;
          const auto expected = c.in_pieces(scalar::kernels(), finish, line, false);
          for (const bool stream : {false, true}) {
            EXPECT_EQ(c.in_pieces(kernels, finish, line, stream), expected) << stream;
          }
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(NormalizationKernels, Halves) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "no AVX-512";
  expect_halves(avx512::kernels());
}

#endif  // DMLREF_HAS_AVX512VNNI

}  // namespace
