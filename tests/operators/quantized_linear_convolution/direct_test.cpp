// The direct convolution (depthwise, small groups) of the instruction set in use against the reference, byte by byte.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "dmlref/operators/quantized_linear_convolution/call.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx2.hpp"
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#include "dmlref/requantize/multiply_add_rounding.hpp"
#include "support/direct_shapes.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/quantized_linear_convolution_plan.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

DMLREF_BEGIN
namespace fast::qlc::direct::avxvnni_as_evex {

using namespace vectors256;

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m256i dot(__m256i sums, __m256i activations,
                                                                   __m256i weights) noexcept {
  return _mm256_dpbusd_epi32(sums, activations, weights);
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m256i multiply_add(__m256i sums, __m256i pairs,
                                                                            __m256i weights) noexcept {
  return _mm256_dpwssd_epi32(sums, pairs, weights);
}

template <bool Words>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m256i add_taps(__m256i sums, __m256i taps,
                                                                        __m256i weights) noexcept {
  return Words ? multiply_add(sums, taps, weights) : dot(sums, taps, weights);
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/x86-inl.hpp"

#include "dmlref/operators/quantized_linear_convolution/kernels/direct/columns256-inl.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/planes256-inl.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::direct::avxvnni_as_evex
DMLREF_END
#endif

namespace {

using namespace dmlref;
using namespace dmlref::test;

/// Gives each output channel a zero point, about the middle, at an end or anywhere, and `percent` of its weights values
/// that do not fit eight bits less that zero point, as far as there are such.
void widen_weights(Random& random, QlcCase& test, std::uint32_t percent) {
  const DataType type = test.desc.filter.data_type;
  const std::int32_t lowest = type == DataType::uint8 ? 0 : -128;
  const Dimensions& sizes = test.desc.filter.sizes;
  const std::size_t channels = sizes[0];
  const std::size_t depth = std::accumulate(sizes.begin() + 1, sizes.end(), std::size_t{1}, std::multiplies<>());
  test.desc.filter_zero_point = TensorDesc(type, Dimensions{1, sizes[0], 1, 1});
  test.inputs[5].resize(test.desc.filter_zero_point->total_size_in_bytes);
  for (std::size_t c = 0; c < channels; ++c) {
    const std::uint32_t kind = pick(random, 0, 9);
    const std::uint32_t offset = kind < 5    ? pick(random, 118, 138)
                                 : kind == 5 ? 0
                                 : kind == 6 ? 255
                                             : pick(random, 0, 255);
    test.inputs[5][c] = static_cast<std::byte>(static_cast<std::int32_t>(offset) + lowest);
    for (std::size_t i = 0; i < depth; ++i) {
      const bool wide = chance(random, percent);
      std::int32_t weight = 0;
      for (int attempt = 0; attempt < 100; ++attempt) {
        weight = static_cast<std::int32_t>(pick(random, 0, 255));
        const std::int32_t d = weight - static_cast<std::int32_t>(offset);
        if ((d < -128 || d > 127) == wide) break;
      }
      test.inputs[3][c * depth + i] = static_cast<std::byte>(weight + lowest);
    }
  }
}

void expect_equal_to_reference(const fast::qlc::direct::Kernels& kernels, int cases,
                               QlcShape (*make_shape)(Random&) = random_few_channels) {
  Random random(dmlref_test::test_seed());
  constexpr QlcData all[] = {QlcData::random,   QlcData::random,      QlcData::random,     QlcData::ties,
                             QlcData::extremes, QlcData::all_highest, QlcData::all_lowest, QlcData::huge_bias};
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any};
  int direct_cases = 0;
  for (int i = 0; i < cases; ++i) {
    const QlcShape shape = make_shape(random);
    QlcCase test = make_qlc_case(random, shape, all[i % 8], layouts[i % 3]);
    const bool owned = chance(random, 50);
    if (owned) own_constants(test.desc);
    const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
    const std::shared_ptr<const detail::Plan> plan =
        fast::qlc::direct::make_plan(problem, kernels, this_cpu().convolution);
    if (plan == nullptr) continue;
    ++direct_cases;
    dmlref_test::ThreadExecutor threads(pick(random, 2, 4));
    Executor& executor = i % 8 == 0 ? static_cast<Executor&>(threads) : sequential();
    compare(test, run_plan(*plan, test, random, executor, owned), "case " + std::to_string(i) + ": " + describe(shape));
    if (testing::Test::HasFailure()) return;
  }
  std::printf("%d cases\n", direct_cases);
  EXPECT_TRUE(dmlref_test::often(direct_cases, cases / 2)) << direct_cases << " of " << cases;
}

TEST(DirectConvolution, EqualsTheReference) {
  expect_equal_to_reference(fast::qlc::kernels_of(isa_in_use()).direct, dmlref_test::rounds(1500));
}

TEST(DirectConvolution, Planes) {
  expect_equal_to_reference(fast::qlc::kernels_of(isa_in_use()).direct, dmlref_test::rounds(1500), random_planes);
}

TEST(DirectConvolution, Columns) {
  expect_equal_to_reference(fast::qlc::kernels_of(isa_in_use()).direct, dmlref_test::rounds(1500), random_columns);
}

// From no weight that does not fit eight bits, and one here and there, to all.
void expect_wide_weights_equal_to_reference(const fast::qlc::direct::Kernels& kernels, int cases,
                                            QlcShape (*make_shape)(Random&)) {
  Random random(dmlref_test::test_seed());
  constexpr std::uint32_t percents[] = {0, 1, 1, 2, 3, 5, 10, 20, 50, 100};
  for (int i = 0; i < cases; ++i) {
    const QlcShape shape = make_shape(random);
    QlcCase test = make_qlc_case(random, shape, i % 8 == 0 ? QlcData::ties : QlcData::random,
                                 i % 2 == 0 ? QlcLayout::packed : QlcLayout::channels_last);
    const std::uint32_t percent = percents[pick(random, 0, 9)];
    widen_weights(random, test, percent);
    const bool owned = chance(random, 70);
    if (owned) own_constants(test.desc);
    const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
    const std::shared_ptr<const detail::Plan> plan =
        fast::qlc::direct::make_plan(problem, kernels, this_cpu().convolution);
    if (plan == nullptr) continue;
    compare(test, run_plan(*plan, test, random, sequential(), owned),
            "case " + std::to_string(i) + ": " + std::to_string(percent) + " % wide, " + describe(shape));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(DirectConvolution, WideWeights) {
  const fast::qlc::direct::Kernels& kernels = fast::qlc::kernels_of(isa_in_use()).direct;
  expect_wide_weights_equal_to_reference(kernels, dmlref_test::rounds(1000), random_groups);
  expect_wide_weights_equal_to_reference(kernels, dmlref_test::rounds(300), random_planes);
  expect_wide_weights_equal_to_reference(kernels, dmlref_test::rounds(300), random_columns);
  expect_wide_weights_equal_to_reference(kernels, dmlref_test::rounds(300), random_few_channels);
}

// The text of the AVX-VNNI kernels with the EVEX encoding of the same instruction, for CPUs that have only that.
TEST(DirectConvolution, LanesOfAvxVnni) {
#if DMLREF_ARCH_X86_64
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "needs vpdpbusd in its EVEX encoding";
  if (isa_in_use() != Isa::avx512vnni) GTEST_SKIP() << "runs with avx512vnni";
  expect_equal_to_reference(fast::qlc::direct::avxvnni_as_evex::kernels, dmlref_test::rounds(1500));
  expect_equal_to_reference(fast::qlc::direct::avxvnni_as_evex::kernels, dmlref_test::rounds(500), random_planes);
  expect_equal_to_reference(fast::qlc::direct::avxvnni_as_evex::kernels, dmlref_test::rounds(500), random_columns);
  expect_wide_weights_equal_to_reference(fast::qlc::direct::avxvnni_as_evex::kernels, dmlref_test::rounds(300),
                                         random_groups);
  expect_wide_weights_equal_to_reference(fast::qlc::direct::avxvnni_as_evex::kernels, dmlref_test::rounds(300),
                                         random_planes);
#else
  GTEST_SKIP() << "not an x86";
#endif
}

// Sums that a multiply-add rounds, floats as they stand or integers: the result is the low half, for sums next to each
// tie and for any others.
TEST(DirectConvolution, MultiplyAddRounding) {
  using namespace fast::qlc;
  Random random(dmlref_test::test_seed());
  const int rounds = dmlref_test::rounds(5000);
  int found = 0, integers = 0;
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    const bool deep = i % 4 == 1;  // few shifts do
    const SumsBegin as = i % 8 < 4 ? SumsBegin::as_floats : SumsBegin::as_integers;
    const bool floats = as == SumsBegin::as_floats;
    const auto bound =
        static_cast<std::int32_t>(deep ? 2000000 : pick(random, 1, 1u << pick(random, 1, floats ? 22 : 26)));
    const auto part = [&] {  // of few bits at times, so that sums lie on ties
      const std::uint32_t bits = pick(random, 1u << 23, (1u << 24) - 1);
      const std::uint32_t fewer = chance(random, 20) ? pick(random, 1, 23) : 0;
      return static_cast<double>(bits >> fewer << fewer) * 0x1p-24;
    };
    const double size = part() * part() * std::ldexp(1.0, -static_cast<int>(deep ? 10 : pick(random, 0, 12)));
    const double factor = chance(random, 50) ? -size : size;
    const double output_scale = part();
    const std::int32_t zero_point = static_cast<std::int32_t>(pick(random, 0, 255)) - 128;
    const auto signed_up_to = [&](std::int32_t most) {
      return static_cast<std::int32_t>(pick(random, 0, 2 * static_cast<std::uint32_t>(most))) - most;
    };
    const std::int32_t begin = signed_up_to(bound);
    const MultiplyAddRounding rounded = multiply_add_rounding(factor, output_scale, zero_point, begin, bound, as);
    if (rounded.sum == 0) continue;
    ++(floats ? found : integers);
    const auto clamp = [](std::int32_t v) { return v < -128 ? -128 : v > 127 ? 127 : v; };
    const auto check = [&](std::int32_t sum) {
      if (sum < -bound || sum > bound) return;
      const std::int32_t bits = rounded.sum + (sum - begin);
      const float value = floats ? std::bit_cast<float>(bits) : static_cast<float>(bits);
      const auto result = std::bit_cast<std::uint32_t>(std::fma(value, rounded.scale, rounded.shift));
      EXPECT_EQ(clamp(static_cast<std::int16_t>(result & 0xFFFF)),
                clamp(round_exactly(sum, factor, output_scale) + zero_point))
          << "factor " << factor << ", output scale " << output_scale << ", zero point " << zero_point << ", bound "
          << bound << ", sum " << sum;
    };
    for (const std::int32_t sum : {-bound, bound, 0, signed_up_to(bound), signed_up_to(bound)}) check(sum);
    for (std::int32_t tie = -128; tie < 127; ++tie) {
      const auto sum = static_cast<std::int32_t>((tie + 0.5 - zero_point) * output_scale / factor);
      for (std::int32_t near = -2; near <= 2; ++near) check(sum + near);
    }
  }
  EXPECT_TRUE(dmlref_test::often(found, rounds / 8)) << found;
  EXPECT_TRUE(dmlref_test::often(integers, rounds / 16)) << integers;
}

// Scales that leave float32's range, negative ones, and those that DirectML leaves undefined.
TEST(DirectConvolution, OddScales) {
  Random random(dmlref_test::test_seed());
  const Isa isa = isa_in_use();
  const float odd[] = {0.0f, -1.0f, 1e-45f, 1e-38f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN, 1.0f, 0.5f, 1e20f};
  for (int i = 0; i < dmlref_test::rounds(600); ++i) {
    QlcShape shape;
    shape.groups = pick(random, 2, 70);
    shape.in = {5, 9};
    shape.kernel = {3, 3};
    shape.start = shape.end = {1, 1};
    QlcCase test =
        make_qlc_case(random, shape, QlcData::random, i % 2 == 0 ? QlcLayout::packed : QlcLayout::channels_last);
    const auto scale = [&] { return odd[pick(random, 0, 11)]; };
    test.inputs[1] = bytes_of(test.desc.input_scale, scale());
    test.inputs[4] = bytes_from<float>(test.desc.filter_scale, scale);
    test.inputs[7] = bytes_of(test.desc.output_scale, scale());
    const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
    const std::shared_ptr<const detail::Plan> plan =
        fast::qlc::direct::make_plan(problem, fast::qlc::kernels_of(isa).direct, this_cpu().convolution);
    ASSERT_NE(plan, nullptr);
    compare(test, run_plan(*plan, test, random, sequential(), false), "case " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
