// eigen.hpp: interop with Eigen: a thread pool as an Executor, maps as views and back, Eigen::half as FLOAT16.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

// Eigen's own headers do not build clean under every warning that a user may have turned on.
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wimplicit-int-float-conversion"
#pragma GCC diagnostic ignored "-Wdeprecated-anon-enum-enum-conversion"
#pragma GCC diagnostic ignored "-Wshorten-64-to-32"
#endif
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wnull-dereference"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#pragma GCC diagnostic ignored "-Wuseless-cast"
#pragma GCC diagnostic ignored "-Wcast-align"
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#pragma GCC diagnostic ignored "-Wdeprecated-enum-enum-conversion"
#pragma GCC diagnostic ignored "-Wdeprecated-enum-float-conversion"
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#endif
#include <Eigen/Core>
#include <unsupported/Eigen/CXX11/Tensor>
#include <unsupported/Eigen/CXX11/ThreadPool>
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

/// An Executor over a pool of Eigen's (or anything that implements its interface). As many threads work as the pool
/// has, the calling one among them. Safe to call from several threads at once and from inside the pool: each caller
/// helps to finish its own tasks, so a busy pool delays nothing and cannot deadlock, and a cancelled one leaves all
/// work to the caller. Keep the pool alive until the last call returns; helpers that are still queued may outlive the
/// executor (those that Cancel() dropped unrun keep their few hundred bytes).
class ThreadPoolExecutor final : public Executor {
 public:
  /// Borrows the pool.
  explicit ThreadPoolExecutor(Eigen::ThreadPoolInterface& pool) noexcept : pool_(&pool) {}
  ~ThreadPoolExecutor() override {
    if (jobs_ != nullptr) jobs_->release();
  }
  ThreadPoolExecutor(const ThreadPoolExecutor&) = delete;
  ThreadPoolExecutor& operator=(const ThreadPoolExecutor&) = delete;

  std::size_t concurrency() const noexcept override {
    const int threads = pool_->NumThreads();
    return threads > 1 ? static_cast<std::size_t>(threads) : 1;
  }

  void parallel_for(std::size_t count, void (*task)(void* context, std::size_t index), void* context) override {
    const std::size_t workers = count < concurrency() ? count : concurrency();
    Job* const job = workers > 1 && jobs_ != nullptr ? jobs_->acquire() : nullptr;
    if (job == nullptr) {  // nothing to share, or no memory for sharing it
      for (std::size_t i = 0; i < count; ++i) task(context, i);
      return;
    }
    job->task = task;
    job->context = context;
    job->count = count;
    job->next.store(0, std::memory_order_relaxed);
    job->done.store(0, std::memory_order_relaxed);
    job->references.store(workers, std::memory_order_relaxed);
    std::size_t helper = 1;
    const auto schedule = [&] {
      for (; helper < workers; ++helper) {
        // One pointer fits the std::function; the pool's environment makes its own small task object. The queue's lock
        // publishes the job.
        pool_->Schedule([job] {
          job->work();
          job->release();
        });
      }
    };
#if defined(__cpp_exceptions)
    try {
      schedule();
    } catch (...) {  // no memory for that object: those that are scheduled, and this thread, do all
    }
    for (; helper < workers; ++helper) job->release();
#else
    schedule();
#endif
    job->work();
    job->wait();
    job->release();
  }

 private:
  class JobList;

  static void relax() noexcept {
#if DMLREF_ARCH_X86_64
    __builtin_ia32_pause();
#elif DMLREF_ARCH_ARM64
    __asm__ volatile("yield");
#endif
  }

  /// One parallel_for. A pool thread may come to it long after it is done: whoever is last hands it back.
  struct Job {
    explicit Job(JobList* list) noexcept : owner(list) {}

