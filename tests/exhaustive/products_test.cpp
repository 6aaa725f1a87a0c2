// products_test.cpp: all pairs of bytes through every inner product, by the public API: signed and unsigned, with zero
// points, at every place of a block of products and beside the largest ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "support/convolution_forms.hpp"
#include "support/exhaustive.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref_test;

/// 256 output channels, one for each byte of the filter; 272 pixels, in which every byte of the input occurs.
constexpr std::uint32_t channels = 256;

/// What stands beside a pair in its inner product.
enum class Beside {
  extremes,  ///< the largest products, of either sign
  itself     ///< the pair again, at every place: what overflows 16 bits if any does
};

struct Case {
  Form form;
  Beside beside = Beside::extremes;
  friend void PrintTo(const Case& c, std::ostream* to) { *to << c.form.name; }
};

constexpr Case cases[] = {
    {{"OneProduct", true, 1, 1, channels}},
    {{"TwoNhwc", true, 1, 2, channels}},
    {{"ThreeNchw", false, 1, 3, channels}},
    {{"FiveNhwc", true, 1, 5, channels}},
    {{"SixteenNhwc", true, 1, 16, channels}},
    {{"SixtyFiveNhwc", true, 1, 65, channels}},
    {{"SixtyFourNchw", false, 1, 64, channels}},
    {{"ThreeByThreeNhwc", true, 1, 16, channels, 3}},
    {{"ThreeByThreeNchw", false, 1, 16, channels, 3}},
    {{"FirstLayerNchw", false, 1, 3, channels, 7, 2}},
    {{"DepthwiseNhwc", true, channels, 1, 1, 3}},
    {{"DepthwiseNchw", false, channels, 1, 1, 3}},
    {{"DepthwiseStridedNhwc", true, channels, 1, 1, 3, 2}},
    {{"DepthwiseStridedNchw", false, channels, 1, 1, 3, 2}},
    {{"DepthwiseFiveByFiveNchw", false, channels, 1, 1, 5}},
    {{"GroupsOfFourNhwc", true, channels / 4, 4, 4, 3}},
    {{"GroupsOfFourNchw", false, channels / 4, 4, 4, 3}},
    {{"TwoAlikeNhwc", true, 1, 2, channels}, Beside::itself},
    {{"FourAlikeNhwc", true, 1, 4, channels}, Beside::itself},
    {{"FourAlikeNchw", false, 1, 4, channels}, Beside::itself},
    {{"SixtyFourAlikeNhwc", true, 1, 64, channels}, Beside::itself},
    {{"SixtyFourAlikeNchw", false, 1, 64, channels}, Beside::itself},
};

/// Pixels hold every byte; output channel b multiplies them by byte b, at a place of its own.
struct Products : FormData {
  std::int64_t alike = 1;            // how often the pair is multiplied
  std::vector<std::int64_t> beside;  // what else is in the sums of each channel

  int pixel_value(std::uint32_t y, std::uint32_t x) const {
    const std::uint32_t place = out_width * (y / form.stride) + x / form.stride;
    return lowest_of(in_type) + static_cast<int>(place * 37 % 256);
  }
  int weight(std::uint32_t channel) const { return lowest_of(filter_type) + static_cast<int>(channel); }

