// environment_test.cpp: whatever the floating-point environment of the caller and of an executor's threads is, bits and
// environment stay the same, and nothing traps.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "dmlref/dmlref.hpp"
#include "dmlref/thread_pool.hpp"
#include "run/directml_case.hpp"
#include "support/caller_environment.hpp"
#include "support/normalization_case.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/seed.hpp"
#include "support/slice_cases.hpp"

namespace {

using namespace dmlref;
using dmlref_test::CallerEnvironment;
using dmlref_test::EnvironmentKind;
using dmlref_test::EnvironmentWords;
using outside::Memory;

/// A desc with its inputs, and the bits of its output in the default environment.
struct Work {
  std::string name;
  OperatorDesc desc;
  std::vector<std::vector<std::byte>> inputs;  // empty: absent
  std::size_t output_bytes = 0;
  std::vector<bool> owned = std::vector<bool>(9, false);
  std::vector<std::byte> expected{};
};

std::vector<InputBuffer> buffers(const Work& work, std::optional<bool> owned = std::nullopt) {
  std::vector<InputBuffer> list(work.inputs.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!owned || work.owned[i] == *owned) list[i] = work.inputs[i];
  }
  return list;
}

/// Threads that were made in an environment, and a caller's part in the caller's.
class ForeignThreads final : public Executor {
 public:
  ForeignThreads(const EnvironmentKind& kind, const EnvironmentWords& callers) : kind_(kind), callers_(callers) {}
  std::size_t concurrency() const noexcept override { return 3; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    if (!(EnvironmentWords::now() == callers_)) ++wrong;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      const EnvironmentWords before = EnvironmentWords::now();
      for (std::size_t i = next++; i < count; i = next++) task(context, i);
      if (!(EnvironmentWords::now() == before) || !dmlref_test::left_in_use().empty()) ++wrong;
    };
    std::thread other([&] {
      const CallerEnvironment environment(kind_);
      work();
    });
    work();
    other.join();
  }
  std::atomic<int> wrong{0};

 private:
  const EnvironmentKind& kind_;
  EnvironmentWords callers_;
};

std::vector<std::byte> as_bytes(const auto& values) {
  const auto bytes = std::as_bytes(std::span(values));
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  copy.resize((copy.size() + 3) / 4 * 4);
  return copy;
}

template <class T>
Work work_of(const dmlref_test::NormalizationCase<T>& c) {
  const MeanVarianceNormalization1Desc desc = c.desc();
  const auto fitting = [](const std::optional<TensorDesc>& tensor, const std::vector<T>& data) {
    std::vector<std::byte> bytes;
    if (tensor) bytes = as_bytes(data);
    if (tensor) bytes.resize(tensor->total_size_in_bytes);
    return bytes;
  };
  return {c.describe(),
          desc,
          {fitting(desc.input, c.input_data), fitting(desc.scale, c.scale_data), fitting(desc.bias, c.bias_data)},
          desc.output.total_size_in_bytes};
}

/// What only an environment can make wrong: subnormals, signaling NaN, infinities, the largest numbers.
template <class T>
void sprinkle(std::vector<T>& data, std::mt19937_64& random) {
  if (data.empty()) return;
  const std::uint32_t words[] = {0x00000001u, 0x807FFFFFu, 0x7FA00001u, 0x7F800000u, 0x7F7FFFFFu, 0x00800000u};
  const std::uint16_t halves[] = {0x0001, 0x83FF, 0x7D01, 0x7C00, 0x7BFF, 0x0400};
  const int kind = static_cast<int>(random() % 9);
  if (kind == 8) {  // subnormals everywhere
    for (T& value : data) {
      if constexpr (sizeof(T) == 2) {
        value = half::from_bits(static_cast<std::uint16_t>(random() % 0x400));
      } else {
        value = std::bit_cast<float>(static_cast<std::uint32_t>(random() % 0x800000));
      }
    }
  } else if (kind < 6) {
    T& value = data[random() % data.size()];
    if constexpr (sizeof(T) == 2) {
      value = half::from_bits(halves[kind]);
    } else {
      value = std::bit_cast<float>(words[kind]);
    }
  }
}

