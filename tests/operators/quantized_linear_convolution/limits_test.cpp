// limits_test.cpp: convolutions at the limits of what is accepted, for every instruction
// set of this CPU: sums around 2^31, distances around 2^31, windows that reach over much and read little, groups of few
// channels. The bytes are right, and memory and time are in proportion to what is multiplied.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "support/counted_new.hpp"
#include "support/random.hpp"
#include "support/run_everywhere.hpp"
#include "support/seed.hpp"
#include "validate/request.hpp"

namespace {

using namespace dmlref;
using dmlref_test::Random;
using request::Request;

constexpr std::uint64_t mebibyte = 1u << 20;

/// A memory region for one call, at a multiple of 256.
class Region {
 public:
  explicit Region(std::uint64_t bytes) : memory_(static_cast<std::size_t>(bytes) + 256) {}
  std::span<std::byte> first(std::uint64_t bytes) {
    const auto past = reinterpret_cast<std::uintptr_t>(memory_.data()) % 256;
    return {memory_.data() + (256 - past) % 256, static_cast<std::size_t>(bytes)};
  }

 private:
  std::vector<std::byte> memory_;
};

/// Calls body(isa, compiled) for each instruction set of this CPU.
template <class Body>
void for_each_isa(const OperatorDesc& desc, Body body) {
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    SCOPED_TRACE(row.name);
    const CompileResult compiled = compile(desc, latest_feature_level, CompileOptions{row.isa});
    if (!compiled && row.isa == Isa::amx_int8) continue;  // a system may refuse tiles
    ASSERT_TRUE(compiled) << compiled.report().to_string();
    body(compiled.value());
  }
}

template <class T>
InputBuffer bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// One output pixel of one channel, of `depth` products: bytes of one value each but for a few, so that the sum is
/// known.
struct DeepCase {
  std::uint32_t depth = 1;
  DataType input_type = DataType::uint8, filter_type = DataType::uint8;
  std::uint8_t input = 0, filter = 0;  // all bytes,
  std::uint32_t others = 0;            // but for these, the first ones, which are 0
  int along = 0;                       // 0: channels side by side, 1: planes, 2: a row, 3: rows
};

std::int64_t value_of(DataType type, std::uint8_t byte) {
  return type == DataType::int8 ? std::int64_t{static_cast<std::int8_t>(byte)} : std::int64_t{byte};
}

void expect_deep_sum(const DeepCase& c) {
  SCOPED_TRACE("depth " + std::to_string(c.depth) + ", input " + std::to_string(c.input) + ", filter " +
               std::to_string(c.filter) + ", others " + std::to_string(c.others) + ", along " +
               std::to_string(c.along) + (c.input_type == DataType::int8 ? ", signed" : ", unsigned") +
               (c.filter_type == DataType::int8 ? " times signed" : " times unsigned"));
  const std::uint32_t d = c.depth;
  const Dimensions shape = c.along < 2    ? Dimensions{1, d, 1, 1}
                           : c.along == 2 ? Dimensions{1, 1, 1, d}
                                          : Dimensions{1, 1, d, 1};
  const std::optional<Dimensions> strides = c.along == 0 ? std::optional(Dimensions{d, 1, d, d}) : std::nullopt;
  QuantizedLinearConvolutionDesc desc;
  const Dimensions one{1, 1, 1, 1};
  desc.input = TensorDesc(c.input_type, shape, strides);
  desc.filter = TensorDesc(c.filter_type, shape);
  desc.output = TensorDesc(DataType::uint8, one);
  desc.input_scale = desc.filter_scale = desc.output_scale = TensorDesc(DataType::float32, one);
  desc.output_zero_point = TensorDesc(DataType::uint8, one);
  desc.strides = desc.dilations = {1, 1};
  desc.start_padding = desc.end_padding = {0, 0};
  desc.group_count = 1;

  std::vector<std::uint8_t> input(d + 3, c.input), filter(d + 3, c.filter);
  std::fill_n(input.begin(), c.others, std::uint8_t{0});
  std::fill_n(filter.begin(), c.others, std::uint8_t{0});
  const std::int64_t sum =
      std::int64_t{d - c.others} * value_of(c.input_type, c.input) * value_of(c.filter_type, c.filter);
  // Of any size, the sum is brought to about 100.
  const std::vector<float> scale{1.0f}, output_scale{sum == 0 ? 1.0f : static_cast<float>(sum) / 100.0f};
  const std::vector<std::uint8_t> zero_point{7, 0, 0, 0};
  const std::uint8_t expected =
      reference::requantize<std::uint8_t>(sum, reference::RequantizeScale(1.0f, 1.0f, output_scale[0]), zero_point[0]);
  const InputBuffer inputs[] = {
      bytes_of(input),        bytes_of(scale),     {}, bytes_of(filter), bytes_of(scale), {}, {},
      bytes_of(output_scale), bytes_of(zero_point)};
  for_each_isa(desc, [&](const CompiledOperator& compiled) {
    Region temporary(compiled.binding_properties().temporary_bytes);
    std::vector<std::uint8_t> output{99, 98, 97, 96};
    const OutputBuffer out = std::as_writable_bytes(std::span(output));
    const Report report =
        compiled.execute(inputs, {&out, 1}, {}, temporary.first(compiled.binding_properties().temporary_bytes));
    ASSERT_TRUE(report) << report.to_string();
    EXPECT_EQ(expected, output[0]) << compiled.strategy_name() << ", sum " << sum;
    EXPECT_EQ(98, output[1]);
  });
}

