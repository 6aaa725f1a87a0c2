// layouts_test.cpp: every strategy on layouts that no descriptor can express: negative
// strides, offsets, memory before and after the elements. Against the reference on the same layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "dmlref/operators/quantized_linear_convolution/call.hpp"
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#include "support/quantized_linear_convolution_run.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;
using fast::qlc::Operand;
using fast::qlc::Problem;
namespace direct = fast::qlc::direct;

/// The signs of strides, and the order of dimensions.
enum class Arrangement { planar, channels_last, any };

/// Other strides for the same shape. Planar and channels last keep an innermost step of 1, mostly.
void lay_out(Random& random, Arrangement arrangement, bool repeats, Index element_bytes, Operand& tensor) {
  const std::size_t rank = tensor.layout.rank();
  std::vector<std::size_t> order(rank);  // from the innermost out
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  if (arrangement == Arrangement::channels_last && rank > 2)
    std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  if (arrangement == Arrangement::any) std::shuffle(order.begin(), order.end(), random);
  const bool gaps = chance(random, 40), turned = chance(random, 70);
  Index step = arrangement == Arrangement::any && gaps ? pick(random, 1, 2) : 1, low = 0, high = 0;
  for (const std::size_t d : order) {
    const Index extent = tensor.layout.shape[d];
    const bool innermost = d == order.front() && arrangement != Arrangement::any;
    const bool back = turned && chance(random, innermost ? 10 : 50);
    tensor.layout.strides[d] = repeats && chance(random, 5) ? 0 : back ? -step : step;
    const Index reach = (extent - 1) * tensor.layout.strides[d];
    (reach < 0 ? low : high) += reach;
    step = step * extent + (gaps ? pick(random, 0, 3) : 0);
  }
  const Index before = chance(random, 30) ? pick(random, 0, 40) : 0,
              after = chance(random, 30) ? pick(random, 0, 80) : 0;
  tensor.layout.offset = before - low;
  tensor.readable_bytes = static_cast<std::uint64_t>((before - low + high + 1 + after) * element_bytes);
}

/// As many elements as can be read, each one of those in `from`.
std::vector<std::byte> elements(Random& random, const std::vector<std::byte>& from, std::uint64_t bytes,
                                std::size_t element_bytes) {
  std::vector<std::byte> to(bytes);
  for (std::size_t at = 0; at < to.size(); at += element_bytes) {
    std::memcpy(&to[at], &from[random() % (from.size() / element_bytes) * element_bytes], element_bytes);
  }
  return to;
}

/// A problem with its data. Ignores `test.desc`: `problem` describes the tensors.
struct LaidOut {
  Problem problem;
  QlcCase test;
};

LaidOut make(Random& random, const QlcShape& shape, Arrangement arrangement, int owned) {
  LaidOut made;
  constexpr QlcData data[] = {QlcData::random, QlcData::ties, QlcData::extremes, QlcData::huge_bias};
  made.test = make_qlc_case(random, shape, data[pick(random, 0, 3)], QlcLayout::packed);
  made.test.desc.filter.owned_by_dml = owned > 0;
  if (owned > 1) own_constants(made.test.desc);
  made.problem = detail::qlc_problem(made.test.desc);
  for (std::size_t i = 0; i < fast::qlc::input_count; ++i) {
    Operand& tensor = made.problem.inputs[i];
    if (!tensor.present) continue;
    const Index bytes = fast::qlc::element_bytes(i);
    const bool filter = i == fast::qlc::filter_tensor;
    lay_out(random, filter && chance(random, 50) ? Arrangement::any : arrangement, true, bytes, tensor);
    made.test.inputs[i] = elements(random, made.test.inputs[i], tensor.readable_bytes, static_cast<std::size_t>(bytes));
  }
  lay_out(random, arrangement, false, 1, made.problem.output);
  made.test.output.resize(made.problem.output.readable_bytes);
  for (std::size_t i = 0; i < made.test.output.size(); ++i) made.test.output[i] = static_cast<std::byte>(37 * i + 11);
  return made;
}

