// data_test.cpp: the convolution of the instruction set in use against the reference, byte by byte, over
// scales, biases and inputs that a fast epilogue may get wrong or leave to a slow one: ties everywhere, scales that no
// float holds or that saturate, channels far apart, biases at the ends of 32 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/quantized_linear_convolution_plan.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

// ---- shapes, some for each strategy ----

QlcShape square(Random& random, std::uint32_t groups, std::uint32_t in, std::uint32_t out, std::uint32_t kernel,
                std::uint32_t most) {
  QlcShape s;
  s.groups = groups;
  s.in_channels = in;
  s.out_channels = out;
  s.kernel = {kernel, kernel};
  const std::uint32_t stride = chance(random, 70) ? 1 : 2, padding = chance(random, 50) ? kernel / 2 : 0;
  s.stride = {stride, stride};
  s.start = s.end = {padding, padding};
  s.in = {kernel + pick(random, 0, most), kernel + pick(random, 0, most)};
  return s;
}
QlcShape pointwise(Random& random) {
  return square(random, 1, pick(random, 1, chance(random, 20) ? 600 : 40), pick(random, 1, 70), 1, 14);
}
QlcShape plain(Random& random) {
  return square(random, pick(random, 1, chance(random, 20) ? 3 : 1), pick(random, 1, 24), pick(random, 1, 40),
                pick(random, 2, 5), 9);
}
QlcShape three_by_three(Random& random) {  // where AVX2 has Winograd's way
  QlcShape s = square(random, 1, 16 * pick(random, 2, 5), 16 * pick(random, 2, 5), 3, 14);
  s.start = s.end = {1, 1};
  return s;
}
QlcShape depthwise(Random& random) {
  return square(random, pick(random, 2, 80), 1, chance(random, 80) ? 1 : 2, chance(random, 70) ? 3 : pick(random, 2, 7),
                20);
}
QlcShape small_groups(Random& random) {
  const std::uint32_t channels = chance(random, 70) ? 4 : 2;
  return square(random, pick(random, 2, 40), channels, channels, 3, 9);
}
using MakeShape = QlcShape (*)(Random&);
constexpr MakeShape shapes[] = {pointwise, plain, three_by_three, depthwise, small_groups};

// ---- data ----

enum class Scale { plain, power, third, hair, decades, outlier, odd, one, any };
enum class Bias { plain, at_ties, at_ends, at_ends_in_range };
enum class Pixels { random, zero_point, few_values };

float value_of(const std::vector<std::byte>& bytes, std::size_t at = 0) {
  float value;
  std::memcpy(&value, bytes.data() + sizeof value * at, sizeof value);
  return value;
}

