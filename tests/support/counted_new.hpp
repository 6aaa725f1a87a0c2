// counted_new.hpp: every operator new of a program that includes this, counted. In one unit of a program only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace dmlref_test {

/// What operator new has given since the program began.
struct Allocations {
  std::atomic<long> calls{0};
  std::atomic<long> live{0};   ///< bytes that were not given back; with glibc only, as is the next
  std::atomic<long> peak{0};   ///< the most of `live` since it was set
  std::atomic<long> limit{0};  ///< of `live`; beyond it `beyond_limit` is called. 0: none
  void (*beyond_limit)() = nullptr;

  void* give(std::size_t size, std::size_t alignment) noexcept {
    calls.fetch_add(1, std::memory_order_relaxed);
    if (const long most = limit.load(std::memory_order_relaxed); most != 0) {
      if (size > static_cast<std::size_t>(most - live.load(std::memory_order_relaxed))) beyond_limit();
    }
    void* const memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    const long now = live.fetch_add(bytes_of(memory), std::memory_order_relaxed) + bytes_of(memory);
    long highest = peak.load(std::memory_order_relaxed);
    while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
    }
    return memory;
  }
  void take(void* memory) noexcept {
    live.fetch_sub(bytes_of(memory), std::memory_order_relaxed);
    std::free(memory);
  }

 private:
  static long bytes_of(void* memory) noexcept {
#if defined(__GLIBC__)
    return memory == nullptr ? 0 : static_cast<long>(malloc_usable_size(memory));
#else
    static_cast<void>(memory);
    return 0;
#endif
  }
};
inline Allocations allocations;

}  // namespace dmlref_test

// Out of line: where g++ inlines one of a pair and not the other it takes them for mismatched.
#if defined(__GNUC__)
#define COUNTED __attribute__((noinline))
#else
#define COUNTED
#endif
// NOLINTBEGIN
COUNTED void* operator new(std::size_t size) { return dmlref_test::allocations.give(size == 0 ? 1 : size, 16); }
COUNTED void* operator new[](std::size_t size) { return dmlref_test::allocations.give(size == 0 ? 1 : size, 16); }
COUNTED void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return dmlref_test::allocations.give(size == 0 ? 1 : size, 16);
}
COUNTED void* operator new(std::size_t size, std::align_val_t a) {
  return dmlref_test::allocations.give(size, static_cast<std::size_t>(a));
}
COUNTED void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return dmlref_test::allocations.give(size, static_cast<std::size_t>(a));
}
COUNTED void operator delete(void* p) noexcept { dmlref_test::allocations.take(p); }
COUNTED void operator delete[](void* p) noexcept { dmlref_test::allocations.take(p); }
COUNTED void operator delete(void* p, std::size_t) noexcept { dmlref_test::allocations.take(p); }
COUNTED void operator delete[](void* p, std::size_t) noexcept { dmlref_test::allocations.take(p); }
COUNTED void operator delete(void* p, const std::nothrow_t&) noexcept { dmlref_test::allocations.take(p); }
COUNTED void operator delete(void* p, std::align_val_t) noexcept { dmlref_test::allocations.take(p); }
COUNTED void operator delete(void* p, std::size_t, std::align_val_t) noexcept { dmlref_test::allocations.take(p); }
COUNTED void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  dmlref_test::allocations.take(p);
}
// NOLINTEND
#undef COUNTED
