// thread_pool.hpp: an Executor on std::thread, for programs that have no pool of their own.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "dmlref/run/executor.hpp"

DMLREF_BEGIN

/// Threads that run the tasks of parallel_for together with the thread that calls it. Calls may come from several
/// threads at once, and nested calls are safe: each caller helps to finish its own tasks, and waits only for those that
/// other threads have begun. No call allocates. The destructor joins all threads; no call may be under way.
///
/// A thread that cannot be started is left out; without exceptions (-fno-exceptions) that ends the program, as
/// std::thread has no other way to say so.
class ThreadPool final : public Executor {
 public:
  /// `concurrency` counts the calling thread: ThreadPool(4) starts three. 0: as many as the CPU has.
  explicit ThreadPool(std::size_t concurrency = 0) {
    if (concurrency == 0) concurrency = std::thread::hardware_concurrency();
#if defined(__cpp_exceptions)
    try {
      start(concurrency);
    } catch (...) {
    }
#else
    start(concurrency);
#endif
  }
  /// Joins all threads.
  ~ThreadPool() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      news_.fetch_add(1, std::memory_order_relaxed);
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The threads of the pool, and the calling one.
  std::size_t concurrency() const noexcept override { return threads_.size() + 1; }

  /// As Executor::parallel_for. A task must not throw.
  void parallel_for(std::size_t count, void (*task)(void* context, std::size_t index), void* context) override {
    Job job{task, context, count};
    if (count <= 1 || threads_.empty()) return job.run();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job.next_job = jobs_;
      jobs_ = &job;
      news_.fetch_add(1, std::memory_order_relaxed);
    }
    if (count > threads_.size()) {
      work_.notify_all();
    } else {
      for (std::size_t i = 1; i < count; ++i) work_.notify_one();
    }
    job.run();
    // Shares are meant to end together.
    await_briefly([&] { return job.helpers.load(std::memory_order_acquire) == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    remove(job);
    done_.wait(lock, [&] { return job.helpers.load(std::memory_order_relaxed) == 0; });
  }

 private:
  /// One parallel_for, on its caller's stack.
  struct Job {
    void (*task)(void*, std::size_t);
    void* context;
    std::size_t count;
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> helpers{0};  // threads of the pool in run(); changes under the mutex
    Job* next_job = nullptr;

    bool has_tasks() const noexcept { return next.load(std::memory_order_relaxed) < count; }
    void run() {
      for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(context, i);
    }
  };

  void start(std::size_t concurrency) {
    threads_.reserve(concurrency);
    while (threads_.size() + 1 < concurrency) threads_.emplace_back([this] { help(); });
  }

  /// Gives way until `has_come` or for a moment: to sleep and to be woken takes longer than many a job.
  template <class HasCome>
  static void await_briefly(const HasCome& has_come) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
    while (!has_come() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  }

  /// What a thread of the pool does.
  void help() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      const auto has_work = [&] { return (job = job_with_tasks()) != nullptr || stopping_; };
      if (!has_work()) {  // calls often follow one another
        const unsigned known = news_.load(std::memory_order_relaxed);
        lock.unlock();
        await_briefly([&] { return news_.load(std::memory_order_relaxed) != known; });
        lock.lock();
        work_.wait(lock, has_work);
      }
      if (job == nullptr) return;
      job->helpers.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      job->run();
      lock.lock();
      // Its caller cannot return, and end the job, before the mutex is free again.
      if (job->helpers.fetch_sub(1, std::memory_order_release) == 1) done_.notify_all();
    }
  }

  Job* job_with_tasks() const noexcept {
    Job* job = jobs_;
    while (job != nullptr && !job->has_tasks()) job = job->next_job;
    return job;
  }
  void remove(const Job& job) noexcept {
    Job** link = &jobs_;
    while (*link != &job) link = &(*link)->next_job;
    *link = job.next_job;
  }

  std::mutex mutex_;
  std::condition_variable work_;  // there are tasks, or the pool ends
  std::condition_variable done_;  // a job's last helper has left
  Job* jobs_ = nullptr;           // those that may have tasks, the latest first
  bool stopping_ = false;
  std::atomic<unsigned> news_{0};  // changes, under the mutex, when there may be tasks or the pool ends
  std::vector<std::thread> threads_;
};

DMLREF_END

#endif  // DMLREF_SUPPORTED
