// requantization_test.cpp: every accumulator within 2^16 of a tie, for a grid of scales, through every mode of the
// requantization module and every target, against exact rationals.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "dmlref/isa/cpu.hpp"
#include "dmlref/reference/quantize.hpp"
#include "dmlref/requantize/multiply_add_rounding.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/scalar.hpp"
#include "support/exact_quotient.hpp"
#include "support/exhaustive.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/requantize/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/requantize/avx512.hpp"
#endif

namespace {

using namespace dmlref;
using namespace dmlref::fast::qlc;
using dmlref_test::ExactQuotient;
using dmlref_test::ExactSteps;

constexpr std::int64_t window = 1 << 16;
constexpr std::size_t at_once = 64;  // sums of a block

// ---- scales and channels ----

struct Scales {
  float input, filter, output;
  double ratio() const {
    return static_cast<double>(input) * static_cast<double>(filter) / static_cast<double>(output);
  }
};

/// Quotients whose ties are every second, every fourth … accumulator, or none but near ties, or larger than 1; each as
/// quotient of plain, inexact, subnormal, huge and negative scales.
std::vector<Scales> all_scales() {
  std::vector<float> quotients{0.5f, 1.5f, 2.5f, 10.5f, 300.5f, 4095.5f, 1.0f, 0.1f};
  for (int n = 1; n <= 24; ++n) {
    for (const float near : {1.0f, 1.0f + 0x1p-23f, 1.0f - 0x1p-24f, 1.0f / 3.0f, 0.7f}) {
      quotients.push_back(std::ldexp(near, -n));
    }
  }
  constexpr Scales forms[] = {{1.0f, 1.0f, 1.0f},
                              {1.0f / 3.0f, 3.0f, 1.0f},
                              {0.02f, 7.0f, 0.13f},
                              {0x1p-100f, 0x1p-24f, 0x1p-124f},
                              {0x1p100f, 0x1p26f, 0x1p126f},
                              {0x1.8p-140f, 1.0f, 0x1.8p-140f},
                              {-1.0f, 1.0f, 1.0f},
                              {1.0f, 1.0f, -3.0f}};
  std::vector<Scales> all;
  for (const float quotient : quotients) {
    for (const Scales& form : forms) all.push_back({form.input, form.filter * quotient, form.output});
  }
  return all;
}

struct OutputType {
  bool is_signed;
  int zero_point;
};
constexpr OutputType output_types[] = {{false, 0}, {false, 255}, {false, 128}, {true, -128}, {true, 127}, {true, 7}};

/// One or 64 channels: what an execute folds of them, and their exact steps. Scales of input and output are shared.
struct Channels {
  std::vector<ExactQuotient> quotients;
  std::vector<ExactSteps> steps;
  std::vector<double> ratios;
  Requantizer requantizer;
  requantize::ExactRounding exact;
  const double* factor = nullptr;              // repeated up to 64
  const MultiplyAddRounding* rounded[2] = {};  // as floats, as integers; of each channel
  double bound = 0;                            // of the sums that `rounded` is for: below 2^22, with room for k
  bool all_rounded[2] = {false, false};