QlcShape random_shape(Random& random) {
  QlcShape shape;
  do {
    const std::uint32_t kind = pick(random, 0, 3);
    const bool depthwise = kind == 0, small_groups = kind == 1;
    shape = {};
    shape.batch = pick(random, 1, 3);
    shape.groups = depthwise ? pick(random, 2, 140) : small_groups ? pick(random, 2, 5) : 1;
    shape.in_channels = depthwise ? 1 : pick(random, 1, small_groups ? 8 : 70);
    shape.out_channels = depthwise ? 1 : pick(random, 1, small_groups ? 8 : 40);
    shape.flat = chance(random, 10);
    const bool winograd = kind == 2 && !shape.flat;
    const std::uint32_t both = pick(random, 1, 2);  // strides
    for (std::size_t d = 0; d < 2; ++d) {
      const bool used = d == 1 || !shape.flat;
      shape.in[d] = used ? pick(random, 1, 24) : 1;
      shape.kernel[d] = winograd || (used && depthwise) ? 3 : used && !chance(random, 40) ? pick(random, 1, 4) : 1;
      shape.stride[d] = winograd || (used && depthwise) ? both : used && !chance(random, 60) ? pick(random, 1, 3) : 1;
      shape.dilation[d] = used && !winograd && !chance(random, 80) ? pick(random, 1, 3) : 1;
      shape.start[d] = used ? pick(random, 0, 2) : 0;
      shape.end[d] = used ? pick(random, 0, 2) : 0;
    }
  } while (!shape.fits());
  return shape;
}

/// All strategies that can do it, the chosen one among them.
std::vector<std::shared_ptr<const detail::Plan>> plans_of(const Problem& problem, Isa isa) {
  std::vector<std::shared_ptr<const detail::Plan>> plans{detail::qlc_plan(problem, isa, this_cpu())};
  if (auto plan = fast::qlc::direct::make_plan(problem, fast::qlc::kernels_of(isa).direct, this_cpu().convolution))
    plans.push_back(plan);
  if (const fast::qlc::winograd::Kernels* kernels = fast::qlc::kernels_of(isa).winograd; kernels != nullptr) {
    if (auto winograd = winograd_plan(problem, *kernels)) plans.push_back(std::move(winograd));
  }
#if DMLREF_HAS_AMX_INT8
  if (isa == Isa::amx_int8) {
    if (auto amx = amx_plan(problem)) plans.push_back(std::move(amx));
  }
#endif
  if (auto tiled = tiled_plan(problem, fast::qlc::kernels_of(isa).tiled)) plans.push_back(std::move(tiled));
  return plans;
}

std::string strides_of(const Problem& problem) {
  std::string text;
  for (const Operand* tensor :
       {&problem.inputs[fast::qlc::input_tensor], &problem.inputs[fast::qlc::filter_tensor], &problem.output}) {
    text += text.empty() ? ", strides" : " |";
    for (const Index stride : tensor->layout.strides) text += ' ' + std::to_string(stride);
  }
  return text;
}

TEST(QuantizedLinearConvolutionLayouts, EveryStrategyEqualsTheReference) {
  Random random(dmlref_test::test_seed());
  constexpr Arrangement arrangements[] = {Arrangement::planar, Arrangement::channels_last, Arrangement::any};
  std::map<std::string, int> ran;
  for (int i = 0; i < dmlref_test::rounds(600) && !HasFailure(); ++i) {
    const QlcShape shape = random_shape(random);
    const int owned = static_cast<int>(pick(random, 0, 2));
    const LaidOut made = make(random, shape, arrangements[i % 3], owned);
    std::vector<std::byte> expected = made.test.output;
    dmlref_test::reference_plan(made.problem)->execute(made.test.bindings(expected.data()), sequential());
    for (const std::shared_ptr<const detail::Plan>& plan : plans_of(made.problem, isa_in_use())) {
      dmlref_test::ThreadExecutor several(3);
      Executor& executor = i % 8 == 0 ? static_cast<Executor&>(several) : sequential();
      const std::string name(plan->strategy_name());
      EXPECT_EQ(run_plan(*plan, made.test, random, executor, owned > 0), expected)
          << name << ", case " << i << ": " << describe(shape) << strides_of(made.problem);
      ++ran[name];
    }
  }
  for (const auto& [name, times] : ran) std::printf("%s: %d\n", name.c_str(), times);
  for (const char* name : {"tiled channels", "tiled pixels", "staged planes", "staged channels"}) {
    EXPECT_TRUE(dmlref_test::often(ran[name], 0)) << name;
  }
}

// A strategy from outside the library, as docs/kernels/convolution.md says under "Adding a target or a strategy": a
// plan, what an execute knows (`Run`), a block, and how the constants are packed. Nothing in the library knows of it.
namespace plain {

using namespace fast::qlc;

struct Run;
class Block;

struct Plan final : BlockedPlan<Plan, Block, Run> {
  static constexpr Index units_per_task = 4, min_panels = 1;

