// eigen_test.cpp: ThreadPoolExecutor runs every task once and never hangs; maps and views see the same elements.
#include "dmlref/eigen.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "dmlref/dmlref.hpp"

namespace {

using dmlref::ThreadPoolExecutor;

std::vector<int> count_calls(dmlref::Executor& executor, std::size_t count) {
  std::vector<std::atomic<int>> calls(count);
  executor.parallel_for(
      count,
      [](void* context, std::size_t i) { (*static_cast<std::vector<std::atomic<int>>*>(context))[i].fetch_add(1); },
      &calls);
  return {calls.begin(), calls.end()};
}

TEST(ThreadPoolExecutor, CallsEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    Eigen::ThreadPool pool(threads);
    ThreadPoolExecutor executor(pool);
    EXPECT_EQ(executor.concurrency(), static_cast<std::size_t>(threads));
    for (const std::size_t count : {0u, 1u, 2u, 3u, 7u, 100u, 10000u}) {
      EXPECT_EQ(count_calls(executor, count), std::vector<int>(count, 1)) << threads << " threads";
    }
  }
}

#if defined(__cpp_exceptions)
/// A pool that has no memory for more than `most` tasks.
class ExhaustedPool final : public Eigen::ThreadPoolInterface {
 public:
  ExhaustedPool(Eigen::ThreadPool& pool, int most) : pool_(pool), most_(most) {}
  void Schedule(std::function<void()> task) override {
    if (most_-- <= 0) throw std::bad_alloc();
    pool_.Schedule(std::move(task));
  }
  int NumThreads() const override { return pool_.NumThreads(); }
  int CurrentThreadId() const override { return pool_.CurrentThreadId(); }

 private:
  Eigen::ThreadPool& pool_;
  int most_;
};

// Whoever is scheduled, and the caller, do all tasks. (The address sanitizer sees a job that is never handed back.)
TEST(ThreadPoolExecutor, DoesWithoutHelpersThatCannotBeScheduled) {
  Eigen::ThreadPool pool(4);
  for (const int most : {0, 1, 2, 3, 4, 7}) {
    ExhaustedPool exhausted(pool, most);
    ThreadPoolExecutor executor(exhausted);
    for (int call = 0; call < 3; ++call) EXPECT_EQ(count_calls(executor, 100), std::vector<int>(100, 1)) << most;
  }
}
#endif

