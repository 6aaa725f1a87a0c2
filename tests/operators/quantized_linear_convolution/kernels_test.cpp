// kernels_test.cpp: the convolution of the instruction set in use against the reference, byte by
// byte, over random shapes, layouts, types, zero points and scales.
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "dmlref/int8/avx512vnni.hpp"
#include "dmlref/int8/avxvnni.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/scalar.hpp"
#include "dmlref/operators/quantized_linear_convolution/call.hpp"
#include "dmlref/run/run.hpp"
#include "support/guarded_buffer.hpp"
#include "support/quantized_linear_convolution_plan.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

#if DMLREF_ARCH_X86_64
// The tiles of AVX-VNNI under AVX-512's encoding of the same instruction: proves their text where AVX-VNNI cannot run.
namespace vnni256 {
using namespace dmlref::fast::qlc;
using avx2::V, avx2::Epilogue, avxvnni::held_weights, avxvnni::held_pixels;
namespace rounding = requantize::avx2;
DMLREF_TARGET_AVX512VNNI inline void multiply_add(__m256i& sums, __m256i activations, __m256i weights) noexcept {
  sums = _mm256_dpbusd_epi32(sums, activations, weights);
}
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "dmlref/int8/tiles-inl.hpp"
#undef DMLREF_QLC_TARGET
}  // namespace vnni256