  explicit Plan(const Problem& problem) : BlockedPlan(problem, geometry_of(problem)) {
    constants_at.kept_tables = false;
    (constants_at.kept_filter ? persistent_bytes : scratch_at) = round_up(filter_bytes(), 64);
    scratch_bytes = 64;
    task_count = 3;
  }
  std::string_view strategy_name() const noexcept { return "plain"; }
  Index filter_bytes() const noexcept { return g.all_out_channels() * g.depth(); }
  Index filter_blocks() const noexcept { return g.out_channels; }  // of a group
  Index channel_panels() const noexcept { return g.out_channels; }
  BlockGrid grid_for(Index) const noexcept { return {g, 2, 5}; }
};

struct Run {
  const std::byte* const* inputs = nullptr;
  const std::byte* filter = nullptr;
  std::byte* output = nullptr;
};

/// Bytes in the order of channels, input channels, rows, columns.
void pack_filter(const Plan& p, const std::byte* filter, std::byte* to, Index first, Index last) noexcept {
  for (Index i = first * p.g.depth(); i < last * p.g.depth(); ++i) {
    const Index x = i % p.g.kernel_w, y = i / p.g.kernel_w % p.g.kernel_h, c = i / p.g.taps() % p.g.in_channels;
    to[i] = filter[i / p.g.depth() * p.g.filter.n + c * p.g.filter.c + y * p.g.filter.y + x * p.g.filter.x];
  }
}
void precompute_constants(const Plan&, const std::byte* const*, const std::byte*, std::byte*) noexcept {}
void precompute_owned_constants(const Plan&, const std::byte* const*, std::byte*, std::byte*) noexcept {}
void bind_constants(const Plan&, const Buffers& b, const std::byte* packed, const std::byte*, Run& run) noexcept {
  run = {b.inputs, packed, b.output};
}

class Block {
 public:
  Block(const Plan& plan, const Run& run, const BlockGrid& grid, std::uint8_t*, Index index) noexcept
      : p_(plan), run_(run), block_(grid.block(plan.g, index)) {}
  void stage() const noexcept {}
  void run(Index first, Index last) const noexcept {
    const Geometry& g = p_.g;
    Requantizer to = bind_requantizer(run_.inputs, g, p_.tensors);
    to.packed_channels = g.out_channels;
    for (Index m = first; m < last; ++m) {
      const Index channel = block_.group * g.out_channels + m;
      for (Index i = 0; i < block_.place.rows * block_.place.columns; ++i) {
        const Index y = block_.place.y + i / block_.place.columns, x = block_.place.x + i % block_.place.columns;
        run_.output[block_.image * g.out.n + channel * g.out.c + y * g.out.y + x * g.out.x] =
            static_cast<std::byte>(to.exact(sum(channel, y, x), channel));
      }
    }
  }

 private:
  std::int64_t sum(Index channel, Index y, Index x) const noexcept {
    const Geometry& g = p_.g;
    const auto value = [](std::byte b, bool is_signed) {
      return is_signed ? static_cast<std::int8_t>(b) : static_cast<std::int32_t>(b);
    };
    const auto zero = [&](const ChannelTensor& t, Input which, Index i) {
      return zero_point_of(t, run_.inputs[which], i);
    };
    const std::int32_t input_zero = zero(p_.tensors.input_zero_point, input_zero_point_tensor, 0);
    const std::int32_t filter_zero = zero(p_.tensors.filter_zero_point, filter_zero_point_tensor, channel);
    const ChannelTensor& bias = p_.tensors.bias;
    std::int64_t sum = bias.present ? load<std::int32_t>(run_.inputs[bias_tensor], channel * bias.step) : 0;
    for (Index k = 0; k < g.depth(); ++k) {
      const Index in_y = y * g.stride_y - g.pad_y + k / g.kernel_w % g.kernel_h * g.dilation_y;
      const Index in_x = x * g.stride_x - g.pad_x + k % g.kernel_w * g.dilation_x;
      if (in_y < 0 || in_y >= g.height || in_x < 0 || in_x >= g.width) continue;
      const Index in_channel = block_.group * g.in_channels + k / g.taps();
      const std::byte a =
          run_.inputs[input_tensor][block_.image * g.in.n + in_channel * g.in.c + in_y * g.in.y + in_x * g.in.x];
      sum += std::int64_t{value(a, g.input_signed) - input_zero} *
             (value(run_.filter[channel * g.depth() + k], g.filter_signed) - filter_zero);
    }
    return sum;
  }

  const Plan& p_;
  const Run& run_;
  GroupBlock block_;
};

}  // namespace plain