    void work() noexcept {
      std::size_t finished = 0;
      for (;;) {
        const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= count) break;
        task(context, index);
        ++finished;
      }
      if (finished == 0) return;
      if (done.fetch_add(finished, std::memory_order_acq_rel) + finished == count) done.notify_all();
    }
    // Only tasks that a thread has begun are waited for. Shares are meant to end together: to sleep and to be woken
    // takes longer than most of them are apart, so the caller spins as long as that before it sleeps.
    void wait() const noexcept {
      using Clock = std::chrono::steady_clock;
      constexpr std::chrono::microseconds waking(50);
      std::size_t finished = done.load(std::memory_order_acquire);
      if (finished == count) return;
      const Clock::time_point patience = Clock::now() + waking;
      do {
        relax();
        finished = done.load(std::memory_order_acquire);
      } while (finished != count && Clock::now() < patience);
      for (; finished != count; finished = done.load(std::memory_order_acquire)) {
        done.wait(finished, std::memory_order_acquire);
      }
    }
    void release() noexcept {
      if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) owner->give_back(this);
    }

    JobList* owner;
    Job* next_free = nullptr;
    void (*task)(void*, std::size_t) = nullptr;
    void* context = nullptr;
    std::size_t count = 0;
    std::atomic<std::size_t> references{0};
    alignas(64) std::atomic<std::size_t> next{0};
    alignas(64) std::atomic<std::size_t> done{0};
  };

  /// Jobs for reuse. Lives until the executor and the last job are through.
  class JobList {
   public:
    Job* acquire() noexcept {
      const std::lock_guard<std::mutex> lock(mutex_);
      Job* job = free_;
      if (job != nullptr) {
        free_ = job->next_free;
      } else {
        job = new (std::nothrow) Job(this);
      }
      if (job != nullptr) ++users_;
      return job;
    }
    void give_back(Job* job) noexcept {
      bool last = false;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        job->next_free = free_;
        free_ = job;
        last = --users_ == 0;
      }
      if (last) delete this;
    }
    void release() noexcept {
      bool last = false;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        last = --users_ == 0;
      }
      if (last) delete this;
    }

   private:
    ~JobList() {
      while (free_ != nullptr) {
        Job* const job = free_;
        free_ = job->next_free;
        delete job;
      }
    }
    std::mutex mutex_;
    Job* free_ = nullptr;
    std::size_t users_ = 1;  // the executor, and every job that is out
  };

  Eigen::ThreadPoolInterface* pool_;
  JobList* jobs_ = new (std::nothrow) JobList;
};

namespace detail {

/// Eigen::half and half are the same 16 bits (IEEE 754 binary16).
template <>
struct DataTypeOf<Eigen::half> {
  static constexpr DataType value = DataType::float16;
};
static_assert(sizeof(Eigen::half) == sizeof(half) && std::is_trivially_copyable_v<Eigen::half>);

template <class T>
inline constexpr bool is_eigen_half = std::is_same_v<std::remove_const_t<T>, Eigen::half>;

/// What a view of memory that holds T's is: Eigen::half is read and written as half, through its bytes.
template <class T, bool = is_eigen_half<T>>
struct EigenView {
  using type = TensorView<T>;
  static type make(T* data, const Layout& layout) noexcept { return type(DirectAccess<T>{data}, layout); }
};
template <class T>
struct EigenView<T, true> {
  using Half = std::conditional_t<std::is_const_v<T>, const half, half>;
  using type = ByteTensorView<Half>;
  static type make(T* data, const Layout& layout) noexcept {
    return bind<Half>(reinterpret_cast<typename ByteAccess<Half>::Byte*>(data), layout);
  }
};

template <class Plain, int Options, class Stride>
Layout eigen_layout(const Eigen::Map<Plain, Options, Stride>& map) noexcept {
  using Map = Eigen::Map<Plain, Options, Stride>;
  if constexpr (Map::IsVectorAtCompileTime) {
    return Layout(Shape{map.size()}, Strides{map.innerStride()});
  } else {
    return Layout(Shape{map.rows(), map.cols()}, Strides{map.rowStride(), map.colStride()});
  }
}

template <class Plain, int Options, template <class> class Pointer>
Layout eigen_layout(const Eigen::TensorMap<Plain, Options, Pointer>& map) noexcept {
  using Map = Eigen::TensorMap<Plain, Options, Pointer>;
  constexpr auto rank = static_cast<std::size_t>(Map::NumIndices);
  static_assert(rank <= max_rank, "a tensor has at most 8 dimensions");
  auto shape = Shape::filled(rank, 1);
  for (std::size_t d = 0; d < rank; ++d) {
    shape[d] = static_cast<Index>(map.dimensions()[d]);
  }
  if constexpr (static_cast<int>(Map::Layout) == static_cast<int>(Eigen::RowMajor)) {
    return Layout(shape);
  } else {
    auto strides = Strides::filled(rank, 1);
    for (std::size_t d = 1; d < rank; ++d) strides[d] = strides[d - 1] * shape[d - 1];
    return Layout(shape, strides);
  }
}

template <class T>
struct IsEigenMap : std::false_type {};
template <class Plain, int Options, class Stride>
struct IsEigenMap<Eigen::Map<Plain, Options, Stride>> : std::true_type {};
template <class Plain, int Options, template <class> class Pointer>
struct IsEigenMap<Eigen::TensorMap<Plain, Options, Pointer>> : std::true_type {};

/// Eigen::Map and Eigen::TensorMap.
template <class T>
concept EigenMap = IsEigenMap<T>::value;

/// The element type as the map gives it out: const for a map of const.
template <EigenMap Map>
using EigenElement = std::remove_pointer_t<decltype(std::declval<Map&>().data())>;

/// A map's memory, which begins at element (0, ..., 0): no stride is negative.
template <class Map>
auto eigen_memory(Map& map) noexcept {
  return std::span(map.data(), static_cast<std::size_t>(eigen_layout(map).required_span_size()));
}

}  // namespace detail

