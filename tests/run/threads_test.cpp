// threads_test.cpp: several threads execute one operator; executors of every temper give the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>

#include "dmlref/directml.hpp"
#include "dmlref/eigen.hpp"
#include "run/directml_case.hpp"

namespace {

using namespace outside;
using dmlref::CompiledOperator;
using dmlref::CompileResult;
using dmlref::OutputBuffer;

/// Runs the tasks backwards, one after the other.
class Backwards final : public dmlref::Executor {
 public:
  std::size_t concurrency() const noexcept override { return 7; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    for (std::size_t i = count; i-- > 0;) task(context, i);
  }
};

/// A new thread for each task, all at once. `claimed` is what concurrency() says.
class ThreadPerTask final : public dmlref::Executor {
 public:
  explicit ThreadPerTask(std::size_t claimed) : claimed_(claimed) {}
  std::size_t concurrency() const noexcept override { return claimed_; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      if (threads.size() == 32) {
        for (std::thread& thread : threads) thread.join();
        threads.clear();
      }
      threads.emplace_back(task, context, i);
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::size_t claimed_;
};

/// Operators large enough to be split, with random data. The expected bytes are what `sequential` gives.
std::vector<std::unique_ptr<Case>> large_cases() {
  std::vector<std::unique_ptr<Case>> cases;
  const unsigned seed = 20240731;
  std::mt19937 random(seed);
  const auto bytes = [&](std::size_t n) {
    std::vector<std::uint8_t> values(n);
    for (auto& value : values) value = static_cast<std::uint8_t>(random());
    return values;
  };
  const auto floats = [&](std::size_t n) {
    std::vector<float> values(n);
    for (auto& value : values) value = static_cast<float>(random() % 2001) / 100.0f - 10.0f;
    return values;
  };
  {
    auto c = std::make_unique<Case>();
    c->name = "slice1";
    c->input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {4, 8, 128, 64}, floats(4 * 8 * 128 * 64));
    c->result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {4, 8, 128, 32}, {});
    c->arrays[0] = {0, 0, 0, 0};
    c->arrays[1] = {4, 8, 128, 64};
    c->signed_strides = {1, 1, -1, 2};
    c->slice1 = {c->tensor(0),        c->output->desc(),   4,
                 c->arrays[0].data(), c->arrays[1].data(), c->signed_strides.data()};
    c->desc = {DML_OPERATOR_SLICE1, &c->slice1};
    cases.push_back(std::move(c));
  }
  for (const UINT groups : {1u, 16u}) {
    auto c = std::make_unique<Case>();
    c->name = groups == 1 ? "convolution" : "depthwise";
    c->input<std::uint8_t>("InputTensor", DML_TENSOR_DATA_TYPE_UINT8, {2, 16, 20, 20}, bytes(2 * 16 * 20 * 20));
    c->input<float>("InputScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {0.5f});
    c->absent("InputZeroPointTensor");
    c->input<std::uint8_t>("FilterTensor", DML_TENSOR_DATA_TYPE_UINT8, {16, 16 / groups, 3, 3},
                           bytes(16 * 16 / groups * 9), true);
    c->input<float>("FilterScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {0.01f}, true);
    c->input<std::uint8_t>("FilterZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 1, 1}, {127}, true);
    c->absent("BiasTensor");
    c->input<float>("OutputScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {4.0f});
    c->input<std::uint8_t>("OutputZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 1, 1}, {128});
    c->result<std::uint8_t>(DML_TENSOR_DATA_TYPE_UINT8, {2, 16, 20, 20}, {});
    c->convolve(groups);
    cases.push_back(std::move(c));
  }
  for (const UINT axis : {1u, 0u}) {  // few long reductions, and many strided ones
    auto c = std::make_unique<Case>();
    c->name = axis == 1 ? "normalization_rows" : "normalization_columns";
    c->input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {12, 5000}, floats(12 * 5000));
    c->input<float>("ScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 5000}, floats(5000), true);
    c->absent("BiasTensor");
    c->result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {12, 5000}, {});
    c->arrays[0] = {axis};
    c->normalization1 = {c->tensor(0), c->tensor(1), c->tensor(2), c->output->desc(), 1, c->arrays[0].data(), 1,
                         1e-5f,        nullptr};
    c->desc = {DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, &c->normalization1};
    cases.push_back(std::move(c));
  }
  {
    auto c = std::make_unique<Case>();
    c->name = "normalization_without_mean";
    c->input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {30, 500}, floats(30 * 500));
    c->input<float>("ScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 500}, floats(500), true);
    c->absent("BiasTensor");
    c->result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {30, 500}, {});
    c->arrays[0] = {1};
    c->normalization2 = {c->tensor(0), c->tensor(1), c->tensor(2), c->output->desc(), 1, c->arrays[0].data(), 0, 1,
                         1e-5f,        nullptr};
    c->desc = {DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2, &c->normalization2};
    cases.push_back(std::move(c));
  }
  for (auto& c : cases) {
    const OutputBuffer outputs[] = {c->expected};
    const auto report = dmlref::run(c->desc, DML_FEATURE_LEVEL_6_4, c->all_buffers(), outputs);
    EXPECT_TRUE(report) << report.to_string();
  }
  return cases;
}

/// Compiled and initialized, to be shared.
struct Ready {
  explicit Ready(const Case& c)
      : compiled(dmlref::compile(c.desc, DML_FEATURE_LEVEL_6_4)),
        persistent(static_cast<std::size_t>(compiled.value().binding_properties().persistent_bytes)),
        inputs(c.buffers(false)) {
    Memory temporary(static_cast<std::size_t>(compiled.value().binding_properties().temporary_bytes));
    EXPECT_TRUE(compiled);
    EXPECT_TRUE(compiled.value().initialize(c.buffers(true), persistent.span(), temporary.span()));
  }
  /// One execute with memory of its own; whether it gave `expected`.
  bool execute_gives(const std::vector<std::byte>& expected, dmlref::Executor& executor) const {
    Memory temporary(static_cast<std::size_t>(compiled.value().binding_properties().temporary_bytes));
    Memory output(expected.size());
    const OutputBuffer outputs[] = {output.span()};
    return compiled.value().execute(inputs, outputs, persistent.span(), temporary.span(), executor) &&
           std::equal(expected.begin(), expected.end(), output.span().begin());
  }

  CompileResult compiled;
  Memory persistent;
  std::vector<dmlref::InputBuffer> inputs;
};

TEST(Threads, EveryExecutorGivesTheSameBytes) {
  Backwards backwards;
  ThreadPerTask modest(1);
  ThreadPerTask two(2);
  ThreadPerTask many(64);
  Eigen::ThreadPool pool(3);
  dmlref::ThreadPoolExecutor pooled(pool);
  for (const auto& c : large_cases()) {
    const Ready ready(*c);
    EXPECT_TRUE(ready.execute_gives(c->expected, dmlref::sequential())) << c->name;
    EXPECT_TRUE(ready.execute_gives(c->expected, backwards)) << c->name;
    EXPECT_TRUE(ready.execute_gives(c->expected, modest)) << c->name;
    EXPECT_TRUE(ready.execute_gives(c->expected, two)) << c->name;
    EXPECT_TRUE(ready.execute_gives(c->expected, many)) << c->name;
    EXPECT_TRUE(ready.execute_gives(c->expected, pooled)) << c->name;
  }
}

TEST(Threads, SeveralThreadsExecuteOneOperator) {
  Eigen::ThreadPool pool(2);
  dmlref::ThreadPoolExecutor pooled(pool);
  for (const auto& c : large_cases()) {
    const Ready ready(*c);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        dmlref::Executor& executor = t % 2 == 0 ? dmlref::sequential() : static_cast<dmlref::Executor&>(pooled);
        for (int round = 0; round < 3; ++round) {
          if (!ready.execute_gives(c->expected, executor)) wrong.fetch_add(1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0) << c->name;
  }
}

TEST(Threads, CompileAndValidateFromSeveralThreads) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const auto& c : all_cases()) {
        Memory output(c->output->bytes());
        const OutputBuffer outputs[] = {output.span()};
        const bool good = static_cast<bool>(dmlref::run(c->desc, DML_FEATURE_LEVEL_6_4, c->all_buffers(), outputs));
        if (!good || !std::equal(c->expected.begin(), c->expected.end(), output.span().begin())) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