TEST(QuantizedLinearConvolutionLayouts, RunsAStrategyFromOutside) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(60) && !HasFailure(); ++i) {
    const QlcShape shape = random_shape(random);
    const LaidOut made = make(random, shape, Arrangement::any, i % 3);
    std::vector<std::byte> expected = made.test.output;
    dmlref_test::reference_plan(made.problem)->execute(made.test.bindings(expected.data()), sequential());
    const plain::Plan plan(made.problem);
    EXPECT_EQ(plan.strategy_name(), "plain");
    dmlref_test::ThreadExecutor several(3);
    Executor& executor = i % 2 == 0 ? static_cast<Executor&>(several) : sequential();
    EXPECT_EQ(run_plan(plan, made.test, random, executor, i % 3 > 0), expected) << "case " << i << describe(shape);
  }
}

// A strategy of the direct convolution from outside the library: the order of its weights, where their precomputed
// constants lie, and what a unit of work does.
class PlainPlanes final : public direct::DirectPlan<PlainPlanes, direct::PixelLanes> {
 public:
  static constexpr const char* name = "plain planes";

  PlainPlanes(const Problem& problem, const direct::Layer& layer)
      : DirectPlan(problem, layer, {layer, taps_of(layer.g)}) {}

  Index bands() const noexcept { return 1; }
  Index parts() const noexcept { return layer_.g.all_out_channels(); }

  void run(const std::byte* constants, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    using fast::qlc::load;
    const fast::qlc::Geometry& g = layer_.g;
    const direct::Work work(unit, bands(), parts());
    const auto header = load<direct::ConstantsHeader>(constants, 0);
    const std::byte* const data = constants + lanes_.at(work.part);
    const auto channel = load<direct::ChannelData>(data, 0);
    for (Index i = 0; i < g.out_height * g.out_width; ++i) {
      const Index y = i / g.out_width, x = i % g.out_width;
      std::int32_t sum = channel.integers.sum;  // less what is added in doubles
      for (Index k = 0; k < g.depth(); ++k) {
        const direct::Tap tap = tap_of(g, k);
        const Index in_y = y * g.stride_y - g.pad_y + tap.y * g.dilation_y;
        const Index in_x = x * g.stride_x - g.pad_x + tap.x * g.dilation_x;
        const bool inside = in_y >= 0 && in_y < g.height && in_x >= 0 && in_x < g.width;
        const Index in_channel = work.part / g.out_channels * g.in_channels + tap.channel;
        const Index at = work.image * g.in.n + in_channel * g.in.c + in_y * g.in.y + in_x * g.in.x;
        sum += (inside ? input[at] ^ header.input_flip : header.fill) * load<std::int16_t>(data + sizeof channel, k);
      }
      const std::int32_t rounded =
          fast::qlc::round_exactly(sum + channel.offset, channel.factor, header.output_scale) + header.to.zero_point;
      output[work.image * g.out.n + work.part * g.out.c + y * g.out.y + x * g.out.x] =
          static_cast<std::uint8_t>(static_cast<std::uint8_t>(std::clamp(rounded, -128, 127)) ^ header.to.flip);
    }
  }

 private:
  static direct::Tap tap_of(const fast::qlc::Geometry& g, Index i) noexcept {
    return {i / g.taps(), i % g.taps() / g.kernel_w, i % g.kernel_w};
  }
  static direct::PackedTaps taps_of(const fast::qlc::Geometry& g) {
    return {g, g.depth(), 1, direct::WeightFormat::words, [&](Index i) { return tap_of(g, i); }};
  }
};

TEST(QuantizedLinearConvolutionLayouts, RunsADirectStrategyFromOutside) {
  Random random(dmlref_test::test_seed());
  int ran = 0;
  for (int i = 0; i < dmlref_test::rounds(400) && !HasFailure(); ++i) {
    const LaidOut made = make(random, random_shape(random), Arrangement::any, 0);
    const direct::Layer layer(made.problem, fast::qlc::kernels_of(Isa::scalar).direct, this_cpu().convolution);
    const fast::qlc::Geometry& g = layer.g;
    if (g.groups == 1 || g.depth() > 256 || !g.filter.forward()) continue;
    const PlainPlanes plan(made.problem, layer);
    std::vector<std::byte> expected = made.test.output;
    dmlref_test::reference_plan(made.problem)->execute(made.test.bindings(expected.data()), sequential());
    EXPECT_EQ(run_plan(plan, made.test, random, sequential(), false), expected)
        << "case " << i << strides_of(made.problem);
    ++ran;
  }
  EXPECT_TRUE(dmlref_test::often(ran, 10));
}

