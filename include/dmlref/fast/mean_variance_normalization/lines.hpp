// lines.hpp: results on their way past the caches, collected until they fill a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Rows that follow each other in the output. A line that two of them share waits here for the second: stored past the
/// caches in parts, each part would wait for memory.
class Lines {
 public:
  explicit Lines(const Kernels& kernels) noexcept : store_past_(kernels.store_past) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() { flush(); }

  /// Where to write what belongs at `to`.
  std::byte* space(std::byte* to) noexcept {
    if (to != end_) {
      flush();
      first_ = place_in_line(to);
      end_ = to;
    }
    return bytes_ + place_in_line(to);
  }
  /// `bytes` have been written there.
  void store(std::size_t bytes) noexcept {
    std::byte* const line = end_ - place_in_line(end_);
    const std::size_t filled = static_cast<std::size_t>(end_ - line) + bytes;
    end_ += bytes;
    if (filled < line_bytes) return;
    const std::size_t part = first_ == 0 ? 0 : line_bytes;  // of the first line others have a part
    if (part != 0) std::memcpy(line + first_, bytes_ + first_, part - first_);
    const std::size_t whole = filled / line_bytes * line_bytes;
    store_past_(bytes_ + part, line + part, whole - part);
    std::memcpy(bytes_, bytes_ + whole, line_bytes);
    first_ = 0;
  }
  /// Stores all that waits here.
  void flush() noexcept {
    if (end_ == nullptr) return;
    const std::size_t filled = place_in_line(end_);
    if (filled > first_) std::memcpy(end_ - (filled - first_), bytes_ + first_, filled - first_);
    end_ = nullptr;
  }

 private:
  static constexpr std::size_t line_bytes = 64;
  static std::size_t place_in_line(const std::byte* to) noexcept {
    return reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  }

  void (*store_past_)(const std::byte* from, std::byte* to, std::size_t bytes);
  std::byte* end_ = nullptr;  // of what has been collected; null: nothing
  std::size_t first_ = 0;     // in its line, where that begins
  alignas(line_bytes) std::byte bytes_[normalization_chunk * sizeof(float) + 2 * line_bytes];
};

}  // namespace fast::normalization
DMLREF_END