TEST(ConvolutionLimits, SumsOfActivationsAround32Bits) {
  constexpr DataType u8 = DataType::uint8, s8 = DataType::int8;
  expect_deep_sum({8421508, u8, u8, 255, 0, 0, 0});
  expect_deep_sum({8421505, u8, u8, 255, 0, 0, 1});
  if (dmlref_test::sanitized) return;  // the rest takes minutes there
  expect_deep_sum({8421506, u8, u8, 255, 255, 0, 2});
  expect_deep_sum({16777216, u8, u8, 255, 0, 0, 1});
  expect_deep_sum({16777216, u8, u8, 128, 0, 0, 2});  // 2^31
  expect_deep_sum({16777216, s8, s8, 0x80, 0x80, 0, 0});
  expect_deep_sum({16777216, s8, u8, 0x80, 255, 0, 2});
}

/// Sums of exactly ±2^31, and one more or less of their neighbours, by products of few and of many values.
TEST(ConvolutionLimits, SumsOfProductsAround32Bits) {
  Random random(dmlref_test::test_seed());
  constexpr DataType u8 = DataType::uint8, s8 = DataType::int8;
  for (const std::uint32_t more : {0u, 1u}) {
    expect_deep_sum({131072 + more, s8, s8, 0x80, 0x80, 0, 0});    // 2^31
    expect_deep_sum({131072 + more, u8, s8, 128, 0x80, more, 1});  // -2^31
    expect_deep_sum({65536 + more, s8, u8, 0x80, 255, 0, 2});
  }
  for (int i = 0; i < dmlref_test::rounds(64); ++i) {
    DeepCase c;
    c.input_type = random.one_in(2) ? u8 : s8;
    c.filter_type = random.one_in(2) ? u8 : s8;
    const auto extreme = [&](DataType type) -> std::uint8_t {
      return type == u8 ? 255 : random.one_in(2) ? 0x80 : 0x7F;
    };
    c.input = random.one_in(3) ? random.byte() : extreme(c.input_type);
    c.filter = random.one_in(3) ? random.byte() : extreme(c.filter_type);
    const std::int64_t product = std::abs(value_of(c.input_type, c.input) * value_of(c.filter_type, c.filter));
    if (product < 4096) continue;
    c.others = random.from(0, 3);
    c.depth = static_cast<std::uint32_t>((std::int64_t{1} << 31) / product) + c.others + random.from(0, 2) - 1;
    c.along = static_cast<int>(random.from(0, 3));
    expect_deep_sum(c);
  }
}

