// memory.hpp: the memory of a run: one budget for every reader, and zeroed bytes for tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "dmlref/run/aligned_buffer.hpp"

namespace dmlref::tool {

/// How many bytes a run may hold at once. There is one for the process, as its memory is one: no reader can be given
/// another. One thread uses it.
class MemoryBudget {
 public:
  /// Half of the machine's memory, or 4 GiB where the system does not say.
  MemoryBudget();

  std::uint64_t limit() const noexcept { return limit_; }
  std::uint64_t left() const noexcept { return used_ < limit_ ? limit_ - used_ : 0; }
  void set_limit(std::uint64_t bytes) noexcept { limit_ = bytes; }

 private:
  friend class Reservation;

  std::uint64_t limit_;
  std::uint64_t used_ = 0;
};

MemoryBudget& memory_budget() noexcept;

/// Throws FileError: "wants 8 bytes for `what`, expected no more than ..."; `bytes` may say "at least".
[[noreturn]] void refuse_memory(std::string_view bytes, std::string_view what);

/// Bytes of the budget that are taken as long as this lives. Whoever allocates by a file's numbers makes one first.
class Reservation {
 public:
  Reservation() = default;
  /// Throws FileError where that much is not left. `what` needs it.
  Reservation(std::uint64_t bytes, std::string_view what) { add(bytes, what); }
  ~Reservation() { memory_budget().used_ -= bytes_; }
  Reservation(Reservation&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// Takes more; throws FileError as the constructor does.
  void add(std::uint64_t bytes, std::string_view what);
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Zeroed bytes of the budget that start at a multiple of 256.
class Memory {
 public:
  Memory() = default;
  /// Throws FileError as Reservation does.
  Memory(std::uint64_t bytes, std::string_view what);

  std::span<std::byte> bytes() noexcept { return buffer_.span(); }
  std::span<const std::byte> bytes() const noexcept { return buffer_.span(); }

 private:
  Reservation reservation_;
  AlignedBuffer buffer_;
};

}  // namespace dmlref::tool
