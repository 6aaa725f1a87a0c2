// What normalization computes in a translation unit compiled with the flags of this one.
#include "operators/mean_variance_normalization/bits.hpp"

#include <array>

#include "dmlref/run/run.hpp"
#include "support/normalization_case.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

template <class T>
void append(std::vector<std::uint32_t>& all, const std::vector<T>& values) {
  for (const std::uint32_t bits : bits_of(values)) all.push_back(bits);
}

template <class T>
void append_case(std::vector<std::uint32_t>& all, const NormalizationCase<T>& c) {
  append(all, c.reference_output());
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    const CompileResult compiled =
        c.with_desc([&](const auto& desc) { return compile(desc, latest_feature_level, {row.isa}); });
    const auto bytes = [](const std::vector<T>& data, std::uint64_t size) {
      std::vector<std::byte> copy(size);
      if (size != 0) std::memcpy(copy.data(), data.data(), data.size() * sizeof(T));
      return copy;
    };
    const auto& slots = compiled.value().input_slots();
    const auto input = bytes(c.input_data, slots[0].bytes);
    const auto scale = bytes(c.scale_data, slots[1].bytes);
    const auto bias = bytes(c.bias_data, slots[2].bytes);
    std::vector<T> result(elements_spanned(c.output), static_cast<T>(42.0f));
    auto output = bytes(result, compiled.value().output_slot().bytes);
    const std::array<InputBuffer, 3> inputs{input, scale, bias};
    const std::array<OutputBuffer, 1> outputs{OutputBuffer(output)};
    if (!dmlref::detail::run_compiled(compiled, inputs, outputs)) all.push_back(0xDEADBEEF);
    std::memcpy(result.data(), output.data(), result.size() * sizeof(T));
    append(all, result);
  }
}

}  // namespace

std::vector<std::uint32_t> NORMALIZATION_BITS(std::uint64_t seed) {
  std::vector<std::uint32_t> all;
  Random random(seed);
  for (int round = 0; round < 12; ++round) {
    for (int r = 0; r < static_cast<int>(Regime::count); ++r) {
      auto c = random_case<float>(random, static_cast<Regime>(r), 700);
      auto d = random_case<half>(random, static_cast<Regime>(r), 700);
      c.parameters.activation = d.parameters.activation =
          default_activation(activation_table[static_cast<std::size_t>(all.size() % 17)].type);
      append_case(all, c);
      append_case(all, d);
      append_case(all, c.about_zero());
      append_case(all, d.about_zero());
    }
  }
  return all;
}

double CONTRACTED(double a, double b, double c) { return a * b + c; }
