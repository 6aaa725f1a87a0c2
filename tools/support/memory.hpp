// memory.hpp: memory for tensors, within a budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>

namespace dmlref::tool {

/// Zeroed bytes that start at a multiple of 256.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::uint64_t bytes);
  ~Memory() { ::operator delete (data_, std::align_val_t{256}); }
  Memory(Memory&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Refuses sizes before they are allocated: at most half of the physical memory.
class MemoryBudget {
 public:
  MemoryBudget();
  explicit MemoryBudget(std::uint64_t limit) : limit_(limit), left_(limit) {}
  /// Empty where `bytes` fit (they are then spent), else why not: "wants 8 bytes ..., expected at most ...".
  std::optional<std::string> spend(std::uint64_t bytes);

 private:
  std::uint64_t limit_;
  std::uint64_t left_;
};

}  // namespace dmlref::tool