  Channels(const std::vector<Scales>& scales, const OutputType& type, double limit = 3e6) {
    const Scales& first = scales[0];
    const PackedOutput to(type.zero_point, type.is_signed);
    for (const Scales& s : scales) {
      quotients.emplace_back(s.input, s.filter, s.output);
      steps.emplace_back(quotients.back(), type.zero_point, type.is_signed ? -128 : 0);
      ratios.push_back(s.ratio());
    }
    for (std::size_t i = 0; i < at_once; ++i) {
      const Scales& s = scales[i % scales.size()];
      scale_[i] = static_cast<float>(to.negated ? -s.ratio() : s.ratio());
      fixed_scale_[i] = 65536.0f * scale_[i];
      filter_[i] = s.filter;
      factor_[i] =
          static_cast<double>(s.input) * static_cast<double>(s.filter) * ((s.output < 0) != to.negated ? -1 : 1);
      const bool exact_scale = static_cast<double>(scale_[i]) * std::fabs(static_cast<double>(s.output)) == factor_[i];
      tie_tolerance_[i] =
          exact_scale && products_are_exact(scale_[i], 0x1p31) ? exact_tie_tolerance : clamped_tie_tolerance;
    }
    Requantizer& r = requantizer;
    r.scale = scale_.data();
    r.fixed_scale = fixed_scale_.data();
    r.tie_tolerance = tie_tolerance_.data();
    r.factor = factor_.data();
    r.offset = offset_.data();
    r.output_signed = type.is_signed;
    r.zero_point = type.zero_point;
    r.input_scale = first.input;
    r.output_scale = first.output;
    r.filter_scale = reinterpret_cast<const std::byte*>(filter_.data());
    r.filter_scale_step = sizeof(float);
    r.packed_channels = r.out_channels = at_once;
    factor = factor_.data();
    exact = {{factor, offset_.data()}, std::fabs(static_cast<double>(first.output)), to};
    fold_rounded(limit);
  }
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  std::size_t count() const { return steps.size(); }

 private:
  void fold_rounded(double limit) {
    double largest = 0;
    for (const double ratio : ratios) largest = std::max(largest, std::fabs(ratio));
    bound = std::min(31999 / largest, limit);
    for (const SumsBegin as : {SumsBegin::as_floats, SumsBegin::as_integers}) {
      const std::size_t which = as == SumsBegin::as_integers ? 1 : 0;
      all_rounded[which] = true;
      for (std::size_t i = 0; i < at_once; ++i) {
        rounded_[which][i] = multiply_add_rounding(factor_[i], exact.output_scale, exact.to.zero_point, 0, bound, as);
        all_rounded[which] = all_rounded[which] && rounded_[which][i].sum != 0;
      }
      rounded[which] = rounded_[which].data();
    }
  }
  std::array<float, at_once> scale_{}, fixed_scale_{}, tie_tolerance_{}, filter_{};
  std::array<double, at_once> factor_{}, offset_{};
  std::array<MultiplyAddRounding, at_once> rounded_[2];
};

// ---- the epilogues ----

/// Which channel the i-th sum of a block of 64 is of.
using ChannelOf = std::size_t (*)(std::size_t i, std::size_t channels);
std::size_t one_after_another(std::size_t i, std::size_t channels) { return i % channels; }

struct Epilogue {
  std::string name;
  std::size_t channels;  // how many a block holds
  ChannelOf channel_of;
  /// The largest magnitude of the sums that it is made for; none where it is not made for these channels.
  std::function<double(const Channels&)> bound;
  std::function<void(const std::int32_t* sums, const Channels&, std::uint8_t* out)> run;  // 64 sums
  std::size_t stride = 41;  // which scales the short test tries: multiply-adds suit few of them