void flag(TensorDesc& tensor, bool owned) { tensor.owned_by_dml = owned; }
void flag(std::optional<TensorDesc>& tensor, bool owned) {
  if (tensor) tensor->owned_by_dml = owned;
}

template <class T>
void add_normalizations(std::vector<Work>& all, std::mt19937_64& random, int count) {
  for (int i = 0; i < count; ++i) {
    const auto regime = static_cast<dmlref_test::Regime>(i % static_cast<int>(dmlref_test::Regime::count));
    auto c = i % 5 == 0 ? dmlref_test::plain_case<T>(Shape{3, 1100}, i % 2 == 0 ? 2u : 1u)
                        : dmlref_test::random_case<T>(random, regime, i % 3 == 0 ? 2000 : 300);
    if (i % 5 == 0) dmlref_test::fill(c.input_data, regime, random);
    const ActivationInfo& info = activation_table[static_cast<std::size_t>(i) % activation_table.size()];
    c.parameters.activation = default_activation(info.type);
    if (i % 7 == 0) c.parameters.activation.parameters[0] = std::numeric_limits<float>::signaling_NaN();
    if (i % 4 == 0) c.parameters.epsilon = 1e-41f;
    sprinkle(c.input_data, random);
    sprinkle(c.scale_data, random);
    sprinkle(c.bias_data, random);
    Work work = work_of(c);
    auto& desc = std::get<MeanVarianceNormalization1Desc>(work.desc);
    if (i % 3 == 1) {
      flag(desc.scale, true);
      work.owned[1] = desc.scale.has_value();
    }
    all.push_back(std::move(work));
  }
}