/// Scales of that kind whose outputs, of sums about `spread`, mostly do not saturate where that is possible.
void set_scales(Random& random, QlcCase& test, Scale kind, double spread) {
  const double size = 256 / (5 * spread);
  const double power = std::exp2(std::round(std::log2(size)));
  float in = 0.7f, out = 0.9f;
  if (kind == Scale::power) in = std::exp2(-static_cast<float>(pick(random, 0, 9))), out = 0.25f;
  if (kind == Scale::third) in = 1.0f, out = 3.0f;
  if (kind == Scale::hair) in = 1.0f + 0x1p-23f, out = chance(random, 50) ? 1.0f : 1.0f - 0x1p-24f;
  if (kind == Scale::one) in = out = 1.0f;
  if (chance(random, 10)) in = -in;
  if (chance(random, 10)) out = -out;
  const auto of = [&](double quotient) { return static_cast<float>(quotient * double{out} / double{in}); };
  const auto odd = [&] {
    constexpr float all[] = {0.0f,
                             1e38f,
                             -3e38f,
                             1e-45f,
                             1e-38f,
                             1e20f,
                             std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()};
    return all[pick(random, 0, 7)];
  };
  std::size_t channel = 0;
  test.inputs[1] = bytes_of(test.desc.input_scale, in);
  test.inputs[7] = bytes_of(test.desc.output_scale, out);
  test.inputs[4] = bytes_from<float>(test.desc.filter_scale, [&]() -> float {
    Scale here = kind;
    if (kind == Scale::any) here = static_cast<Scale>(pick(random, 0, 7));
    const bool first = channel++ == 1;
    switch (here) {
      case Scale::power: return of(power * std::exp2(static_cast<double>(pick(random, 0, 4)) - 2));
      case Scale::third:
      case Scale::hair: return static_cast<float>(power * 2) * (chance(random, 50) ? 1.0f : 1.0f - 0x1p-23f);
      case Scale::decades: return of(size * std::exp(-std::uniform_real_distribution<double>(-1.5, 5.5)(random)));
      case Scale::outlier: return of(first ? size * 3000 : size);
      case Scale::odd: return chance(random, 30) ? odd() : of(size);
      case Scale::one: return 1.0f;
      default: return of(size * std::uniform_real_distribution<double>(0.5, 1.5)(random));
    }
  });
  if (chance(random, 5)) test.inputs[1] = bytes_of(test.desc.input_scale, odd());
  if (chance(random, 5)) test.inputs[7] = bytes_of(test.desc.output_scale, odd());
}

void set_biases(Random& random, QlcCase& test, Bias kind, double spread) {
  if (!test.desc.bias || kind == Bias::plain) return;
  if (kind == Bias::at_ends_in_range) {  // sums of 31 bits to some tens
    test.inputs[1] = bytes_of(test.desc.input_scale, 1.0f);
    test.inputs[7] = bytes_of(test.desc.output_scale, chance(random, 50) ? 1.0f : 0.7f);
    test.inputs[4] = bytes_from<float>(test.desc.filter_scale, [&] {
      const auto whole = static_cast<float>(pick(random, 1, 100));
      return (chance(random, 50) ? whole + 0.5f : whole + 0.3f) * 0x1p-31f;
    });
  }
  const double ratio =
      double{value_of(test.inputs[1])} * double{value_of(test.inputs[4])} / double{value_of(test.inputs[7])};
  const bool usual = std::isfinite(ratio) && std::fabs(ratio) > 1e-7;
  test.inputs[6] = bytes_from<std::int32_t>(*test.desc.bias, [&]() -> std::int64_t {
    const auto small = static_cast<std::int64_t>(pick(random, 0, 4)) - 2;
    const auto any = static_cast<std::int64_t>(std::uniform_real_distribution<double>(-spread, spread)(random));
    if (kind == Bias::at_ties) {
      const double tie = static_cast<double>(pick(random, 0, 80)) - 40 + 0.5;
      return usual ? static_cast<std::int64_t>(std::nearbyint(tie / ratio)) + small / 2 : any;
    }
    const std::int64_t near = chance(random, 50) ? small + 2 : pick(random, 0, 1u << 25);
    return chance(random, 20) ? any : chance(random, 50) ? INT32_MAX - near : INT32_MIN + near;
  });
}

void set_pixels(Random& random, QlcCase& test, Pixels kind) {
  if (kind == Pixels::random) return;
  const std::byte zero = test.inputs[2].empty() ? std::byte{0} : test.inputs[2][0];
  const unsigned step = 1u << pick(random, 0, 7);
  for (std::byte& pixel : test.inputs[0]) {
    pixel =
        kind == Pixels::zero_point
            ? zero
            : static_cast<std::byte>(std::to_integer<unsigned>(zero) + step * static_cast<unsigned>(random() % 256));
  }
}

class RequantizationData : public testing::TestWithParam<std::size_t> {};

