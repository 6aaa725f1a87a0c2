// amx_test.cpp: the convolution in AMX's tiles against the reference: what it reads, what
// it leaves to others, sums that 32 bits do not hold, and packed filters byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "dmlref/run/run.hpp"
#include "support/guarded_buffer.hpp"
#include "support/quantized_linear_convolution_plan.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

constexpr FeatureLevel latest = feature_level(0x6400);

/// A QLC desc that tiles serve, if there are any. (The CPU's own system cannot be made to refuse them: not used there.)
[[maybe_unused]] QuantizedLinearConvolutionDesc desc_for_tiles() {
  Random random(dmlref_test::test_seed());
  QlcShape shape;
  shape.in_channels = shape.out_channels = 64;
  shape.in = {8, 8};
  shape.kernel = {3, 3};
  shape.start = shape.end = {1, 1};
  return make_qlc_case(random, shape, QlcData::random, QlcLayout::packed).desc;
}

/// What the process may use of the CPU's extended state; 0 where the system does not say.
unsigned long permissions() {
  unsigned long mask = 0;
#if defined(__linux__) && defined(__x86_64__)
  constexpr int get_permissions = 0x1022;  // ARCH_GET_XCOMP_PERM
  if (syscall(SYS_arch_prctl, get_permissions, &mask) != 0) return 0;
#endif
  return mask;
}

/// Without an instruction set that the environment names.
class TilePermission : public testing::Test {
 protected:
  void SetUp() override { unsetenv("DMLREF_ISA"); }
  void TearDown() override { unsetenv("DMLREF_ISA"); }
};

TEST_F(TilePermission, IsNotAskedForByLooking) {
  const unsigned long before = permissions();
#if DMLREF_TEST_EMULATED
  const int requests = detail::emulated_system.requests;
#endif
  static_cast<void>(best_isa());
  for (const IsaName& row : isa_table) static_cast<void>(supported(row.isa));
  SliceDesc slice;
  slice.input = slice.output = TensorDesc(DataType::uint8, {1, 1, 1, 4});
  slice.offsets = {0, 0, 0, 0};
  slice.sizes = {1, 1, 1, 4};
  slice.strides = {1, 1, 1, 1};
  EXPECT_TRUE(compile(slice, latest));
  EXPECT_EQ(permissions(), before);
#if DMLREF_TEST_EMULATED
  EXPECT_EQ(detail::emulated_system.requests, requests);
  EXPECT_EQ(compile(desc_for_tiles(), latest).value().strategy_name(), "amx");
  EXPECT_EQ(detail::emulated_system.requests, requests + 1);
#endif
}

#if DMLREF_TEST_EMULATED
TEST_F(TilePermission, RefusedLeavesTheNextLowerInstructionSet) {
  struct Refusal {
    Refusal() { detail::emulated_system.permits_tiles = false; }
    ~Refusal() { detail::emulated_system.permits_tiles = true; }
  } refusal;
  const QuantizedLinearConvolutionDesc desc = desc_for_tiles();
  const CompileResult best = compile(desc, latest);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best.value().strategy_name().starts_with("tiled"));
  const auto field = [](const CompileResult& compiled) {
    const auto& violations = compiled.report().violations();
    return violations.size() == 1 && violations[0].rule == RuleId::isa_unsupported ? violations[0].field : "none";
  };
  CompileOptions asked;
  asked.isa = Isa::amx_int8;
  EXPECT_EQ(field(compile(desc, latest, asked)), "CompileOptions.isa");
  setenv("DMLREF_ISA", "amx_int8", 1);
  EXPECT_EQ(field(compile(desc, latest)), "DMLREF_ISA");
  asked.isa = Isa::avx512vnni;
  EXPECT_TRUE(compile(desc, latest, asked));
}
#endif

class AmxConvolution : public testing::Test {
 protected:
  void SetUp() override {
    if (!supported(Isa::amx_int8)) GTEST_SKIP() << "this CPU or system has no tiles of bytes";
    if (!detail::request_tiles()) GTEST_SKIP() << "this system refuses them";
  }
};

#if DMLREF_HAS_AMX_INT8
QlcShape shape_of(std::uint32_t in_channels, std::uint32_t out_channels, std::uint32_t size, std::uint32_t kernel) {
  QlcShape s;
  s.in_channels = in_channels;
  s.out_channels = out_channels;
  s.in = {size, size};
  s.kernel = {kernel, kernel};
  s.start = s.end = {kernel / 2, kernel / 2};
  return s;
}

