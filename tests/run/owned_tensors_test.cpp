// owned_tensors_test.cpp: tensors that DML owns, in layouts with gaps of any size: kept without these, in persistent
// memory in proportion to their elements, and the results are the reference's.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "support/run_everywhere.hpp"
#include "support/seed.hpp"
#include "validate/request.hpp"

namespace {

using namespace dmlref;
using dmlref_test::Random;
using request::Request;

/// Strides in any order with gaps anywhere, some of 0, of a span below 2^32 elements, which may be small.
void spread(Random& random, request::Tensor& tensor) {
  std::vector<UINT> strides(tensor.sizes.size());
  std::uint64_t left = random.one_in(3) ? random.from(1, 100000) : 0xFFFFFFFEull;
  for (const std::size_t d : random.order(strides.size())) {
    const std::uint64_t most = tensor.sizes[d] == 1 ? 0xFFFFFFFFull : left / (tensor.sizes[d] - 1);
    strides[d] = random.one_in(6) ? 0 : random.one_in(3) ? static_cast<UINT>(most) : random.from(0, most);
    left -= std::uint64_t{tensor.sizes[d] - 1} * strides[d];
  }
  tensor.strides = strides;
}

std::uint64_t elements_of(const request::Tensor& tensor) {
  return std::accumulate(tensor.sizes.begin(), tensor.sizes.end(), std::uint64_t{1}, std::multiplies<>());
}

/// What the persistent memory may have: for each tensor its elements, packed for kernels or not, and a little.
std::uint64_t most_persistent(const Request& r) {
  std::uint64_t bytes = 1u << 16;
  for (const auto& [name, tensor] : r.tensors) {
    if (tensor.flags != 0) bytes += (std::uint64_t{1} << 16) + 64 * elements_of(tensor);
  }
  return bytes;
}

void expect_kept(const Request& r, Random& random, int* executed = nullptr) {
  const request::Linked linked(r);
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    const CompileResult compiled = compile(linked.desc(), latest_feature_level, CompileOptions{row.isa});
    if (!compiled && row.isa == Isa::amx_int8) continue;
    ASSERT_TRUE(compiled) << compiled.report().to_string();
    EXPECT_LE(compiled.value().binding_properties().persistent_bytes, most_persistent(r)) << row.name;
  }
  std::array<std::uint8_t, 61> bytes{};
  for (std::uint8_t& byte : bytes) byte = random.byte();
  const auto result = dmlref_test::run_everywhere(linked.desc(), latest_feature_level, dmlref_test::RunData(bytes),
                                                  dmlref_test::sparse_limits);
  EXPECT_EQ("", result.fault);
  if (executed != nullptr) *executed += result.executed;
}

TEST(OwnedTensors, NineNumbersFarApart) {
  Random random(dmlref_test::test_seed());
  Request slice = request::slice();
  slice.tensors["InputTensor"] = {1, {1, 1, 3, 3}, std::vector<UINT>{0, 0, 201326592, 67108864}};
  slice.tensors["InputTensor"].flags = 1;
  slice.arrays["Offsets"] = {0, 0, 0, 1};
  slice.arrays["Strides"] = {1, 1, 2, 1};
  expect_kept(slice, random);

  Request normalization = request::normalization();
  for (auto& [name, tensor] : normalization.tensors) tensor.sizes = {1, 1, 3, 3};
  for (const char* name : {"InputTensor", "ScaleTensor", "BiasTensor"}) {
    normalization.tensors[name].strides = std::vector<UINT>{0, 0, 67108864, 201326592};
    normalization.tensors[name].flags = 1;
  }
  expect_kept(normalization, random);

  Request convolution = request::convolution();
  for (const char* name : {"InputTensor", "FilterTensor", "BiasTensor"}) {
    request::Tensor& tensor = convolution.tensors[name];
    std::uint32_t step = 1;
    tensor.strides = std::vector<UINT>(4, 0);
    for (std::size_t d = 4; d-- > 0; step *= 2 * tensor.sizes[d]) (*tensor.strides)[d] = step * 20000;
    tensor.flags = 1;
  }
  expect_kept(convolution, random);
}

TEST(OwnedTensors, GapsAsLargeAsTheElements) {
  Random random(dmlref_test::test_seed());
  Request slice = request::slice();
  slice.tensors["InputTensor"] = {4, {4, 1, 1000, 1000}, std::vector<UINT>{2400000, 0, 1, 1000}};
  slice.tensors["InputTensor"].flags = 1;
  slice.tensors["OutputTensor"] = {4, {4, 1, 2, 2}};
  slice.arrays = {{"Offsets", {0, 0, 0, 1}}, {"Sizes", {4, 1, 2, 2}}, {"Strides", {1, 1, 999, 900}}};
  const request::Linked linked(slice);
  const CompileResult compiled = compile(linked.desc(), latest_feature_level);
  ASSERT_TRUE(compiled) << compiled.report().to_string();
  EXPECT_LE(compiled.value().binding_properties().persistent_bytes, 2u * 4000000 + 256);  // of two bytes each
  dmlref_test::RunLimits limits = dmlref_test::sparse_limits;
  std::array<std::uint8_t, 61> bytes{};
  for (std::uint8_t& byte : bytes) byte = random.byte();
  const auto result =
      dmlref_test::run_everywhere(linked.desc(), latest_feature_level, dmlref_test::RunData(bytes), limits);
  EXPECT_EQ("", result.fault);
  EXPECT_TRUE(result.executed);
}

TEST(OwnedTensors, BytesBehindTheLastElement) {
  Random random(dmlref_test::test_seed());
  Request slice = request::slice();
  slice.tensors["InputTensor"].flags = 1;
  slice.tensors["InputTensor"].total_size = std::uint64_t{1} << 33;
  expect_kept(slice, random);
}

/// Of any operator.
Request any_request(Random& random) {
  Request (*const all[])() = {request::slice,
                              request::slice1,
                              request::normalization,
                              request::normalization1,
                              request::normalization2,
                              request::convolution,
                              request::convolution_1d,
                              request::convolution_integer,
                              request::convolution_integer_1d,
                              request::quantize_linear,
                              request::dequantize_linear,
                              request::matrix_multiply,
                              request::matrix_multiply_2d,
                              request::quantized_matrix_multiply,
                              request::quantized_matrix_multiply_3d};
  Request r = all[random.from(0, std::size(all) - 1)]();
  r.numbers["UseMean"] = random.one_in(2) ? 1 : 0;  // of MEAN_VARIANCE_NORMALIZATION2
  return r;
}

TEST(OwnedTensors, AnyLayout) {
  Random random(dmlref_test::test_seed());
  int executed = 0;
  const int cases = dmlref_test::rounds(1000);
  for (int i = 0; i < cases && !HasFatalFailure() && !HasNonfatalFailure(); ++i) {
    Request r = any_request(random);
    for (auto& [name, tensor] : r.tensors) {
      if (name == "OutputTensor") continue;
      if (random.one_in(2)) spread(random, tensor);
      tensor.flags = random.one_in(4) ? 0 : 1;
    }
    expect_kept(r, random, &executed);
  }
  EXPECT_TRUE(dmlref_test::often(executed, cases / 2)) << executed;
}

}  // namespace
