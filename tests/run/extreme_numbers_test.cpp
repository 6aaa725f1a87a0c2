// extreme_numbers_test.cpp: descriptors whose sizes, strides, offsets and paddings reach 2^32 - 1, in every field and
// of every operator: what is accepted compiles for every instruction set and, where the output is small, is executed in
// memory of up to 64 GB that is never touched but at the elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/extreme_numbers.hpp"
#include "support/report_claims.hpp"
#include "support/run_everywhere.hpp"
#include "support/seed.hpp"
#include "validate/request.hpp"

namespace {

using request::Request;

using dmlref_test::input_strides;
using dmlref_test::large_sizes;
using dmlref_test::largest_number;
using dmlref_test::output_strides;
using dmlref_test::small_sizes;
using Random = dmlref_test::ExtremeRandom;

void place(Random& random, request::Tensor& tensor, bool output = false) {
  if (!random.one_in(4)) {
    tensor.strides = output ? output_strides(random, tensor.sizes) : input_strides(random, tensor.sizes);
  }
  if (random.one_in(6)) tensor.alignment = 1u << random.from(3, 31);
  if (!output && random.one_in(6)) tensor.flags = 1;
}

constexpr std::uint32_t element_types[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

Request slice(Random& random, bool slice1) {
  const std::size_t rank = random.from(1, 8);
  Request r;
  r.type = slice1 ? 111 : 60;
  r.count = static_cast<UINT>(rank);
  const std::uint32_t type = element_types[random.from(0, 10)];
  const std::vector<UINT> in = large_sizes(random, rank);
  std::vector<UINT> out(rank), offsets(rank), windows(rank), strides(rank);
  std::uint64_t room = 64;
  for (const std::size_t d : random.order(rank)) {
    out[d] = random.number(1, std::min<std::uint64_t>({room, in[d], 9}));
    room /= out[d];
    const std::uint64_t steps = out[d] - 1;
    // SLICE1's strides are signed, and a single step may be of any length.
    const std::uint64_t longest = slice1 ? 0x7FFFFFFF : largest_number;
    strides[d] = random.extreme(1, steps == 0 ? longest : std::min<std::uint64_t>(longest, (in[d] - 1) / steps));
    const std::uint64_t least = steps * strides[d] + 1;
    windows[d] = slice1 ? random.extreme(least, in[d]) : static_cast<std::uint32_t>(least);
    offsets[d] = random.extreme(0, in[d] - windows[d]);
    if (slice1 && random.one_in(2)) strides[d] = 0 - strides[d];
    if (slice1 && steps == 0 && random.one_in(8)) strides[d] = 0x80000000;
  }
  r.tensors["InputTensor"] = {type, in};
  r.tensors["OutputTensor"] = {type, out};
  place(random, r.tensors["InputTensor"]);
  place(random, r.tensors["OutputTensor"], true);
  r.arrays[slice1 ? "InputWindowOffsets" : "Offsets"] = offsets;
  r.arrays[slice1 ? "InputWindowSizes" : "Sizes"] = slice1 ? windows : out;
  r.arrays[slice1 ? "InputWindowStrides" : "Strides"] = strides;
  return r;
}

Request convolution(Random& random) {
  const std::size_t spatial = random.from(1, 2);
  const std::uint32_t groups = random.number(1, 3), in_channels = random.number(1, 5),
                      out_channels = random.number(1, 5);
  Request r;
  r.type = 120;
  r.count = static_cast<UINT>(spatial);
  r.numbers["GroupCount"] = groups;
  const auto byte_type = [&] { return random.one_in(2) ? 5u : 8u; };
  const std::uint32_t in_type = byte_type(), filter_type = byte_type(), out_type = byte_type();
  std::vector<UINT> in{random.number(1, 2), groups * in_channels}, filter{groups * out_channels, in_channels};
  std::vector<UINT> out{in[0], filter[0]};
  std::vector<UINT> strides, dilations, starts, ends;
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::uint32_t size = random.number(1, 7), kernel = random.number(1, 4);
    const std::uint32_t start = random.extreme(0, largest_number), end = random.extreme(0, largest_number);
    const std::uint64_t padded = std::uint64_t{size} + start + end;
    if (padded < kernel) return r;  // invalid as it stands
    const std::uint32_t dilation = random.extreme(1, kernel == 1 ? largest_number : (padded - 1) / (kernel - 1));
    const std::uint64_t window = std::uint64_t{kernel - 1} * dilation + 1;
    const std::uint32_t stride = random.extreme((padded - window) / 8 + 1, largest_number);
    in.push_back(size);
    filter.push_back(kernel);
    out.push_back(static_cast<UINT>((padded - window) / stride + 1));
    strides.push_back(stride);
    dilations.push_back(dilation);
    starts.push_back(start);
    ends.push_back(end);
  }
  const std::vector<UINT> one(out.size(), 1);
  std::vector<UINT> per_channel = one;
  per_channel[1] = out[1];
  r.tensors["InputTensor"] = {in_type, in};
  r.tensors["InputScaleTensor"] = {1, one};
  if (random.one_in(2)) r.tensors["InputZeroPointTensor"] = {in_type, one};
  r.tensors["FilterTensor"] = {filter_type, filter};
  r.tensors["FilterScaleTensor"] = {1, random.one_in(2) ? one : per_channel};
  if (random.one_in(2)) r.tensors["FilterZeroPointTensor"] = {filter_type, random.one_in(2) ? one : per_channel};
  if (random.one_in(2)) r.tensors["BiasTensor"] = {6, per_channel};
  r.tensors["OutputScaleTensor"] = {1, one};
  if (random.one_in(2)) r.tensors["OutputZeroPointTensor"] = {out_type, one};
  r.tensors["OutputTensor"] = {out_type, out};
  for (auto& [name, tensor] : r.tensors) place(random, tensor, name == "OutputTensor");
  r.arrays = {{"Strides", strides}, {"Dilations", dilations}, {"StartPadding", starts}, {"EndPadding", ends}};
  return r;
}

/// The same without scales and bias.
Request integer_convolution(Random& random) {
  Request r = convolution(random);
  r.type = 119;
  for (const char* name :
       {"InputScaleTensor", "FilterScaleTensor", "BiasTensor", "OutputScaleTensor", "OutputZeroPointTensor"}) {
    r.tensors.erase(name);
  }
  const auto output = r.tensors.find("OutputTensor");
  if (output != r.tensors.end()) output->second.data_type = 6;
  return r;
}

Request product(Random& random, bool quantized) {
  const std::size_t rank = random.from(2, 4);
  const std::uint32_t m = random.number(1, 6), k = random.number(1, 6), n = random.number(1, 6);
  std::vector<UINT> leading;
  for (std::size_t d = 2; d < rank; ++d) leading.push_back(random.number(1, 3));
  const auto sizes = [&](UINT rows, UINT columns) {
    std::vector<UINT> all = leading;
    all.insert(all.end(), {rows, columns});
    return all;
  };
  const std::size_t common = random.from(1, 4);
  const auto rows = [&] {
    std::vector<UINT> one(quantized ? common : random.from(1, 4), 1);
    if (random.one_in(2) && one.size() > 1) one[one.size() - 2] = m;
    if (random.one_in(2) && one.size() == 1 && !quantized) one[0] = m;
    return one;
  };
  const auto columns = [&] {
    std::vector<UINT> one(quantized ? common : random.from(1, 4), 1);
    if (random.one_in(2)) one.back() = n;
    return one;
  };
  const auto byte_type = [&] { return random.one_in(2) ? 5u : 8u; };
  const std::uint32_t a = byte_type(), b = byte_type(), out = quantized ? byte_type() : 6u;
  Request r;
  r.type = quantized ? 118 : 117;
  r.tensors["ATensor"] = {a, sizes(m, k)};
  r.tensors["BTensor"] = {b, sizes(k, n)};
  r.tensors["OutputTensor"] = {out, sizes(m, n)};
  if (random.one_in(2)) r.tensors["AZeroPointTensor"] = {a, rows()};
  if (random.one_in(2)) r.tensors["BZeroPointTensor"] = {b, columns()};
  if (quantized) {
    r.tensors["AScaleTensor"] = {1, rows()};
    r.tensors["BScaleTensor"] = {1, columns()};
    r.tensors["OutputScaleTensor"] = {1, rows()};
    if (random.one_in(2)) r.tensors["OutputZeroPointTensor"] = {out, rows()};
  }
  for (auto& [name, tensor] : r.tensors) place(random, tensor, name == "OutputTensor");
  return r;
}

Request quantize_linear(Random& random, bool quantizes) {
  const std::size_t rank = random.from(1, 8);
  const std::vector<UINT> sizes = random.one_in(8) ? large_sizes(random, rank) : small_sizes(random, rank, 100);
  constexpr std::uint32_t reals[] = {1, 2, 6}, integers[] = {3, 4, 5, 6, 7, 8};
  const std::uint32_t real = reals[random.from(0, quantizes ? 2 : 1)];
  const std::uint32_t integer = quantizes ? (random.one_in(2) ? 5u : 8u) : integers[random.from(0, 5)];
  Request r;
  r.type = quantizes ? 33 : 34;
  r.tensors["InputTensor"] = {quantizes ? real : integer, sizes};
  r.tensors["ScaleTensor"] = {real == 6 ? 1u : real, sizes};
  if (random.one_in(2)) r.tensors["ZeroPointTensor"] = {integer, sizes};
  r.tensors["OutputTensor"] = {quantizes ? integer : real, sizes};
  for (auto& [name, tensor] : r.tensors) place(random, tensor, name == "OutputTensor");
  return r;
}

Request normalization(Random& random, bool first) {
  const std::size_t rank = first ? 4 : random.from(1, 8);
  const std::uint32_t type = random.one_in(2) ? 1u : 2u;
  const std::vector<UINT> sizes = random.one_in(8) ? large_sizes(random, rank) : small_sizes(random, rank, 100);
  Request r;
  r.type = first ? 73 : 115;
  r.numbers["CrossChannel"] = static_cast<UINT>(random.one_in(2) ? 1 : 0);
  r.numbers["NormalizeVariance"] = static_cast<UINT>(random.one_in(4) ? 0 : 1);
  if (!first) {
    const std::vector<std::size_t> order = random.order(rank);
    const std::size_t count = random.from(random.one_in(8) ? 0 : 1, rank);
    for (std::size_t i = 0; i < count; ++i) r.arrays["Axes"].push_back(static_cast<UINT>(order[i]));
    r.count = static_cast<UINT>(r.arrays["Axes"].size());
  }
  const auto repeated = [&] {
    std::vector<UINT> some = sizes;
    for (UINT& size : some) size = random.one_in(2) ? 1 : size;
    return some;
  };
  r.tensors["InputTensor"] = {type, sizes};
  r.tensors["OutputTensor"] = {type, sizes};
  if (random.one_in(2)) r.tensors["ScaleTensor"] = {type, first ? sizes : repeated()};
  if (random.one_in(2)) r.tensors["BiasTensor"] = {type, first ? sizes : repeated()};
  for (auto& [name, tensor] : r.tensors) place(random, tensor, name == "OutputTensor");
  return random.one_in(3) ? request::fused(r, random.one_in(2) ? 47 : 39, 0.5f) : r;
}

/// One number of the request, any, becomes another.
void bend(Request& r, Random& random) {
  const auto one_of = [&](auto& map) {
    auto at = map.begin();
    std::advance(at, random.from(0, map.size() - 1));
    return at;
  };
  const std::uint32_t value = random.extreme(0, largest_number);
  const auto set_one = [&](std::vector<UINT>& list) {
    if (!list.empty()) list[random.from(0, list.size() - 1)] = value;
  };
  if (r.tensors.empty()) return;
  auto& tensor = one_of(r.tensors)->second;
  switch (random.from(0, 7)) {
    case 0: set_one(tensor.sizes); break;
    case 1:
      if (tensor.strides) set_one(*tensor.strides);
      break;
    case 2: tensor.total_size = std::uint64_t{value} << random.from(0, 32); break;
    case 3: tensor.alignment = value; break;
    case 4: tensor.flags = value; break;
    case 5: r.numbers["GroupCount"] = value; break;
    case 6: r.numbers["Epsilon"] = request::bits(random.one_in(2) ? 0.0f : static_cast<float>(value)); break;
    default:
      if (!r.arrays.empty()) set_one(one_of(r.arrays)->second);
      break;
  }
}

Request normalization2(Random& random) {
  Request r = normalization(random, false);
  r.type = 171;
  r.numbers["UseMean"] = static_cast<UINT>(random.one_in(2) ? 1 : 0);
  r.numbers["UseVariance"] = static_cast<UINT>(random.one_in(4) ? 0 : 1);
  return r;
}

Request any_request(Random& random, std::uint64_t which) {
  switch (which) {
    case 0: return slice(random, false);
    case 1: return slice(random, true);
    case 2: return convolution(random);
    case 3: return normalization(random, true);
    case 4: return normalization(random, false);
    case 5: return normalization2(random);
    case 6: return quantize_linear(random, true);
    case 7: return quantize_linear(random, false);
    case 8: return integer_convolution(random);
    case 9: return product(random, false);
    default: return product(random, true);
  }
}

TEST(ExtremeNumbers, AcceptedDescriptorsRunEverywhere) {
  Random random(dmlref_test::test_seed());
  dmlref_test::RunLimits limits = dmlref_test::sparse_limits;
  limits.elements = 256;
  constexpr std::array names{"SLICE",    "SLICE1",     "QLC", "MVN", "MVN1", "MVN2",
                             "QUANTIZE", "DEQUANTIZE", "CI",  "MMI", "QLMM"};
  std::array<int, names.size()> valid{}, executed{};
  const int cases = dmlref_test::rounds(4400);
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t which = random.from(0, names.size() - 1);
    Request r = any_request(random, which);
    if (random.one_in(3)) bend(r, random);
    const request::Linked linked(r);
    const dmlref::FeatureLevel level = dmlref::feature_levels[random.from(0, 14)].level;
    ASSERT_EQ("", dmlref_test::broken_claim(linked.desc(), level));
    ASSERT_EQ("", dmlref_test::native_difference(linked.desc(), level));
    std::array<std::uint8_t, 61> bytes{};
    for (std::uint8_t& byte : bytes) byte = random.byte();
    const auto result =
        dmlref_test::run_everywhere(linked.desc(), dmlref::latest_feature_level, dmlref_test::RunData(bytes), limits);
    ASSERT_EQ("", result.fault) << names[which];
    valid[which] += result.valid;
    executed[which] += result.executed;
  }
  for (std::size_t which = 0; which < valid.size(); ++which) {
    std::printf("%s: %d accepted, %d executed\n", names[which], valid[which], executed[which]);
    EXPECT_TRUE(dmlref_test::often(executed[which], cases / 44)) << names[which];
  }
}

}  // namespace