/// Whether there was a plan. Inputs and outputs end, or begin, at a page that must not be touched.
bool expect_equal_to_reference(QlcCase test, Random& random, std::size_t threads, const std::string& what) {
  test.desc.filter.owned_by_dml = chance(random, 70);
  if (test.desc.filter.owned_by_dml && chance(random, 50)) own_constants(test.desc);
  const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
  const auto plan = amx_plan(problem);
  if (plan == nullptr) return false;
  const bool owned = test.desc.filter.owned_by_dml;
  dmlref_test::ThreadExecutor several(threads);
  compare(test, run_plan(*plan, test, random, threads == 1 ? sequential() : several, owned), what);
  return true;
}

TEST_F(AmxConvolution, EqualsTheReferenceWithinItsMemory) {
  Random random(dmlref_test::test_seed());
  constexpr QlcData all[] = {QlcData::random,   QlcData::ties,        QlcData::random,    QlcData::huge_bias,
                             QlcData::extremes, QlcData::all_highest, QlcData::all_lowest};
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::packed,
                                   QlcLayout::channels_last, QlcLayout::any};
  int taken = 0;
  const int rounds = dmlref_test::rounds(400);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    QlcShape shape;
    do {
      const bool deep = chance(random, 20);
      shape = shape_of(pick(random, 1, deep ? 300 : 70), pick(random, 1, deep ? 200 : 40), 1, 1);
      shape.batch = pick(random, 1, 3);
      shape.groups = chance(random, 20) ? pick(random, 2, 3) : 1;
      for (std::size_t d = 0; d < 2; ++d) {
        shape.in[d] = pick(random, 1, deep ? 9 : d == 1 && chance(random, 20) ? 150 : 30);
        shape.kernel[d] = chance(random, 30) ? 1 : pick(random, 1, 6);
        shape.stride[d] = chance(random, 60) ? 1 : pick(random, 1, 4);
        shape.dilation[d] = chance(random, 75) ? 1 : pick(random, 1, 3);
        shape.start[d] = pick(random, 0, 3);
        shape.end[d] = chance(random, 50) ? shape.start[d] : pick(random, 0, 4);
      }
    } while (!shape.fits());
    const QlcCase test = make_qlc_case(random, shape, all[i % 7], layouts[i % 5]);
    const std::size_t threads = i % 7 == 0 ? pick(random, 2, 5) : 1;
    if (expect_equal_to_reference(test, random, threads, "case " + std::to_string(i) + ": " + describe(shape))) ++taken;
  }
  EXPECT_TRUE(dmlref_test::often(2 * taken, rounds)) << taken << " for the tiles";
}

// Pixels that are read where they lie, the last of them too close to the end of the input for a whole tile.
TEST_F(AmxConvolution, ReadsPixelsInPlace) {
  Random random(dmlref_test::test_seed());
  for (const std::uint32_t channels : {3u, 16u, 20u, 64u, 96u, 100u, 130u, 512u}) {
    for (const std::uint32_t size : {1u, 3u, 4u, 7u, 16u, 33u}) {
      QlcCase test = make_qlc_case(random, shape_of(channels, 40, size, 1), QlcData::random, QlcLayout::channels_last);
      expect_equal_to_reference(test, random, 1, std::to_string(channels) + " channels, size " + std::to_string(size));
    }
  }
}

// Images of so many pixels are cut into smaller blocks for several tasks.
TEST_F(AmxConvolution, SmallerBlocksForSeveralTasks) {
  Random random(dmlref_test::test_seed());
  for (const QlcLayout layout : {QlcLayout::packed, QlcLayout::channels_last}) {
    for (const std::uint32_t kernel : {1u, 3u, 4u}) {
      for (const std::uint32_t size : {30u, 47u, 64u}) {
        QlcShape shape = shape_of(16, 20, size, kernel);
        shape.stride[0] = shape.stride[1] = pick(random, 1, 2);
        const QlcCase test = make_qlc_case(random, shape, QlcData::random, layout);
        const auto made = amx_plan(detail::qlc_problem(test.desc));
        ASSERT_NE(made, nullptr);
        const fast::qlc::amx::Plan& plan = *made;
        EXPECT_LE(plan.grid_for(8).rows * plan.grid_for(8).columns, 1024) << describe(shape);
        expect_equal_to_reference(test, random, 8, describe(shape));
      }
    }
  }
}

