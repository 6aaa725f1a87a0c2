// each_kernel_test.cpp: each instruction set's kernels give the scalar ones' bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/element_wise_quantize_linear/kernels/kernels.hpp"
#include "dmlref/print.hpp"
#include "dmlref/simd/address.hpp"
#include "support/exhaustive.hpp"
#include "support/quantize_linear_values.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

/// Runs one kernel and the scalar one on the same block: any address, count, way through memory and parameters.
template <class In, class Scale, class Zero, class Out>
void expect_scalar_bits(const fast::quantize_linear::Kernels& kernels, std::mt19937_64& random) {
  namespace ql = fast::quantize_linear;
  constexpr bool quantizes = sizeof(Out) == 1;
  const auto block_of = [](const ql::Kernels& of) {
    const ql::Kernels::OfType& type = of.of(data_type_of<In>);
    return quantizes ? type.quantize : std::is_same_v<Out, half> ? type.dequantize_to_halves : type.dequantize;
  };
  const std::size_t count = random() % (random() % 4 == 0 ? 2000 : 300) + 1;
  const ValueKind kind = value_kind(random), scale_kind = value_kind(random);
  const auto parameters = std::make_unique<ql::Parameters>();
  parameters->is_signed = std::is_same_v<Out, std::int8_t>;
  parameters->mask = random() % 2 == 0 ? ~std::size_t{0} : 0;
  const std::size_t padded = (count + ql::group_elements - 1) / ql::group_elements * ql::group_elements;
  std::vector<Zero> zeros(padded);
  for (std::size_t i = 0; i < padded; ++i) {
    parameters->scales[i] = static_cast<float>(scale_value<Scale>(scale_kind, random));
    zeros[i] = data_value<Zero>(kind, random);
  }
  if (parameters->mask == 0) std::fill(zeros.begin(), zeros.end(), zeros[0]);
  kernels.of(data_type_of<Zero>)
      .to_floats(reinterpret_cast<const std::byte*>(zeros.data()), padded, parameters->zero_points);
  for (std::size_t i = 0; i < padded; ++i) ASSERT_EQ(parameters->zero_points[i], static_cast<float>(zeros[i]));
  std::memcpy(parameters->offsets, zeros.data(), padded * sizeof(Zero));
  kernels.prepare(*parameters, count, quantizes);

  const std::size_t guard = 64, slack = 128;
  std::vector<std::byte> from(count * sizeof(In) + slack), got(count * sizeof(Out) + 2 * guard + slack), expected;
  std::byte* const in = from.data() + random() % slack;
  for (std::size_t i = 0; i < count; ++i) {
    const In value = data_value<In>(kind, random);
    std::memcpy(in + i * sizeof(In), &value, sizeof(In));
  }
  for (std::byte& b : got) b = static_cast<std::byte>(random());
  expected = got;
  const std::size_t at = guard + random() % slack;
  const ql::Access access{random() % 2 == 0, random() % 2 == 0};
  block_of(kernels)(*parameters, in, count, got.data() + at, access);
  fast::store_fence();
  block_of(ql::scalar::target_kernels())(*parameters, in, count, expected.data() + at, access);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], expected[i]) << data_type_of<In> << " to " << data_type_of<Out> << ", byte " << i << " from "
                                   << at << ", " << count << " elements, streams " << access.streams;
  }
}

// Non-temporal stores and prefetches too, which whole operators use only on tensors beyond the caches.
TEST(QuantizeLinearKernels, GiveTheScalarOnesBits) {
  std::mt19937_64 random(test_seed());
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    const fast::quantize_linear::Kernels& kernels = fast::quantize_linear::kernels_of(row.isa);
    for (int round = 0; round < rounds(150) && !HasFatalFailure(); ++round) {
      SCOPED_TRACE(row.name);
      expect_scalar_bits<float, float, std::int8_t, std::int8_t>(kernels, random);
      expect_scalar_bits<float, float, std::uint8_t, std::uint8_t>(kernels, random);
      expect_scalar_bits<half, half, std::int8_t, std::int8_t>(kernels, random);
      expect_scalar_bits<half, half, std::uint8_t, std::uint8_t>(kernels, random);
      expect_scalar_bits<std::int32_t, float, std::int8_t, std::int8_t>(kernels, random);
      expect_scalar_bits<std::int32_t, float, std::uint8_t, std::uint8_t>(kernels, random);
      expect_scalar_bits<std::int8_t, float, std::int8_t, float>(kernels, random);
      expect_scalar_bits<std::uint8_t, float, std::uint8_t, float>(kernels, random);
      expect_scalar_bits<std::int16_t, float, std::int16_t, float>(kernels, random);
      expect_scalar_bits<std::uint16_t, float, std::uint16_t, float>(kernels, random);
      expect_scalar_bits<std::int32_t, float, std::int32_t, float>(kernels, random);
      expect_scalar_bits<std::uint32_t, float, std::uint32_t, float>(kernels, random);
      expect_scalar_bits<std::int8_t, half, std::int8_t, half>(kernels, random);
      expect_scalar_bits<std::uint8_t, half, std::uint8_t, half>(kernels, random);
      expect_scalar_bits<std::int16_t, half, std::int16_t, half>(kernels, random);
      expect_scalar_bits<std::uint16_t, half, std::uint16_t, half>(kernels, random);
      expect_scalar_bits<std::int32_t, half, std::int32_t, half>(kernels, random);
      expect_scalar_bits<std::uint32_t, half, std::uint32_t, half>(kernels, random);
    }
  }
}

}  // namespace
