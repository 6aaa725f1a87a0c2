// The fast normalization gives the reference's bits: on every instruction set, number of threads and layout.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "dmlref/operators/mean_variance_normalization/plan.hpp"
#include "dmlref/run/run.hpp"
#include "support/guarded_buffer.hpp"
#include "support/isa_in_use.hpp"
#include "support/normalization_case.hpp"
#include "support/seed.hpp"

#if DMLREF_ARCH_X86_64
// A target from outside the library, as docs/kernels/normalization.md says under "Adding a target": AVX2's vectors, one
// at a time, without prefetches and non-temporal stores. Nothing in the library knows of it.
#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX2 inline
DMLREF_BEGIN
namespace fast::normalization::outside {

using namespace simd::avx2;

inline constexpr TargetTraits target{.adds = true, .unshifted = true, .has_fma = true};

#include "dmlref/operators/mean_variance_normalization/kernels/vectors-inl.hpp"

}  // namespace fast::normalization::outside
DMLREF_END
#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#endif

namespace {

using namespace dmlref;
using namespace dmlref_test;

std::uint64_t seed() {
  static const std::uint64_t once = test_seed(11);
  return once;
}

/// Claims to have `threads` threads and runs the tasks backwards, on a new thread each now and then.
class ScatteredExecutor final : public Executor {
 public:
  explicit ScatteredExecutor(std::size_t threads) : threads_(threads) {}
  std::size_t concurrency() const noexcept override { return threads_; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    for (std::size_t i = count; i-- > 0;) {
      if (i % 16 == 3) {
        std::thread([=] { task(context, i); }).join();
      } else {
        task(context, i);
      }
    }
  }