// Planes that are quickly staged stay whole if all tasks have output channels of their own.
TEST_F(AmxConvolution, WholePlanesForSeveralTasks) {
  Random random(dmlref_test::test_seed());
  const QlcCase test = make_qlc_case(random, shape_of(40, 240, 28, 1), QlcData::random, QlcLayout::packed);
  const auto plan = amx_plan(detail::qlc_problem(test.desc));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->grid_for(2).blocks(plan->g), 1);
  EXPECT_GT(plan->grid_for(8).blocks(plan->g), 1);
  for (const std::size_t tasks : {2u, 8u}) expect_equal_to_reference(test, random, tasks, "28 x 28");
}

// The products of 65536 values are within 32 bits, their sum with all else is not; deeper filters are not for tiles.
TEST_F(AmxConvolution, DepthBeyondThirtyTwoBits) {
  Random random(dmlref_test::test_seed());
  for (const QlcData data : {QlcData::all_highest, QlcData::all_lowest, QlcData::extremes}) {
    for (const QlcLayout layout : {QlcLayout::packed, QlcLayout::channels_last}) {
      for (int i = 0; i < 4; ++i) {  // types and zero points are random
        const QlcCase test = make_qlc_case(random, shape_of(65536, 3, 2, 1), data, layout);
        EXPECT_TRUE(expect_equal_to_reference(test, random, 1, "65536 channels"));
      }
    }
  }
  const QlcCase deeper = make_qlc_case(random, shape_of(65537, 3, 2, 1), QlcData::random, QlcLayout::packed);
  EXPECT_EQ(amx_plan(detail::qlc_problem(deeper.desc)), nullptr);
}

/// What a convolution whose constants DML owns knows of them, and where from.
struct Prepared {
  explicit Prepared(const QlcCase& test)
      : plan(amx_plan(detail::qlc_problem(test.desc))),
        persistent(plan->properties().persistent_bytes),
        temporary(plan->properties().temporary_bytes) {
    detail::Bindings owned{};
    for (std::size_t i = 0; i < 9; ++i) owned.inputs[i] = test.inputs[i].empty() ? nullptr : test.inputs[i].data();
    plan->initialize(owned, persistent.span().data());
    plan->prepare({owned.inputs.data(), nullptr, persistent.span().data(), temporary.span().data()}, run);
  }
  std::shared_ptr<const fast::qlc::amx::Plan> plan;
  AlignedBuffer persistent, temporary;
  fast::qlc::amx::Run run;
};

/// A 1x1 layer whose scales are those of channels that one multiply-add can round.
QlcCase rounded_case(Random& random, std::uint32_t depth, std::uint32_t channels, std::uint32_t size, QlcData data,
                     QlcLayout layout) {
  QlcCase test = make_qlc_case(random, shape_of(depth, channels, size, 1), data, layout);
  test.desc.filter.owned_by_dml = true;
  test.desc.filter_scale = TensorDesc(DataType::float32, {1, channels, 1, 1});
  own_constants(test.desc);
  test.inputs[1] = bytes_of(test.desc.input_scale, 0.7f);
  test.inputs[4] = bytes_from<float>(test.desc.filter_scale,
                                     [&] { return 1.0f / static_cast<float>(pick(random, 300, 1900)) + 1e-9f; });
  test.inputs[7] = bytes_of(test.desc.output_scale, 0.71f);
  return test;
}

