// The kernels for AVX-512 give the plain ones' bits; what corrections take for granted holds.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/repeated.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/targets.hpp"
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
    std::vector<double> doubles, next;
    float minimum = 0;
    SumAndSquare sums, pipelined_sums;
  };
  const std::byte* bytes(const std::vector<float>& row) const { return reinterpret_cast<const std::byte*>(row.data()); }

  Result run(const Kernels& kernels, std::size_t finish, bool per_element, Source source, bool in_place) const {
    Result r;
    r.stored.resize(count * (finish == static_cast<std::size_t>(Finish::unrounded) ? sizeof(double) : sizeof(float)));
    r.doubles.resize((count + 15) / 16 * 16);
    r.next.resize(r.doubles.size());
    const Segment all{0, 0, count};
    const float upper = 0.3f;
    auto results = is_converted(source) ? converted_row<double>(r.doubles.data(), r.stored.data(), all, upper)
                                        : row_results<double>(bytes(floats), r.stored.data(), all, upper);
    r.sums = is_converted(source) ? kernels.convert(bytes(floats), count, r.doubles.data(), results.prefetch.written)
                                  : kernels.row_sums(bytes(floats), count, results.prefetch.written);
    if (has_sums(source) && kernels.pipelined) {
      double* const next = in_place ? r.doubles.data() : r.next.data();
      results.source = source;
      results.summed = {bytes(others), &r.pipelined_sums, next};
      results.prefetch = {results.prefetch.read, results.prefetch.read};
    } else {
      r.pipelined_sums = kernels.row_sums(bytes(others), count, fast::address_of(bytes(others)));
    }
    r.minimum = per_element ? kernels.float32.per_element[finish](
                                  results, {group.shift, group.rest, group.rate, 0, 0, scale.data(), bias.data()})
                            : kernels.float32.shared[finish](results, {group.shift, 1.25, -0.5, 0});
    if (in_place) r.next = r.doubles;
    return r;
  }
};

void expect_same(const RowCase::Result& a, const RowCase::Result& b) {
  EXPECT_EQ(std::memcmp(a.stored.data(), b.stored.data(), a.stored.size()), 0);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(a.minimum), std::bit_cast<std::uint32_t>(b.minimum));
  EXPECT_EQ(a.sums.sum, b.sums.sum);
  EXPECT_EQ(a.sums.square, b.sums.square);
  EXPECT_EQ(a.pipelined_sums.sum, b.pipelined_sums.sum);
  EXPECT_EQ(a.pipelined_sums.square, b.pipelined_sums.square);
}