  friend void PrintTo(const Epilogue& epilogue, std::ostream* to) { *to << epilogue.name; }
};

constexpr double any_sum = 2147483647.0;
double unlimited(const Channels&) { return any_sum; }
double below_32000(const Channels& c) {
  double largest = 0;
  for (const double ratio : c.ratios) largest = std::max(largest, std::fabs(ratio));
  return std::min(any_sum, 31999 / largest);
}
double if_rounded_as_floats(const Channels& c) { return c.all_rounded[0] ? c.bound : -1; }
double if_rounded_as_integers(const Channels& c) { return c.all_rounded[1] ? c.bound : -1; }

namespace scalar_epilogues {

/// What a lane of by_multiply_add and pack_low makes of a sum.
template <SumsBegin S>
std::uint8_t multiply_add(std::int32_t sum, const Channels& channels, std::size_t channel) {
  const MultiplyAddRounding& r = channels.rounded[S == SumsBegin::as_integers ? 1 : 0][channel];
  const std::int32_t begun = r.sum + sum;
  const float value = S == SumsBegin::as_integers ? static_cast<float>(begun) : std::bit_cast<float>(begun);
  const auto word = static_cast<std::int16_t>(std::bit_cast<std::uint32_t>(std::fma(value, r.scale, r.shift)));
  const int byte = std::clamp<int>(word, -128, 127);
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(byte) ^ channels.requantizer.packed().flip);
}

/// A way to round one sum, as an epilogue.
template <class One>
auto each(One one) {
  return [one](const std::int32_t* sums, const Channels& c, std::uint8_t* out) {
    for (std::size_t i = 0; i < at_once; ++i) out[i] = one(sums[i], c, i % c.count());
  };
}

std::uint8_t by_requantizer(std::int32_t sum, const Channels& c, std::size_t channel) {
  return c.requantizer.exact(sum, static_cast<std::ptrdiff_t>(channel));
}
std::uint8_t by_reference(std::int32_t sum, const Channels& c, std::size_t channel) {
  const Requantizer& r = c.requantizer;
  const reference::RequantizeScale scale(r.input_scale, r.filter_scale_of(static_cast<std::ptrdiff_t>(channel)),
                                         r.output_scale);
  if (!r.output_signed) return reference::requantize<std::uint8_t>(sum, scale, static_cast<std::uint8_t>(r.zero_point));
  return static_cast<std::uint8_t>(
      reference::requantize<std::int8_t>(sum, scale, static_cast<std::int8_t>(r.zero_point)));
}
std::uint8_t in_doubles(std::int32_t sum, const Channels& c, std::size_t channel) {
  return c.requantizer.in_doubles(sum, static_cast<std::ptrdiff_t>(channel), 0);
}
void exact_rounding(const std::int32_t* sums, const Channels& c, std::uint8_t* out) {
  for (std::size_t i = 0; i < at_once; i += 16) {
    std::int32_t block[16];
    std::copy(sums + i, sums + i + 16, block);
    requantize::scalar::exact(block, c.exact, c.count() == 1 ? 0 : static_cast<std::ptrdiff_t>(i),
                              c.count() == 1 ? 0 : 1, out + i);
  }
}

}  // namespace scalar_epilogues

/// The clamped mode of a target; its channels repeat after `period`.
template <auto Clamped>
Epilogue clamped(const std::string& target, std::size_t period) {
  return {target + " clamped, period " + std::to_string(period), period, one_after_another, unlimited,
          [](const std::int32_t* sums, const Channels& c, std::uint8_t* out) {
            Clamped(sums, 1, c.requantizer, 0, static_cast<std::ptrdiff_t>(c.count()), out);
          }};
}

/// Of a block.
constexpr std::size_t sums_of(std::ptrdiff_t lanes) { return static_cast<std::size_t>(4 * lanes); }

/// An epilogue of `lanes` sums as one of 64.
template <auto Run>
auto repeated(std::size_t sums_at_once) {
  return [sums_at_once](const std::int32_t* sums, const Channels& c, std::uint8_t* out) {
    for (std::size_t i = 0; i < at_once; i += sums_at_once) Run(sums + i, c, out + i);
  };
}

