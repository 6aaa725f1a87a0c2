// thread_pool_test.cpp: every task once, from many callers at once and from inside of tasks; for the thread sanitizer.
#include "dmlref/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <set>
#include <thread>
#include <vector>

#include "dmlref/slice.hpp"

namespace {

using dmlref::ThreadPool;
using dmlref::detail::parallel_for;

/// Counts how often each index is run.
class Tally {
 public:
  explicit Tally(std::size_t count) : counts_(count) {}
  void add(std::size_t i) { counts_[i].fetch_add(1, std::memory_order_relaxed); }
  bool each_once() const {
    for (const auto& count : counts_) {
      if (count.load(std::memory_order_relaxed) != 1) return false;
    }
    return true;
  }

 private:
  std::vector<std::atomic<int>> counts_;
};

TEST(ThreadPool, RunsEachTaskOnce) {
  for (const std::size_t threads : {1u, 2u, 3u, 9u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.concurrency(), threads);
    for (const std::size_t count : {0u, 1u, 2u, 3u, 100u, 5000u}) {
      Tally tally(count);
      parallel_for(pool, count, [&](std::size_t i) { tally.add(i); });
      EXPECT_TRUE(tally.each_once()) << threads << " threads, " << count << " tasks";
    }
  }
  EXPECT_GE(ThreadPool().concurrency(), 1u);
}

// What tasks wrote is there for their caller to read, without atomics.
TEST(ThreadPool, ResultsAreVisibleToTheCaller) {
  ThreadPool pool(4);
  std::vector<std::size_t> squares(1000);
  for (std::size_t round = 0; round < 200; ++round) {
    parallel_for(pool, squares.size(), [&](std::size_t i) { squares[i] = i * i + round; });
    for (std::size_t i = 0; i < squares.size(); ++i) ASSERT_EQ(squares[i], i * i + round);
  }
}

TEST(ThreadPool, ManyCallersShareIt) {
  ThreadPool pool(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      for (std::size_t count = 1; count < 120; ++count) {
        Tally tally(count);
        parallel_for(pool, count, [&](std::size_t i) { tally.add(i); });
        if (!tally.each_once()) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, TasksMayCallItAgain) {
  ThreadPool pool(3);
  Tally tally(8 * 7 * 6);
  parallel_for(pool, 8, [&](std::size_t i) {
    parallel_for(pool, 7,
                 [&](std::size_t j) { parallel_for(pool, 6, [&](std::size_t k) { tally.add((i * 7 + j) * 6 + k); }); });
  });
  EXPECT_TRUE(tally.each_once());
}

// Two tasks that wait for each other end only where two threads run them.
TEST(ThreadPool, TasksRunAtOnce) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  parallel_for(pool, 2, [&](std::size_t) {
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ThreadPool, EndsWithoutHavingWorked) {
  for (int i = 0; i < 50; ++i) const ThreadPool pool(4);
}

TEST(ThreadPool, RunsAnOperator) {
  ThreadPool pool(4);
  std::vector<float> input(1 << 20), output(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i);
  const dmlref::Shape shape{1024, 1024};
  dmlref::RunOptions options;
  options.executor = &pool;
  const dmlref::Report report =
      dmlref::slice1(dmlref::TensorView(input.data(), shape), dmlref::TensorView(output.data(), shape), {0, 0},
                     {1024, 1024}, {-1, -1}, options);
  ASSERT_TRUE(report) << report.to_string();
  for (std::size_t i = 0; i < input.size(); ++i) ASSERT_EQ(output[i], input[input.size() - 1 - i]);
}

}  // namespace
