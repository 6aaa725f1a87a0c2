// portable.cpp: the fast normalization of every instruction set that this CPU has against
// the reference, to the bit, without a test framework: it is compiled by cross compilers and run in emulators, of CPUs
// of either byte order. Prints what was done; 1 on the first difference.
#include <array>
#include <cstdio>
#include <cstring>
#include <random>

#include "dmlref/run/run.hpp"
#include "support/guarded_buffer.hpp"
#include "support/normalization_case.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

/// Runs in buffers of exactly their tensors' bytes, at the end of a page.
template <class T>
bool agrees_alone(const NormalizationCase<T>& c, Isa isa) {
  const CompileResult compiled =
      c.with_desc([&](const auto& desc) { return compile(desc, latest_feature_level, {isa}); });
  if (!compiled) {
    std::printf("%s\n", compiled.report().to_string().c_str());
    return false;
  }
  constexpr auto end = GuardedBuffer::Side::end;
  const auto& slots = compiled.value().input_slots();
  const GuardedBuffer input(slots[0].bytes, end), scale(slots[1].bytes, end), bias(slots[2].bytes, end);
  const GuardedBuffer output(compiled.value().output_slot().bytes, end);
  const auto copy = [](const GuardedBuffer& to, const std::vector<T>& data) {
    if (!to.span().empty()) std::memcpy(to.data(), data.data(), data.size() * sizeof(T));
  };
  std::vector<T> result(elements_spanned(c.output), static_cast<T>(42.0f));
  copy(input, c.input_data);
  copy(scale, c.scale_data);
  copy(bias, c.bias_data);
  copy(output, result);
  const std::array<InputBuffer, 3> inputs{input.span(), scale.span(), bias.span()};
  const std::array<OutputBuffer, 1> outputs{output.span()};
  if (!dmlref::detail::run_compiled(compiled, inputs, outputs)) return false;
  std::memcpy(result.data(), output.data(), result.size() * sizeof(T));
  if (bits_of(result) == bits_of(c.reference_output())) return true;
  std::printf("differs: %s\n", c.describe().c_str());
  return false;
}

/// With the mean and about 0.
template <class T>
bool agrees(const NormalizationCase<T>& c, Isa isa) {
  return agrees_alone(c, isa) && agrees_alone(c.about_zero(), isa);
}

/// Groups {outer, inner} of stretches, with parameters per group (1), per element (2), or none.
template <class T>
NormalizationCase<T> stretches(Index outer, Index inner, int parameters, Regime regime, Random& random) {
  NormalizationCase<T> c;
  c.input = c.output = Layout({outer, 2, inner});
  c.axes = 0b101;
  c.input_data.resize(elements_spanned(c.input));
  fill(c.input_data, regime, random);
  if (parameters == 0) return c;
  c.scale = c.bias = Layout(parameters == 1 ? Shape{1, 2, 1} : Shape{1, 1, inner});
  c.scale_data.resize(elements_spanned(*c.scale));
  c.bias_data.resize(elements_spanned(*c.bias));
  fill(c.scale_data, Regime::mean_0, random);
  fill(c.bias_data, Regime::mean_0, random);
  return c;
}

template <class T>
bool check(Isa isa, Random& random) {
  int cases = 0;
  for (int r = 0; r < static_cast<int>(Regime::count); ++r) {
    const auto regime = static_cast<Regime>(r);
    for (int round = 0; round < 6; ++round, ++cases) {
      if (!agrees(random_case<T>(random, regime, round == 0 ? 6000 : 500), isa)) return false;
    }
    constexpr Index sizes[][2] = {{2, 1024}, {30, 48}, {64, 80}, {21, 50}, {1, 768}, {1, 33}};
    for (const auto& size : sizes) {
      for (const int parameters : {0, 1, 2}) {
        if (!agrees(stretches<T>(size[0], size[1], parameters, regime, random), isa)) return false;
        ++cases;
      }
    }
  }
  for (int round = 0; round < 40; ++round, ++cases) {
    auto c = random_case<T>(random, Regime::mean_0, 1500);
    make_hostile(c, random);
    if (!agrees(c, isa)) return false;
  }
  std::printf("%s, %zu bytes: %d cases agree\n", std::string(to_string(isa)).c_str(), sizeof(T), cases);
  return true;
}

}  // namespace

int main() {
  Random random(test_seed());
  for (const auto& [isa, name] : isa_table) {
    if (!supported(isa)) continue;
    if (!check<float>(isa, random) || !check<half>(isa, random)) return 1;
  }
  return 0;
}
