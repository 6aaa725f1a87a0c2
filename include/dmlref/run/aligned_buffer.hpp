// aligned_buffer.hpp: memory as the staged form needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace detail {
/// DML_TEMPORARY_BUFFER_ALIGNMENT and DML_PERSISTENT_BUFFER_ALIGNMENT.
inline constexpr std::uint64_t buffer_alignment = 256;
}  // namespace detail

/// Bytes at a multiple of 256, for `persistent` and `temporary` of a CompiledOperator. They hold anything at first.
/// Frees them at its end; what it is moved from is left empty.
class AlignedBuffer {
 public:
  /// No bytes.
  AlignedBuffer() noexcept = default;
  /// Memory of `bytes`, 0 included; see ok(). Throws nothing.
  explicit AlignedBuffer(std::uint64_t bytes) noexcept : ok_(bytes <= (std::numeric_limits<std::size_t>::max)() / 2) {
    if (bytes == 0 || !ok_) return;
    const auto size = static_cast<std::size_t>(bytes);
    data_.reset(static_cast<std::byte*>(::operator new(size, alignment, std::nothrow)));
    ok_ = data_ != nullptr;
    if (ok_) size_ = size;
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }  ///< leaves `other` empty
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {      ///< leaves `other` empty
    AlignedBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }

  /// Whether the memory could be had. If not, span() is empty.
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  /// All of it.
  [[nodiscard]] std::span<std::byte> span() const noexcept { return {data_.get(), size_}; }

 private:
  static constexpr std::align_val_t alignment{detail::buffer_alignment};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, alignment); }
  };
  void swap(AlignedBuffer& other) noexcept {
    data_.swap(other.data_);
    std::swap(size_, other.size_);
    std::swap(ok_, other.ok_);
  }

  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
  bool ok_ = true;
};

DMLREF_END