// Channels, or panels of them, that one multiply-add rounds beside others.
TEST_F(AmxConvolution, MultiplyAddRounding) {
  Random random(dmlref_test::test_seed());
  int rounded = 0, all = 0;
  const int rounds = dmlref_test::rounds(60);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    const auto layout = i % 2 == 0 ? QlcLayout::packed : QlcLayout::channels_last;
    const std::uint32_t channels = pick(random, 1, 200);
    QlcCase test = rounded_case(random, pick(random, 20, 120), channels, pick(random, 3, 20),
                                i % 3 == 0 ? QlcData::ties : QlcData::random, layout);
    if (test.desc.bias) {  // which else may reach too far
      test.inputs[6] = bytes_from<std::int32_t>(
          *test.desc.bias, [&] { return static_cast<std::int32_t>(pick(random, 0, 2000)) - 1000; });
    }
    if (i % 8 == 0) std::memset(test.inputs[4].data(), 0, sizeof(float));  // a channel of which nothing comes
    if (amx_plan(detail::qlc_problem(test.desc)) == nullptr) continue;     // one channel of several planes
    const Prepared prepared(test);
    for (std::uint32_t c = 0; c < channels; ++c) rounded += prepared.run.requantizer.rounds(Index{c}) ? 1 : 0;
    all += static_cast<int>(channels);
    const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
    const auto plan = amx_plan(problem);
    compare(test, run_plan(*plan, test, random, sequential(), true), "case " + std::to_string(i));
  }
  EXPECT_TRUE(dmlref_test::often(rounded, all / 8)) << rounded;
  EXPECT_LT(rounded, all);
}

// Pixels whose sums are the nearest ones to a channel's ties.
TEST_F(AmxConvolution, SumsNextToTies) {
  constexpr std::uint32_t depth = 64, size = 14, channels = size * size;
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < 8; ++i) {
    QlcCase test = rounded_case(random, depth, channels, size, QlcData::random, QlcLayout::channels_last);
    test.desc.input = TensorDesc(DataType::uint8, test.desc.input.sizes, test.desc.input.strides);
    test.desc.filter = TensorDesc(DataType::int8, test.desc.filter.sizes);
    test.desc.filter.owned_by_dml = true;
    test.desc.input_zero_point.reset();
    test.desc.filter_zero_point.reset();
    test.desc.bias.reset();
    test.desc.output_zero_point.reset();
    for (const std::size_t absent : {2u, 5u, 6u, 8u}) test.inputs[absent].clear();
    test.inputs[4] = bytes_from<float>(test.desc.filter_scale,
                                       [&] { return 1.0f / static_cast<float>(pick(random, 1100, 1700)) + 1e-9f; });
    // All channels: one weight of 1, and of 126 the others, so that pixels can have any sum.
    test.inputs[3].assign(test.desc.filter.total_size_in_bytes, std::byte{126});
    for (std::size_t at = 0; at < test.inputs[3].size(); at += depth) test.inputs[3][at] = std::byte{1};
    for (std::uint32_t c = 0; c < channels; ++c) {
      float scale;
      std::memcpy(&scale, test.inputs[4].data() + 4 * c, sizeof scale);
      const auto wanted = static_cast<std::int32_t>((pick(random, 0, 254) + 0.5) * 0.71 / (0.7 * double{scale}) + 0.5);
      if (wanted > 126 * 255 * 15) continue;
      std::byte* const pixel = test.inputs[0].data() + c * depth;
      pixel[0] = static_cast<std::byte>(wanted % 126);
      std::int32_t large = wanted / 126;
      for (std::uint32_t k = 1; k < depth; ++k) {
        const std::int32_t value = std::min(large, 255);
        pixel[k] = static_cast<std::byte>(value);
        large -= value;
      }
    }
    const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
    const auto plan = amx_plan(problem);
    compare(test, run_plan(*plan, test, random, sequential(), true), "case " + std::to_string(i));
  }
}

// Layers that dot products take in less time.
TEST_F(AmxConvolution, LeavesShallowLayersToDotProducts) {
  Random random(dmlref_test::test_seed());
  const auto worthwhile = [&](std::uint32_t depth, std::uint32_t channels, bool owned) {
    QlcCase test = make_qlc_case(random, shape_of(depth, channels, 8, 1), QlcData::random, QlcLayout::packed);
    test.desc.filter.owned_by_dml = true;
    if (owned) own_constants(test.desc);
    return amx_is_worthwhile(detail::qlc_problem(test.desc));
  };
  for (const std::uint32_t channels : {16u, 32u, 33u, 96u}) {
    EXPECT_FALSE(worthwhile(24, channels, true));
    EXPECT_EQ(worthwhile(32, channels, true), channels > 32);
    EXPECT_TRUE(worthwhile(33, channels, true));
    EXPECT_TRUE(worthwhile(16, channels, false));
  }
}

using fast::qlc::amx::Plan;