TEST(NormalizationKernels, RowsOfEveryLengthAndSource) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "no AVX-512";
  dmlref_test::Random random(dmlref_test::test_seed(5));
  for (const std::size_t n : {1u, 7u, 8u, 15u, 16u, 17u, 31u, 32u, 47u, 100u, 768u, 1023u, 1024u}) {
    for (const double shift : {0.0, 0.75}) {
      const RowCase c(n, shift, random);
      for (std::size_t finish = 0; finish < finishes; ++finish) {
        for (const bool per_element : {false, true}) {
          const auto expected = c.run(scalar::kernels(), finish, per_element, Source::memory, false);
          for (const auto source : {Source::memory, Source::converted, Source::converted_and_sums}) {
            for (const bool in_place : {false, true}) {
              SCOPED_TRACE(testing::Message()
                           << n << " elements, shift " << shift << ", finish " << finish << ", per element "
                           << per_element << ", source " << static_cast<int>(source) << ", in place " << in_place);
              expect_same(c.run(scalar::kernels(), finish, per_element, source, in_place), expected);
              const auto result = c.run(avx512::kernels(), finish, per_element, source, in_place);
              expect_same(result, expected);
              for (std::size_t i = 0; source == Source::converted_and_sums && i < n; ++i) {
                ASSERT_EQ(result.next[i], c.others[i]) << i;
              }
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(NormalizationKernels, SegmentsWithSumsOfOthers) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "no AVX-512";
  dmlref_test::Random random(dmlref_test::test_seed(8));
  const RowCase c(1024, 0.0, random);
  // (Another order in the output, and a gap between the second segment and the third.)
  const Segment segments[3] = {{0, 1280, 16}, {64, 0, 304}, {2048, 1344, 512}};
  for (const double shift : {0.0, 0.75}) {
    for (std::size_t finish = 0; finish < finishes - 1; ++finish) {
      for (const bool per_element : {false, true}) {
        const auto minimum_by = [&](const Kernels& kernels, const Results<double>& results) {
          const PerElementCoefficients<double> each{shift, 0.5, 1.25, 0, 0, c.scale.data(), c.bias.data()};
          return per_element ? kernels.float32.per_element[finish](results, each)
                             : kernels.float32.shared[finish](results, {shift, 1.25, -0.5, 0});
        };
        for (const bool stream : {false, true}) {
          for (const std::int64_t ahead : {0, 64}) {
            std::vector<std::byte> expected(1024 * sizeof(float)), result(expected.size());
            Results<double> results{
                Source::memory,
                c.bytes(c.floats),
                nullptr,
                expected.data(),
                segments,
                3,
                0.3f,
                stream,
                {fast::address_of(c.bytes(c.floats), ahead), fast::address_of(result.data(), ahead)}};
            const float minimum = minimum_by(scalar::kernels(), results);
            const SumAndSquare expected_sums = scalar::kernels().sums(c.bytes(c.others), segments, 3, 0);
            results.to = result.data();
            EXPECT_EQ(minimum_by(avx512::kernels(), results), minimum);
            EXPECT_EQ(result, expected);
            result.assign(result.size(), std::byte{0});
            SumAndSquare sums;
            results.source = Source::memory_and_sums;
            results.summed = {c.bytes(c.others), &sums};
            EXPECT_EQ(minimum_by(avx512::kernels(), results), minimum);
            EXPECT_EQ(result, expected);
            EXPECT_EQ(sums.sum, expected_sums.sum);
            EXPECT_EQ(sums.square, expected_sums.square);
          }
        }
      }
    }
  }
}

/// Rows, or segments, of halves with everything a kernel requires.
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
    return scalar::kernels().row_sums(reinterpret_cast<const std::byte*>(floats.data()), floats.size(), 0);
  }

  struct Result {
    std::vector<std::byte> stored;
    std::vector<std::uint16_t> list;
    bool operator==(const Result&) const = default;
  };
  /// Coefficients that give the first element the value 0; the error bound is met often, or hardly ever.
  SharedCoefficients<float> coefficients(bool often, float shift) const {
    return {shift, 1.25f, -1.25f * (static_cast<float>(row[0]) - shift), often ? 0.01f : 0x1p-17f};
  }
  std::size_t stored_bytes(std::size_t finish) const {
    return row.size() * (finish == static_cast<std::size_t>(Finish::unrounded) ? sizeof(float) : sizeof(half));
  }
  /// `summed`: sums of another row, or nothing.
  Result rows(const Kernels& kernels, std::size_t finish, bool per_element, const SharedCoefficients<float>& c,
              const std::vector<float>& floats, const Summed<float>& summed) const {
    Result r{std::vector<std::byte>(stored_bytes(finish)), std::vector<std::uint16_t>(row.size())};
    const Segment all{0, 0, row.size()};
    auto results = converted_row<float>(floats.data(), r.stored.data(), all, 0.3f);
    results.list = r.list.data();
    if (summed.from != nullptr) {
      results.source = Source::converted_and_sums;
      results.summed = summed;
    }
    r.list.resize(found(kernels, finish, per_element, c, results));
    return r;
  }
  Result in_segments(const Kernels& kernels, std::size_t finish, bool per_element, const SharedCoefficients<float>& c,
                     bool stream) const {
    const std::size_t first = row.size() / 3;
    const auto at = static_cast<std::int64_t>(first * sizeof(half));
    const Segment two[2] = {{0, 0, first}, {at, at, row.size() - first}};
    Result r{std::vector<std::byte>(stored_bytes(finish)), std::vector<std::uint16_t>(row.size())};
    const fast::Address place = fast::address_of(bytes(row));
    r.list.resize(found(kernels, finish, per_element, c,
                        {Source::memory,
                         bytes(row),
                         nullptr,
                         r.stored.data(),
                         two,
                         2,
                         0.3f,
                         stream,
                         {place, place},
                         {},
                         r.list.data()}));
    return r;
  }
  std::size_t found(const Kernels& kernels, std::size_t finish, bool per_element, const SharedCoefficients<float>& c,
                    const Results<float>& results) const {
    return per_element ? kernels.float16.per_element[finish](
                             results, {c.shift, 0x1p-14f, 1.5f, 0x1p-15f, 0x1p-10f, scale.data(), bias.data()})
                       : kernels.float16.shared[finish](results, c);
  }
};

void expect_halves(const Kernels& kernels) {
  dmlref_test::Random random(dmlref_test::test_seed(7));
  for (const std::size_t n : {1u, 15u, 16u, 17u, 31u, 32u, 47u, 100u, 768u, 1023u, 1024u}) {
    const HalvesCase c(n, random);
    const SumAndSquare expected_sums = HalvesCase::sums_of(c.other);
    const std::size_t first = n / 32 * 16;
    const Segment two[2] = {{0, 0, first}, {static_cast<std::int64_t>(2 * first), 0, n - first}};
    const SumAndSquare in_segments = kernels.half_sums(HalvesCase::bytes(c.other), two, 2, 0);
    EXPECT_EQ(in_segments.sum, expected_sums.sum) << n;
    EXPECT_EQ(in_segments.square, expected_sums.square) << n;
    const std::vector<float> floats = HalvesCase::widened(c.row);
    for (const float shift : {0.0f, 0.75f}) {
      for (const bool often : {false, true}) {
        const auto coefficients = c.coefficients(often, shift);
        for (std::size_t finish = 0; finish < finishes; ++finish) {
          SCOPED_TRACE(testing::Message()
                       << n << " elements, shift " << shift << ", finish " << finish << ", often " << often);
          for (const bool per_element : {false, true}) {
            const auto expected = c.rows(scalar::kernels(), finish, per_element, coefficients, floats, {});
            EXPECT_EQ(c.rows(kernels, finish, per_element, coefficients, floats, {}), expected) << per_element;
            SumAndSquare sums;
            std::vector<float> next((n + 15) / 16 * 16);
            EXPECT_EQ(c.rows(kernels, finish, per_element, coefficients, floats,
                             {HalvesCase::bytes(c.other), &sums, next.data()}),
                      expected)
                << per_element;
            next.resize(n);
            EXPECT_EQ(next, HalvesCase::widened(c.other)) << per_element;
            EXPECT_EQ(sums.sum, expected_sums.sum) << per_element;
            EXPECT_EQ(sums.square, expected_sums.square) << per_element;
          }
          for (const bool per_element : {false, true}) {
            if (finish == static_cast<std::size_t>(Finish::unrounded)) continue;
            const auto expected = c.in_segments(scalar::kernels(), finish, per_element, coefficients, false);
            for (const bool stream : {false, true}) {
              EXPECT_EQ(c.in_segments(kernels, finish, per_element, coefficients, stream), expected)
                  << per_element << stream;
            }
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