/// The map's elements as a view: rank 2 {rows, columns} for a matrix, rank 1 for a vector, the map's own rank for a
/// tensor. Eigen::half elements appear as half.
template <detail::EigenMap Map>
auto view_of(Map& map) noexcept {
  return detail::EigenView<detail::EigenElement<Map>>::make(map.data(), detail::eigen_layout(map));
}
/// The same, read only.
template <detail::EigenMap Map>
auto view_of(const Map& map) noexcept {
  return detail::EigenView<const detail::EigenElement<Map>>::make(map.data(), detail::eigen_layout(map));
}

/// The map as a tensor of a descriptor: its type, sizes, strides. A map with a negative stride or with an extent or
/// stride beyond 32 bits has none: its sizes are left empty, which no operator accepts.
template <detail::EigenMap Map>
TensorDesc tensor_desc_of(const Map& map) {
  using T = std::remove_const_t<detail::EigenElement<Map>>;
  static_assert(data_type_of<T> != DataType::unknown, "the element type is none of DirectML's");
  constexpr Index limit = (std::numeric_limits<std::uint32_t>::max)();
  const Layout layout = detail::eigen_layout(map);
  Dimensions sizes;
  Dimensions strides;
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    if (layout.shape[d] > limit || layout.strides[d] < 0 || layout.strides[d] > limit)
      return TensorDesc(data_type_of<T>, {});
    sizes.push_back(static_cast<std::uint32_t>(layout.shape[d]));
    strides.push_back(static_cast<std::uint32_t>(layout.strides[d]));
  }
  TensorDesc desc(data_type_of<T>, sizes);
  if (layout.strides != packed_strides(layout.shape)) desc = TensorDesc(data_type_of<T>, sizes, strides);
  return desc;
}

/// The memory under a map without negative strides, to be bound to a tensor. Its size is that of the elements: a
/// descriptor's TotalTensorSizeInBytes is rounded up to a multiple of 4, so 8- and 16-bit maps may fall short of it.
template <detail::EigenMap Map>
std::span<const std::byte> bytes_of(const Map& map) noexcept {
  return std::as_bytes(detail::eigen_memory(map));
}
/// The same of a map that is not const, for an output.
template <detail::EigenMap Map>
requires(!std::is_const_v<detail::EigenElement<Map>>) std::span<std::byte> writable_bytes_of(Map& map)
noexcept { return std::as_writable_bytes(detail::eigen_memory(map)); }