 private:
  std::size_t threads_;
};

template <class T>
std::vector<T> fast_output(const NormalizationCase<T>& c, Executor& executor, const Tuning& tuning = this_cpu(),
                           std::size_t misalignment = 0) {
  Report report = c.with_desc([](const auto& desc) { return validate(desc, latest_feature_level); });
  const Isa isa = dmlref::detail::choose_isa(std::nullopt, report, "DMLREF_ISA").isa;
  EXPECT_TRUE(report) << report.to_string() << c.describe();
  if (!report) return {};
  const CompiledOperator compiled = c.with_desc(
      [&](const auto& desc) { return dmlref::detail::Compiler::make(desc, dmlref::detail::plan(desc, isa, tuning)); });
  // Buffers end where their tensors end; TotalTensorSizeInBytes is a multiple of 4, so half tensors may need 2 more
  // bytes.
  const auto bytes_of = [&](const std::vector<T>& data, std::uint64_t size) {
    std::vector<std::byte> bytes(size == 0 ? 0 : size + misalignment);
    if (size != 0) std::memcpy(bytes.data() + misalignment, data.data(), data.size() * sizeof(T));
    return bytes;
  };
  const auto& slots = compiled.input_slots();
  const auto input = bytes_of(c.input_data, slots[0].bytes);
  const auto scale = bytes_of(c.scale_data, slots[1].bytes);
  const auto bias = bytes_of(c.bias_data, slots[2].bytes);
  std::vector<T> result(elements_spanned(c.output), static_cast<T>(42.0f));
  auto output = bytes_of(result, compiled.output_slot().bytes);
  const auto part = [&](const std::vector<std::byte>& bytes) {
    return InputBuffer(bytes).subspan(bytes.empty() ? 0 : misalignment);
  };
  const std::array<InputBuffer, 3> inputs{part(input), part(scale), part(bias)};
  const std::array<OutputBuffer, 1> outputs{OutputBuffer(output).subspan(misalignment)};
  AlignedBuffer temporary(compiled.binding_properties().temporary_bytes);
  for (std::byte& b : temporary.span()) b = std::byte{0xFF};
  report = compiled.execute(inputs, outputs, {}, temporary.span(), executor);
  EXPECT_TRUE(report) << report.to_string();
  std::memcpy(result.data(), output.data() + misalignment, result.size() * sizeof(T));
  return result;
}

template <class T>
void expect_reference_bits_alone(const NormalizationCase<T>& c, const std::string& what) {
  const auto expected = bits_of(c.reference_output());
  static std::size_t calls = 0;
  const Tuning& row = tuning_table[calls++ % tuning_table.size()];
  // (No result depends on the CPU model. Sanitized cases, and those about 0, take one of them in turn.)
  for (const Tuning& each : tuning_table) {
    if ((sanitized || c.parameters.center == reference::Center::zero) && &each != &row) continue;
    ASSERT_EQ(bits_of(fast_output(c, sequential(), each)), expected)
        << what << ", " << each.name << ": " << c.describe() << " seed " << seed();
  }
  ScatteredExecutor two(2);
  ASSERT_EQ(bits_of(fast_output(c, two, row, 1)), expected)
      << what << ", two threads, " << row.name << ": " << c.describe() << " seed " << seed();
  ScatteredExecutor seven(7);
  ASSERT_EQ(bits_of(fast_output(c, seven, row, 3)), expected)
      << what << ", seven, " << row.name << ": " << c.describe() << " seed " << seed();
}

/// With the mean and about 0. Sanitized, one of the two in turn.
template <class T>
void expect_reference_bits(const NormalizationCase<T>& c, const std::string& what) {
  static bool about_zero = false;
  about_zero = !about_zero;
  if (!sanitized || !about_zero) expect_reference_bits_alone(c, what);
  if (testing::Test::HasFatalFailure() || (sanitized && !about_zero)) return;
  expect_reference_bits_alone(c.about_zero(), what);
}

/// Both of that layout, and random.
template <class T>
void add_scale_and_bias(NormalizationCase<T>& c, const Layout& layout, Random& random) {
  c.scale = c.bias = layout;
  for (auto* const data : {&c.scale_data, &c.bias_data}) {
    data->resize(elements_spanned(layout));
    fill(*data, Regime::mean_0, random);
  }
}

template <class T>
class FastNormalization : public testing::Test {};
using Types = testing::Types<float, half>;
TYPED_TEST_SUITE(FastNormalization, Types);

TYPED_TEST(FastNormalization, RandomShapesAxesStridesScalesBiasesActivations) {
  Random random(seed());
  int cases = 0;
  for (int round = 0; round < dmlref_test::rounds(40); ++round) {
    for (int r = 0; r < static_cast<int>(Regime::count); ++r) {
      const int elements = pick(random, 0, 19) == 0 ? 60000 : (pick(random, 0, 3) == 0 ? 6000 : 400);
      const auto c = random_case<TypeParam>(random, static_cast<Regime>(r), elements);
      expect_reference_bits(c, name_of(static_cast<Regime>(r)));
      if (testing::Test::HasFatalFailure()) return;
      ++cases;
    }
  }
  std::printf("%d cases, seed %llu\n", cases, static_cast<unsigned long long>(seed()));
}

// Results that cancel, lie on a jump or are no numbers: one by one and in whole groups, by every strategy.
TYPED_TEST(FastNormalization, HostileData) {
  Random random(seed());
  const struct {
    Shape shape;
    reference::AxisSet axes;
    Shape scale;
  } shapes[] = {{{7, 48}, 0b10, {}},
                {{5, 775}, 0b10, {1, 775}},
                {{5, 768}, 0b10, {5, 1}},
                {{3, 5008}, 0b10, {3, 1}},
                {{3, 3001}, 0b10, {1, 3001}},
                {{9, 3, 320}, 0b101, {1, 3, 1}},
                {{300, 3, 5}, 0b101, {}},
                {{9, 3, 12, 8}, 0b1010, {}},
                {{2, 60, 21}, 0b010, {1, 1, 21}},
                {{2, 1500, 70}, 0b010, {}},
                {{1, 1100, 20}, 0b010, {1, 1, 20}},
                {{2, 300}, 0b01, {1, 300}},
                {{2, 90, 300}, 0b010, {1, 1, 300}}};
  for (int round = 0; round < dmlref_test::rounds(120); ++round) {
    NormalizationCase<TypeParam> c;
    if (round % 2 == 0) {
      c = random_case<TypeParam>(random, Regime::mean_0, pick(random, 0, 9) == 0 ? 20000 : 2000);
    } else {
      const auto& it = shapes[static_cast<std::size_t>(round / 2) % std::size(shapes)];
      c = plain_case<TypeParam>(it.shape, it.axes);
      if (it.scale.size() > 0) add_scale_and_bias(c, Layout(it.scale), random);
      if (pick(random, 0, 1) == 0) c.parameters.activation = random_activation(random);
    }
    make_hostile(c, random);
    expect_reference_bits(c, "hostile data");
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// A group whose ill-conditioned results are none, one, many of one number, many of several, or all.
template <class T>
std::vector<T> repeating_group(std::size_t n, Random& random) {
  const double middle = pick(random, 0, 1) == 0 ? 0.0 : pick(random, -12, 12) * 0.25;
  const int kind = pick(random, 0, 8);
  std::normal_distribution<double> normal(0, 1);
  std::vector<T> group(n);
  double before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double coarse = std::round(64 * (0.5 + std::fabs(normal(random)))) / 64;
    before = i % 2 == 0 ? coarse : -before;
    const bool last = i + 1 == n && n % 2 == 1;
    double v = 0;
    switch (kind) {
      case 0: v = normal(random); break;
      case 1: v = std::array{-1.0, 0.0, 1.0, 0.0}[i % 4]; break;
      case 2: v = i < 2 ? 1.0 - 2.0 * static_cast<double>(i) : 0.0; break;
      case 3: v = i == n / 3 ? std::nan("") : normal(random); break;
      case 4: v = i == n / 3 ? std::numeric_limits<double>::infinity() : normal(random); break;
      case 5: v = 0; break;
      case 6: v = i % 2 == 0 ? 1 : -1; break;
      default: v = i < 2 || last ? 0.0 : before; break;
    }
    group[i] = static_cast<T>(static_cast<float>(middle + v));
    // Zeros of both signs, or neighbours of the mean.
    if (v == 0 && kind == 8) group[i] = static_cast<T>(middle == 0 && i % 3 == 0 ? -0.0f : static_cast<float>(middle));
    if (v == 0 && kind == 2 && i % 5 == 4 && n % 4 == 0) group[i] = static_cast<T>(static_cast<float>(middle + 1e-3));
  }
  return group;
}

// Groups, short and long, side by side and one behind the other, whose ill-conditioned elements are the same number
// again and again, or few, or all: by themselves and where a bias cancels them, with parameters that are no numbers.
TYPED_TEST(FastNormalization, ElementsThatRepeat) {
  Random random(seed());
  const struct {
    Shape shape;
    reference::AxisSet axes;
  } shapes[] = {{{40, 48}, 0b10},          {{40, 7}, 0b10},          {{20, 768}, 0b10},      {{9, 775}, 0b10},
                {{5, 5008}, 0b10},         {{3, 4, 1568}, 0b101},    {{2, 1100, 20}, 0b010}, {{2, 196, 70}, 0b010},
                {{1, 128, 16, 64}, 0b110}, {{1, 64, 17, 96}, 0b110}, {{1, 9, 5, 20}, 0b110}, {{3, 300, 5}, 0b010},
                {{2, 300}, 0b01},          {{70, 150}, 0b01}};
  for (int round = 0; round < dmlref_test::rounds(9 * static_cast<int>(std::size(shapes))); ++round) {
    const auto& it = shapes[static_cast<std::size_t>(round) % std::size(shapes)];
    auto c = plain_case<TypeParam>(it.shape, it.axes);
    const Shape groups = reference::shape_over(it.shape, it.axes, false);
    const Shape within = reference::shape_over(it.shape, it.axes, true);
    const bool has_parameters = pick(random, 0, 1) == 0;
    if (has_parameters) add_scale_and_bias(c, Layout(groups), random);
    if (pick(random, 0, 3) == 0) c.parameters.activation = random_activation(random);
    if (pick(random, 0, 3) == 0)
      c.output = Layout(c.output.shape, [&] {  // with gaps
        Strides strides = c.output.strides;
        for (Index& stride : strides) stride *= 2;
        return strides;
      }());
    std::size_t g = 0;
    auto base = Coordinates::filled(it.shape.size(), 0);
    do {
      const auto n = static_cast<std::size_t>(element_count(within));
      const std::vector<TypeParam> group = repeating_group<TypeParam>(n, random);
      double sum = 0, square = 0;
      std::size_t i = 0;
      auto inner = Coordinates::filled(it.shape.size(), 0);
      do {
        Index at = 0;
        for (std::size_t d = 0; d < inner.size(); ++d) at += (base[d] + inner[d]) * c.input.strides[d];
        c.input_data[static_cast<std::size_t>(at)] = group[i];
        const auto x = static_cast<double>(static_cast<float>(group[i]));
        sum += x;
        square += x * x;
        ++i;
      } while (advance(inner, within));
      if (has_parameters) {
        const double count = static_cast<double>(n), mean = sum / count;
        const double rate = 1 / std::sqrt(square / count - mean * mean + double{c.parameters.epsilon});
        const auto x = static_cast<double>(static_cast<float>(group[static_cast<std::size_t>(pick(random, 0, 6)) % n]));
        const auto scale = static_cast<double>(static_cast<float>(c.scale_data[g]));
        if (pick(random, 0, 1) == 0) {
          c.bias_data[g] = static_cast<TypeParam>(static_cast<float>(-scale * (x - mean) * rate));
        }
        const float odd[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 6e4f, 0};
        if (pick(random, 0, 15) == 0) c.scale_data[g] = static_cast<TypeParam>(odd[pick(random, 0, 3)]);
        if (pick(random, 0, 15) == 0) c.bias_data[g] = static_cast<TypeParam>(odd[pick(random, 0, 3)]);
      }
      ++g;
    } while (advance(base, groups));
    expect_reference_bits(c, "elements that repeat");
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Groups with one infinity, several or nothing else, beside groups without: zeros, scales and biases of both signs,
// parameters that are no numbers, every activation.
TYPED_TEST(FastNormalization, GroupsWithInfinities) {
  Random random(seed());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const struct {
    Shape shape;
    reference::AxisSet axes;
  } shapes[] = {{{20, 48}, 0b10},       {{20, 7}, 0b10},       {{9, 768}, 0b10},         {{9, 775}, 0b10},
                {{5, 5008}, 0b10},      {{3, 3001}, 0b10},     {{3, 4, 1568}, 0b101},    {{9, 3, 12, 8}, 0b1010},
                {{2, 1100, 20}, 0b010}, {{2, 196, 70}, 0b010}, {{1, 16, 16, 64}, 0b110}, {{3, 300, 5}, 0b010},
                {{300, 3, 5}, 0b101},   {{2, 300}, 0b01}};
  for (int round = 0; round < dmlref_test::rounds(6 * static_cast<int>(std::size(shapes))); ++round) {
    const auto& it = shapes[static_cast<std::size_t>(round) % std::size(shapes)];
    auto c = plain_case<TypeParam>(it.shape, it.axes);
    fill(c.input_data, Regime::mean_0, random);
    const int density = pick(random, 0, 3);
    const auto sometimes = [&](int one_in) { return pick(random, 1, one_in) == 1; };
    for (TypeParam& x : c.input_data) {
      if (sometimes(9)) x = static_cast<TypeParam>(sometimes(2) ? 0.0f : -0.0f);
      if (density == 3 || sometimes(density == 2 ? 20 : 700))
        x = static_cast<TypeParam>(sometimes(2) ? infinity : -infinity);
    }
    if (!sometimes(3)) {
      Shape part = it.shape;
      const bool per_group = sometimes(2);
      for (std::size_t d = 0; d < part.size(); ++d) {
        if ((((it.axes >> d) & 1u) != 0) == per_group) part[d] = 1;
      }
      add_scale_and_bias(c, Layout(part), random);
      for (auto* const data : {&c.scale_data, &c.bias_data}) {
        for (TypeParam& x : *data) {
          if (sometimes(4)) x = static_cast<TypeParam>(sometimes(2) ? 0.0f : -0.0f);
          if (round % 4 == 3 && sometimes(40)) x = static_cast<TypeParam>(sometimes(2) ? infinity : std::nanf(""));
        }
      }
    }
    if (sometimes(2)) c.parameters.activation = random_activation(random);
    expect_reference_bits(c, "groups with infinities");
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class T>
std::shared_ptr<const dmlref::detail::Plan> plan_of(const NormalizationCase<T>& c,
                                                    const fast::normalization::TargetKernels& kernels,
                                                    const Tuning::Normalization& tuning) {
  return dmlref::detail::normalization_plan_of<T>({c.input, c.scale, c.bias, c.output, c.axes, c.parameters}, kernels,
                                                  tuning);
}

// The strategies of some groups.
TYPED_TEST(FastNormalization, StrategiesOfShapes) {
  namespace normalization = fast::normalization;
  const Tuning::Normalization& tuning = tuning_of(CpuModel::generic).normalization;
  const normalization::TargetKernels kernels = normalization::kernels_of(test::isa_in_use());
  constexpr bool is_half = std::is_same_v<TypeParam, half>;
  const bool pipelined = kernels.rows->pipelined;
  struct Row {
    Shape sizes;
    unsigned axes;  // bit i: axis i
    std::string_view strategy;
  };
  const Row rows[] = {
      {{64, 768}, 0b10, pipelined ? "pipelined rows" : "rows"},  // within a summation block of 1024
      {{4, 3, 5008}, 0b100, pipelined && !is_half ? "pipelined segments" : "segments"},
      {{4, 8, 3, 320}, 0b1010, pipelined && !is_half ? "pipelined segments" : "segments"},
      {{4, 600, 3, 5}, 0b1010, "blocks"},    // five elements side by side
      {{2, 50, 50, 64}, 0b0110, "columns"},  // channels side by side
  };
  for (const Row& row : rows) {
    auto c = plain_case<TypeParam>(row.sizes, row.axes);
    const auto strategy_name = [&] { return plan_of(c, kernels, tuning)->strategy_name(); };
    EXPECT_EQ(strategy_name(), row.strategy) << c.describe();
    if (row.strategy.ends_with("segments")) {  // also with a scale and a bias for each element
      Random random(seed());
      add_scale_and_bias(c, c.input, random);
      EXPECT_EQ(strategy_name(), row.strategy) << c.describe();
      c.parameters.activation = default_activation(ActivationType::tanh);
      EXPECT_EQ(strategy_name(), "blocks") << c.describe();
    }
  }
}

// Groups of one summation block take no temporary memory, others less than a tenth of their elements' bytes.
TYPED_TEST(FastNormalization, TemporaryMemory) {
  namespace normalization = fast::normalization;
  const Tuning::Normalization& tuning = tuning_of(CpuModel::generic).normalization;
  const normalization::TargetKernels kernels = normalization::kernels_of(test::isa_in_use());
  const struct {
    Shape sizes;
    unsigned axes;  // bit i: axis i
  } cases[] = {{{2, 1000000}, 0b01},   {{3, 1024, 64}, 0b010}, {{64, 768}, 0b10},
               {{2, 2048, 64}, 0b010}, {{40, 1500}, 0b10},     {{4, 8, 3, 320}, 0b1010}};
  for (const auto& it : cases) {
    Shape group(it.sizes);
    for (std::size_t d = 0; d < group.size(); ++d) {
      if (((it.axes >> d) & 1u) == 0) group[d] = 1;
    }
    const auto temporary_bytes =
        plan_of(plain_case<TypeParam>(it.sizes, it.axes), kernels, tuning)->properties().temporary_bytes;
    const auto bytes = static_cast<std::uint64_t>(element_count(it.sizes)) * sizeof(TypeParam);
    if (element_count(group) <= 1024) {
      EXPECT_EQ(temporary_bytes, 0u);
    } else {
      EXPECT_LT(temporary_bytes * 10, bytes);
    }
  }
}

#if DMLREF_ARCH_X86_64
TYPED_TEST(FastNormalization, RunsATargetFromOutside) {
  if (!supported(Isa::avx2)) GTEST_SKIP() << "no AVX2";
  namespace normalization = fast::normalization;
  Random random(seed());
  for (int round = 0; round < dmlref_test::rounds(300); ++round) {
    const auto c = random_case<TypeParam>(random, static_cast<Regime>(round % static_cast<int>(Regime::count)), 3000);
    if (!dmlref::detail::is_regular(c.parameters.activation)) continue;
    const auto outside = plan_of(c, normalization::outside::target_kernels(), this_cpu().normalization);
    AlignedBuffer temporary(outside->properties().temporary_bytes);
    std::vector<TypeParam> output(elements_spanned(c.output), static_cast<TypeParam>(42.0f));
    const auto bytes = [](const auto& data) { return std::as_bytes(std::span(data)).data(); };
    dmlref::detail::Bindings bindings{};
    bindings.inputs[0] = bytes(c.input_data);
    if (c.scale) bindings.inputs[1] = bytes(c.scale_data);
    if (c.bias) bindings.inputs[2] = bytes(c.bias_data);
    bindings.outputs[0] = std::as_writable_bytes(std::span(output)).data();
    bindings.temporary = temporary.span().data();
    outside->execute(bindings, sequential());
    ASSERT_EQ(bits_of(output), bits_of(c.reference_output())) << c.describe() << " seed " << seed();
  }
}
#endif

// Every length of a row around the vectors and the summation blocks, with and without scale and bias, every activation.
TYPED_TEST(FastNormalization, RowsOfEveryLength) {
  Random random(seed());
  for (const Index n : {1,  2,  3,   4,   5,   7,    8,    9,    15,   16,   17,   31,   33,
                        49, 64, 100, 255, 768, 1000, 1023, 1024, 1025, 1040, 2047, 3000, 5000}) {
    for (const bool scaled : {false, true}) {
      auto c = plain_case<TypeParam>({3, n}, 0b10);
      fill(c.input_data, static_cast<Regime>(pick(random, 0, static_cast<int>(Regime::count) - 1)), random);
      c.parameters.activation = random_activation(random);
      if (scaled) {
        add_scale_and_bias(c, Layout({1, n}), random);
      }
      expect_reference_bits(c, "row");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Rows of all kinds, one behind the other: some need their sums again while those of later rows are there already.
TYPED_TEST(FastNormalization, RowsOfMixedKinds) {
  Random random(seed());
  for (const Index n : {20, 768, 775}) {
    for (const Index step : {1, 2}) {
      for (const bool scaled : {false, true}) {
        constexpr Index rows = 23;
        auto c = plain_case<TypeParam>({rows, n}, 0b10);
        c.input = Layout({rows, n}, {n * step, step});
        c.input_data.clear();
        for (Index r = 0; r < rows; ++r) {
          std::vector<TypeParam> row(static_cast<std::size_t>(n * step));
          fill(row, static_cast<Regime>(pick(random, 0, static_cast<int>(Regime::count) - 1)), random);
          c.input_data.insert(c.input_data.end(), row.begin(), row.end());
        }
        c.input_data.resize(elements_spanned(c.input));
        if (pick(random, 0, 1) == 0) c.parameters.activation = random_activation(random);
        if (scaled) {
          add_scale_and_bias(c, Layout({1, n}), random);
        }
        expect_reference_bits(c, "mixed rows");
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Groups of many summation blocks made of stretches: that begin with lane 0 or do not, few and long, many and short.
TYPED_TEST(FastNormalization, GroupsOfStretches) {
  Random random(seed());
  struct {
    Index outer, inner;
  } const sizes[] = {{2, 1024}, {3, 768}, {2, 3136}, {30, 48}, {64, 80}, {21, 50}, {25, 63}, {1400, 48}, {33, 64}};
  for (const auto& size : sizes) {
    for (const bool scaled : {false, true}) {
      auto c = plain_case<TypeParam>({size.outer, 3, size.inner}, 0b101);
      fill(c.input_data, static_cast<Regime>(pick(random, 0, static_cast<int>(Regime::count) - 1)), random);
      if (pick(random, 0, 1) == 0) c.parameters.activation = random_activation(random);
      if (scaled) {
        add_scale_and_bias(c, Layout(pick(random, 0, 1) == 0 ? Shape{1, 3, 1} : Shape{1, 1, size.inner}), random);
      }
      expect_reference_bits(c, "stretches");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Groups of all kinds, one behind the other, each of `outer` stretches of `inner` elements.
template <class T>
NormalizationCase<T> groups_of_mixed_kinds(Index outer, Index groups, Index inner, Random& random) {
  auto c = plain_case<T>({outer, groups, inner}, 0b101);
  for (Index g = 0; g < groups; ++g) {
    std::vector<T> group(static_cast<std::size_t>(outer * inner));
    fill(group, static_cast<Regime>(pick(random, 0, static_cast<int>(Regime::count) - 1)), random);
    for (Index o = 0; o < outer; ++o) {
      std::copy_n(group.begin() + o * inner, inner, c.input_data.begin() + (o * groups + g) * inner);
    }
  }
  return c;
}

// The sums of one group are formed beside the results of another.
TYPED_TEST(FastNormalization, GroupsOfMixedKinds) {
  Random random(seed());
  for (const Index inner : {80, 96, 1040}) {
    for (const bool scaled : {false, true}) {
      constexpr Index outer = 21;
      constexpr Index groups = 17;
      auto c = groups_of_mixed_kinds<TypeParam>(outer, groups, inner, random);
      c.parameters.activation = random_activation(random);
      if (scaled) {
        add_scale_and_bias(c, Layout({1, groups, 1}), random);
      }
      expect_reference_bits(c, "mixed groups");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Scale and bias so small that kernels look for the least result before they list those that cancel. Only one of a
// thousand does, and few of these show it.
TYPED_TEST(FastNormalization, SmallBiases) {
  Random random(seed());
  for (const Shape& shape : {Shape{1, 400, 777}, Shape{64, 60, 80}, Shape{50, 60, 103}, Shape{1, 5, 65000}}) {
    for (const bool columns : {false, true}) {
      auto c = plain_case<TypeParam>(columns ? Shape{shape[0], shape[2], shape[1]} : shape, columns ? 0b011 : 0b101);
      fill(c.input_data, Regime::mean_0, random);
      c.scale = c.bias = Layout(columns ? Shape{1, 1, shape[1]} : Shape{1, shape[1], 1});
      c.scale_data.assign(static_cast<std::size_t>(shape[1]), static_cast<TypeParam>(0.0076f));
      c.bias_data.assign(static_cast<std::size_t>(shape[1]), static_cast<TypeParam>(-0.0076f));
      expect_reference_bits(c, "small biases");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// More than L2 holds, where lines are prefetched: rows, long groups, summation blocks with their own parameters.
TYPED_TEST(FastNormalization, RowsBeyondL2) {
  Random random(seed());
  const struct {
    Shape shape;
    reference::AxisSet axes;
    Shape scale;
  } cases[] = {{{1, 181, 768}, 0b100, {}},           {{1, 181, 775}, 0b100, {1, 1, 775}},
               {{1, 2, 66064}, 0b100, {1, 2, 1}},    {{1, 2, 66003}, 0b100, {1, 2, 1}},
               {{1, 2, 66064}, 0b110, {1, 2, 1}},    {{1, 2, 66064}, 0b100, {1, 1, 66064}},
               {{1, 37, 3001}, 0b100, {1, 1, 3001}}, {{1, 37, 3008}, 0b100, {1, 1, 3008}}};
  for (const auto& it : cases) {
    for (const Regime regime : {Regime::mean_0, Regime::mean_100, Regime::with_nan}) {
      auto c = plain_case<TypeParam>(it.shape, it.axes);
      fill(c.input_data, regime, random);
      c.parameters.activation = random_activation(random);
      if (it.scale.size() > 0) {
        add_scale_and_bias(c, Layout(it.scale), random);
      }
      expect_reference_bits(c, "rows beyond the second cache");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Batches of groups that share scale and bias: as many as fit, fewer, one more than a multiple; in segments that begin
// with lane 0 or do not.
TYPED_TEST(FastNormalization, BatchesOfGroups) {
  Random random(seed());
  for (const Index groups : {2, 16, 17, 33, 50}) {
    for (const Index inner : {48, 50, 1040}) {
      const Index outer = 2100 / inner;
      auto c = groups_of_mixed_kinds<TypeParam>(outer, groups, inner, random);
      if (pick(random, 0, 1) == 0) c.parameters.activation = random_activation(random);
      add_scale_and_bias(c, Layout(pick(random, 0, 1) == 0 ? Shape{outer, 1, inner} : Shape{outer, 1, 1}), random);
      expect_reference_bits(c, "batches");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// More than half a last-level cache of 32 MiB holds: some outputs go past it, with several tasks fewer than with one.
TEST(FastNormalizationOutputs, PastTheCaches) {
  Random random(seed());
  for (const Index rows : {2800, 4600}) {
    if (sanitized && rows > 2800) continue;  // seconds each
    for (const bool scaled : {false, true}) {
      auto c = plain_case<float>({rows, 768}, 0b10);
      fill(c.input_data, Regime::mean_0, random);
      if (scaled) {
        c.scale = c.bias = Layout({1, 768});
        c.scale_data.assign(768, 0.7f);
        c.bias_data.assign(768, -0.3f);
        if (rows == 2800) c.parameters.activation = default_activation(ActivationType::tanh);
      }
      expect_reference_bits(c, "past the caches");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// The same of rows that begin and end anywhere in a line, some of which are computed again.
TEST(FastNormalizationOutputs, PastTheCachesInPartsOfLines) {
  Random random(seed());
  auto c = plain_case<float>({2900, 775}, 0b10);
  fill(c.input_data, Regime::mean_0, random);
  for (std::size_t row = 7; row < 2900; row += 100) c.input_data[row * 775 + row % 775] = std::nanf("");
  expect_reference_bits(c, "past the caches in parts of lines");
}

/// The output from buffers of exactly their tensors' bytes, beside pages that must not be touched.
template <class T>
std::vector<T> guarded_output(const NormalizationCase<T>& c, GuardedBuffer::Side side) {
  const CompileResult compiled = compile(c.desc(), latest_feature_level);
  EXPECT_TRUE(compiled) << compiled.report().to_string() << c.describe();
  if (!compiled) return {};
  const auto& slots = compiled.value().input_slots();
  const auto filled = [&](const std::vector<T>& data, std::uint64_t bytes) {
    auto buffer = std::make_unique<GuardedBuffer>(static_cast<std::size_t>(bytes), side);
    if (bytes != 0) std::memcpy(buffer->data(), data.data(), data.size() * sizeof(T));
    return buffer;
  };
  const auto input = filled(c.input_data, slots[0].bytes);
  const auto scale = filled(c.scale_data, slots[1].bytes);
  const auto bias = filled(c.bias_data, slots[2].bytes);
  std::vector<T> result(elements_spanned(c.output), static_cast<T>(42.0f));
  const auto output = filled(result, compiled.value().output_slot().bytes);
  const auto bound = [](const GuardedBuffer& buffer) { return InputBuffer(buffer.span()); };
  const std::array<InputBuffer, 3> inputs{bound(*input), bound(*scale), bound(*bias)};
  const std::array<OutputBuffer, 1> outputs{output->span()};
  AlignedBuffer temporary(compiled.value().binding_properties().temporary_bytes);
  const Report report = compiled.value().execute(inputs, outputs, {}, temporary.span(), sequential());
  EXPECT_TRUE(report) << report.to_string();
  std::memcpy(result.data(), output->data(), result.size() * sizeof(T));
  return result;
}

// No byte is read or written outside of the tensors: of a row, a summation block in segments, a gathered one, columns.
TYPED_TEST(FastNormalization, NothingBeyondTheBuffers) {
  Random random(seed());
  const struct {
    Shape shape;
    reference::AxisSet axes;
  } shapes[] = {{{1, 1, 1}, 0b100},    {{2, 1, 7}, 0b100},   {{1, 3, 33}, 0b100},   {{1, 2, 1030}, 0b100},
                {{1, 2, 2048}, 0b100}, {{20, 3, 64}, 0b101}, {{20, 3, 63}, 0b101},  {{3, 2, 5}, 0b101},
                {{1, 40, 5}, 0b010},   {{1, 40, 37}, 0b010}, {{1, 1100, 16}, 0b010}};
  for (const auto& it : shapes) {
    for (const bool scaled : {false, true}) {
      for (const ActivationType type : {ActivationType::identity, ActivationType::leaky_relu, ActivationType::tanh}) {
        auto c = plain_case<TypeParam>(it.shape, it.axes);
        fill(c.input_data, Regime::mean_100, random);
        c.parameters.activation = default_activation(type);
        if (scaled) {
          add_scale_and_bias(c, Layout(pick(random, 0, 1) == 0 ? Shape{1, it.shape[1], 1} : Shape{1, 1, it.shape[2]}),
                             random);
        }
        const auto expected = bits_of(c.reference_output());
        for (const auto side : {GuardedBuffer::Side::end, GuardedBuffer::Side::begin}) {
          ASSERT_EQ(bits_of(guarded_output(c, side)), expected) << c.describe();
        }
      }
    }
  }
}

// Groups side by side, of every width, in one and in several dimensions.
TYPED_TEST(FastNormalization, ColumnsOfEveryWidth) {
  Random random(seed());
  for (const Index width : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 40, 63, 64, 65, 100, 130}) {
    for (const Index rows : {2, 17, 40, 1100}) {
      auto c = plain_case<TypeParam>({2, rows / 2, 2, width}, 0b0110);
      fill(c.input_data, static_cast<Regime>(pick(random, 0, static_cast<int>(Regime::count) - 1)), random);
      c.parameters.activation = random_activation(random);
      if (pick(random, 0, 1) == 0) {
        add_scale_and_bias(c, Layout({1, 1, 1, width}), random);
      }
      expect_reference_bits(c, "columns");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Rows of one element: no axes, or axes of one element each, also where neighbours would make columns.
TYPED_TEST(FastNormalization, GroupsOfOneElement) {
  Random random(seed());
  const struct {
    Shape shape;
    reference::AxisSet axes;
    Strides input;  // none: packed
  } shapes[] = {{{1}, 0, {}},
                {{37}, 0, {}},
                {{5, 1, 7, 33}, 0, {}},
                {{3, 4, 130}, 0, {520, 1, 4}},
                {{2, 3, 65}, 0, {0, 1, 0}},
                {{1, 1, 2, 2, 1, 3, 5, 7}, 0, {}},
                {{sanitized ? 7000 : 70000}, 0, {}},
                {{2, 1, 64}, 0b010, {}},
                {{1, 40, 37}, 0b001, {}}};
  for (const auto& it : shapes) {
    for (const Regime regime : {Regime::mean_0, Regime::mean_1e4, Regime::with_nan, Regime::with_infinity}) {
      for (const float epsilon : {1e-5f, 0.0f}) {
        auto c = plain_case<TypeParam>(it.shape, it.axes);
        if (it.input.size() > 0) c.input = Layout(it.shape, it.input);
        c.input_data.resize(elements_spanned(c.input));
        fill(c.input_data, regime, random);
        c.parameters.epsilon = epsilon;
        c.parameters.normalize_variance = pick(random, 0, 2) != 0;
        if (pick(random, 0, 1) == 0) c.parameters.activation = random_activation(random);
        if (pick(random, 0, 1) == 0) {
          Shape part = it.shape;
          for (Index& extent : part) extent = pick(random, 0, 1) == 0 ? 1 : extent;
          add_scale_and_bias(c, Layout(part), random);
        }
        expect_reference_bits(c, "groups of one element");
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(FastNormalization, EveryActivation) {
  Random random(seed());
  for (const ActivationInfo& info : activation_table) {
    for (const Regime regime : {Regime::mean_0, Regime::mean_100, Regime::outlier, Regime::with_nan}) {
      for (const bool columns : {false, true}) {
        auto c = columns ? plain_case<TypeParam>({1, 90, 37}, 0b010) : plain_case<TypeParam>({1, 7, 90}, 0b100);
        fill(c.input_data, regime, random);
        c.parameters.activation = default_activation(info.type);
        expect_reference_bits(c, std::string(info.name));
        c.parameters.activation.parameters = {-0.75f, 0.5f};
        expect_reference_bits(c, std::string(info.name));
        c.parameters.activation.parameters = {0.0f, 0.0f};
        expect_reference_bits(c, std::string(info.name));
        c.parameters.activation.parameters[0] = std::numeric_limits<float>::quiet_NaN();
        expect_reference_bits(c, std::string(info.name));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// MVN0: CrossChannel is MVN1 over {1, 2, 3}, its absence over {2, 3}.
TEST(FastNormalizationOperators, Mvn0IsMvn1OverItsAxes) {
  Random random(seed());
  auto c = plain_case<float>({2, 3, 5, 7}, 0b1110);
  fill(c.input_data, Regime::mean_100, random);
  for (const bool cross : {true, false}) {
    c.axes = cross ? 0b1110 : 0b1100;
    MeanVarianceNormalizationDesc d;
    d.input = d.output = c.desc().input;
    d.cross_channel = cross;
    std::vector<float> result(c.input_data.size());
    const std::array<InputBuffer, 3> inputs{std::as_bytes(std::span(c.input_data))};
    const std::array<OutputBuffer, 1> outputs{std::as_writable_bytes(std::span(result))};
    ASSERT_TRUE(run(OperatorDesc(d), latest_feature_level, inputs, outputs));
    EXPECT_EQ(bits_of(result), bits_of(c.reference_output()));
  }
}

#if DMLREF_HAS_AVX512VNNI
// The column kernels for AVX-512 give the plain ones' bits.
TEST(FastNormalizationColumns, Avx512AgreesWithPlain) {
  namespace n = dmlref::fast::normalization;
  if (!supported(Isa::avx512vnni)) GTEST_SKIP() << "this CPU has no AVX-512";
  const n::ColumnKernels* const tables[] = {&n::scalar::column_kernels(), &n::avx512::column_kernels()};
  std::mt19937_64 random(seed());
  for (const std::size_t width : {4u, 16u, 21u, 32u, 48u, 63u, 64u}) {
    for (const std::size_t rows : {1u, 2u, 3u, 15u, 16u, 18u, 31u, 50u, 63u, 64u}) {
      std::vector<float> input(2 * rows * width);
      std::vector<half> halves(input.size());
      std::vector<std::int64_t> offset(rows), half_offset(rows);
      for (half& x : halves) x = static_cast<half>(static_cast<float>(random() % 4001) * 0.25f - 500.0f);
      for (float& x : input) x = static_cast<float>(random() % 2000001) * 1e-3f - 1000.0f;
      for (std::size_t i = 0; i < rows; ++i) {
        offset[i] = static_cast<std::int64_t>(i * width * sizeof(float));
        half_offset[i] = offset[i] / 2;
      }
      n::ColumnCoefficients32 coefficients{};
      double pivot[n::panel_width];
      for (std::size_t c = 0; c < n::panel_width; ++c) {
        pivot[c] = static_cast<double>(c) * 0.7;
        coefficients.shift[c] = rows % 2 == 0 ? 0.0 : pivot[c];
        coefficients.slope[c] = 1.1;
        coefficients.offset[c] = -0.3;
      }
      const auto ahead = static_cast<std::int64_t>(rows * width * sizeof(float));
      const n::Columns columns{reinterpret_cast<const std::byte*>(input.data()), offset.data(), rows, width, ahead};
      const n::Columns half_columns{reinterpret_cast<const std::byte*>(halves.data()), half_offset.data(), rows, width,
                                    ahead / 2};
      std::vector<std::vector<std::uint64_t>> results;
      for (const n::ColumnKernels* table : tables) {
        std::vector<std::uint64_t> bits;
        for (const double* shift : {static_cast<const double*>(nullptr), static_cast<const double*>(pivot)}) {
          const auto lanes = std::make_unique<n::ColumnLanes>();
          double sum[n::panel_width], square[n::panel_width];
          table->add32(columns, shift, *lanes);
          table->add16(half_columns, shift, *lanes);
          table->join(*lanes, width, sum, square);
          for (std::size_t c = 0; c < width; ++c) {
            bits.push_back(std::bit_cast<std::uint64_t>(sum[c]));
            bits.push_back(std::bit_cast<std::uint64_t>(square[c]));
          }
        }
        for (const auto finish : {n::Finish::identity, n::Finish::clamped}) {
          std::vector<float> output(rows * width);
          float minimum[n::panel_width];
          table->columns32[static_cast<std::size_t>(finish)](
              columns, coefficients, reinterpret_cast<std::byte*>(output.data()), offset.data(), 0.1f, minimum);
          for (const float x : output) bits.push_back(std::bit_cast<std::uint32_t>(x));
          for (std::size_t c = 0; c < width; ++c) bits.push_back(std::bit_cast<std::uint32_t>(minimum[c]));
        }
        results.push_back(bits);
      }
      EXPECT_EQ(results[0], results[1]) << width << " columns, " << rows << " rows";
    }
  }
}
#endif

}  // namespace