/// A problem of packed tensors, planar or with channels last, whose input and output are as given but for their signs.
std::string_view strategy(const QlcShape& shape, QlcLayout layout, std::array<Index, 4> in_signs,
                          std::array<Index, 4> out_signs, Isa isa) {
  Random random(1);
  QlcCase test = make_qlc_case(random, shape, QlcData::random, layout);
  own_constants(test.desc);
  Problem problem = detail::qlc_problem(test.desc);
  const auto turn = [](Operand& tensor, const std::array<Index, 4>& signs) {
    for (std::size_t d = 0; d < 4; ++d) {
      Layout& l = tensor.layout;
      if (signs[d] < 0) l.offset += (l.shape[d] - 1) * l.strides[d];
      l.strides[d] *= signs[d];
    }
  };
  turn(problem.inputs[fast::qlc::input_tensor], in_signs);
  turn(problem.output, out_signs);
  return detail::qlc_plan(problem, isa, this_cpu())->strategy_name();
}

// What reads beside the elements, or counts on the order of rows, leaves strides that lead back to others.
TEST(QuantizedLinearConvolutionLayouts, NothingInPlaceWhereStridesLeadBack) {
  QlcShape depthwise;
  depthwise.groups = 64;
  depthwise.in = {20, 20};
  depthwise.kernel = {3, 3};
  depthwise.start = depthwise.end = {1, 1};
  const std::array<Index, 4> ahead{1, 1, 1, 1}, flipped{1, 1, 1, -1}, upside_down{1, 1, -1, 1};
  const Isa isa = isa_in_use();
  const bool in_place = isa != Isa::scalar && isa != Isa::neon && isa != Isa::neon_dotprod;
  for (const QlcLayout layout : {QlcLayout::packed, QlcLayout::channels_last}) {
    const bool planar = layout == QlcLayout::packed;
    const std::string_view staged = planar ? "staged planes" : "staged channels";
    const std::string_view best = !in_place ? staged : planar ? "planes in place" : "columns in place";
    EXPECT_EQ(strategy(depthwise, layout, ahead, ahead, isa), best);
    EXPECT_EQ(strategy(depthwise, layout, flipped, ahead, isa), staged);
    EXPECT_EQ(strategy(depthwise, layout, upside_down, ahead, isa), staged);
    EXPECT_EQ(strategy(depthwise, layout, ahead, flipped, isa), staged);
  }
}

// The strategies of some layers, by instruction set.
TEST(QuantizedLinearConvolutionLayouts, StrategiesOfLayers) {
  struct Layer {
    std::uint32_t in_channels, out_channels, size, kernel, stride;
    bool winograd;  // where there are such kernels
    bool pixels;    // planar, in tiles of x86-64: pixels lie in lanes
  };
  constexpr Layer layers[] = {{64, 64, 56, 3, 1, true, false},  {128, 128, 28, 3, 1, true, false},
                              {64, 64, 112, 3, 2, true, false}, {512, 512, 14, 3, 2, false, false},
                              {64, 256, 56, 1, 1, false, true}, {3, 64, 56, 7, 2, false, false},
                              {64, 64, 28, 5, 1, false, false}};
  const Isa isa = isa_in_use();
  const bool has_winograd = fast::qlc::kernels_of(isa).winograd != nullptr;
  const bool x86 = isa != Isa::scalar && isa != Isa::neon && isa != Isa::neon_dotprod;
  for (const Layer& layer : layers) {
    QlcShape shape;
    shape.in_channels = layer.in_channels;
    shape.out_channels = layer.out_channels;
    shape.in = {layer.size, layer.size};
    shape.kernel = {layer.kernel, layer.kernel};
    shape.stride = {layer.stride, layer.stride};
    shape.start = shape.end = {layer.kernel / 2, layer.kernel / 2};
    for (const QlcLayout layout : {QlcLayout::packed, QlcLayout::channels_last}) {
      const std::string_view name = strategy(shape, layout, {1, 1, 1, 1}, {1, 1, 1, 1}, isa);
      const bool planar = layout == QlcLayout::packed;
      if (isa == Isa::amx_int8) {
        EXPECT_EQ(name, "amx") << describe(shape);
      } else if (layer.winograd && has_winograd) {
        EXPECT_EQ(name, "winograd") << describe(shape);
      } else if (planar && !layer.pixels && !x86) {  // whichever wastes less of their lanes
        EXPECT_TRUE(name == "tiled pixels" || name == "tiled channels") << name << describe(shape);
      } else {
        EXPECT_EQ(name, planar && layer.pixels ? "tiled pixels" : "tiled channels") << describe(shape);
      }
    }
  }
}

}  // namespace