void add_convolutions(std::vector<Work>& all, std::mt19937_64& random, int count) {
  using namespace dmlref::test;
  const QlcShape shapes[] = {
      {1, 1, 16, 24, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
      {1, 24, 1, 1, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
      {2, 1, 12, 20, {5, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false},
      {1, 2, 3, 4, {1, 20}, {1, 3}, {1, 2}, {1, 1}, {0, 1}, {0, 1}, true},
      {1, 1, 64, 64, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
  };
  const QlcData kinds[] = {QlcData::random, QlcData::ties, QlcData::extremes, QlcData::huge_bias};
  const float scales[] = {
      1e-42f, 3e38f,  std::numeric_limits<float>::infinity(), std::numeric_limits<float>::signaling_NaN(),
      0.0f,   -1e-20f};
  for (int i = 0; i < count; ++i) {
    const QlcShape& shape = shapes[static_cast<std::size_t>(i) % std::size(shapes)];
    QlcCase c = make_qlc_case(random, shape, kinds[static_cast<std::size_t>(i / 2) % std::size(kinds)],
                              i % 3 == 0 ? QlcLayout::any : QlcLayout::packed);
    const auto strange = [&](std::vector<std::byte>& bytes) {
      const float scale = scales[random() % std::size(scales)];
      std::memcpy(bytes.data() + random() % (bytes.size() / 4) * 4, &scale, 4);
    };
    if (i % 4 == 1) strange(c.inputs[4]);
    if (i % 8 == 2) strange(c.inputs[1]);
    if (i % 8 == 3) strange(c.inputs[7]);
    Work work{"QLC " + describe(shape), c.desc, {c.inputs.begin(), c.inputs.end()}, c.output.size()};
    auto& desc = std::get<QuantizedLinearConvolutionDesc>(work.desc);
    if (i % 2 == 1) {  // constants and filter folded at initialize
      flag(desc.input_scale, true);
      flag(desc.input_zero_point, true);
      flag(desc.filter, true);
      flag(desc.filter_scale, true);
      flag(desc.filter_zero_point, true);
      flag(desc.bias, true);
      flag(desc.output_scale, true);
      flag(desc.output_zero_point, true);
      for (std::size_t t = 1; t < 9; ++t) work.owned[t] = !work.inputs[t].empty();
    }
    all.push_back(std::move(work));
  }
}

void add_slices(std::vector<Work>& all, std::mt19937_64& random, int count) {
  for (int i = 0; i < count; ++i) {
    const dmlref_test::SliceCase c = dmlref_test::random_slice(random);
    all.push_back({"slice", c.desc, {c.input}, c.before.size()});
  }
}

std::vector<std::byte> output_of(const Work& work, Executor* executor = nullptr) {
  std::vector<std::byte> output(work.output_bytes, std::byte{0xA5});
  const OutputBuffer outputs[] = {output};
  const Report report =
      run(work.desc, latest_feature_level, buffers(work), outputs, {.isa = std::nullopt, .executor = executor});
  EXPECT_TRUE(report.ok()) << report.to_string();
  return output;
}

/// Random operators with what they give in the default environment.
const std::vector<Work>& all_work() {
  static const std::vector<Work> all = [] {
    std::mt19937_64 random(dmlref_test::test_seed(2026));
    std::vector<Work> made;
    add_normalizations<float>(made, random, dmlref_test::rounds(40));
    add_normalizations<half>(made, random, dmlref_test::rounds(40));
    add_convolutions(made, random, dmlref_test::rounds(40));
    add_slices(made, random, dmlref_test::rounds(20));
    for (Work& work : made) work.expected = output_of(work);
    return made;
  }();
  return all;
}

class Environments : public testing::TestWithParam<EnvironmentKind> {};

TEST_P(Environments, RunGivesTheSameBits) {
  for (const Work& work : all_work()) {
    SCOPED_TRACE(work.name);
    const CallerEnvironment environment(GetParam());
    const EnvironmentWords before = EnvironmentWords::now();
    const std::vector<std::byte> output = output_of(work);
    ASSERT_EQ(dmlref_test::left_in_use(), "");
    ASSERT_EQ(EnvironmentWords::now(), before);
    ASSERT_EQ(output, work.expected);
  }
}

TEST_P(Environments, StagesGiveTheSameBits) {
  for (const Work& work : all_work()) {
    SCOPED_TRACE(work.name);
    Memory output(work.output_bytes);
    {
      const CallerEnvironment environment(GetParam());
      const EnvironmentWords before = EnvironmentWords::now();
      const CompileResult compiled = compile(work.desc, latest_feature_level);
      const CompiledOperator& op = compiled.value();
      const bool kept = EnvironmentWords::now() == before;
      Memory persistent(op.binding_properties().persistent_bytes), temporary(op.binding_properties().temporary_bytes);
      const Report initialized = op.initialize(buffers(work, true), persistent.span(), temporary.span());
      const OutputBuffer outputs[] = {output.span()};
      const std::string after_initialize = dmlref_test::left_in_use();
      const Report executed = op.execute(buffers(work, false), outputs, persistent.span(), temporary.span());
      ASSERT_EQ(dmlref_test::left_in_use() + after_initialize, "");
      ASSERT_TRUE(kept && EnvironmentWords::now() == before);
      ASSERT_TRUE(initialized.ok() && executed.ok()) << initialized.to_string() << executed.to_string();
    }
    ASSERT_TRUE(std::equal(work.expected.begin(), work.expected.end(), output.span().begin()));
  }
}

TEST_P(Environments, ThreadsGiveTheSameBits) {
  const CallerEnvironment environment(GetParam());
  const EnvironmentWords before = EnvironmentWords::now();
  ThreadPool pool(3);  // its threads inherit the environment, where the system does so
  for (std::size_t i = 0; i < all_work().size(); i += 5) {
    ASSERT_EQ(output_of(all_work()[i], &pool), all_work()[i].expected) << all_work()[i].name;
  }
  for (const EnvironmentKind& kind : {EnvironmentKind{"default"}, GetParam()}) {
    ForeignThreads foreign(kind, before);
    for (const Work& work : all_work()) {
      ASSERT_EQ(output_of(work, &foreign), work.expected) << work.name;
      ASSERT_EQ(EnvironmentWords::now(), before) << work.name;
    }
    EXPECT_EQ(foreign.wrong, 0);
  }
}

TEST_P(Environments, ReferenceGivesTheSameBits) {
  std::mt19937_64 random(dmlref_test::test_seed(2027));
  for (int i = 0; i < dmlref_test::rounds(20); ++i) {
    auto c = dmlref_test::random_case<float>(random, dmlref_test::Regime::mean_100, 200);
    auto h = dmlref_test::random_case<half>(random, dmlref_test::Regime::mixed_magnitudes, 200);
    sprinkle(c.input_data, random);
    sprinkle(h.input_data, random);
    const auto expected = dmlref_test::bits_of(c.reference_output());
    const auto expected_half = dmlref_test::bits_of(h.reference_output());
    const CallerEnvironment environment(GetParam());
    const EnvironmentWords before = EnvironmentWords::now();
    const std::vector<float> output = c.reference_output();
    const std::vector<half> output_half = h.reference_output();
    ASSERT_EQ(EnvironmentWords::now(), before);
    ASSERT_EQ(dmlref_test::bits_of(output), expected) << c.describe();
    ASSERT_EQ(dmlref_test::bits_of(output_half), expected_half) << h.describe();
  }
  const std::uint8_t x[6] = {0, 3, 7, 255, 128, 9};
  const std::int8_t w[3] = {-128, 127, 5};
  const float in[1] = {0.3f}, filter[1] = {0.7f}, out[1] = {1.1f};
  const auto convolve = [&] {
    std::array<std::uint8_t, 4> y{};
    const QuantizedLinearConvolutionTensors<std::uint8_t, std::int8_t, std::uint8_t> tensors{
        TensorView(x, Shape{1, 1, 6}),
        TensorView(in, Shape{1}),
        std::nullopt,
        TensorView(w, Shape{1, 1, 3}),
        TensorView(filter, Shape{1}),
        std::nullopt,
        std::nullopt,
        TensorView(out, Shape{1}),
        std::nullopt,
        TensorView(y.data(), Shape{1, 1, 4})};
    reference::quantized_linear_convolution(tensors, {Strides{1}, Strides{1}, Shape{0}, 1});
    return y;
  };
  const auto expected = convolve();
  const CallerEnvironment environment(GetParam());
  const EnvironmentWords before = EnvironmentWords::now();
  const auto y = convolve();
  ASSERT_EQ(EnvironmentWords::now(), before);
  ASSERT_EQ(y, expected);
}

TEST_P(Environments, ValidationGivesTheSameReport) {
  auto c = dmlref_test::plain_case<float>(Shape{2, 3}, 2u);
  c.parameters.activation = {ActivationType::softplus, {0.0f, 0.0f}};
  for (const std::uint32_t bits : {0x7FA00001u, 0x7FC00000u, 0x00000001u, 0x3F7FFFFFu, 0x3F800000u}) {
    c.parameters.activation.parameters[0] = std::bit_cast<float>(bits);
    const OperatorDesc desc = c.desc();
    const std::string expected = validate(desc, feature_level(0x6200)).to_string();
    const CallerEnvironment environment(GetParam());
    const EnvironmentWords before = EnvironmentWords::now();
    const std::string found = validate(desc, feature_level(0x6200)).to_string();
    ASSERT_EQ(EnvironmentWords::now(), before);
    ASSERT_EQ(found, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Environments, testing::ValuesIn(dmlref_test::environment_kinds()), [](const auto& of) {
  std::string name;
  for (const char c : of.param.name) name += std::isalnum(c) != 0 ? c : '_';
  return name;
});

/// Looks at the environment that its caller has while the tasks of an operator run.
class Looking final : public Executor {
 public:
  std::size_t concurrency() const noexcept override { return 2; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    seen = EnvironmentWords::now();
    called = true;
    for (std::size_t i = 0; i < count; ++i) task(context, i);
#if DMLREF_ENVIRONMENT_X86
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x10u);  // an underflow of the executor's own
#endif
  }
  EnvironmentWords seen;
  bool called = false;
};

// What an executor's own code raises is its caller's to see; what the tasks raise is not.
TEST(ExecutorsOwnCode, RunsInTheCallersEnvironment) {
  int calls = 0;
  for (const Work& work : all_work()) {
    const CallerEnvironment environment({"upward", FE_UPWARD, true, true});
    const EnvironmentWords before = EnvironmentWords::now();
    Looking looking;
    const std::vector<std::byte> output = output_of(work, &looking);
    ASSERT_EQ(output, work.expected) << work.name;
    if (!looking.called) continue;  // the reference has no tasks
    ++calls;
    ASSERT_EQ(looking.seen.control & ~std::uint64_t{0x10}, before.control) << work.name;
#if DMLREF_ENVIRONMENT_X86
    ASSERT_EQ(EnvironmentWords::now().control, before.control | 0x10u) << work.name;
#endif
  }
  EXPECT_GT(calls, 0);
}

#if defined(__cpp_exceptions)
/// Runs some tasks of some parallel_for on two threads, then throws.
class Throwing final : public Executor {
 public:
  Throwing(int calls, std::size_t tasks) : calls_(calls), tasks_(tasks) {}
  std::size_t concurrency() const noexcept override { return 4; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    const bool last = calls_-- == 0;
    const std::size_t runs = last ? std::min(tasks_, count) : count;
    std::thread other([&] {
      for (std::size_t i = 1; i < runs; i += 2) task(context, i);
    });
    for (std::size_t i = 0; i < runs; i += 2) task(context, i);
    other.join();
    if (last) {
      ++thrown;
      throw std::runtime_error("no more threads");
    }
  }
  static inline int thrown = 0;

 private:
  int calls_;
  std::size_t tasks_;
};

// The exception comes out of each way to run, and what was made before it serves again.
TEST(ExecutorThatThrows, LeavesAllElseUsable) {
  Throwing::thrown = 0;
  for (const Work& work : all_work()) {
    SCOPED_TRACE(work.name);
    const CompileResult compiled = compile(work.desc, latest_feature_level);
    const CompiledOperator& op = compiled.value();
    Memory persistent(static_cast<std::size_t>(op.binding_properties().persistent_bytes));
    Memory temporary(static_cast<std::size_t>(op.binding_properties().temporary_bytes));
    ASSERT_TRUE(op.initialize(buffers(work, true), persistent.span(), temporary.span()));
    const CallerEnvironment environment({"downward", FE_DOWNWARD, true, true});
    const EnvironmentWords before = EnvironmentWords::now();
    for (int calls = 0; calls < 4; ++calls) {
      for (const std::size_t tasks : {0u, 1u, 3u}) {
        const int thrown = Throwing::thrown;
        Memory output(work.output_bytes);
        const OutputBuffer outputs[] = {output.span()};
        Throwing throwing(calls, tasks), again(calls, tasks);
        int caught = 0;
        try {
          EXPECT_TRUE(op.execute(buffers(work, false), outputs, persistent.span(), temporary.span(), throwing));
        } catch (const std::runtime_error&) {
          ++caught;
        }
        ASSERT_EQ(EnvironmentWords::now(), before);
        try {
          EXPECT_TRUE(run(work.desc, latest_feature_level, buffers(work), outputs, {.executor = &again}));
        } catch (const std::runtime_error&) {
          ++caught;
        }
        ASSERT_EQ(EnvironmentWords::now(), before);
        ASSERT_EQ(caught, Throwing::thrown - thrown);
      }
    }
    Memory output(work.output_bytes);
    const OutputBuffer outputs[] = {output.span()};
    ASSERT_TRUE(op.execute(buffers(work, false), outputs, persistent.span(), temporary.span()));
    ASSERT_TRUE(std::equal(work.expected.begin(), work.expected.end(), output.span().begin()));
  }
  EXPECT_GT(Throwing::thrown, dmlref_test::sanitized ? static_cast<int>(all_work().size()) : 100);
}
#endif

}  // namespace
