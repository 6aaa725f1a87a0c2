// guarded_buffer.hpp: memory between two pages that must not be touched. WebAssembly has no such pages: there it is
// just memory.
#pragma once

#if defined(_WIN32)
#define NOMINMAX 1
#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>
#undef far
#undef near
#elif !defined(__EMSCRIPTEN__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace dmlref_test {

/// Pages of the system: `reserve` gives some that must not be touched (null: refused), `open` makes part of them
/// usable, `close` forbids them again. On Linux a page takes memory when it is first touched, so that tensors of many
/// gigabytes may be bound.
namespace pages {
#if defined(_WIN32)
inline std::size_t size() { return 4096; }
inline void* reserve(std::size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS); }
inline bool open(void* first, std::size_t bytes) {
  return VirtualAlloc(first, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}
inline bool close(void* first, std::size_t bytes) { return VirtualFree(first, bytes, MEM_DECOMMIT) != 0; }
inline void release(void* first, std::size_t) { VirtualFree(first, 0, MEM_RELEASE); }
#elif defined(__EMSCRIPTEN__)
inline std::size_t size() { return 4096; }
inline void* reserve(std::size_t bytes) { return std::aligned_alloc(size(), bytes); }
inline bool open(void*, std::size_t) { return true; }
inline bool close(void*, std::size_t) { return true; }
inline void release(void* first, std::size_t) { std::free(first); }
#else
inline std::size_t size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
/// At one of the lowest addresses, if one is free: a pointer that leaves the memory by a long step then wraps, which
/// -fsanitize=pointer-overflow sees. (Programs that are not relocated lie from 4 MiB on.)
inline void* reserve(std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#if defined(MAP_FIXED_NOREPLACE)
  constexpr std::uintptr_t lowest = std::uintptr_t{1} << 16, end = std::uintptr_t{1} << 22;
  for (std::uintptr_t at = lowest; at < end && bytes <= end - at; at += lowest) {
    void* const first = ::mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (first == reinterpret_cast<void*>(at)) return first;
    if (first != MAP_FAILED) ::munmap(first, bytes);  // an older system does not know the flag
  }
#endif
  void* const first = ::mmap(nullptr, bytes, PROT_NONE, flags, -1, 0);
  return first == MAP_FAILED ? nullptr : first;
}
inline bool open(void* first, std::size_t bytes) { return ::mprotect(first, bytes, PROT_READ | PROT_WRITE) == 0; }
inline bool close(void* first, std::size_t bytes) { return ::mprotect(first, bytes, PROT_NONE) == 0; }
inline void release(void* first, std::size_t bytes) { ::munmap(first, bytes); }
#endif
}  // namespace pages

/// `bytes` bytes that end right before, or begin right after, an inaccessible page: one byte beyond is a fault.
class GuardedBuffer {
 public:
  enum class Side { end, begin };

  GuardedBuffer(std::size_t bytes, Side side) {
    const std::size_t page = pages::size();
    const std::size_t inside = (bytes + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    base_ = static_cast<std::byte*>(pages::reserve(mapped_));
    if (base_ == nullptr || (inside != 0 && !pages::open(base_ + page, inside))) {
      std::perror("pages of a guarded buffer");
      std::_Exit(3);
    }
    std::byte* first = base_ + page;
    if (side == Side::end) first += inside - bytes;
    span_ = {first, bytes};
  }
  ~GuardedBuffer() { pages::release(base_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  std::span<std::byte> span() const { return span_; }
  std::byte* data() const { return span_.data(); }

 private:
  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;
  std::span<std::byte> span_;
};

}  // namespace dmlref_test