TEST_P(RequantizationData, EqualsTheReference) {
  Random random(dmlref_test::test_seed(38 + GetParam()));
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any};
  for (int i = 0; i < dmlref_test::rounds(250); ++i) {
    const QlcShape shape = shapes[GetParam()](random);
    if (!shape.fits()) continue;
    QlcCase test = make_qlc_case(random, shape, QlcData::random, layouts[i % 3]);
    const double depth = static_cast<double>(shape.in_channels * shape.kernel[0] * shape.kernel[1]);
    const double spread = std::sqrt(depth) * 5000;
    const auto scale = static_cast<Scale>(pick(random, 0, 8));
    const auto bias = static_cast<Bias>(pick(random, 0, 3));
    const auto pixels = static_cast<Pixels>(pick(random, 0, 2));
    set_scales(random, test, scale, spread);
    set_biases(random, test, bias, spread);
    set_pixels(random, test, pixels);
    const bool owned = chance(random, 60);
    if (owned) {
      own_constants(test.desc);
    } else if (chance(random, 50)) {
      test.desc.filter.owned_by_dml = true;
    }
    const std::shared_ptr<const detail::Plan> plan =
        detail::plan_of(detail::qlc_problem(test.desc), isa_in_use(), this_cpu());
    dmlref_test::ThreadExecutor threads(pick(random, 2, 4));
    Executor& executor = i % 8 == 0 ? static_cast<Executor&>(threads) : sequential();
    compare(test, run_plan(*plan, test, random, executor, owned || test.desc.filter.owned_by_dml),
            "case " + std::to_string(i) + ": scales " + std::to_string(static_cast<int>(scale)) + ", biases " +
                std::to_string(static_cast<int>(bias)) + ", pixels " + std::to_string(static_cast<int>(pixels)) +
                (owned ? ", owned, " : ", ") + std::string(plan->strategy_name()) + ", " + describe(shape));
    if (HasFailure()) return;
  }
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  constexpr const char* names[] = {"Pointwise", "Plain", "ThreeByThree", "Depthwise", "SmallGroups"};
  return names[info.param];
}
INSTANTIATE_TEST_SUITE_P(Shapes, RequantizationData, testing::Range(std::size_t{0}, std::size(shapes)), name_of);

// What a multiply-add leaves in the low half, for exact scales of either sign and any size.
TEST(ExactSums, EqualTheRoundedProduct) {
  Random random(dmlref_test::test_seed(58));
  std::size_t rounded = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto significand = static_cast<double>(pick(random, 1, 255));
    const double size = std::ldexp(significand, -static_cast<int>(pick(random, 1, 22)));
    const double ratio = chance(random, 50) ? -size : size;
    const std::int32_t zero_point = 2 * (static_cast<std::int32_t>(pick(random, 0, 127)) - 64);
    const double bound = std::ldexp(1.0, static_cast<int>(pick(random, 0, 21)));
    const auto as = chance(random, 50) ? fast::qlc::SumsBegin::as_floats : fast::qlc::SumsBegin::as_integers;
    const fast::qlc::MultiplyAddRounding found = fast::qlc::exact_sums(ratio, 1.0, zero_point, 0, bound, as);
    if (found.sum == 0) continue;
    ++rounded;
    const auto most = static_cast<std::int32_t>(std::min(bound, 300 / size));  // what does not saturate
    for (int i = 0; i < 20; ++i) {
      const auto sum = static_cast<std::int32_t>(pick(random, 0, 2 * static_cast<std::uint32_t>(most))) - most;
      const std::int32_t begun = found.sum + sum;
      const float as_float =
          as == fast::qlc::SumsBegin::as_floats ? std::bit_cast<float>(begun) : static_cast<float>(begun);
      const float result = std::fma(as_float, found.scale, found.shift);
      const auto low = static_cast<std::int16_t>(std::bit_cast<std::uint32_t>(result) & 0xFFFF);
      ASSERT_EQ(low, std::nearbyint(sum * ratio) + zero_point)
          << "sum " << sum << ", scale " << ratio << ", zero point " << zero_point << ", bound " << bound;
    }
  }
  EXPECT_GT(rounded, 5000u);
}

}  // namespace