/// Executes where memory allows, on all instruction sets.
std::string fault_of(const Request& r, Random& random, dmlref_test::RunEverywhere* result = nullptr) {
  std::array<std::uint8_t, 61> bytes{};
  for (std::uint8_t& byte : bytes) byte = random.byte();
  dmlref_test::RunLimits limits = dmlref_test::sparse_limits;
  limits.products = 1u << 20;
  const request::Linked linked(r);
  const auto got =
      dmlref_test::run_everywhere(linked.desc(), latest_feature_level, dmlref_test::RunData(bytes), limits);
  if (result != nullptr) *result = got;
  if (!got.valid) return request::validate(r, latest_feature_level).to_string();
  return got.fault;
}

/// A convolution of {1, channels, …}: what is left open has its usual value.
struct Window {
  std::uint32_t size = 1, kernel = 1, stride = 1, dilation = 1, start = 0, end = 0;
  std::uint64_t padded() const { return std::uint64_t{size} + start + end; }
  std::uint64_t reach() const { return std::uint64_t{kernel - 1} * dilation + 1; }
  std::uint32_t out() const { return static_cast<std::uint32_t>((padded() - reach()) / stride + 1); }
};
Request convolution(Random& random, std::uint32_t batch, std::uint32_t groups, std::uint32_t in_channels,
                    std::uint32_t out_channels, const Window& y, const Window& x) {
  Request r;
  r.type = 120;
  r.count = 2;
  r.numbers["GroupCount"] = groups;
  const auto byte_type = [&] { return random.one_in(2) ? 5u : 8u; };
  const std::uint32_t in_type = byte_type(), filter_type = byte_type(), out_type = byte_type();
  const std::vector<UINT> one{1, 1, 1, 1}, per_channel{1, groups * out_channels, 1, 1};
  r.tensors["InputTensor"] = {in_type, {batch, groups * in_channels, y.size, x.size}};
  r.tensors["InputScaleTensor"] = {1, one};
  if (random.one_in(2)) r.tensors["InputZeroPointTensor"] = {in_type, one};
  r.tensors["FilterTensor"] = {filter_type, {groups * out_channels, in_channels, y.kernel, x.kernel}};
  r.tensors["FilterScaleTensor"] = {1, random.one_in(2) ? one : per_channel};
  if (random.one_in(2)) r.tensors["FilterZeroPointTensor"] = {filter_type, random.one_in(2) ? one : per_channel};
  if (random.one_in(2)) r.tensors["BiasTensor"] = {6, per_channel};
  r.tensors["OutputScaleTensor"] = {1, one};
  if (random.one_in(2)) r.tensors["OutputZeroPointTensor"] = {out_type, one};
  r.tensors["OutputTensor"] = {out_type, {batch, groups * out_channels, y.out(), x.out()}};
  r.arrays = {{"Strides", {y.stride, x.stride}},
              {"Dilations", {y.dilation, x.dilation}},
              {"StartPadding", {y.start, x.start}},
              {"EndPadding", {y.end, x.end}}};
  return r;
}

/// Channels side by side.
void make_channels_last(request::Tensor& tensor) {
  const std::vector<UINT>& s = tensor.sizes;
  tensor.strides = std::vector<UINT>{s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]};
}