  Products(const Case& c, unsigned types, int in_zero, int filter_zero, std::uint32_t shift) : FormData(c.form, types) {
    input_zero_point = lowest_of(in_type) + in_zero;
    filter_zero_point = lowest_of(filter_type) + filter_zero;
    const bool itself = c.beside == Beside::itself;
    const auto extreme = [](dmlref::DataType type, std::uint32_t which) {
      return lowest_of(type) + (which % 2 != 0 ? 255 : 0);
    };
    alike = itself ? form.in_channels : 1;
    beside.assign(out_all, 0);
    const std::uint32_t moving = shift % form.in_channels;  // the channel of each group that holds all bytes
    for (std::uint32_t channel = 0; channel < in_all; ++channel) {
      const bool moves = itself || channel % form.in_channels == moving;
      for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
          const int value = moves ? pixel_value(y, x) : extreme(in_type, channel + shift);
          input[at_input(channel, y, x)] = static_cast<std::byte>(value);
        }
      }
    }
    for (std::uint32_t channel = 0; channel < out_all; ++channel) {
      const std::uint32_t place = tap_of(channel, shift);
      for (std::uint32_t in = 0; in < form.in_channels; ++in) {
        for (std::uint32_t tap = 0; tap < taps; ++tap) {
          const bool pair = itself || (in == moving && tap == place);
          // Beside the pair, other taps of its channel are multiplied by nothing.
          const int w = pair           ? weight(channel)
                        : in == moving ? filter_zero_point
                                       : extreme(filter_type, in + tap + channel);
          filter[at_filter(channel, in, tap)] = static_cast<std::byte>(w);
          if (!pair && in != moving) {
            const int value = extreme(in_type, first_input_of(channel) + in + shift);
            beside[channel] += std::int64_t{value - input_zero_point} * (w - filter_zero_point);
          }
        }
      }
    }
  }

  std::uint32_t tap_of(std::uint32_t channel, std::uint32_t shift) const { return (channel * 5 + shift) % taps; }

  /// The product of a channel's byte and a pixel's.
  std::int64_t product(std::uint32_t channel, std::uint32_t pixel, std::uint32_t shift) const {
    const std::uint32_t tap = tap_of(channel, shift);
    const std::uint32_t y = pixel / out_width * form.stride + tap / form.kernel;
    const std::uint32_t x = pixel % out_width * form.stride + tap % form.kernel;
    return std::int64_t{pixel_value(y, x) - input_zero_point} * (weight(channel) - filter_zero_point);
  }
};

/// Outputs are products less `256 * window[channel]`, clamped: they show exactly those within.
void expect_products(const Products& p, std::uint32_t shift, const std::vector<std::int64_t>& window) {
  FormRounding rounding;
  rounding.output_scale = static_cast<float>(p.alike);
  rounding.zero_point = lowest_of(p.out_type);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    rounding.bias.push_back(static_cast<std::int32_t>(-256 * window[channel] * p.alike - p.beside[channel]));
  }
  std::string failure;
  const std::vector<std::byte> output = run_form(p, rounding, failure);
  ASSERT_EQ(failure, "");
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t pixel = 0; pixel < out_pixels; ++pixel) {
      const std::int64_t product = p.product(channel, pixel, shift);
      const auto expected = std::clamp<std::int64_t>(product - 256 * window[channel], 0, 255) + lowest_of(p.out_type);
      ASSERT_EQ(value_of(p.out_type, output[p.at_output(channel, pixel)]), expected)
          << "filter byte " << p.weight(channel) << " less " << p.filter_zero_point << ", pixel " << pixel
          << " with zero point " << p.input_zero_point << ", product " << product << ", window " << window[channel];
    }
  }
}

class AllPairs : public testing::TestWithParam<Case> {};

TEST_P(AllPairs, HaveExactProducts) {
  std::mt19937_64 random(test_seed(65536));
  const Case& c = GetParam();
  std::uint32_t shift = 0;
  for (unsigned types = 0; types < 4; ++types) {
    constexpr int zero_points[][2] = {{0, 0}, {128, 128}, {255, 255}, {7, 200}, {128, 0}, {0, 255}};
    for (const auto& zero : zero_points) {
      if (!tried(types + shift++, 3)) continue;  // other zero points for other types
      const unsigned signed_output = shift % 2 != 0 ? 4 : 0;
      const Products p(c, types | signed_output, zero[0], zero[1], shift);
      // Channel b's products span 255 * |b - zero point|, at most 256 windows of 256.
      std::vector<std::int64_t> lowest(channels, 0), highest(channels, 0);
      for (std::uint32_t channel = 0; channel < channels; ++channel) {
        const std::int64_t w = p.weight(channel) - p.filter_zero_point;
        const std::int64_t a = w * (0 - zero[0]), b = w * (255 - zero[0]);
        lowest[channel] = (std::min(a, b) - 255) / 256;
        highest[channel] = std::max(a, b) / 256;
      }
      std::int64_t most = 0;
      for (std::uint32_t i = 0; i < channels; ++i) most = std::max(most, highest[i] - lowest[i] + 1);
      const std::int64_t rounds = exhaustive() ? most : 3;
      for (std::int64_t round = 0; round < rounds; ++round) {
        std::vector<std::int64_t> window(channels);
        for (std::uint32_t i = 0; i < channels; ++i) {
          const std::int64_t span = highest[i] - lowest[i] + 1;
          window[i] =
              lowest[i] +
              (exhaustive() ? round % span : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(span)));
        }
        ASSERT_NO_FATAL_FAILURE(expect_products(p, shift, window));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, AllPairs, testing::ValuesIn(cases),
                         [](const auto& it) { return std::string(it.param.form.name); });

}  // namespace
