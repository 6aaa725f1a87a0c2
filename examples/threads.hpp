// threads.hpp: an Executor of one's own: threads that share the tasks of a call.
#pragma once

#include <dmlref/op/executor.hpp>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

class Threads final : public dmlref::Executor {
 public:
  explicit Threads(std::size_t count) : count_(count) {}
  std::size_t concurrency() const noexcept override { return count_; }
  void parallel_for(std::size_t tasks, void (*task)(void*, std::size_t), void* context) override {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < tasks; i = next++) task(context, i);
    };
    std::vector<std::jthread> others;  // the calling thread works, too
    for (std::size_t t = 1; t < count_; ++t) others.emplace_back(work);
    work();
  }

 private:
  std::size_t count_;
};