// And with the instruction made of AVX2's, where neither encoding can run.
namespace vnni256_of_avx2 {
using namespace dmlref::fast::qlc;
using avx2::V, avx2::Epilogue, avxvnni::held_weights, avxvnni::held_pixels;
namespace rounding = requantize::avx2;
DMLREF_TARGET_AVX2 inline void multiply_add(__m256i& sums, __m256i activations, __m256i weights) noexcept {
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(activations, _mm256_set1_epi16(0xFF)),
                                         _mm256_srai_epi16(_mm256_slli_epi16(weights, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(activations, 8), _mm256_srai_epi16(weights, 8));
  sums = _mm256_add_epi32(sums, _mm256_add_epi32(even, odd));
}
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/int8/tiles-inl.hpp"
#undef DMLREF_QLC_TARGET
}  // namespace vnni256_of_avx2
#endif

namespace {

using namespace dmlref;
using Bytes = std::vector<std::byte>;

/// A descriptor with the bytes of its nine inputs.
struct Case {
  QuantizedLinearConvolutionDesc desc;
  std::vector<Bytes> inputs;
  std::string text;
};

enum class Data { random, extremes, ties };

std::uint32_t pick(std::mt19937& random, std::uint32_t low, std::uint32_t high) {
  return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
}

/// Strides of one of several layouts of {N, C, H, W}; `repeat` may broadcast a dimension.
Dimensions strides_for(std::mt19937& random, const Dimensions& s, std::string& text, bool repeat) {
  switch (pick(random, 0, repeat ? 6 : 5)) {
    case 0:
    case 1: text += " nchw"; return {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
    case 2:
    case 3: text += " nhwc"; return {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]};
    case 4: text += " nchw-padded"; return {(s[1] + 1) * (s[2] + 2) * (s[3] + 5), (s[2] + 2) * (s[3] + 5), s[3] + 5, 1};
    case 5: text += " nhwc-padded"; return {(s[1] + 3) * (s[3] + 1) * s[2], 1, (s[3] + 1) * (s[1] + 3), s[1] + 3};
    default: {
      text += " broadcast";
      Dimensions strides{s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
      strides[pick(random, 0, 3)] = 0;
      return strides;
    }
  }
}

DataType byte_type(std::mt19937& random) { return pick(random, 0, 1) != 0 ? DataType::int8 : DataType::uint8; }

struct Limits {
  std::uint32_t channels = 40, out_channels = 70, size = 20, kernel = 5, groups = 3, least_channels = 1;
};

Case make_case(std::mt19937& random, Data data, const Limits& limits) {
  Case c;
  QuantizedLinearConvolutionDesc& d = c.desc;
  const std::uint32_t groups = pick(random, 0, 2) == 0 ? pick(random, 1, limits.groups) : 1;
  const std::uint32_t in_channels = pick(random, limits.least_channels, limits.channels);
  const std::uint32_t out_channels = pick(random, 1, limits.out_channels);
  Dimensions in{pick(random, 1, 2), in_channels * groups, pick(random, 1, limits.size), pick(random, 1, limits.size)};
  Dimensions filter{out_channels * groups, in_channels, pick(random, 1, limits.kernel), pick(random, 1, limits.kernel)};
  if (pick(random, 0, 2) == 0) filter[2] = filter[3] = 1;
  Dimensions out{in[0], filter[0], 0, 0};
  for (std::size_t s = 0; s < 2; ++s) {
    const std::uint32_t stride = pick(random, 0, 1) != 0 ? 1 : pick(random, 1, 4);
    const std::uint32_t dilation = pick(random, 0, 2) != 0 ? 1 : pick(random, 1, 3);
    const std::uint32_t reach = (filter[2 + s] - 1) * dilation + 1;
    std::uint32_t before = pick(random, 0, 1) != 0 ? 0 : pick(random, 0, reach + 2);
    const std::uint32_t after = pick(random, 0, 1) != 0 ? before : pick(random, 0, reach + 2);
    if (in[2 + s] + before + after < reach) before = reach;
    d.strides.push_back(stride);
    d.dilations.push_back(dilation);
    d.start_padding.push_back(before);
    d.end_padding.push_back(after);
    out[2 + s] = 1 + (in[2 + s] + before + after - reach) / stride;
  }
  std::ostringstream text;
  for (const Dimensions* list : {&in, &filter, &out, &d.strides, &d.dilations, &d.start_padding, &d.end_padding}) {
    for (const std::uint32_t value : *list) text << value << ' ';
    text << "| ";
  }
  c.text = text.str() + "groups " + std::to_string(groups);
  d.group_count = groups;
  const DataType in_type = byte_type(random);
  const DataType filter_type = byte_type(random);
  const DataType out_type = byte_type(random);
  c.text += std::string(" ") + std::string(to_string(in_type)) + " " + std::string(to_string(filter_type)) + " " +
            std::string(to_string(out_type));
  d.input = TensorDesc(in_type, in, strides_for(random, in, c.text, true));
  d.filter = TensorDesc(filter_type, filter);
  if (pick(random, 0, 3) == 0) d.filter = TensorDesc(filter_type, filter, strides_for(random, filter, c.text, true));
  d.output = TensorDesc(out_type, out, strides_for(random, out, c.text, false));
  const Dimensions one{1, 1, 1, 1};
  const Dimensions per_channel{1, filter[0], 1, 1};
  d.input_scale = TensorDesc(DataType::float32, one);
  d.output_scale = TensorDesc(DataType::float32, one);
  d.filter_scale = TensorDesc(DataType::float32, pick(random, 0, 1) != 0 ? per_channel : one);
  if (pick(random, 0, 2) != 0) d.input_zero_point = TensorDesc(in_type, one);
  const std::uint32_t filter_zero = pick(random, 0, 3);
  if (filter_zero > 0) d.filter_zero_point = TensorDesc(filter_type, filter_zero == 1 ? one : per_channel);
  if (pick(random, 0, 3) != 0) d.bias = TensorDesc(DataType::int32, per_channel);
  if (pick(random, 0, 2) != 0) d.output_zero_point = TensorDesc(out_type, one);
  d.filter.owned_by_dml = pick(random, 0, 1) != 0;
  if (d.bias && pick(random, 0, 1) != 0) d.bias->owned_by_dml = true;
  const bool all_owned = d.filter.owned_by_dml && pick(random, 0, 1) != 0;
  if (all_owned) test::own_constants(d);
  if (d.filter.owned_by_dml) c.text += all_owned ? " constants owned" : " owned";

  const double depth = static_cast<double>(filter[1]) * filter[2] * filter[3];
  const auto fill = [&](const TensorDesc& tensor) {
    Bytes bytes(tensor.total_size_in_bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(pick(random, 0, 255));
    if (data == Data::extremes) {
      const std::uint32_t kind = pick(random, 0, 2);
      for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(kind == 0 ? 0x80 : kind == 1 ? 0xFF : pick(random, 0, 1) * 0xFF);
      }
    }
    c.inputs.push_back(bytes);
  };
  const auto fill_scales = [&](const TensorDesc& tensor, double typical) {
    Bytes bytes(tensor.total_size_in_bytes);
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      auto scale = static_cast<float>(typical * (0.5 + pick(random, 0, 1000) / 1000.0));
      if (data == Data::ties) scale = std::exp2(std::round(std::log2(scale)));  // halves are frequent, and exact
      if (data == Data::random && pick(random, 0, 30) == 0) scale *= 1000.0f;
      std::memcpy(bytes.data() + at, &scale, 4);
    }
    c.inputs.push_back(bytes);
  };
  fill(d.input);
  fill_scales(d.input_scale, 0.02);
  c.inputs.emplace_back();
  fill(d.filter);
  fill_scales(d.filter_scale, 0.01);
  c.inputs.resize(7);
  fill_scales(d.output_scale, data == Data::extremes ? 0.0002 * depth * 300 : 0.0002 * std::sqrt(depth) * 74 * 74 / 40);
  c.inputs.emplace_back();
  const auto fill_optional = [&](const std::optional<TensorDesc>& tensor, std::size_t index) {
    if (!tensor) return;
    fill(*tensor);
    c.inputs[index] = c.inputs.back();
    c.inputs.pop_back();
  };
  fill_optional(d.input_zero_point, 2);
  fill_optional(d.filter_zero_point, 5);
  fill_optional(d.output_zero_point, 8);
  if (d.bias) {
    Bytes bytes(d.bias->total_size_in_bytes);
    for (std::size_t at = 0; at < bytes.size(); at += 4) {
      auto value = static_cast<std::int32_t>(pick(random, 0, 200000)) - 100000;
      if (data == Data::extremes && pick(random, 0, 3) == 0)
        value = pick(random, 0, 1) != 0 ? 0x7FFFFFFF : -0x7FFFFFFF - 1;
      std::memcpy(bytes.data() + at, &value, 4);
    }
    c.inputs[6] = bytes;
  }
  return c;
}

Bytes run(const Case& c, detail::PlannedOperator planned, Executor& executor) {
  const CompiledOperator compiled = detail::Compiler::make(c.desc, std::move(planned));
  const BindingProperties needs = compiled.binding_properties();
  const AlignedBuffer persistent(needs.persistent_bytes);
  const AlignedBuffer temporary(needs.temporary_bytes);
  for (const auto& memory : {persistent.span(), temporary.span()}) {
    for (std::byte& byte : memory) byte = std::byte{0xA5};  // no result may depend on what was there
  }
  std::vector<InputBuffer> owned(9), rest(9);
  for (std::size_t i = 0; i < 9; ++i) (compiled.input_slots()[i].owned_by_dml ? owned : rest)[i] = c.inputs[i];
  Bytes output(c.desc.output.total_size_in_bytes, std::byte{0x5A});
  const OutputBuffer out[] = {output};
  Report report = compiled.initialize(owned, persistent.span(), temporary.span());
  EXPECT_TRUE(report.ok()) << report.to_string();
  report = compiled.execute(rest, out, persistent.span(), temporary.span(), executor);
  EXPECT_TRUE(report.ok()) << report.to_string();
  return output;
}

void expect_same_bytes(const Case& c, const Bytes& expected, const Bytes& actual) {
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == actual[i]) continue;
    if (wrong++ == 0) first = i;
  }
  ASSERT_EQ(wrong, 0u) << c.text << "\nfirst at byte " << first << ": expected " << static_cast<int>(expected[first])
                       << ", got " << static_cast<int>(actual[first]);
}