namespace detail {

/// half is Eigen::half there, everything else itself.
template <class T>
using EigenScalar =
    std::conditional_t<std::is_same_v<std::remove_const_t<T>, half>, Eigen::half, std::remove_const_t<T>>;

template <class T, class Plain>
using ConstLike = std::conditional_t<std::is_const_v<T>, const Plain, Plain>;

/// Where element (0, ..., 0) of a view lies, as Eigen's element type; null for bytes that are not aligned to it.
template <class T>
T* eigen_data(const TensorView<T>& view) noexcept {
  return view.data();
}
template <class T>
ConstLike<T, EigenScalar<T>>* eigen_data(const ByteTensorView<T>& view) noexcept {
  using Element = ConstLike<T, EigenScalar<T>>;
  auto* const data = view.data();
  return reinterpret_cast<std::uintptr_t>(data) % alignof(EigenScalar<T>) == 0 ? reinterpret_cast<Element*>(data)
                                                                               : nullptr;
}

}  // namespace detail

/// An Eigen matrix over elements that lie anywhere, with any strides.
template <class T>
using EigenMatrixMap = Eigen::Map<
    detail::ConstLike<T, Eigen::Matrix<detail::EigenScalar<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>,
    Eigen::Unaligned, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;

/// A packed, row-major Eigen tensor.
template <class T, int Rank>
using EigenTensorMap =
    Eigen::TensorMap<detail::ConstLike<T, Eigen::Tensor<detail::EigenScalar<T>, Rank, Eigen::RowMajor, Eigen::Index>>>;

/// A view of rank 1 (one row) or 2 as an Eigen matrix. Bytes of half become Eigen::half; a TensorView<half> has no map,
/// since its memory holds other objects. Empty for another rank, and for bytes that are not aligned to the element.
template <class T, class Access>
requires(!std::is_same_v<TensorView<T, Access>, TensorView<half>> &&
         !std::is_same_v<TensorView<T, Access>, TensorView<const half>>)
    [[nodiscard]] std::optional<EigenMatrixMap<T>> matrix_map(const TensorView<T, Access>& view) noexcept {
  auto* const data = detail::eigen_data(view);
  if ((view.rank() != 1 && view.rank() != 2) || data == nullptr) return std::nullopt;
  const bool matrix = view.rank() == 2;
  const Eigen::Index rows = matrix ? view.extent(0) : 1;
  const Eigen::Index columns = view.extent(matrix ? 1 : 0);
  const Eigen::Index row_step = matrix ? view.stride(0) : columns;
  const Eigen::Index column_step = view.stride(matrix ? 1 : 0);
  return EigenMatrixMap<T>(data, rows, columns, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(row_step, column_step));
}

/// A view of rank Rank as an Eigen tensor. Empty for another rank or a layout that is not packed and row-major, which
/// Eigen's tensor map cannot express; half and alignment as in matrix_map.
template <int Rank, class T, class Access>
requires(!std::is_same_v<TensorView<T, Access>, TensorView<half>> &&
         !std::is_same_v<TensorView<T, Access>, TensorView<const half>>)
    [[nodiscard]] std::optional<EigenTensorMap<T, Rank>> tensor_map(const TensorView<T, Access>& view) noexcept {
  auto* const data = detail::eigen_data(view);
  if (view.rank() != static_cast<std::size_t>(Rank) || data == nullptr) return std::nullopt;
  Eigen::array<Eigen::Index, static_cast<std::size_t>(Rank)> dimensions;
  Index step = 1;
  for (std::size_t d = view.rank(); d-- > 0;) {
    if (view.extent(d) != 1 && view.stride(d) != step) return std::nullopt;
    step *= view.extent(d);
    dimensions[d] = view.extent(d);
  }
  return EigenTensorMap<T, Rank>(data, dimensions);
}

DMLREF_END

#endif  // DMLREF_SUPPORTED
