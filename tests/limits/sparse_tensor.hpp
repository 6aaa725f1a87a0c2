// sparse_tensor.hpp: the memory of one tensor of up to 2^32 - 1 elements. Pages without elements are never written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "dmlref/desc/tensor_desc.hpp"
#include "support/guarded_buffer.hpp"

namespace dmlref_test::limits {

/// An input: random bytes wherever a page has an element, zeros elsewhere. A page without access follows the last byte,
/// or precedes the first.
class SparseInput {
 public:
  SparseInput(const dmlref::TensorDesc& desc, GuardedBuffer::Side side, std::uint64_t seed)
      : element_(size_of(desc.data_type)),
        buffer_(static_cast<std::size_t>(desc.total_size_in_bytes), side),
        state_(seed | 1) {}

  std::span<const std::byte> span() const { return buffer_.span(); }
  /// The element at this index, to be written.
  std::byte* at(std::uint64_t index) {
    std::byte* const place = buffer_.data() + index * element_;
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(place) / page_;
    prepare(first);
    if (element_ > 1) prepare((reinterpret_cast<std::uintptr_t>(place) + element_ - 1) / page_);
    return place;
  }
  /// Of one that was written.
  const std::byte* data(std::uint64_t index) const { return buffer_.data() + index * element_; }
  template <class T>
  void put(std::uint64_t index, T value) {
    std::memcpy(at(index), &value, sizeof(value));
  }
  template <class T>
  T get(std::uint64_t index) const {
    T value;
    std::memcpy(&value, data(index), sizeof(value));
    return value;
  }

 private:
  void prepare(std::uintptr_t page) {
    if (page == last_) return;
    last_ = page;
    if (!prepared_.insert(page).second) return;
    // Whole words inside both the page and the buffer.
    const auto low = std::max(page * page_, reinterpret_cast<std::uintptr_t>(buffer_.data()));
    const auto high = std::min((page + 1) * page_, reinterpret_cast<std::uintptr_t>(buffer_.data()) + span().size());
    auto* to = reinterpret_cast<std::byte*>(low);
    for (std::size_t left = high - low; left > 0;) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      const std::size_t some = std::min(left, sizeof(std::uint32_t));
      const auto word = static_cast<std::uint32_t>(state_ >> 32);
      std::memcpy(to, &word, some);
      to += some;
      left -= some;
    }
  }

  std::size_t element_;
  GuardedBuffer buffer_;
  std::uint64_t state_;
  const std::uintptr_t page_ = pages::size();
  std::uintptr_t last_ = 0;
  std::unordered_set<std::uintptr_t> prepared_;
};

/// An output whose pages without elements must not be touched at all; every other byte that is no element's must keep
/// its value.
class SparseOutput {
 public:
  /// `indices`: where the elements are.
  SparseOutput(const dmlref::TensorDesc& desc, GuardedBuffer::Side side, std::vector<std::uint64_t> indices)
      : element_(size_of(desc.data_type)),
        indices_(std::move(indices)),
        buffer_(static_cast<std::size_t>(desc.total_size_in_bytes), side) {
    std::vector<std::uintptr_t> used;
    for (const std::uint64_t index : indices_) {
      const auto first = reinterpret_cast<std::uintptr_t>(buffer_.data()) + index * element_;
      if (used.empty() || used.back() != first / page_) used.push_back(first / page_);
      if ((first + element_ - 1) / page_ != used.back()) used.push_back((first + element_ - 1) / page_);
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (const std::uintptr_t page : used) {
      if (runs_.empty() || runs_.back().first + runs_.back().count != page) runs_.push_back({page, 0});
      ++runs_.back().count;
    }
    if (runs_.size() > most_runs) return;
    std::uintptr_t next = reinterpret_cast<std::uintptr_t>(buffer_.data()) / page_;
    const auto end = (reinterpret_cast<std::uintptr_t>(buffer_.data()) + buffer_.span().size() + page_ - 1) / page_;
    const auto close = [&](std::uintptr_t first, std::uintptr_t last) {
      if (first < last) pages::close(reinterpret_cast<void*>(first * page_), (last - first) * page_);
    };
    for (const Run& run : runs_) {
      close(next, run.first);
      next = run.first + run.count;
    }
    close(next, end);
  }

  std::span<std::byte> span() const { return buffer_.span(); }
  std::size_t size() const { return indices_.size(); }
  /// Every byte that may be touched becomes `fill`.
  void wipe(std::byte fill) const {
    for (const Run& run : runs_) {
      std::memset(reinterpret_cast<void*>(run.first * page_), static_cast<int>(fill), run.count * page_);
    }
  }
  const std::byte* element(std::size_t i) const { return buffer_.data() + indices_[i] * element_; }

  /// What is not as it must be after a call into memory full of `fill`; empty: nothing. `expected`: the elements in the
  /// order of `indices`. Afterwards the memory is full of `fill` again.
  std::string difference(std::span<const std::byte> expected, std::byte fill) const {
    std::string text;
    const auto add = [&](const std::string& what) {
      if (text.empty()) text = what;
    };
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      std::byte* const got = buffer_.data() + indices_[i] * element_;
      const std::byte* const right = expected.data() + i * element_;
      if (std::memcmp(got, right, element_) != 0) {
        add("element " + std::to_string(i) + " at " + std::to_string(indices_[i]) + " is " + hex(got) + ", expected " +
            hex(right) + (*got == fill ? " (perhaps not written)" : ""));
      }
      std::memset(got, static_cast<int>(fill), element_);
    }
    for (const Run& run : runs_) {
      const auto* const first = reinterpret_cast<const std::byte*>(run.first * page_);
      const std::byte* const end = first + run.count * page_;
      const std::byte* const wrong = std::find_if(first, end, [&](std::byte b) { return b != fill; });
      if (wrong != end) {
        add("byte " + std::to_string(wrong - buffer_.data()) + " is no element's, and was written");
        std::memset(reinterpret_cast<void*>(run.first * page_), static_cast<int>(fill), run.count * page_);
      }
    }
    return text;
  }

 private:
  struct Run {
    std::uintptr_t first, count;  // pages
  };
  static constexpr std::size_t most_runs = 5000;  // a system has tens of thousands for one process
  std::string hex(const std::byte* at) const {
    constexpr const char* digits = "0123456789abcdef";
    std::string text = "0x";
    for (std::size_t i = element_; i-- > 0;) {  // (little-endian)
      text += digits[std::to_integer<unsigned>(at[i]) >> 4];
      text += digits[std::to_integer<unsigned>(at[i]) & 15u];
    }
    return text;
  }

  std::size_t element_;
  std::vector<std::uint64_t> indices_;
  GuardedBuffer buffer_;
  const std::uintptr_t page_ = pages::size();
  std::vector<Run> runs_;
};

}  // namespace dmlref_test::limits