TEST(ThreadPoolExecutor, ReallyRunsTasksAtOnce) {
  Eigen::ThreadPool pool(2);
  ThreadPoolExecutor executor(pool);
  // Both tasks wait until the other has begun: one thread alone would never get through.
  std::atomic<int> begun{0};
  executor.parallel_for(
      2,
      [](void* context, std::size_t) {
        auto& started = *static_cast<std::atomic<int>*>(context);
        started.fetch_add(1);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (started.load() < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      },
      &begun);
  EXPECT_EQ(begun.load(), 2);
}

TEST(ThreadPoolExecutor, NestsInsideItsOwnPool) {
  Eigen::ThreadPool pool(3);
  ThreadPoolExecutor executor(pool);
  struct Nested {
    dmlref::Executor* executor;
    std::atomic<int> calls{0};
  } nested{&executor};
  executor.parallel_for(
      16,
      [](void* context, std::size_t) {
        auto& state = *static_cast<Nested*>(context);
        state.executor->parallel_for(
            16, [](void* inner, std::size_t) { static_cast<Nested*>(inner)->calls.fetch_add(1); }, &state);
      },
      &nested);
  EXPECT_EQ(nested.calls.load(), 256);
}

TEST(ThreadPoolExecutor, ABusyPoolDelaysNothing) {
  std::atomic<bool> release{false};  // outlives the pool's threads
  std::atomic<int> blocked{0};
  Eigen::ThreadPool pool(2);
  for (int i = 0; i < 2; ++i) {
    pool.Schedule([&] {
      blocked.fetch_add(1);
      while (!release.load()) std::this_thread::yield();
      blocked.fetch_sub(1);
    });
  }
  while (blocked.load() < 2) std::this_thread::yield();
  {
    ThreadPoolExecutor executor(pool);
    for (int round = 0; round < 10; ++round) EXPECT_EQ(count_calls(executor, 50), std::vector<int>(50, 1));
  }  // the executor goes while its helpers are still queued
  release.store(true);
}

TEST(ThreadPoolExecutor, WorksOnAPoolThatQueuesNothing) {
  // Runs at once what it is given, in the caller, as Eigen's pool does when its queue is full.
  struct InlinePool final : Eigen::ThreadPoolInterface {
    void Schedule(std::function<void()> work) override { work(); }
    int NumThreads() const override { return 4; }
    int CurrentThreadId() const override { return -1; }
  } pool;
  ThreadPoolExecutor executor(pool);
  EXPECT_EQ(count_calls(executor, 20), std::vector<int>(20, 1));
}

TEST(ThreadPoolExecutor, WorksOnAPoolThatRunsNothing) {
  // Keeps everything for later, as a pool does whose threads are all blocked.
  struct LazyPool final : Eigen::ThreadPoolInterface {
    std::vector<std::function<void()>> queue;
    void Schedule(std::function<void()> work) override { queue.push_back(std::move(work)); }
    int NumThreads() const override { return 4; }
    int CurrentThreadId() const override { return -1; }
  } pool;
  {
    ThreadPoolExecutor executor(pool);
    EXPECT_EQ(count_calls(executor, 20), std::vector<int>(20, 1));
    EXPECT_EQ(count_calls(executor, 20), std::vector<int>(20, 1));
  }
  for (const auto& late : pool.queue) late();
}

TEST(ThreadPoolExecutor, SeveralThreadsShareOneExecutor) {
  Eigen::ThreadPool pool(2);
  ThreadPoolExecutor executor(pool);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        if (count_calls(executor, 13) != std::vector<int>(13, 1)) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPoolExecutor, RunsACompiledOperator) {
  using namespace dmlref;
  Eigen::ThreadPool pool(2);
  ThreadPoolExecutor executor(pool);
  constexpr std::uint32_t n = 128;
  SliceDesc desc;
  desc.input = TensorDesc(DataType::float32, {1, 1, n, n});
  desc.output = TensorDesc(DataType::float32, {1, 1, n / 2, n});
  desc.offsets = {0, 0, 1, 0};
  desc.sizes = {1, 1, n / 2, n};
  desc.strides = {1, 1, 2, 1};
  std::vector<float> input(std::size_t{n} * n);
  std::iota(input.begin(), input.end(), 0.0f);
  std::vector<float> output(std::size_t{n} * n / 2);
  const CompileResult compiled = compile(desc, latest_feature_level);
  ASSERT_TRUE(compiled) << compiled.report().to_string();
  const InputBuffer in[] = {std::as_bytes(std::span(input))};
  const OutputBuffer out[] = {std::as_writable_bytes(std::span(output))};
  const Report report = compiled.value().execute(in, out, {}, {}, executor);
  ASSERT_TRUE(report) << report.to_string();
  for (std::uint32_t y = 0; y < n / 2; ++y) {
    for (std::uint32_t x = 0; x < n; ++x) ASSERT_EQ(output[y * n + x], input[(2 * y + 1) * n + x]);
  }
}

TEST(EigenViews, MatricesOfBothOrders) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  const Eigen::Map<const Eigen::Matrix<float, 2, 3, Eigen::RowMajor>> rows(data);
  const Eigen::Map<const Eigen::MatrixXf> columns(data, 2, 3);
  const auto by_rows = dmlref::view_of(rows);
  const auto by_columns = dmlref::view_of(columns);
  static_assert(std::is_same_v<decltype(by_rows), const dmlref::TensorView<const float>>);
  EXPECT_EQ(by_rows.strides(), (dmlref::Strides{3, 1}));
  EXPECT_EQ(by_columns.strides(), (dmlref::Strides{1, 2}));
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 3; ++c) {
      EXPECT_EQ(by_rows(r, c), rows(r, c));
      EXPECT_EQ(by_columns(r, c), columns(r, c));
    }
  }
}

TEST(EigenViews, StridedMapsAndVectors) {
  std::vector<std::int32_t> data(40);
  std::iota(data.begin(), data.end(), 0);
  using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  Eigen::Map<Eigen::MatrixXi, Eigen::Unaligned, Stride> map(data.data(), 3, 4, Stride(10, 2));
  const auto view = dmlref::view_of(map);
  EXPECT_EQ(view.strides(), (dmlref::Strides{2, 10}));
  view.store({2, 3}, -7);
  EXPECT_EQ(map(2, 3), -7);
  const dmlref::TensorDesc desc = dmlref::tensor_desc_of(map);
  EXPECT_EQ(desc.data_type, dmlref::DataType::int32);
  EXPECT_EQ(desc.sizes, (dmlref::Dimensions{3, 4}));
  EXPECT_EQ(desc.strides.value(), (dmlref::Dimensions{2, 10}));
  EXPECT_EQ(dmlref::bytes_of(map).size(), desc.total_size_in_bytes);
  EXPECT_EQ(dmlref::writable_bytes_of(map).data(), reinterpret_cast<std::byte*>(data.data()));

  const Eigen::Map<Eigen::VectorXi, Eigen::Unaligned, Eigen::InnerStride<>> vector(data.data(), 5,
                                                                                   Eigen::InnerStride<>(3));
  EXPECT_EQ(dmlref::view_of(vector).shape(), (dmlref::Shape{5}));
  EXPECT_EQ(dmlref::view_of(vector)(4), 12);
}

