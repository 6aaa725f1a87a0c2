// activations_test.cpp: every float16 through every activation: the kernels of all instruction sets give the plain
// ones' bits, and normalizations of every way, on the instruction set under test, the reference's.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "dmlref/operators/mean_variance_normalization/kernels/targets.hpp"
#include "dmlref/run/run.hpp"
#include "support/all_halves.hpp"
#include "support/exhaustive.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

std::string name_of(const Activation& a) {
  return std::string(find_activation(a.type)->name) + ' ' + std::to_string(a.parameters[0]) + ' ' +
         std::to_string(a.parameters[1]);
}

TEST(AllHalves, AreActivatedToThePlainKernelsBits) {
  using fast::normalization::ActivationKernels;
  const auto kernels_of = [](Isa isa) -> const ActivationKernels& {
    return *fast::normalization::kernels_of(isa).activation;
  };
  const std::vector<half> halves = all_halves();
  std::vector<float> values;
  for (const half x : halves) values.push_back(static_cast<float>(x));
  const ActivationKernels& plain = kernels_of(Isa::scalar);
  for (const Activation& activation : activations_of_halves()) {
    std::vector<half> expected(halves.size());
    plain.apply16(activation, values.data(), reinterpret_cast<std::byte*>(expected.data()), values.size(), false, {});
    for (const IsaName& row : isa_table) {
      if (!supported(row.isa)) continue;
      std::vector<half> got(halves.size());
      kernels_of(row.isa).apply16(activation, values.data(), reinterpret_cast<std::byte*>(got.data()), values.size(),
                                  false, {});
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const auto is_nan = [](half x) { return (x.bits & 0x7FFFu) > 0x7C00u; };
        if (is_nan(expected[i]) && is_nan(got[i])) continue;
        ASSERT_EQ(got[i].bits, expected[i].bits) << row.name << ' ' << name_of(activation) << " of " << values[i];
      }
    }
  }
}

class FusedActivation : public testing::TestWithParam<std::size_t> {};

TEST_P(FusedActivation, OfEveryFiniteHalfHasTheReferencesBits) {
  const WayOfHalves way = ways_of_halves()[GetParam()];
  std::size_t number = GetParam();
  for (const Activation& activation : activations_of_halves()) {
    if (!tried(number++, 2)) continue;
    const auto c = case_of_halves(way, activation);
    std::vector<half> got(c.input_data.size());
    const auto input = std::as_bytes(std::span(c.input_data));
    const std::array<InputBuffer, 3> inputs{input};
    const std::array<OutputBuffer, 1> outputs{std::as_writable_bytes(std::span(got))};
    const Report report = run(c.desc(), latest_feature_level, inputs, outputs);
    ASSERT_TRUE(report.ok()) << report.to_string();
    const std::vector<half> expected = c.reference_output();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].bits, expected[i].bits) << name_of(activation) << " of " << static_cast<float>(c.input_data[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, FusedActivation, testing::Range(std::size_t{0}, ways_of_halves().size()),
                         [](const auto& it) {
                           std::string name = ways_of_halves()[it.param].name;
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

}  // namespace