void expect_equal(const Case& c, std::size_t threads = 1) {
  Report chosen;
  const Isa isa = detail::choose_isa(std::nullopt, chosen, "DMLREF_ISA").isa;  // what DMLREF_ISA says
  ASSERT_TRUE(chosen.ok());
  static std::size_t turn = 0;  // of the tuning rows
  const Tuning& tuning = tuning_table[turn++ % tuning_table.size()];
  detail::PlannedOperator fast = detail::plan(c.desc, isa, tuning);
  detail::PlannedOperator reference = fast;
  // Always a general convolution, also where the operator would choose another.
  const fast::qlc::Problem problem = detail::qlc_problem(c.desc);
  fast.plan = test::tiled_plan(problem, dmlref::fast::qlc::kernels_of(isa).tiled);
#if DMLREF_HAS_AMX_INT8
  if (isa == Isa::amx_int8) {
    if (auto amx = test::amx_plan(problem)) fast.plan = std::move(amx);
  }
#endif
  reference.plan = dmlref_test::reference_plan(problem);
  dmlref_test::ThreadExecutor executor(threads);
  const Bytes expected = run(c, std::move(reference), sequential());
  expect_same_bytes(c, expected, run(c, std::move(fast), executor));
}

TEST(FastQuantizedLinearConvolution, EqualsReferenceOnRandomShapes) {
  const std::uint64_t seed = dmlref_test::test_seed(20210211);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < dmlref_test::rounds(400); ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::random, {}))) << "case " << i;
  }
}

TEST(FastQuantizedLinearConvolution, EqualsReferenceOnWideRowsAndManyChannels) {
  const std::uint64_t seed = dmlref_test::test_seed(7);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < dmlref_test::rounds(30); ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::random, {12, 40, 320, 3, 1}))) << "case " << i;
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::random, {300, 200, 9, 3, 1}))) << "case " << i;
  }
}

TEST(FastQuantizedLinearConvolution, FewChannels) {
  const std::uint64_t seed = dmlref_test::test_seed(99);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 200; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::random, {3, 40, 40, 7, 2}))) << "case " << i;
  }
}

// Staged pixels are kept apart at these numbers of channels, and blocks are cut where a row of them fills the cache.
TEST(FastQuantizedLinearConvolution, DeepFilters) {
  const std::uint64_t seed = dmlref_test::test_seed(22);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::random, {512, 24, 8, 3, 1, 512}))) << "case " << i;
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::random, {3300, 12, 12, 1, 1, 3200}))) << "case " << i;
  }
}

// Few of the kernel's rows meet the input, in more ways than there are offsets for.
TEST(FastQuantizedLinearConvolution, KernelsLargerThanTheInput) {
  const std::uint64_t seed = dmlref_test::test_seed(21);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 60; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::random, {9, 40, 6, 19, 2}))) << "case " << i;
  }
}

TEST(FastQuantizedLinearConvolution, Extremes) {
  const std::uint64_t seed = dmlref_test::test_seed(5);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < dmlref_test::rounds(200); ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::extremes, {}))) << "case " << i;
  }
}

TEST(FastQuantizedLinearConvolution, Ties) {
  const std::uint64_t seed = dmlref_test::test_seed(6);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < dmlref_test::rounds(200); ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::ties, {}))) << "case " << i;
  }
}

TEST(FastQuantizedLinearConvolution, AnyNumberOfThreads) {
  const std::uint64_t seed = dmlref_test::test_seed(8);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 60; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(make_case(random, Data::random, {60, 300, 24, 3, 2}), pick(random, 2, 5)))
        << "case " << i;
  }
}