TEST(EigenViews, Tensors) {
  std::vector<double> data(24);
  std::iota(data.begin(), data.end(), 0.0);
  Eigen::TensorMap<Eigen::Tensor<double, 3, Eigen::RowMajor>> rows(data.data(), 2, 3, 4);
  Eigen::TensorMap<Eigen::Tensor<double, 3>> columns(data.data(), 2, 3, 4);
  const auto by_rows = dmlref::view_of(rows);
  const auto by_columns = dmlref::view_of(columns);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) {
        EXPECT_EQ(by_rows(i, j, k), rows(i, j, k));
        EXPECT_EQ(by_columns(i, j, k), columns(i, j, k));
      }
    }
  }
  EXPECT_FALSE(dmlref::tensor_desc_of(rows).strides);
  EXPECT_EQ(dmlref::tensor_desc_of(columns).strides.value(), (dmlref::Dimensions{1, 2, 6}));
  const auto back = dmlref::tensor_map<3>(by_rows);
  ASSERT_TRUE(back);
  EXPECT_EQ((*back)(1, 2, 3), 23.0);
  EXPECT_FALSE(dmlref::tensor_map<3>(by_columns)) << "not row-major";
  EXPECT_FALSE(dmlref::tensor_map<2>(by_rows)) << "another rank";
}

TEST(EigenViews, ViewsAsMatrices) {
  float data[12];
  std::iota(std::begin(data), std::end(data), 0.0f);
  const dmlref::TensorView<float> view(data, dmlref::Shape{3, 2}, dmlref::Strides{4, 2});
  auto matrix = dmlref::matrix_map(view);
  ASSERT_TRUE(matrix);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 2; ++c) EXPECT_EQ((*matrix)(r, c), view(r, c));
  }
  (*matrix)(1, 1) = 99.0f;
  EXPECT_EQ(data[6], 99.0f);
  EXPECT_FALSE(dmlref::matrix_map(dmlref::TensorView<float>(data, dmlref::Shape{1, 3, 4})));

  const dmlref::TensorView<const float> row(data, dmlref::Shape{5});
  EXPECT_EQ(dmlref::matrix_map(row)->rows(), 1);
  EXPECT_EQ(dmlref::matrix_map(row)->sum(), 10.0f);
}

TEST(EigenHalf, IsFloat16WithTheSameBits) {
  static_assert(dmlref::data_type_of<Eigen::half> == dmlref::DataType::float16);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Eigen::half theirs = Eigen::numext::bit_cast<Eigen::half>(static_cast<std::uint16_t>(bits));
    Eigen::Map<const Eigen::Matrix<Eigen::half, 1, 1>> map(&theirs);
    const dmlref::half ours = dmlref::view_of(map)(0);
    ASSERT_EQ(ours.bits, bits);
    const auto a = static_cast<float>(ours);
    const auto b = static_cast<float>(theirs);
    ASSERT_TRUE(a == b || (a != a && b != b)) << bits;
  }
}

TEST(EigenHalf, BytesOfHalfBecomeAMap) {
  std::vector<Eigen::half> data(6);
  Eigen::Map<Eigen::Matrix<Eigen::half, 2, 3, Eigen::RowMajor>> map(data.data());
  const auto view = dmlref::view_of(map);
  view.store({1, 2}, dmlref::half(1.5f));
  EXPECT_EQ(static_cast<float>(map(1, 2)), 1.5f);
  const auto back = dmlref::matrix_map(view);
  ASSERT_TRUE(back);
  EXPECT_EQ(static_cast<float>((*back)(1, 2)), 1.5f);
  const auto tensor = dmlref::tensor_map<2>(view);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(static_cast<float>((*tensor)(1, 2)), 1.5f);

  auto* const odd = reinterpret_cast<std::byte*>(data.data()) + 1;
  EXPECT_FALSE(dmlref::matrix_map(dmlref::bind<dmlref::half>(odd, dmlref::Layout(dmlref::Shape{2, 2}))));
}

}  // namespace
