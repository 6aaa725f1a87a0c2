// executor.hpp: who runs the tasks of one execute.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "dmlref/config.hpp"

DMLREF_BEGIN

/// Runs tasks; anybody may write one. The library never starts a thread of its own.
class Executor {
 public:
  virtual ~Executor() = default;
  /// How many tasks can run at once, at least 1.
  virtual std::size_t concurrency() const noexcept = 0;
  /// Calls task(context, i) once for each i in [0, count), in any order, on any threads; returns when all are done.
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

/// Hands a callable to an executor without allocating.
template <class F>
void parallel_for(Executor& executor, std::size_t count, F&& body) {
  using Body = std::remove_reference_t<F>;
  executor.parallel_for(
      count, [](void* context, std::size_t index) { (*static_cast<Body*>(context))(index); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace detail

/// The calling thread alone.
inline Executor& sequential() noexcept {
  static detail::SequentialExecutor executor;
  return executor;
}

DMLREF_END
