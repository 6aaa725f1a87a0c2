// no_allocation_test.cpp: after compile nothing allocates: this program counts every operator new.
#include <gtest/gtest.h>

#include "dmlref/directml.hpp"
#include "dmlref/eigen.hpp"
#include "run/directml_case.hpp"
#include "support/counted_new.hpp"

namespace {

using namespace outside;

TEST(NoAllocation, TheCounterCounts) {
  const long before = dmlref_test::allocations.calls.load();
  const auto memory = std::make_unique<int>(1);
  EXPECT_EQ(dmlref_test::allocations.calls.load(), before + 1) << *memory;
}

/// Says that many threads are there, and runs the tasks itself.
class Claiming final : public dmlref::Executor {
 public:
  std::size_t concurrency() const noexcept override { return 7; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
  }
};

/// Hands everything on to a pool, and counts how often.
class Counting final : public dmlref::Executor {
 public:
  explicit Counting(dmlref::Executor& inner) : inner_(inner) {}
  std::size_t concurrency() const noexcept override { return inner_.concurrency(); }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    ++calls;
    inner_.parallel_for(count, task, context);
  }
  long calls = 0;

 private:
  dmlref::Executor& inner_;
};

/// Large enough to be worth sharing among threads: planes of 24 x 24 in 16 channels.
std::unique_ptr<Case> large_case(bool owned) {
  auto c = std::make_unique<Case>();
  constexpr UINT channels = 16;
  constexpr UINT extent = 24;
  std::vector<std::uint8_t> picture(channels * extent * extent);
  for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<std::uint8_t>(i * 37 % 251);
  std::vector<std::int8_t> filter(channels * channels * 9);
  for (std::size_t i = 0; i < filter.size(); ++i) filter[i] = static_cast<std::int8_t>(i * 11 % 255);
  c->name = "large";
  c->input<std::uint8_t>("InputTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, channels, extent, extent}, picture);
  c->input<float>("InputScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {0.5f}, owned);
  c->absent("InputZeroPointTensor");
  c->input<std::int8_t>("FilterTensor", DML_TENSOR_DATA_TYPE_INT8, {channels, channels, 3, 3}, filter, owned);
  c->input<float>("FilterScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {0.25f}, owned);
  c->absent("FilterZeroPointTensor");
  c->absent("BiasTensor");
  c->input<float>("OutputScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {64.0f}, owned);
  c->absent("OutputZeroPointTensor");
  c->result<std::uint8_t>(DML_TENSOR_DATA_TYPE_UINT8, {1, channels, extent, extent}, {});
  c->convolve(1);
  return c;
}

TEST(NoAllocation, InitializeAndExecute) {
  Eigen::ThreadPool pool(2);
  dmlref::ThreadPoolExecutor pool_executor(pool);
  Counting threads(pool_executor);
  auto cases = all_cases();
  cases.push_back(large_case(false));
  cases.push_back(large_case(true));
  Claiming claiming;
  for (dmlref::Executor* executor :
       std::initializer_list<dmlref::Executor*>{&dmlref::sequential(), &claiming, &threads}) {
    for (const auto& c : cases) {
      const dmlref::CompileResult compiled = dmlref::compile(c->desc, DML_FEATURE_LEVEL_6_4);
      ASSERT_TRUE(compiled) << compiled.report().to_string();
      const dmlref::CompiledOperator& op = compiled.value();
      Memory persistent(static_cast<std::size_t>(op.binding_properties().persistent_bytes));
      Memory temporary(static_cast<std::size_t>(op.binding_properties().temporary_bytes));
      Memory output(c->output->bytes());
      const dmlref::OutputBuffer outputs[] = {output.span()};
      const std::vector<dmlref::InputBuffer> owned = c->buffers(true);
      const std::vector<dmlref::InputBuffer> inputs = c->buffers(false);
      bool good = true;
      // The executor's own job blocks appear with its first uses; from then on nothing.
      for (int warm = 0; executor == &threads && warm < 20; ++warm) {
        good = good && op.initialize(owned, persistent.span(), temporary.span()) &&
               op.execute(inputs, outputs, persistent.span(), temporary.span(), *executor);
      }
      threads.calls = 0;
      const long before = dmlref_test::allocations.calls.load();
      good = good && op.initialize(owned, persistent.span(), temporary.span());
      for (int round = 0; round < 3; ++round) {
        good = good && op.execute(inputs, outputs, persistent.span(), temporary.span(), *executor);
      }
      const long after = dmlref_test::allocations.calls.load();
      EXPECT_TRUE(good) << c->name;
      if (executor == &threads) {
        // Eigen's pool makes one task object for each thread it wakes; late threads may hold earlier job blocks.
        const auto woken = threads.calls * static_cast<long>(threads.concurrency() - 1);
        EXPECT_LE(after - before, woken + 2) << c->name;
      } else {
        EXPECT_EQ(after - before, 0) << c->name;
      }
    }
  }
}

}  // namespace