/// Where in a channel's filter a byte of a K-block is; -1: nowhere, it is padding.
Index place_of(const Plan& plan, Index block, Index byte) {
  const auto& k_block = plan.k_blocks[static_cast<std::size_t>(block)];
  const auto e = std::visit([&](const auto& l) { return locate(plan.g, l, k_block, byte); }, plan.layout);
  return e ? e->channel * plan.g.filter.c + e->y * plan.g.filter.y + e->x * plan.g.filter.x : -1;
}

/// A tile's bytes and its channels' sums, one by one.
void expect_packed(const Plan& plan, const std::byte* filter, const std::vector<std::byte>& packed,
                   const std::string& what) {
  const fast::qlc::Geometry& g = plan.g;
  const Index blocks = plan.filter_blocks();
  int wrong = 0;
  for (Index channel = 0; channel < g.groups * plan.packed_channels(); ++channel) {
    const Index group = channel / plan.packed_channels(), in_group = channel % plan.packed_channels();
    const Index block = group * blocks + in_group / 16, c = in_group % 16;
    std::int32_t sum = 0;
    for (Index k = 0; k < 64 * plan.k_block_count(); ++k) {
      const Index place = in_group < g.out_channels ? place_of(plan, k / 64, k % 64) : -1;
      int weight = 0;
      if (place >= 0) {
        const auto byte = static_cast<int>(filter[(group * g.out_channels + in_group) * g.filter.n + place]);
        weight = !g.filter_signed ? byte - 128 : byte < 128 ? byte : byte - 256;
      }
      const Index tile = 1024 * (block * plan.k_block_count() + k / 64);
      const Index at = plan.planar() ? 64 * c + k % 64 : k % 64 / 4 * 64 + 4 * c + k % 4;
      if (static_cast<int>(static_cast<std::int8_t>(packed[static_cast<std::size_t>(tile + at)])) != weight) ++wrong;
      sum += weight;
    }
    std::int32_t got;
    std::memcpy(&got, packed.data() + plan.filter_sums_at() + 4 * channel, sizeof got);
    EXPECT_EQ(got, sum) << what << ", channel " << channel;
  }
  EXPECT_EQ(wrong, 0) << what;
}

/// A shape with a filter of any strides: packed, permuted, with gaps, and with dimensions that repeat.
QlcCase any_filter(Random& random, std::string& what) {
  QlcShape shape = shape_of(pick(random, 1, chance(random, 30) ? 300 : 40), pick(random, 1, 40), pick(random, 7, 9), 1);
  shape.groups = chance(random, 20) ? pick(random, 2, 3) : 1;
  for (std::size_t d = 0; d < 2; ++d) {
    shape.kernel[d] = chance(random, 40) ? 1 : pick(random, 1, 7);
    shape.stride[d] = pick(random, 1, 2);
    shape.dilation[d] = shape.kernel[d] < 4 ? pick(random, 1, 2) : 1;
  }
  QlcCase test =
      make_qlc_case(random, shape, QlcData::random, chance(random, 50) ? QlcLayout::packed : QlcLayout::channels_last);
  const TensorDesc filter = test.desc.filter;
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any, QlcLayout::any};
  Dimensions strides{filter.sizes[1] * filter.sizes[2] * filter.sizes[3], filter.sizes[2] * filter.sizes[3],
                     filter.sizes[3], 1};
  if (const auto other = random_strides(random, filter.sizes, layouts[pick(random, 0, 3)])) strides = *other;
  for (std::uint32_t& stride : strides) {
    if (chance(random, 5)) stride = 0;
  }
  test.desc.filter = TensorDesc(filter.data_type, filter.sizes, strides);
  what = describe(shape) + ", filter's strides";
  for (const std::uint32_t stride : strides) what += ' ' + std::to_string(stride);
  return test;
}

// The filter ends, or begins, at a page that must not be touched.
TEST_F(AmxConvolution, PacksFiltersOfAnyStrides) {
  using dmlref_test::GuardedBuffer;
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(300) && !HasFailure(); ++i) {
    std::string what;
    const QlcCase test = any_filter(random, what);
    const auto made = amx_plan(detail::qlc_problem(test.desc));
    if (made == nullptr) continue;
    const fast::qlc::amx::Plan& plan = *made;
    std::size_t bytes = 1;
    for (std::size_t d = 0; d < 4; ++d) {
      bytes += (test.desc.filter.sizes[d] - 1) * std::size_t{(*test.desc.filter.strides)[d]};
    }
    const GuardedBuffer filter(bytes, chance(random, 50) ? GuardedBuffer::Side::end : GuardedBuffer::Side::begin);
    for (std::byte& byte : filter.span()) byte = static_cast<std::byte>(random());
    std::vector<std::byte> packed(static_cast<std::size_t>(plan.filter_bytes()), std::byte{0xA5});
    const Index blocks = plan.g.groups * plan.filter_blocks(), middle = pick(random, 0, 2) * blocks / 2;
    pack_filter(plan, filter.data(), packed.data(), middle, blocks);
    pack_filter(plan, filter.data(), packed.data(), 0, middle);
    expect_packed(plan, filter.data(), packed, what);
  }
}