#if DMLREF_ARCH_X86_64
// A tiled convolution with each of these kernels, whichever the instruction set is that chooses them.
void expect_equal_with(const std::vector<const fast::qlc::Kernels*>& kernels, const Case& c) {
  detail::PlannedOperator fast = detail::plan(c.desc, Isa::scalar, this_cpu());
  detail::PlannedOperator reference = fast;
  const fast::qlc::Problem problem = detail::qlc_problem(c.desc);
  reference.plan = dmlref_test::reference_plan(problem);
  const Bytes expected = run(c, std::move(reference), sequential());
  for (const fast::qlc::Kernels* const set : kernels) {
    fast.plan = test::tiled_plan(problem, *set);
    ASSERT_NO_FATAL_FAILURE(expect_same_bytes(c, expected, run(c, fast, sequential())));
  }
}
void expect_equal_with(const fast::qlc::Kernels& kernels, const std::vector<Data>& kinds, const Limits& limits = {}) {
  const std::uint64_t seed = dmlref_test::test_seed(12);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < dmlref_test::rounds(200); ++i) {
    const Case c = make_case(random, kinds[static_cast<std::size_t>(i) % kinds.size()], limits);
    ASSERT_NO_FATAL_FAILURE(expect_equal_with({&kernels}, c)) << "case " << i;
  }
}

// AVX-VNNI with the tiles that `set_tiles` puts in place of its own.
template <class SetTiles>
void expect_tiles_of_avx_vnni(SetTiles set_tiles) {
  static const fast::qlc::Kernels kernels = [&] {
    fast::qlc::Kernels k = fast::qlc::avx2::make_helpers<4>();
    set_tiles(k);
    return k;
  }();
  expect_equal_with(kernels, {Data::random, Data::extremes});
}

TEST(FastQuantizedLinearConvolution, TilesOfAvxVnni) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "this CPU does not run vpdpbusd";
  expect_tiles_of_avx_vnni([](fast::qlc::Kernels& k) { vnni256::set_tiles(k); });
}

TEST(FastQuantizedLinearConvolution, TilesOfAvxVnniByInstructionsOfAvx2) {
  if (!supported(Isa::avx2)) GTEST_SKIP() << "this CPU has no AVX2";
  expect_tiles_of_avx_vnni([](fast::qlc::Kernels& k) { vnni256_of_avx2::set_tiles(k); });
}

TEST(FastQuantizedLinearConvolution, TilesOfAvx512) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "this CPU does not run vpdpbusd";
  expect_equal_with(fast::qlc::avx512vnni::kernels, {Data::random, Data::ties}, {80, 80, 40, 3, 1});
}
#endif

/// A row of `width` pixels, so many channels deep. Extremes: all bytes at the end of their range that is farthest from
/// 0.
Case make_deep_case(std::mt19937& random, Data data, std::uint32_t depth, std::uint32_t width, DataType in_type,
                    DataType filter_type) {
  Case c = make_case(random, data, {4, 20, 2, 1, 1});
  const std::uint32_t out_channels = c.desc.filter.sizes[0];
  c.desc.group_count = 1;
  c.desc.input = TensorDesc(in_type, {1, depth, 1, width});
  c.desc.filter = TensorDesc(filter_type, {out_channels, depth, 1, 1});
  c.desc.output = TensorDesc(c.desc.output.data_type, {1, out_channels, 1, width});
  c.desc.strides = c.desc.dilations = {1, 1};
  c.desc.start_padding = c.desc.end_padding = {0, 0};
  if (c.desc.input_zero_point) c.desc.input_zero_point->data_type = in_type;
  if (c.desc.filter_zero_point) c.desc.filter_zero_point->data_type = filter_type;
  for (const std::size_t i : {0u, 3u}) {
    c.inputs[i].resize((i == 0 ? c.desc.input : c.desc.filter).total_size_in_bytes);
    const auto all = static_cast<std::byte>((i == 0 ? in_type : filter_type) == DataType::uint8 ? 255 : 128);
    for (std::byte& byte : c.inputs[i]) {
      byte = data == Data::extremes ? all : static_cast<std::byte>(pick(random, 0, 255));
    }
  }
  c.text = std::to_string(depth) + " deep " + c.text;
  return c;
}

// 67000 products of 255 * 255 exceed 32 bits: K is cut into pieces.
TEST(FastQuantizedLinearConvolution, DepthBeyondThirtyTwoBits) {
  const std::uint64_t seed = dmlref_test::test_seed(11);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  for (const Data data : {Data::random, Data::extremes}) {
    for (const DataType in_type : {DataType::uint8, DataType::int8}) {
      for (const DataType filter_type : {DataType::uint8, DataType::int8}) {
        ASSERT_NO_FATAL_FAILURE(expect_equal(make_deep_case(random, data, 67001, 3, in_type, filter_type)));
      }
    }
  }
}

// Channels side by side that are all that staging changes: by flipping them, or not at all.
TEST(FastQuantizedLinearConvolution, PixelsThatAreCopied) {
  const std::uint64_t seed = dmlref_test::test_seed(25);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < dmlref_test::rounds(160); ++i) {
    const std::uint32_t channels = i % 10 == 0 ? pick(random, 257, 400) : pick(random, 2, 70);
    const Data data = i % 3 == 0 ? Data::ties : i % 3 == 1 ? Data::random : Data::extremes;
    Case c = make_case(random, data, {channels, 100, 24, 1, 1, channels});
    if (i % 2 == 0) c.desc.filter_zero_point.reset(), c.inputs[5].clear();
    const Dimensions in = c.desc.input.sizes;
    const std::uint32_t out_channels = c.desc.output.sizes[1];
    const auto side_by_side = [&](DataType type, std::uint32_t count) {
      return TensorDesc(type, {in[0], count, in[2], in[3]}, Dimensions{count * in[2] * in[3], 1, in[3] * count, count});
    };
    c.desc.input = side_by_side(c.desc.input.data_type, channels);
    if (i % 4 != 0) c.desc.output = side_by_side(c.desc.output.data_type, out_channels);
    if (i % 4 == 0) c.desc.output = TensorDesc(c.desc.output.data_type, {in[0], out_channels, in[2], in[3]});
    c.desc.strides = c.desc.dilations = {1, 1};
    c.desc.start_padding = c.desc.end_padding = {0, 0};
    c.inputs[0].resize(c.desc.input.total_size_in_bytes);
    for (std::byte& byte : c.inputs[0]) {
      byte = static_cast<std::byte>(data == Data::extremes ? pick(random, 0, 1) * 0xFF ^ 0x80 : pick(random, 0, 255));
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(c, pick(random, 1, 3))) << "case " << i;
  }
}