#if DMLREF_HAS_AVX2
namespace avx2_epilogues {
namespace rounding = requantize::avx2;
using V = rounding::V;
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "exhaustive/requantization_vectors.hpp"
#undef DMLREF_QLC_TARGET
}  // namespace avx2_epilogues
#endif
#if DMLREF_HAS_AVX512VNNI
namespace avx512_epilogues {
namespace rounding = requantize::avx512;
using V = rounding::V;
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "exhaustive/requantization_vectors.hpp"
#undef DMLREF_QLC_TARGET

/// As fixed_point and multiply_add of one channel, with what tiles pack and look for ties by.
DMLREF_TARGET_AVX512VNNI void tile_fixed_point(const std::int32_t* sums, const Channels& c, std::uint8_t* out) {
  const V::Floats scale = V::all(c.requantizer.fixed_scale[0]), shift = V::all(c.requantizer.fixed_shift());
  V::Bits sum[4], fixed[4];
  for (int v = 0; v < 4; ++v) {
    sum[v] = V::load(sums + V::lanes * v);
    fixed[v] = rounding::in_fixed_point(sum[v], scale, shift);
  }
  if (rounding::TieTest().of(fixed)) {
    const V::Floats scales[4] = {scale, scale, scale, scale}, shifts[4] = {shift, shift, shift, shift};
    rounding::round_exactly<requantize::Factors::one>(sum, fixed, scales, shifts, c.exact, c.exact);
  }
  V::store(out, rounding::PackedOrder(c.requantizer.packed().flip).high(fixed));
}
DMLREF_TARGET_AVX512VNNI void tile_multiply_add(const std::int32_t* sums, const Channels& c, std::uint8_t* out) {
  const MultiplyAddRounding& r = c.rounded[1][0];
  V::Bits q[4];
  for (int v = 0; v < 4; ++v) {
    const V::Bits sum = _mm512_add_epi32(V::load(sums + V::lanes * v), V::all(r.sum));
    q[v] = rounding::by_multiply_add<SumsBegin::as_integers>(sum, V::all(r.scale), V::all(r.shift));
  }
  V::store(out, rounding::PackedOrder(c.requantizer.packed().flip).low(q));
}
}  // namespace avx512_epilogues
#endif

#define DMLREF_TEST_EPILOGUES(all, target, epilogues)                                                                 \
  do {                                                                                                                \
    using requantize::Factors;                                                                                        \
    using epilogues::rounding::FixedPointOf;                                                                          \
    all.push_back(                                                                                                    \
        {target " in doubles", 1, one_after_another, unlimited, epilogues::stored_in_doubles<FixedPointOf::floats>}); \
    all.push_back({target " in doubles, a channel each", sums_of(epilogues::V::lanes), one_after_another, unlimited,  \
                   epilogues::stored_in_doubles<FixedPointOf::doubles>});                                             \
    all.push_back({target " fixed point, clamped, a channel each", sums_of(epilogues::V::lanes), one_after_another,   \
                   unlimited, repeated<epilogues::clamped_fixed_point>(sums_of(epilogues::V::lanes))});               \
    constexpr auto sums = static_cast<std::size_t>(4 * epilogues::V::lanes);                                          \
    const auto part = [](std::size_t i, std::size_t channels) { return i % (4 * channels) / 4; };                     \
    all.push_back({target " fixed point", 1, one_after_another, below_32000,                                          \
                   repeated<epilogues::fixed_point<Factors::one>>(sums)});                                            \
    all.push_back({target " fixed point, a channel each", sums, one_after_another, below_32000,                       \
                   repeated<epilogues::fixed_point<Factors::each>>(sums)});                                           \
    all.push_back({target " fixed point, a channel per 128 bits", sums / 16, part, below_32000,                       \
                   repeated<epilogues::fixed_point<Factors::parts>>(sums)});                                          \
    all.push_back({target " multiply-add of floats", 1, one_after_another, if_rounded_as_floats,                      \
                   repeated<epilogues::multiply_add<Factors::one, SumsBegin::as_floats>>(sums), 5});                  \
    all.push_back({target " multiply-add of integers, a channel each", sums, one_after_another,                       \
                   if_rounded_as_integers,                                                                            \
                   repeated<epilogues::multiply_add<Factors::each, SumsBegin::as_integers>>(sums), 5});               \
  } while (false)

