// thread_executor.hpp: an Executor with threads of its own, for tests: every call starts them anew.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "dmlref/run/executor.hpp"

namespace dmlref_test {

class ThreadExecutor final : public dmlref::Executor {
 public:
  explicit ThreadExecutor(std::size_t threads) : threads_(threads) {}
  std::size_t concurrency() const noexcept override { return threads_; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) task(context, i);
    };
    std::vector<std::thread> team;
    for (std::size_t t = 1; t < threads_; ++t) team.emplace_back(work);
    work();
    for (std::thread& thread : team) thread.join();
  }

 private:
  std::size_t threads_;
};

}  // namespace dmlref_test