// Where sums over a pixel's channels outgrow 15 bits, and where they outgrow what two halves hold.
TEST(FastQuantizedLinearConvolution, ZeroPointsByChannelAtTheLimitsOfHalves) {
  using fast::qlc::deepest_split16_sum, fast::qlc::deepest_unsplit_sum;
  const std::uint64_t seed = dmlref_test::test_seed(12);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  const auto expect_equal_at = [&](std::uint32_t depth, std::uint32_t width, bool nhwc, DataType filter_type,
                                   Data data) {
    Case c = make_deep_case(random, data, depth, width, DataType::uint8, filter_type);
    const std::uint32_t channels = c.desc.filter.sizes[0];
    if (nhwc) c.desc.input.strides = Dimensions{depth * width, 1, depth * width, depth};
    c.desc.filter_zero_point = TensorDesc(filter_type, {1, channels, 1, 1});
    c.inputs[5].assign(c.desc.filter_zero_point->total_size_in_bytes, std::byte{0});
    for (std::uint32_t i = 0; i < channels; ++i) {  // the ends of the range, and what lies between
      const std::uint32_t zero_point = i % 3 == 2 ? pick(random, 0, 255) : i % 3 * 255;
      c.inputs[5][i] = static_cast<std::byte>(zero_point ^ (filter_type == DataType::int8 ? 128u : 0u));
    }
    c.desc.bias.reset();  // 32 bits are enough
    c.inputs[6].clear();
    const float output_scale = 0.0002f * 65025.0f / 200.0f * static_cast<float>(depth);
    std::memcpy(c.inputs[7].data(), &output_scale, sizeof output_scale);
    c.text += nhwc ? " pixels" : " planes";
    expect_equal(c);
  };
  for (const std::int32_t depth : {deepest_unsplit_sum - 1, deepest_unsplit_sum, deepest_unsplit_sum + 1, 1000,
                                   deepest_split16_sum, deepest_split16_sum + 1}) {
    for (const std::uint32_t width : {3u, 70u}) {
      if (width > 3 && depth > 1000) continue;  // minutes in the reference
      for (const bool nhwc : {false, true}) {
        for (const DataType filter_type : {DataType::uint8, DataType::int8}) {
          for (const Data data : {Data::random, Data::extremes}) {
            ASSERT_NO_FATAL_FAILURE(expect_equal_at(static_cast<std::uint32_t>(depth), width, nhwc, filter_type, data));
          }
        }
      }
    }
  }
}

/// Whose filter has zero points that far from the middle, whose weights keep away from the ends of their range, and
/// whose constants DML owns.
Case make_case_of_zero_points(std::mt19937& random, Data data, const Limits& limits, std::uint32_t far,
                              std::uint32_t from_ends) {
  Case c = make_case(random, data, limits);
  QuantizedLinearConvolutionDesc& d = c.desc;
  const DataType type = d.filter.data_type;
  const std::uint8_t flip = type == DataType::int8 ? 0x80 : 0;
  if (!d.filter_zero_point) d.filter_zero_point = TensorDesc(type, {1, d.filter.sizes[0], 1, 1});
  test::own_constants(d);
  c.inputs[5].resize(d.filter_zero_point->total_size_in_bytes);
  for (std::byte& byte : c.inputs[5]) byte = static_cast<std::byte>(pick(random, 128 - far, 127 + far) ^ flip);
  for (std::byte& byte : c.inputs[3]) byte = static_cast<std::byte>(pick(random, from_ends, 255 - from_ends) ^ flip);
  c.text += " zero points " + std::to_string(far) + " from the middle, weights " + std::to_string(from_ends) +
            " from the ends";
  return c;
}

// Zero points that all weights take in, or not.
TEST(FastQuantizedLinearConvolution, ZeroPointsThatWeightsTakeIn) {
  const std::uint64_t seed = dmlref_test::test_seed(26);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < dmlref_test::rounds(240); ++i) {
    const std::uint32_t far = i % 4 == 3 ? 128 : pick(random, 1, 12);
    const Case c = make_case_of_zero_points(random, i % 2 == 0 ? Data::random : Data::ties, {70, 70, 20, 3, 2}, far,
                                            i % 4 == 2 ? far : 0);
    ASSERT_NO_FATAL_FAILURE(expect_equal(c, pick(random, 1, 2))) << "case " << i;
  }
}