std::vector<Epilogue> all_epilogues() {
  using namespace scalar_epilogues;
  std::vector<Epilogue> all = {
      clamped<requantize::scalar::clamped>("scalar", 1),
      clamped<requantize::scalar::clamped>("scalar", 64),
      {"scalar exact", 1, one_after_another, unlimited, exact_rounding},
      {"scalar exact, a channel each", 64, one_after_another, unlimited, exact_rounding},
      {"Requantizer::in_doubles", 16, one_after_another, unlimited, each(in_doubles)},
      {"Requantizer::exact", 64, one_after_another, unlimited, each(by_requantizer)},
      {"reference", 1, one_after_another, unlimited, each(by_reference)},
      {"multiply-add of floats", 1, one_after_another, if_rounded_as_floats, each(multiply_add<SumsBegin::as_floats>),
       5},
      {"multiply-add of integers", 1, one_after_another, if_rounded_as_integers,
       each(multiply_add<SumsBegin::as_integers>), 5},
  };
#if DMLREF_HAS_AVX2
  if (supported(Isa::avx2)) {
    for (const std::size_t period : {1u, 8u, 16u, 32u})
      all.push_back(clamped<requantize::avx2::clamped>("avx2", period));
    DMLREF_TEST_EPILOGUES(all, "avx2", avx2_epilogues);
  }
#endif
#if DMLREF_HAS_AVX512VNNI
  if (supported(Isa::avx512vnni)) {
    for (const std::size_t period : {1u, 16u, 32u, 64u}) {
      all.push_back(clamped<requantize::avx512::clamped>("avx512", period));
    }
    DMLREF_TEST_EPILOGUES(all, "avx512", avx512_epilogues);
    all.push_back({"avx512 fixed point of tiles", 1, one_after_another, below_32000,
                   repeated<avx512_epilogues::tile_fixed_point>(at_once)});
    all.push_back({"avx512 multiply-add of tiles", 1, one_after_another, if_rounded_as_integers,
                   repeated<avx512_epilogues::tile_multiply_add>(at_once), 5});
  }
#endif
  return all;
}

// ---- accumulators ----

struct Range {
  std::int64_t first, last;
};

/// All within 2^16 of a tie, none beyond `bound`. Of the 255 ties the outermost ones and every 17th, others for other
/// scales: where scales are not tiny, their windows overlap.
std::vector<Range> around_ties(const ExactQuotient& quotient, const OutputType& type, std::size_t number,
                               double bound) {
  const auto most = static_cast<std::int64_t>(bound);
  std::vector<Range> ranges;
  const int lowest = (type.is_signed ? -128 : 0) - type.zero_point;
  const int begin = static_cast<int>(number % 17);
  for (int tie = lowest; tie < lowest + 255; ++tie) {
    if (tie != lowest && tie != lowest + 254 && (tie - lowest) % 17 != begin) continue;
    const std::int64_t middle = quotient.accumulator_at(tie);
    ranges.push_back({std::max(middle - window, -most), std::min(middle + window, most)});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (range.first > range.last) continue;
    if (merged.empty() || range.first > merged.back().last + 1) {
      merged.push_back(range);
    } else {
      merged.back().last = std::max(merged.back().last, range.last);
    }
  }
  return merged;
}

struct Tried {
  std::uint64_t accumulators = 0;
};

/// `pixels` sums of each channel, from `first[channel]` on, and what they must become.
struct Sums {
  std::vector<std::int32_t> sums;
  std::vector<std::uint8_t> expected, got;  // of what is got, a block more: it stays as it was
  static constexpr std::uint8_t untouched = 0xA5;