// Strides beyond what 32 bits hold; there is no such memory here, but places can be compared.
TEST_F(AmxConvolution, GathersFromFarApart) {
  for (const Dimensions& strides : {Dimensions{1, 4000000000u, 7, 2}, Dimensions{3, 1, 4294967295u, 4294967291u}}) {
    Random random(dmlref_test::test_seed());
    QlcCase test = make_qlc_case(random, shape_of(70, 20, 9, 3), QlcData::random, QlcLayout::packed);
    test.desc.filter = TensorDesc(test.desc.filter.data_type, test.desc.filter.sizes, strides);
    const auto made = amx_plan(detail::qlc_problem(test.desc));
    ASSERT_NE(made, nullptr);
    const fast::qlc::amx::Plan& plan = *made;
    for (const fast::qlc::amx::GatheredRow& row : plan.gather.rows) {
      std::vector<Index> places(64, -1);
      for (Index i = row.first; i < row.last; ++i) {
        const fast::qlc::amx::Window& window = plan.gather.windows[static_cast<std::size_t>(i)];
        for (std::size_t byte = 0; byte < 64; ++byte) {
          if ((window.taken >> byte & 1) == 0) continue;
          EXPECT_EQ(places[byte], -1);
          EXPECT_LT(window.from[byte], std::popcount(row.there));
          places[byte] = row.at + window.at + window.from[byte];
        }
      }
      for (Index byte = 0; byte < 64; ++byte) {
        EXPECT_EQ(places[static_cast<std::size_t>(byte)], place_of(plan, row.block, byte));
      }
    }
  }
}

// What keeps pixels apart is padding, and not multiplied where it has K-blocks of its own.
TEST_F(AmxConvolution, NoChunkOfFilling) {
  Random random(dmlref_test::test_seed());
  for (const std::uint32_t channels : {512u, 1024u}) {
    const QlcCase test = make_qlc_case(random, shape_of(channels, 20, 5, 3), QlcData::random, QlcLayout::channels_last);
    const auto made = amx_plan(detail::qlc_problem(test.desc));
    ASSERT_NE(made, nullptr);
    const fast::qlc::amx::Plan& plan = *made;
    EXPECT_EQ(plan.k_block_count(), Index{channels} * 9 / 64);
    for (const fast::qlc::amx::GatheredRow& row : plan.gather.rows) EXPECT_LT(row.first, row.last);
    expect_equal_to_reference(test, random, 1, std::to_string(channels) + " channels");
  }
}

TEST_F(AmxConvolution, TakesFiltersOfAnyStrides) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(100) && !HasFailure(); ++i) {
    std::string what;
    QlcCase test = any_filter(random, what);
    test.inputs[3] = bytes_from<std::uint8_t>(test.desc.filter, random);
    expect_equal_to_reference(test, random, i % 7 == 0 ? 3 : 1, what);
  }
}

// Fewer than eight pixels are for tiles only where the filter takes longer to be packed otherwise.
TEST_F(AmxConvolution, FewPixels) {
  Random random(dmlref_test::test_seed());
  for (const std::uint32_t size : {1u, 2u, 3u}) {
    for (const std::uint32_t kernel : {1u, 3u}) {
      for (const bool owned : {false, true}) {
        QlcCase test = make_qlc_case(random, shape_of(64, 64, size, kernel), QlcData::random, QlcLayout::channels_last);
        test.desc.filter = TensorDesc(test.desc.filter.data_type, test.desc.filter.sizes);
        test.desc.filter.owned_by_dml = owned;
        EXPECT_EQ(amx_is_worthwhile(detail::qlc_problem(test.desc)), size == 3 || (kernel == 3 && !owned));
      }
    }
  }
}
#endif

}  // namespace