// 1x1 layers of planes whose filters have zero points near the middle, or far from it.
TEST(FastQuantizedLinearConvolution, ZeroPointsOfPlanes) {
  const std::uint64_t seed = dmlref_test::test_seed(27);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < dmlref_test::rounds(240); ++i) {
    Case c = make_case_of_zero_points(random, i % 2 == 0 ? Data::random : Data::ties, {80, 90, 24, 1, 2},
                                      i % 8 == 7 ? 128 : pick(random, 1, 6), i % 4 == 0 ? 6 : 0);
    Dimensions in = c.desc.input.sizes, out = c.desc.output.sizes;
    in[2] = out[2] = 1;
    in[3] = out[3] = pick(random, 1, 300);
    c.desc.input = TensorDesc(c.desc.input.data_type, in);
    c.desc.output = TensorDesc(c.desc.output.data_type, out);
    c.desc.strides = c.desc.dilations = {1, 1};
    c.desc.start_padding = c.desc.end_padding = {0, 0};
    c.inputs[0].resize(c.desc.input.total_size_in_bytes);
    for (std::byte& byte : c.inputs[0]) byte = static_cast<std::byte>(pick(random, 0, 255));
    // A weight may be farther from its zero point than two signed bytes reach.
    if (i % 16 == 0) c.inputs[3][0] = std::byte{255}, c.inputs[5][0] = std::byte{0};
    ASSERT_NO_FATAL_FAILURE(expect_equal(c)) << "case " << i;
  }
}

#if DMLREF_ARCH_X86_64
/// What tiles know of a case's constants, and where they know it from.
struct Prepared {
  Prepared(const Case& c, const fast::qlc::Kernels& kernels)
      : plan(test::tiled_plan(detail::qlc_problem(c.desc), kernels)),
        persistent(plan->properties().persistent_bytes),
        temporary(plan->properties().temporary_bytes) {
    detail::Bindings owned{};
    for (std::size_t i = 0; i < 9; ++i) owned.inputs[i] = c.inputs[i].empty() ? nullptr : c.inputs[i].data();
    plan->initialize(owned, persistent.span().data());
    plan->prepare({owned.inputs.data(), nullptr, persistent.span().data(), temporary.span().data()}, run);
  }
  std::shared_ptr<const dmlref::fast::qlc::tiled::Plan> plan;
  AlignedBuffer persistent, temporary;
  dmlref::fast::qlc::tiled::Run run;
};

/// Of how many channels of `c` one multiply-add rounds the sums.
std::size_t rounded_channels(const Case& c, const fast::qlc::Kernels& kernels) {
  const Prepared prepared(c, kernels);
  const std::size_t channels = c.desc.filter.sizes[0];
  std::size_t rounded = 0;
  for (std::size_t i = 0; i < channels; ++i) {
    rounded += prepared.run.requantizer.rounds(static_cast<std::ptrdiff_t>(i)) ? 1u : 0u;
  }
  return rounded;
}

// 1x1 layers of few channels whose constants DML owns, up to the depth at which sums leave 22 bits.
void expect_rounded_sums(const fast::qlc::Kernels& kernels) {
  const std::uint64_t seed = dmlref_test::test_seed(13);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::size_t channels = 0, rounded = 0;
  const int rounds = dmlref_test::rounds(400);
  for (int i = 0; i < rounds; ++i) {
    const Data data = i % 4 == 3 ? Data::extremes : i % 4 == 2 ? Data::ties : Data::random;
    const std::uint32_t depth = i % 4 == 3 ? pick(random, 62, 130) : pick(random, 1, 130);
    const std::uint32_t width = pick(random, 1, 400);
    Case c = make_deep_case(random, data, depth, width, byte_type(random), byte_type(random));
    test::own_constants(c.desc);
    c.desc.filter.owned_by_dml = true;
    if (i % 3 == 0) {
      c.desc.input.strides = Dimensions{depth * width, 1, depth * width, depth};
      const std::uint32_t outputs = c.desc.filter.sizes[0];
      c.desc.output = TensorDesc(c.desc.output.data_type, c.desc.output.sizes,
                                 Dimensions{outputs * width, 1, outputs * width, outputs});
    }
    for (std::size_t at = 0; at < c.inputs[6].size(); at += 4) {  // the bias, which else may need more bits
      const std::int32_t bias = static_cast<std::int32_t>(pick(random, 0, 2000)) - 1000;
      std::memcpy(c.inputs[6].data() + at, &bias, sizeof bias);
    }
    if (i % 8 == 0) {  // a channel of which nothing comes
      const float none = 0;
      std::memcpy(c.inputs[4].data(), &none, sizeof none);
    }
    const std::size_t here = rounded_channels(c, kernels);
    channels += c.desc.filter.sizes[0];
    rounded += here;
    c.text += " rounded at once: " + std::to_string(here);
    ASSERT_NO_FATAL_FAILURE(expect_equal_with({&kernels}, c)) << "case " << i;
  }
  EXPECT_TRUE(dmlref_test::often(static_cast<int>(rounded), static_cast<int>(channels / 20))) << rounded;
  EXPECT_LT(rounded, channels);
}

TEST(FastQuantizedLinearConvolution, RoundedSumsOfAvxVnni) {
  if (!supported(Isa::avxvnni)) GTEST_SKIP() << "this CPU does not run vpdpbusd of 256 bits";
  expect_rounded_sums(fast::qlc::avxvnni::kernels);
}
TEST(FastQuantizedLinearConvolution, RoundedSumsOfAvx512) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "this CPU does not run vpdpbusd";
  expect_rounded_sums(fast::qlc::avx512vnni::kernels);
}