  void run(const Epilogue& epilogue, const Channels& channels, const std::vector<std::int64_t>& first,
           std::size_t pixels, Tried& tried) {
    const std::size_t count = channels.count(), blocks = pixels * count / at_once;
    expected.resize(blocks * at_once);
    sums.resize(expected.size());
    got.assign(sums.size() + at_once, untouched);
    std::vector<std::uint8_t> line(pixels);
    std::vector<std::vector<std::size_t>> places(count);  // of each channel, in a block
    for (std::size_t i = 0; i < at_once; ++i) places[epilogue.channel_of(i, count)].push_back(i);
    for (std::size_t c = 0; c < count; ++c) {
      channels.steps[c].quantize(first[c], pixels, line.data());
      for (std::size_t n = 0; n < pixels; ++n) {
        const std::size_t at = n / places[c].size() * at_once + places[c][n % places[c].size()];
        sums[at] = static_cast<std::int32_t>(first[c] + static_cast<std::int64_t>(n));
        expected[at] = line[n];
      }
    }
    for (std::size_t b = 0; b < blocks; ++b) epilogue.run(&sums[b * at_once], channels, &got[b * at_once]);
    tried.accumulators += sums.size();
    ASSERT_EQ(std::count(got.end() - at_once, got.end(), untouched), std::ptrdiff_t{at_once}) << epilogue.name;
    if (std::equal(expected.begin(), expected.end(), got.begin())) return;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(int{got[i]}, int{expected[i]}) << epilogue.name << ", sum " << sums[i] << ", scale "
                                               << channels.ratios[epilogue.channel_of(i % at_once, count)]
                                               << ", zero point " << channels.requantizer.zero_point;
    }
  }
};

/// Blocks of one channel: every range.
void expect_one_channel(const Epilogue& epilogue, const Channels& channels, const OutputType& type, std::size_t number,
                        Tried& tried) {
  constexpr std::int64_t chunk = 1 << 15;
  Sums sums;
  const double bound = epilogue.bound(channels);
  for (const Range& range : around_ties(channels.quotients[0], type, number, bound)) {
    for (std::int64_t first = range.first; first <= range.last; first += chunk) {
      const std::int64_t left = (std::min(range.last - first + 1, chunk) + 63) / 64 * 64;
      // The last block may go beyond the range; not beyond the bound.
      const std::int64_t begin =
          std::max(std::min(first, static_cast<std::int64_t>(bound) - left + 1), -static_cast<std::int64_t>(bound));
      if (begin + left - 1 > static_cast<std::int64_t>(bound)) continue;  // fewer than 64 sums are possible at all
      ASSERT_NO_FATAL_FAILURE(sums.run(epilogue, channels, {begin}, static_cast<std::size_t>(left), tried));
    }
  }
}

/// Blocks of several channels: each around a tie of its own.
void expect_channels(const Epilogue& epilogue, const Channels& channels, const OutputType& type, std::size_t number,
                     Tried& tried) {
  constexpr std::int64_t chunk = 1 << 11;
  Sums sums;
  const auto bound = static_cast<std::int64_t>(epilogue.bound(channels));
  if (bound < chunk) return;
  const int lowest = (type.is_signed ? -128 : 0) - type.zero_point;
  std::vector<std::int64_t> middle;
  for (std::size_t c = 0; c < channels.count(); ++c) {
    middle.push_back(channels.quotients[c].accumulator_at(lowest + static_cast<int>((number * 31 + c * 37) % 255)));
  }
  for (std::int64_t from = -window; from < window; from += chunk) {
    std::vector<std::int64_t> first;
    for (const std::int64_t m : middle) first.push_back(std::clamp(m + from, -bound, bound - chunk + 1));
    ASSERT_NO_FATAL_FAILURE(sums.run(epilogue, channels, first, static_cast<std::size_t>(chunk), tried));
  }
}