TEST(ConvolutionLimits, DistancesAround31Bits) {
  Random random(dmlref_test::test_seed());
  {
    Request r = convolution(random, 1, 1, 8, 1, {3, 3}, {1, 1});
    r.tensors["InputTensor"].data_type = 5;
    r.tensors.erase("InputZeroPointTensor");
    r.tensors["InputTensor"].strides = std::vector<UINT>{0, 1, 1073741823, 8};
    EXPECT_EQ("", fault_of(r, random));
  }
  int executed = 0;
  const int cases = dmlref_test::rounds(200);
  for (int i = 0; i < cases; ++i) {
    const std::uint32_t channels = random.one_in(4) ? random.from(1, 40) : 4 * random.from(1, 12);
    Window y{1, random.from(1, 4)}, x{1, random.from(1, 3)};
    y.size = y.kernel + random.from(0, 2);
    x.size = x.kernel + random.from(0, 2);
    Request r = convolution(random, 1, 1, channels, random.from(1, 20), y, x);
    // Rows, or columns, so far apart that the kernel's last row, or its last channel, lies around 2^31.
    const bool rows = random.one_in(2);
    const std::uint32_t taps = rows ? y.kernel : x.kernel, extent = rows ? y.size : x.size;
    if (extent < 2) continue;
    const std::uint64_t most = (0xFFFFFFFFull - 4096) / (extent - 1);
    const std::uint64_t near = taps < 2 ? most : ((std::uint64_t{1} << 31) - random.from(0, 2 * channels)) / (taps - 1);
    const auto far = static_cast<std::uint32_t>(random.one_in(4) ? random.from(4096, most) : std::min(near, most));
    const std::uint32_t step = channels + random.from(0, 9);
    r.tensors["InputTensor"].strides =
        rows ? std::vector<UINT>{random.from(0, 0xFFFFFFFF), 1, far, step} : std::vector<UINT>{0, 1, step, far};
    dmlref_test::RunEverywhere result;
    ASSERT_EQ("", fault_of(r, random, &result));
    executed += result.executed;
  }
  EXPECT_TRUE(dmlref_test::often(executed, cases / 4)) << executed;
}

TEST(ConvolutionLimits, TapsAndPixelsFarApart) {
  Random random(dmlref_test::test_seed());
  int executed = 0;
  const int cases = dmlref_test::rounds(600);
  for (int i = 0; i < cases; ++i) {
    const auto window = [&] {
      Window w;
      w.kernel = random.from(1, 4);
      w.dilation = random.one_in(3) ? random.from(1, 3) : random.from(1, random.one_in(4) ? 2000 : 60);
      w.stride = random.one_in(2) ? 1 : random.from(1, random.one_in(4) ? 300 : 30);
      w.size = random.from(1, random.one_in(2) ? 12 : 90);
      w.start = random.one_in(3) ? 0 : random.from(0, 2 * w.reach());
      w.end = random.one_in(3) ? w.start : random.from(0, 2 * w.reach());
      if (w.padded() < w.reach()) w.start = static_cast<std::uint32_t>(w.reach());
      return w;
    };
    const Window y = window(), x = window();
    const std::uint64_t outputs = std::uint64_t{y.out()} * x.out();
    if (outputs > 2000) continue;
    const std::uint32_t groups = random.one_in(3) ? random.from(2, 5) : 1;
    const std::uint32_t in_channels = random.one_in(3) ? random.from(1, 3) : random.from(1, 20);
    const auto most = std::max<std::uint64_t>(1, 4096 / (outputs * groups));
    Request r = convolution(random, 1, groups, in_channels,
                            random.from(1, std::min<std::uint64_t>(most, random.one_in(3) ? 40 : 6)), y, x);
    if (random.one_in(2)) make_channels_last(r.tensors["InputTensor"]);
    if (random.one_in(2)) make_channels_last(r.tensors["OutputTensor"]);
    dmlref_test::RunEverywhere result;
    ASSERT_EQ("", fault_of(r, random, &result));
    executed += result.executed;
  }
  EXPECT_TRUE(dmlref_test::often(executed, cases / 4)) << executed;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What compile allocates and takes, and what the operator needs, is at most so much; all in bytes.
void expect_small(const Request& r, std::uint64_t heap, std::uint64_t temporary, std::uint64_t persistent = 0) {
  const request::Linked linked(r);
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    SCOPED_TRACE(row.name);
    const auto begin = std::chrono::steady_clock::now();
    const long before = dmlref_test::allocations.live;
    dmlref_test::allocations.peak = before;
    const CompileResult compiled = compile(linked.desc(), latest_feature_level, CompileOptions{row.isa});
    EXPECT_LE(dmlref_test::allocations.peak - before, static_cast<long>(heap));
    if (!compiled && row.isa == Isa::amx_int8) continue;
    ASSERT_TRUE(compiled) << compiled.report().to_string();
    EXPECT_LT(seconds_since(begin), 2.0);
    EXPECT_LE(compiled.value().binding_properties().temporary_bytes, temporary) << compiled.value().strategy_name();
    EXPECT_LE(compiled.value().binding_properties().persistent_bytes, persistent) << compiled.value().strategy_name();
  }
}

