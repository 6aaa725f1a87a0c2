// Three ways to threads: docs/threads.md. Each normalizes the same rows, and all must agree.
#include <dmlref/dmlref.hpp>
#include <dmlref/eigen.hpp>
#include <dmlref/thread_pool.hpp>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

const std::vector<float> rows(64 * 4096, 0.5f);

// Any executor, by the options of one call.
std::vector<float> normalized(dmlref::Executor& executor) {
  const dmlref::Shape shape{64, 4096};
  std::vector<float> result(rows.size(), -1.0f);
  dmlref::RunOptions options;
  options.executor = &executor;
  const dmlref::Report report =
      dmlref::mean_variance_normalization(dmlref::TensorView(rows.data(), shape), std::nullopt, std::nullopt,
                                          dmlref::TensorView(result.data(), shape), {.axes = {1}}, options);
  if (!report) std::puts(report.to_string().c_str());
  return result;
}

// One's own: a thread for each task.
class ThreadPerTask final : public dmlref::Executor {
 public:
  std::size_t concurrency() const noexcept override { return 4; }
  void parallel_for(std::size_t count, void (*task)(void* context, std::size_t index), void* context) override {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back(task, context, i);
    if (count > 0) task(context, 0);
    for (std::thread& thread : threads) thread.join();
  }
};

}  // namespace

int main() {
  const std::vector<float> expected = normalized(dmlref::sequential());

  dmlref::ThreadPool pool;  // as many threads as the CPU has
  std::printf("ThreadPool: %s\n", normalized(pool) == expected ? "same" : "different");

  Eigen::ThreadPool eigen_pool(4);
  dmlref::ThreadPoolExecutor on_eigen(eigen_pool);
  std::printf("ThreadPoolExecutor: %s\n", normalized(on_eigen) == expected ? "same" : "different");

  ThreadPerTask own;
  std::printf("ThreadPerTask: %s\n", normalized(own) == expected ? "same" : "different");
}
