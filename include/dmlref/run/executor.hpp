// executor.hpp: who runs the tasks of one execute.
#pragma once

#include <cstddef>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"

DMLREF_BEGIN

/// Runs tasks; programs may implement their own. The library itself starts no threads.
///
/// An executor may throw, and the exception leaves the call as it came. The output then holds anything, as does the
/// temporary memory; the compiled operator, its persistent memory and the executor serve further calls. `run` frees
/// what it allocated. A parallel_for throws only when none of its tasks runs, and none will: they use the stack of its
/// caller.
class Executor {
 public:
  virtual ~Executor() = default;
  /// How many tasks can run at once. 0 counts as 1.
  virtual std::size_t concurrency() const noexcept = 0;
  /// Calls task(context, i) once for each i in [0, count), in any order, on any threads; returns when all are done. The
  /// tasks throw nothing, and run in a floating-point environment of their own: that of the threads does not matter.
  virtual void parallel_for(std::size_t count, void (*task)(void* context, std::size_t index), void* context) = 0;
};

namespace detail {

/// How many tasks an executor runs at once, whatever it says: at least 1, and so few that products of it fit.
inline std::size_t concurrency_of(const Executor& executor) noexcept {
  constexpr std::size_t most = std::size_t{1} << 16;
  const std::size_t concurrency = executor.concurrency();
  return concurrency == 0 ? 1 : concurrency < most ? concurrency : most;
}

class SequentialExecutor final : public Executor {
 public:
  std::size_t concurrency() const noexcept override { return 1; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
  }
};

/// An executor as an operator that computes sees it: each task runs in the default floating-point environment, and the
/// executor's own code in that of its caller, whose `environment` this pauses.
class ComputingExecutor final : public Executor {
 public:
  ComputingExecutor(Executor& executor, DefaultEnvironment& environment) noexcept
      : executor_(executor), environment_(environment) {}

  std::size_t concurrency() const noexcept override { return executor_.concurrency(); }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    struct Job {
      void (*task)(void*, std::size_t);
      void* context;
    } job{task, context};
    const auto compute = [](void* of, std::size_t index) {
      const Job& inner = *static_cast<const Job*>(of);
      const DefaultEnvironment environment;
      call_stage([&] { inner.task(inner.context, index); });
    };
    const DefaultEnvironment::Pause pause(environment_);
    executor_.parallel_for(count, compute, &job);
  }

 private:
  Executor& executor_;
  DefaultEnvironment& environment_;
};

}  // namespace detail

/// The calling thread alone.
inline Executor& sequential() noexcept {
  static detail::SequentialExecutor executor;
  return executor;
}

DMLREF_END