// Pixels whose sums are the nearest ones to a channel's ties.
void expect_sums_next_to_ties(const fast::qlc::Kernels& kernels) {
  constexpr std::uint32_t depth = 16, channels = 192, most = 126 * 255;
  const std::uint64_t seed = dmlref_test::test_seed(14);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 4; ++i) {
    Case c = make_deep_case(random, Data::random, depth, channels, DataType::uint8, DataType::int8);
    c.desc.input.strides = Dimensions{depth * channels, 1, depth * channels, depth};
    c.desc.filter = TensorDesc(DataType::int8, {channels, depth, 1, 1});
    c.desc.output = TensorDesc(DataType::uint8, {1, channels, 1, channels},
                               Dimensions{channels * channels, 1, channels * channels, channels});
    c.desc.filter_scale = TensorDesc(DataType::float32, {1, channels, 1, 1});
    c.desc.input_zero_point.reset();
    c.desc.filter_zero_point.reset();
    c.desc.bias.reset();
    c.desc.output_zero_point.reset();
    for (const std::size_t absent : {2u, 5u, 6u, 8u}) c.inputs[absent].clear();
    test::own_constants(c.desc);
    c.desc.filter.owned_by_dml = true;
    // All channels: one weight of 1, and of 126 the others, so that pixels can have any sum.
    c.inputs[3].assign(c.desc.filter.total_size_in_bytes, std::byte{126});
    for (std::size_t at = 0; at < c.inputs[3].size(); at += depth) c.inputs[3][at] = std::byte{1};
    c.inputs[4].resize(c.desc.filter_scale.total_size_in_bytes);
    const float input_scale = 0.7f, output_scale = 0.71f;
    std::memcpy(c.inputs[1].data(), &input_scale, sizeof input_scale);
    std::memcpy(c.inputs[7].data(), &output_scale, sizeof output_scale);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      const float scale = 1.0f / static_cast<float>(pick(random, 1200, 1900)) + 1e-9f * static_cast<float>(channel);
      std::memcpy(c.inputs[4].data() + 4 * channel, &scale, sizeof scale);
      const double ratio = double{input_scale} * double{scale} / double{output_scale};
      const auto wanted = static_cast<std::int64_t>((pick(random, 0, 254) + 0.5) / ratio + 0.5);
      if (wanted > (depth - 1) * most) continue;
      std::byte* const pixel = c.inputs[0].data() + channel * depth;
      std::uint32_t large = static_cast<std::uint32_t>(wanted) / 126;
      pixel[0] = static_cast<std::byte>(wanted % 126);
      for (std::uint32_t k = 1; k < depth; ++k) {
        const std::uint32_t value = std::min(large, 255u);
        pixel[k] = static_cast<std::byte>(value);
        large -= value;
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal_with({&kernels}, c));
  }
}

TEST(FastQuantizedLinearConvolution, SumsNextToTies) {
  expect_sums_next_to_ties(fast::qlc::scalar::kernels);
  if (supported(Isa::avx2)) expect_sums_next_to_ties(fast::qlc::avx2::kernels);
  if (supported(Isa::avxvnni)) expect_sums_next_to_ties(fast::qlc::avxvnni::kernels);
  if (supported(Isa::avx512vnni)) expect_sums_next_to_ties(fast::qlc::avx512vnni::kernels);
}

// Sums that reach beyond what floats hold, of channels whose scale makes nothing of them.
TEST(FastQuantizedLinearConvolution, LargeSumsOfWhichNothingComes) {
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "this CPU does not run vpdpbusd";
  std::mt19937 random(15);
  constexpr std::uint32_t depth = 16, width = 40;
  Case c = make_deep_case(random, Data::random, depth, width, DataType::uint8, DataType::int8);
  const std::uint32_t channels = c.desc.filter.sizes[0];
  c.desc.input.strides = Dimensions{depth * width, 1, depth * width, depth};
  c.desc.output = TensorDesc(c.desc.output.data_type, c.desc.output.sizes,
                             Dimensions{channels * width, 1, channels * width, channels});
  c.desc.bias = TensorDesc(DataType::int32, {1, channels, 1, 1});
  test::own_constants(c.desc);
  c.desc.filter.owned_by_dml = true;
  std::fill(c.inputs[4].begin(), c.inputs[4].end(), std::byte{0});
  c.inputs[6].resize(c.desc.bias->total_size_in_bytes);
  for (std::uint32_t i = 0; i < channels; ++i) {
    const std::int32_t bias = 0x34500000 + static_cast<std::int32_t>(i << 18);
    std::memcpy(c.inputs[6].data() + std::size_t{4} * i, &bias, sizeof bias);
  }
  expect_equal_with({&fast::qlc::avx512vnni::kernels}, c);
}

TEST(FastQuantizedLinearConvolution, RoundedSumsOfAvx2) {
  if (!supported(Isa::avx2)) GTEST_SKIP() << "this CPU has no AVX2";
  expect_rounded_sums(fast::qlc::avx2::kernels);
}
#endif

