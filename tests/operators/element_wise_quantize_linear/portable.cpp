// portable.cpp: both operators by every instruction set that this CPU has against the reference, without a test
// framework: it is compiled by cross compilers and run in emulators, of CPUs of either byte order. Prints what was
// done; 1 on the first difference.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "dmlref/element_wise_quantize_linear.hpp"
#include "dmlref/operators/element_wise_quantize_linear/reference.hpp"
#include "support/quantize_linear_values.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

/// Tensors of one row whose parameters are one for all elements or one for each.
template <class In, class Scale, class Zero, class Out>
struct Row {
  std::vector<In> input;
  std::vector<Scale> scale;
  std::vector<Zero> zero_point;
  std::vector<Out> output, expected;
  bool each_scale, each_zero_point;

  Row(std::size_t count, std::mt19937_64& random)
      : output(count), expected(count), each_scale(random() % 3 == 0), each_zero_point(random() % 3 == 0) {
    const ValueKind kind = value_kind(random), scale_kind = value_kind(random);
    for (std::size_t i = 0; i < count; ++i) {
      input.push_back(data_value<In>(kind, random));
      scale.push_back(scale_value<Scale>(scale_kind, random));
      zero_point.push_back(data_value<Zero>(kind, random));
    }
  }

  /// `call` gets all four views, those of `to` last.
  template <class Call>
  auto with_views(std::vector<Out>& to, const Call& call) const {
    const auto count = static_cast<Index>(to.size());
    const auto parameter = [&]<class T>(const std::vector<T>& values, bool each) {
      return TensorView<const T>(values.data(), Shape{count}, Strides{each ? 1 : 0});
    };
    return call(TensorView<const In>(input.data(), Shape{count}), parameter(scale, each_scale),
                std::optional(parameter(zero_point, each_zero_point)), TensorView<Out>(to.data(), Shape{count}));
  }
  bool is_expected() const { return std::memcmp(output.data(), expected.data(), output.size() * sizeof(Out)) == 0; }
};

template <class In, class Scale, class Out>
bool quantizes(Isa isa, std::size_t count, std::mt19937_64& random) {
  Row<In, Scale, Out, Out> row(count, random);
  row.with_views(row.expected, [](const auto&... views) { reference::element_wise_quantize_linear(views...); });
  RunOptions options;
  options.isa = isa;
  const Report report =
      row.with_views(row.output, [&](const auto&... views) { return element_wise_quantize_linear(views..., options); });
  return report.ok() && row.is_expected();
}
template <class In, class Out>
bool dequantizes(Isa isa, std::size_t count, std::mt19937_64& random) {
  Row<In, Out, In, Out> row(count, random);
  row.with_views(row.expected, [](const auto&... views) { reference::element_wise_dequantize_linear(views...); });
  RunOptions options;
  options.isa = isa;
  const Report report = row.with_views(
      row.output, [&](const auto&... views) { return element_wise_dequantize_linear(views..., options); });
  return report.ok() && row.is_expected();
}

}  // namespace

int main() {
  std::mt19937_64 random(test_seed());
  for (const auto& [isa, name] : isa_table) {
    if (!supported(isa)) continue;
    for (int round = 0; round < 200; ++round) {
      const std::size_t count = random() % (round % 10 == 0 ? 1500 : 70) + 1;
      const bool same =
          quantizes<float, float, std::uint8_t>(isa, count, random) &&
          quantizes<half, half, std::int8_t>(isa, count, random) &&
          quantizes<std::int32_t, float, std::int8_t>(isa, count, random) &&
          dequantizes<std::int8_t, float>(isa, count, random) && dequantizes<std::uint8_t, half>(isa, count, random) &&
          dequantizes<std::int16_t, float>(isa, count, random) &&
          dequantizes<std::uint16_t, half>(isa, count, random) &&
          dequantizes<std::int32_t, float>(isa, count, random) && dequantizes<std::uint32_t, half>(isa, count, random);
      if (same) continue;
      std::printf("%s differs in round %d\n", std::string(name).c_str(), round);
      return 1;
    }
    std::printf("%s: 1800 rows as the reference\n", std::string(name).c_str());
  }
}