TEST(ConvolutionLimits, CompileDoesNotDependOnExtents) {
  Random random(dmlref_test::test_seed());
  const std::uint64_t slots = std::uint64_t{64} * mebibyte;  // memory of as many tasks as there may be
  const std::uint64_t heap = 2 * mebibyte;                   // AMX tries blocks of up to 4096 rows
  for (const std::uint32_t groups : {1u, 2u}) {
    for (const Window& window : {Window{1000000000, 3}, Window{1000000000, 3, 2, 2, 1, 1}, Window{1000000000, 1}}) {
      SCOPED_TRACE(testing::Message() << groups << " groups, kernel " << window.kernel);
      expect_small(convolution(random, 1, groups, 1, 1, window, {1, 1}), heap, slots);
      expect_small(convolution(random, 1, groups, 1, 1, {1, 1}, window), heap, slots);
    }
  }
  expect_small(convolution(random, 1000000000, 1, 1, 1, {1, 1}, {1, 1}), heap, slots);
  // Where products of extents, strides and reach are beyond 64 bits.
  expect_small(convolution(random, 1, 2, 1, 1, {1, 2, 4096, 65536, 65536, 1}, {1u << 30, 2, 4096, 65536}), heap, slots);
  expect_small(convolution(random, 1, 1, 1, 1, {1, 2, 1, 65535, 65535}, {0xFFFFFFFF, 32768}), 64 * mebibyte, slots);
  // Windows that lie in padding, all but one of them.
  expect_small(convolution(random, 1, 1, 1, 1, {1, 2, 1, 60000, 1000000, 1000000}, {1, 1}), heap, slots);
}

/// Windows that reach over much of the input and read little of it.
TEST(ConvolutionLimits, MemoryIsThatOfWhatIsRead) {
  Random random(dmlref_test::test_seed());
  const std::uint64_t tasks = std::max(1u, std::thread::hardware_concurrency()), small = 2 * mebibyte * tasks;
  const Window wide{4001, 3, 1, 2000}, same{4001, 3, 1, 2000, 2000, 2000};
  expect_small(convolution(random, 1, 1, 1, 1, wide, wide), mebibyte, small);
  expect_small(convolution(random, 1, 1, 1, 1, same, same), mebibyte, small);
  expect_small(convolution(random, 1, 1, 1, 1, {1, 2, 1, 60000, 60000, 60000}, {1, 2, 1, 8000, 8000, 8000}), mebibyte,
               small);
  expect_small(convolution(random, 1, 1, 64, 64, {100000, 1, 4000}, {1, 1}), mebibyte, small);
  expect_small(convolution(random, 1, 1, 64, 64, {4000, 1, 4000}, {10000, 1, 4000}), mebibyte, small);
  expect_small(convolution(random, 1, 1, 1000, 25, {1, 1}, {1, 2, 4096, 1, 0, 13594}), mebibyte, small);
  Request last = convolution(random, 1, 1, 64, 64, {1, 1}, {200000, 3, 4000, 4000});
  make_channels_last(last.tensors["InputTensor"]);
  expect_small(last, mebibyte, small);
}

/// Taps beyond the input take no time.
TEST(ConvolutionLimits, PaddingTakesNoTime) {
  constexpr std::uint32_t kernel = 536870912;
  Random random(dmlref_test::test_seed());
  for (const std::uint32_t start : {0u, 1u, kernel / 2, kernel - 1}) {
    const Request r = convolution(random, 1, 1, 6, 1, {1, 1}, {1, kernel, 1, 1, start, kernel - 1 - start});
    const request::Linked linked(r);
    const OperatorDesc desc = *detail::read_directml(linked.desc());
    dmlref_test::RunLimits limits = dmlref_test::sparse_limits;
    dmlref_test::RunBuffers buffers(desc);
    std::array<std::uint8_t, 61> bytes{};
    for (std::uint8_t& byte : bytes) byte = random.byte();
    dmlref_test::RunData data(bytes);
    const auto begin = std::chrono::steady_clock::now();
    buffers.prepare(data);  // by the reference
    for_each_isa(desc, [&](const CompiledOperator& compiled) {
      const std::uint64_t needed = compiled.binding_properties().temporary_bytes;
      ASSERT_LE(needed, limits.working_bytes);
      Region temporary(needed);
      const OutputBuffer out = buffers.fresh_output();
      const Report report = compiled.execute(buffers.bound(false), {&out, 1}, {}, temporary.first(needed));
      ASSERT_TRUE(report) << report.to_string();
      EXPECT_EQ("", buffers.difference());
    });
    EXPECT_LT(seconds_since(begin), 10.0);
  }
  // Deep windows over an input of one pixel: nine of them see it.
  const Window window{1, 3, 1, 1, 1000, 1000};
  const Request r = convolution(random, 1, 1, 4096, 1, {1, 3, 1, 1, 1, 1}, window);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ("", fault_of(r, random));
  EXPECT_LT(seconds_since(begin), 10.0);
}