TEST(FastQuantizedLinearConvolution, HalvesOfSumsAndFactors) {
  const auto half = [](std::int32_t halves, int upper) {
    return std::int32_t{static_cast<std::int16_t>(halves >> 16 * upper)};
  };
  for (std::int32_t factor = -128; factor <= 128; ++factor) {
    const std::int32_t f = fast::qlc::split16_factor(factor);
    for (std::int32_t sum = 0; sum <= 255 * fast::qlc::deepest_split16_sum; sum += sum < 70000 ? 1 : 997) {
      const std::int32_t s = sum <= 32767 && sum % 2 != 0 ? sum : fast::qlc::split16(sum);
      ASSERT_EQ(half(s, 0) * half(f, 0) + half(s, 1) * half(f, 1), sum * factor) << sum << " times " << factor;
    }
    const std::int32_t s = fast::qlc::split16(255 * fast::qlc::deepest_split16_sum);
    ASSERT_EQ(half(s, 0) * half(f, 0) + half(s, 1) * half(f, 1), 255 * fast::qlc::deepest_split16_sum * factor);
  }
}

// Bytes are summed in place, too, up to where memory ends.
TEST(FastQuantizedLinearConvolution, SumsOfRuns) {
  Report chosen;
  const fast::qlc::Kernels& kernels =
      fast::qlc::kernels_of(detail::choose_isa(std::nullopt, chosen, "DMLREF_ISA").isa).tiled;
  ASSERT_TRUE(chosen.ok());
  if (kernels.signed_activations) GTEST_SKIP() << "sums of signed bytes";
  const std::size_t element = 4 / static_cast<std::size_t>(kernels.group), slack = element == 1 ? 0 : 64;
  std::mt19937 random(23);
  std::vector<std::size_t> counts{95, 96, 97, 127, 128, 129, 144, 320, 1023, 1024, 1025, 2100};
  for (std::size_t count = 1; count <= 66; ++count) counts.push_back(count);
  for (const std::size_t count : counts) {
    for (const std::size_t gap : {0u, 1u, 29u, 64u}) {
      for (const std::size_t runs : {1u, 15u, 16u, 17u, 31u, 33u, 64u, 70u}) {
        for (const bool full : {false, true}) {
          const std::size_t step = count + gap;
          const std::size_t size = (runs - 1) * step + count;
          dmlref_test::GuardedBuffer memory(size * element + slack, dmlref_test::GuardedBuffer::Side::end);
          auto* const values = reinterpret_cast<std::uint8_t*>(memory.data());
          std::vector<std::int32_t> expected(runs, 0), sums(runs + 1, -1);
          for (std::size_t i = 0; i < size; ++i) {
            const auto value = static_cast<std::uint8_t>(full ? 255 : pick(random, 0, 255));
            values[i * element] = value;
            if (element == 2) values[2 * i + 1] = 0;
            if (i % step < count) expected[i / step] += value;
          }
          expected.push_back(-1);
          kernels.sum_runs(values, static_cast<std::ptrdiff_t>(count), static_cast<std::ptrdiff_t>(step * element),
                           static_cast<std::ptrdiff_t>(runs), sums.data());
          ASSERT_EQ(sums, expected) << runs << " runs of " << count << ", " << gap << " apart";
#if DMLREF_ARCH_X86_64
          if (&kernels != &fast::qlc::avx512vnni::kernels) continue;
          for (std::size_t i = 0; i < size; ++i) values[i] ^= 0x80;
          sums.assign(runs + 1, -1);
          fast::qlc::avx512vnni::sum_flipped_runs(values, static_cast<std::ptrdiff_t>(count),
                                                  static_cast<std::ptrdiff_t>(step), static_cast<std::ptrdiff_t>(runs),
                                                  sums.data());
          ASSERT_EQ(sums, expected) << "flipped, " << runs << " runs of " << count << ", " << gap << " apart";
#endif
        }
      }
    }
  }
}

TEST(FastQuantizedLinearConvolution, SumsOfWindows) {
  Report chosen;
  const fast::qlc::Kernels& kernels =
      fast::qlc::kernels_of(detail::choose_isa(std::nullopt, chosen, "DMLREF_ISA").isa).tiled;
  ASSERT_TRUE(chosen.ok());
  std::mt19937 random(24);
  for (const std::size_t stride : {1u, 2u, 3u}) {
    for (const std::size_t taps : {1u, 2u, 3u, 7u}) {
      for (const std::size_t tap_step : {1u, 2u, 48u}) {
        for (std::size_t count = 1; count <= 130; count += count < 70 ? 1 : 15) {
          std::vector<std::int32_t> from((count - 1) * stride + (taps - 1) * tap_step + 1 + 32);
          for (std::int32_t& value : from) value = static_cast<std::int32_t>(pick(random, 0, 1u << 24));
          std::vector<std::int32_t> expected(count, 0), sums((count + 15) / 16 * 16);
          for (std::size_t i = 0; i < count * taps; ++i) {
            expected[i / taps] += from[i / taps * stride + i % taps * tap_step];
          }
          kernels.sum_windows(from.data(), static_cast<std::ptrdiff_t>(taps), static_cast<std::ptrdiff_t>(tap_step),
                              static_cast<std::ptrdiff_t>(stride), static_cast<std::ptrdiff_t>(count), sums.data());
          sums.resize(count);
          ASSERT_EQ(sums, expected) << count << " windows of " << taps << ", " << tap_step << " and " << stride;
        }
      }
    }
  }
}

}  // namespace
