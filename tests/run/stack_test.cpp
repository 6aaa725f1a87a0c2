// stack_test.cpp: every operator and kernel on threads that have no more stack than docs/threads.md says a call needs.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "dmlref/dmlref.hpp"
#include "run/directml_case.hpp"
#include "support/normalization_case.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/slice_cases.hpp"

namespace {

using namespace dmlref;
using outside::Memory;

// docs/threads.md: of compile, run and validate, and of a task that a thread of an executor runs.
constexpr std::size_t call_stack = std::size_t{128} * 1024;
constexpr std::size_t task_stack = std::size_t{96} * 1024;

/// Calls `body` on a thread with memory of ours as its stack; returns how many bytes of it were touched.
std::size_t on_stack(std::size_t bytes, const std::function<void()>& body) {
  // What a thread itself keeps on its stack is not the call's: thread-local variables, and the signal's frame.
  const std::size_t own = std::size_t{16} * 1024;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = (bytes + own + page - 1) / page * page;
  auto* const memory =
      static_cast<std::byte*>(mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_NE(memory, MAP_FAILED);
  EXPECT_EQ(mprotect(memory, page, PROT_NONE), 0);  // one byte beyond is a crash
  std::byte* const stack = memory + page;
  std::memset(stack, 0x5C, size);
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack, size), 0);
  pthread_t thread{};
  const auto start = [](void* of) -> void* {
    (*static_cast<const std::function<void()>*>(of))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&body)), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  std::size_t untouched = 0;
  while (untouched < size && stack[untouched] == std::byte{0x5C}) ++untouched;
  munmap(memory, size + page);
  return size - untouched;
}

/// Runs each task on a thread of `task_stack`.
class SmallThreads final : public Executor {
 public:
  std::size_t concurrency() const noexcept override { return 2; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    const std::size_t used = on_stack(task_stack, [&] {
      for (std::size_t i = 0; i < count; ++i) task(context, i);
    });
    most = std::max(most, used);
  }
  std::size_t most = 0;
};

struct Work {
  std::string name;
  OperatorDesc desc;
  std::vector<std::vector<std::byte>> inputs;
  std::size_t output_bytes = 0;
};

std::vector<Work> all_work() {
  std::vector<Work> all;
  std::mt19937_64 random(20261126);
  using namespace dmlref::test;
  // One of each strategy: planes, channels, tiles, Winograd's, with strides, in one dimension, groups.
  const QlcShape shapes[] = {
      {1, 1, 3, 8, {32, 32}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
      {1, 1, 32, 64, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
      {1, 1, 64, 64, {8, 8}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false},
      {1, 32, 1, 1, {20, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
      {1, 32, 1, 1, {20, 20}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false},
      {1, 4, 2, 3, {9, 9}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, false},
      {1, 1, 16, 16, {30, 30}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, false},
      {1, 1, 128, 128, {12, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
      {1, 1, 64, 64, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false},
      {1, 2, 3, 4, {1, 20}, {1, 3}, {1, 2}, {1, 1}, {0, 1}, {0, 1}, true},
      {1, 1, 600, 8, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false},
  };
  for (const QlcShape& shape : shapes) {
    for (const QlcLayout layout : {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any}) {
      for (const QlcData data : {QlcData::random, QlcData::ties, QlcData::huge_bias}) {
        const QlcCase c = make_qlc_case(random, shape, data, layout);
        all.push_back({"QLC " + describe(shape), c.desc, {c.inputs.begin(), c.inputs.end()}, c.output.size()});
      }
    }
  }
  const auto normalization = [&](const auto& c) {
    const MeanVarianceNormalization1Desc desc = c.desc();
    const auto bytes = [](const std::optional<TensorDesc>& tensor, const auto& data) {
      std::vector<std::byte> copy(tensor ? tensor->total_size_in_bytes : 0);
      const auto from = std::as_bytes(std::span(data));
      std::copy(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), copy.size())),
                copy.begin());
      return copy;
    };
    all.push_back({c.describe(),
                   desc,
                   {bytes(desc.input, c.input_data), bytes(desc.scale, c.scale_data), bytes(desc.bias, c.bias_data)},
                   desc.output.total_size_in_bytes});
  };
  int turn = 0;
  const auto sorts = [&]<class T>(T) {
    for (const Shape& shape : {Shape{64, 7}, Shape{5000, 16}, Shape{3, 3000}, Shape{40, 64}, Shape{100, 3}}) {
      for (const reference::AxisSet axes : {1u, 2u, 3u}) {
        auto c = dmlref_test::plain_case<T>(shape, axes);
        const auto regime = static_cast<dmlref_test::Regime>(turn % static_cast<int>(dmlref_test::Regime::count));
        dmlref_test::fill(c.input_data, regime, random);
        c.parameters.activation =
            default_activation(activation_table[static_cast<std::size_t>(turn++) % activation_table.size()].type);
        normalization(c);
      }
    }
    for (int i = 0; i < 40; ++i) {
      normalization(dmlref_test::random_case<T>(
          random, static_cast<dmlref_test::Regime>(i % static_cast<int>(dmlref_test::Regime::count)), 1000));
    }
  };
  sorts(0.0f);
  sorts(half());
  for (int i = 0; i < 60; ++i) {
    const dmlref_test::SliceCase c = dmlref_test::random_slice(random);
    all.push_back({"slice", c.desc, {c.input}, c.before.size()});
  }
  return all;
}

TEST(Stack, IsEnoughForEveryCall) {
#if !defined(NDEBUG)
  GTEST_SKIP() << "skipped: the figures are of optimized kernels, and this build has none";
#endif
  std::size_t most = 0, most_of_tasks = 0;
  std::string whose;
  for (const Work& work : all_work()) {
    const std::vector<InputBuffer> inputs(work.inputs.begin(), work.inputs.end());
    std::vector<std::byte> output(work.output_bytes), output_of_tasks(work.output_bytes);
    const OutputBuffer outputs[] = {output}, outputs_of_tasks[] = {output_of_tasks};
    bool good = false;
    const std::size_t used =
        on_stack(call_stack, [&] { good = run(work.desc, latest_feature_level, inputs, outputs).ok(); });
    ASSERT_TRUE(good) << work.name;
    if (used > most) whose = work.name;
    most = std::max(most, used);
    SmallThreads threads;
    ASSERT_TRUE(
        run(work.desc, latest_feature_level, inputs, outputs_of_tasks, {.isa = std::nullopt, .executor = &threads}));
    ASSERT_EQ(output, output_of_tasks) << work.name;
    most_of_tasks = std::max(most_of_tasks, threads.most);
  }
  std::printf("at most %zu KiB of a call (%s), %zu KiB of tasks\n", most / 1024, whose.c_str(), most_of_tasks / 1024);
  // The test does see the stack: the convolutions that stage rows have 40 KiB for them.
  EXPECT_GT(most, std::size_t{40} * 1024);
  EXPECT_GT(most_of_tasks, std::size_t{40} * 1024);
}

// A report of many violations, which is text.
TEST(Stack, IsEnoughForReports) {
  std::string text;
  on_stack(call_stack, [&] {
    MeanVarianceNormalization1Desc desc;
    desc.input = TensorDesc(DataType::int8, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    desc.axes = {9, 9, 10};
    text = validate(OperatorDesc(desc), feature_level(0x1000)).to_string();
  });
  EXPECT_NE(text.find("InputTensor"), std::string::npos);
}

}  // namespace