/// Groups of few channels: what is packed is in proportion to what is given.
TEST(ConvolutionLimits, ManySmallGroups) {
  Random random(dmlref_test::test_seed());
  {
    constexpr std::uint32_t groups = 1u << 20;
    for (const std::uint32_t flags : {0u, 1u}) {
      Request r = convolution(random, 1, groups, 5, 5, {1, 1}, {1, 1});
      r.tensors["FilterScaleTensor"].sizes = {1, groups * 5, 1, 1};
      r.tensors["BiasTensor"] = {6, {1, groups * 5, 1, 1}};
      for (const char* name : {"FilterTensor", "FilterScaleTensor", "BiasTensor"}) r.tensors[name].flags = flags;
      r.tensors.erase("FilterZeroPointTensor");
      const std::uint64_t given = std::uint64_t{groups} * (25 + 5 * (4 + 4));
      expect_small(r, mebibyte, 64 * mebibyte, flags == 0 ? 0 : given + mebibyte);
    }
  }
  // The last part begins with groups of the one before.
  int executed = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t groups = random.from(24000, 40000), channels = random.from(5, 7);
    Request r = convolution(random, 1, groups, channels, random.from(1, 6), {1, 1}, {1, 1});
    if (random.one_in(2)) {
      make_channels_last(r.tensors["InputTensor"]);
      make_channels_last(r.tensors["OutputTensor"]);
    }
    for (auto& [name, tensor] : r.tensors) tensor.flags = name != "OutputTensor" && random.one_in(3) ? 1 : 0;
    std::array<std::uint8_t, 61> bytes{};
    for (std::uint8_t& byte : bytes) byte = random.byte();
    dmlref_test::RunLimits limits;
    limits.elements = limits.products = limits.tensor_bytes = limits.working_bytes = std::uint64_t{1} << 40;
    const request::Linked linked(r);
    const auto got =
        dmlref_test::run_everywhere(linked.desc(), latest_feature_level, dmlref_test::RunData(bytes), limits);
    ASSERT_EQ("", got.fault) << groups << " groups of " << channels;
    executed += got.executed;
  }
  EXPECT_EQ(4, executed);
}

/// A plan for tasks_with_scratch.
struct FakePlan {
  struct Grid {
    Index count;
    Index blocks(int) const { return count; }
  };
  static constexpr Index min_panels = 2, units_per_task = 4;
  Index count, all_panels;
  int g = 0;
  Grid grid_for(Index) const { return {count}; }
  Index channel_panels() const { return all_panels; }
};

TEST(ConvolutionLimits, NoMoreTasksThanPieces) {
  using fast::max_tasks_here;
  EXPECT_EQ(1, fast::qlc::tasks_with_scratch(FakePlan{1, 3}));
  EXPECT_EQ(std::min<Index>(max_tasks_here(), 2), fast::qlc::tasks_with_scratch(FakePlan{1, 7}));
  EXPECT_EQ(std::min<Index>(max_tasks_here(), 3), fast::qlc::tasks_with_scratch(FakePlan{3, 1}));
  EXPECT_EQ(max_tasks_here(), fast::qlc::tasks_with_scratch(FakePlan{1000, 1}));
}

}  // namespace