/// Blocks of one channel: 64 sums around the outermost ties, where errors are largest, around others and around the
/// largest sums, of a random scale. Where sums are few, few ties are within reach of small scales.
void expect_random_scale(const Epilogue& epilogue, std::mt19937_64& random, Tried& tried) {
  const auto exponent = -3 - static_cast<int>(random() % 20);
  const float scale = std::ldexp(1 + static_cast<float>(random() % (1 << 23)) * 0x1p-23f, exponent);
  const OutputType& type = output_types[random() % std::size(output_types)];
  const double limit = std::exp2(7 + 14.5 * static_cast<double>(random() % 1024) / 1024);
  const Channels channels({{1.0f, random() % 2 == 0 ? scale : -scale, 1.0f}}, type, limit);
  const auto bound = static_cast<std::int64_t>(epilogue.bound(channels));
  if (bound < 64) return;
  Sums sums;
  const int lowest = (type.is_signed ? -128 : 0) - type.zero_point;
  std::vector<std::int64_t> begins{-bound, bound - 63};
  for (const int tie : {0, 1, 127, 253, 254}) begins.push_back(channels.quotients[0].accumulator_at(lowest + tie) - 32);
  for (int i = 0; i < 8; ++i) {
    begins.push_back(channels.quotients[0].accumulator_at(lowest + static_cast<int>(random() % 255)) - 32);
  }
  for (const std::int64_t first : begins) {
    if (first < -bound || first + 63 > bound) continue;
    ASSERT_NO_FATAL_FAILURE(sums.run(epilogue, channels, {first}, at_once, tried));
  }
}

// ---- the tests ----

// The oracle's steps are what its rational arithmetic says of single accumulators.
TEST(ExactSteps, AreWhereTheQuotientSteps) {
  const std::vector<Scales> all = all_scales();
  for (std::size_t i = 0; i < all.size(); i += 7) {
    const OutputType& type = output_types[i % std::size(output_types)];
    const int lowest = type.is_signed ? -128 : 0;
    ExactQuotient quotient(all[i].input, all[i].filter, all[i].output);
    const ExactSteps steps(quotient, type.zero_point, lowest);
    for (int tie = -256; tie < 256; tie += 5) {
      std::uint8_t bytes[9];
      const std::int64_t middle = quotient.accumulator_at(tie);
      steps.quantize(middle - 4, std::size(bytes), bytes);
      for (int k = 0; k < 9; ++k) {
        const int expected = quotient.quantized(middle - 4 + k, type.zero_point, lowest, lowest + 255);
        ASSERT_EQ(int{bytes[k]}, int{static_cast<std::uint8_t>(expected)}) << all[i].ratio() << " * " << middle - 4 + k;
      }
    }
  }
}

