// memory.hpp: aligned, touched memory, and seeded numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace bench {

/// Bytes aligned to 256 (or more), zeroed, so that every page is there before the clock runs.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes) : size_(bytes) {
    if (bytes == 0) return;
    data_ = static_cast<std::byte*>(::operator new (bytes + slack, std::align_val_t{alignment}));
    std::memset(data_, 0, bytes + slack);
  }
  ~Memory() { ::operator delete (data_, std::align_val_t{alignment}); }
  Memory(Memory&& other) noexcept : size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }

  std::size_t size() const { return size_; }
  std::byte* data() const { return data_; }
  std::span<std::byte> span() const { return {data_, size_}; }
  template <class T>
  T* as() const {
    return static_cast<T*>(static_cast<void*>(data_));
  }

 private:
  static constexpr std::size_t alignment = 4096;
  static constexpr std::size_t slack = 64;  // XNNPACK reads past the end of its inputs
  std::size_t size_ = 0;
  std::byte* data_ = nullptr;
};

/// The values, and zeros up to a multiple of four bytes.
template <class T>
Memory copy_of(const std::vector<T>& values) {
  Memory memory((values.size() * sizeof(T) + 3) / 4 * 4);
  std::memcpy(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

/// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Roughly normal, mean 0 and standard deviation 1: twelve uniforms of 16 bits, exactly reproducible.
  double normal() {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      std::uint64_t bits = next();
      for (int k = 0; k < 4; ++k, bits >>= 16) sum += static_cast<double>(bits & 0xFFFF);
    }
    return (sum + 6.0) / 65536.0 - 6.0;
  }
  void fill(std::span<std::byte> bytes) {
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      const std::uint64_t word = next();
      std::memcpy(bytes.data() + i, &word, 8);
    }
    const std::uint64_t word = next();
    std::memcpy(bytes.data() + i, &word, bytes.size() - i);
  }

 private:
  std::uint64_t state_;
};

}  // namespace bench
