// The activations of rows of values: every instruction set gives the bits of the plain kernels, whose functions are the
// reference's, for values of every size, and looks for ill-conditioned ones as they do.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "dmlref/operators/mean_variance_normalization/kernels/targets.hpp"
#include "dmlref/run/aligned_buffer.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::fast::normalization;
constexpr std::uint64_t seed = 31;

template <class Real>
std::vector<Real> values_of_every_size() {
  using Limits = std::numeric_limits<Real>;
  std::vector<Real> values{0,
                           Real{-0.0f},
                           1,
                           -1,
                           Real{0.25f},
                           Real{-0.25f},
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           (Limits::max)(),
                           -(Limits::max)()};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-60, 11);
  for (int i = 0; i < 5000; ++i) {
    values.push_back(static_cast<Real>((i % 2 == 0 ? 1 : -1) * std::exp2(exponent(random))));
  }
  return values;
}

std::vector<Activation> activations_of_their_own() {
  std::vector<Activation> all;
  for (const ActivationInfo& info : activation_table) {
    all.push_back(default_activation(info.type));
    for (const float a : {0.25f, -1.5f, 1e-38f, 3e38f}) all.push_back({info.type, {a, 0.75f}});
    all.push_back({info.type, {0.5f, -0.25f}});
  }
  return all;
}

void apply(const ActivationKernels& k, const Activation& activation, const std::vector<double>& values, std::byte* to,
           std::size_t count, bool stream) {
  k.apply32(activation, values.data(), to, count, stream, fast::address_of(values.data()));
}
void apply(const ActivationKernels& k, const Activation& activation, const std::vector<float>& values, std::byte* to,
           std::size_t count, bool stream) {
  k.apply16(activation, values.data(), to, count, stream, fast::address_of(values.data()));
}
std::size_t list(const IllConditionedKernels& k, const Activation& activation, const std::vector<double>& values,
                 const std::vector<double>& bounds, std::size_t step, std::uint16_t* found) {
  return k.list32(activation, values.data(), values.size(), bounds.data(), step, found);
}
std::size_t list(const IllConditionedKernels& k, const Activation& activation, const std::vector<float>& values,
                 const std::vector<float>& bounds, std::size_t step, std::uint16_t* found) {
  return k.list16(activation, values.data(), values.size(), bounds.data(), step, found);
}

/// The kernels of all instruction sets that this CPU runs.
struct NamedKernels {
  std::string_view name;
  const ActivationKernels& kernels;
  const IllConditionedKernels& ill_conditioned;
};
std::vector<NamedKernels> all_kernels() {
  std::vector<NamedKernels> all;
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    const TargetKernels kernels = kernels_of(row.isa);
    all.push_back({row.name, *kernels.activation, *kernels.ill_conditioned});
  }
  return all;
}

template <class Real>
class ActivationKernelsOf : public testing::Test {};
using Reals = testing::Types<double, float>;
TYPED_TEST_SUITE(ActivationKernelsOf, Reals);

TYPED_TEST(ActivationKernelsOf, GiveThePlainKernelsBits) {
  using T = std::conditional_t<std::is_same_v<TypeParam, float>, half, float>;
  const std::vector<TypeParam> values = values_of_every_size<TypeParam>();
  const auto is_nan = [](T x) { return static_cast<float>(x) != static_cast<float>(x); };
  for (const NamedKernels& row : all_kernels()) {
    for (const Activation& activation : activations_of_their_own()) {
      for (const std::size_t count : {values.size(), std::size_t{1}, std::size_t{7}, std::size_t{29}}) {
        std::vector<T> expected(count + 1, T(42.0f));
        apply(scalar::activation_kernels(), activation, values, reinterpret_cast<std::byte*>(expected.data()), count,
              false);
        for (const bool stream : {false, true}) {
          AlignedBuffer buffer((count + 1) * sizeof(T));
          auto* const result = reinterpret_cast<T*>(buffer.span().data());
          std::fill_n(result, count + 1, T(42.0f));
          apply(row.kernels, activation, values, buffer.span().data(), count, stream);
          for (std::size_t i = 0; i <= count; ++i) {
            if (is_nan(expected[i]) && is_nan(result[i])) continue;  // made the same by whoever corrects
            ASSERT_EQ(std::memcmp(&expected[i], &result[i], sizeof(T)), 0)
                << row.name << ' ' << find_activation(activation.type)->name << ' ' << activation.parameters[0] << ' '
                << activation.parameters[1] << " of " << (i < count ? values[i] : 0) << ", stream " << stream << ": "
                << static_cast<float>(result[i]) << " instead of " << static_cast<float>(expected[i]);
          }
        }
      }
    }
  }
}

// One value at a time, next to a jump or not, in every place of a row; with one bound, and with one each.
TYPED_TEST(ActivationKernelsOf, FindIllConditionedValues) {
  using enum ActivationType;
  const TypeParam above = std::nextafter(TypeParam{0.75f}, TypeParam{1});
  for (const NamedKernels& row : all_kernels()) {
    for (const Activation& activation :
         {Activation{thresholded_relu, {0.75f}}, Activation{thresholded_relu, {-0.75f}},
          Activation{shrink, {0.25f, 0.75f}}, Activation{shrink, {0.75f, 0.5f}}, Activation{}}) {
      for (const TypeParam value : {TypeParam{0.75f}, TypeParam{-0.75f}, above, TypeParam{0}, TypeParam{5},
                                    std::numeric_limits<TypeParam>::quiet_NaN()}) {
        for (std::size_t at = 0; at < 37; ++at) {
          std::vector<TypeParam> values(37, TypeParam{2});
          values[at] = value;
          std::vector<TypeParam> bounds(37, TypeParam{0x1p-30f});
          for (const std::size_t step : {std::size_t{0}, std::size_t{1}}) {
            if (step == 1) bounds[(at + 5) % 37] = TypeParam{3};
            std::uint16_t found[37], expected[37];
            const std::size_t count = list(row.ill_conditioned, activation, values, bounds, step, found);
            ASSERT_EQ(count, list(scalar::ill_conditioned_kernels(), activation, values, bounds, step, expected))
                << row.name << ' ' << value << " at " << at;
            ASSERT_TRUE(std::equal(found, found + count, expected)) << row.name << ' ' << value << " at " << at;
          }
        }
      }
    }
  }
}

}  // namespace
