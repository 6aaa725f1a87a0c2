// guarded_buffer.hpp: memory between two pages that must not be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <span>

namespace dmlref_test {

/// `bytes` bytes that end right before, or begin right after, an inaccessible page: one byte beyond is a fault.
class GuardedBuffer {
 public:
  enum class Side { end, begin };

  GuardedBuffer(std::size_t bytes, Side side) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t inside = (bytes + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    base_ = static_cast<std::byte*>(::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) refused("mmap");
    if (inside != 0 && ::mprotect(base_ + page, inside, PROT_READ | PROT_WRITE) != 0) refused("mprotect");
    std::byte* first = base_ + page;
    if (side == Side::end) first += inside - bytes;
    span_ = {first, bytes};
  }
  ~GuardedBuffer() { ::munmap(base_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  std::span<std::byte> span() const { return span_; }
  std::byte* data() const { return span_.data(); }

 private:
  [[noreturn]] static void refused(const char* what) {
    std::perror(what);
    ::_exit(3);
  }

  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;
  std::span<std::byte> span_;
};

}  // namespace dmlref_test