TEST(Scales, AreUsualWhereTheyAreFiniteAndNotZero) {
  EXPECT_TRUE(is_usual(1.0f) && is_usual(-0x1p-149f) && is_usual((std::numeric_limits<float>::max)()));
  EXPECT_FALSE(is_usual(0.0f) || is_usual(-0.0f));
  EXPECT_FALSE(is_usual(std::numeric_limits<float>::infinity()) || is_usual(-std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(is_usual(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(reference::RequantizeScale(1.0f, 0.0f, 1.0f).ratio(), 0.0);
  EXPECT_EQ(reference::RequantizeScale(1.0f, 1.0f, 0.0f).ratio(), 0.0);
}

// Which scales, and sums up to which bound.
static_assert(!rounding_suits(0x1p-24, 1, SumsBegin::as_floats) && rounding_suits(0x1.01p-24, 1, SumsBegin::as_floats));
static_assert(rounding_suits(0.199, 1, SumsBegin::as_floats) && !rounding_suits(0.2, 1, SumsBegin::as_floats));
static_assert(rounding_suits(0x1p-10, 0x1p22 - 1, SumsBegin::as_floats));
static_assert(!rounding_suits(0x1p-10, 0x1p22, SumsBegin::as_floats));
static_assert(rounding_suits(0x1.01p-11, 0x1p22, SumsBegin::as_integers));
static_assert(!rounding_suits(0x1p-11, 0x1p22, SumsBegin::as_integers));
static_assert(rounding_suits(0x1p-11, 0x1p22 - 1, SumsBegin::as_integers));
static_assert(rounding_suits(0.125, 255999, SumsBegin::as_floats) &&
              !rounding_suits(0.125, 256000, SumsBegin::as_floats));

// A multiply-add is no use where it is never chosen.
TEST(MultiplyAddRounding, AreFoundForScalesOfEitherSign) {
  for (const SumsBegin as : {SumsBegin::as_floats, SumsBegin::as_integers}) {
    for (const double sign : {1.0, -1.0}) {
      int found = 0, found_of_small = 0;
      for (int i = 1; i <= 100; ++i) {
        const double factor = sign * static_cast<double>(0.0007f * static_cast<float>(i));
        found += multiply_add_rounding(factor, 1.0, 3, 0, 100000, as).sum != 0;
        found_of_small += multiply_add_rounding(factor / 256, 1.0, 3, 0, 100000, as).sum != 0;
      }
      EXPECT_GT(found, 80);
      EXPECT_GT(found_of_small, 80);
    }
  }
}

TEST(Requantizer, RoundsWhereAScaleIsNotZero) {
  Requantizer to;
  EXPECT_EQ(to.zero_point, 0);
  EXPECT_FALSE(to.rounds(0));
  const float scales[] = {0.5f, 0.0f, -0.25f};
  to.rounded_scale = scales;
  EXPECT_TRUE(to.rounds(0));
  EXPECT_FALSE(to.rounds(1));
  EXPECT_TRUE(to.rounds(2));
}

// Packed channels of a group beyond its own count as its last one; a step of 0 bytes is one scale for all.
TEST(Requantizer, FindsTheChannelThatLiesAtAPlace) {
  Requantizer to;
  to.packed_channels = 16;
  to.out_channels = 10;
  for (std::ptrdiff_t packed = 0; packed < 48; ++packed) {
    EXPECT_EQ(to.channel_of(packed), packed / 16 * 10 + std::min<std::ptrdiff_t>(packed % 16, 9)) << packed;
  }
  const float scales[] = {0.5f, 2.0f, 3.0f};
  to.filter_scale = reinterpret_cast<const std::byte*>(scales);
  EXPECT_EQ(to.filter_scale_of(2), 0.5f);
  to.filter_scale_step = sizeof(float);
  EXPECT_EQ(to.filter_scale_of(2), 3.0f);
}

class Requantization : public testing::TestWithParam<Epilogue> {};

TEST_P(Requantization, OfEveryAccumulatorNearATieIsExact) {
  const Epilogue& epilogue = GetParam();
  const std::vector<Scales> all = all_scales();
  Tried tried;
  std::size_t number = 0, suited = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (epilogue.channels > 1 && i % 7 != 0) continue;  // a block holds many scales at once
    if (!dmlref_test::tried(i, epilogue.stride * (epilogue.channels > 1 ? 7 : 1))) continue;
    const OutputType& type = output_types[number++ % std::size(output_types)];
    std::vector<Scales> scales{all[i]};
    while (scales.size() < epilogue.channels) {  // the same input and output scales, quotients within a factor of 4
      const std::size_t c = scales.size();
      scales.push_back(all[i]);
      scales.back().filter *= static_cast<float>(1.0 + static_cast<double>(c * 7 % 64) / 21);
    }
    const Channels channels(scales, type);
    if (epilogue.bound(channels) < 64) continue;
    ++suited;
    if (epilogue.channels == 1) {
      ASSERT_NO_FATAL_FAILURE(expect_one_channel(epilogue, channels, type, number, tried));
    } else {
      ASSERT_NO_FATAL_FAILURE(expect_channels(epilogue, channels, type, number, tried));
    }
  }
  std::mt19937_64 random(dmlref_test::test_seed(14));
  for (int i = 0; epilogue.channels == 1 && i < (dmlref_test::exhaustive() ? 20000 : 1000); ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_random_scale(epilogue, random, tried));
  }
  std::printf("%zu scales, %llu accumulators\n", suited, static_cast<unsigned long long>(tried.accumulators));
  EXPECT_TRUE(suited > 0 || dmlref_test::sanitized);  // few scales are tried there
}

INSTANTIATE_TEST_SUITE_P(Epilogues, Requantization, testing::ValuesIn(all_epilogues()), [](const auto& it) {
  std::string name = it.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

}  // namespace
