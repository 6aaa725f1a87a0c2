// shape.hpp: up to eight extents, strides or coordinates with a run-time rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "dmlref/config.hpp"

DMLREF_BEGIN

/// DML_TENSOR_DIMENSION_COUNT_MAX1.
inline constexpr std::size_t max_rank = 8;

/// Signed, so that a reversed view can step backwards.
using Index = std::int64_t;

/// At most `max_rank` numbers; more than that are not taken (ranks are judged before views are made). No heap.
class IndexList {
 public:
  constexpr IndexList() noexcept = default;
  constexpr IndexList(std::initializer_list<Index> values) noexcept {
    for (const Index value : values) push_back(value);
  }
  /// `rank` copies of `value`.
  constexpr IndexList(std::size_t rank, Index value) noexcept {
    for (std::size_t d = 0; d < rank; ++d) push_back(value);
  }
  template <class Integer>
  static constexpr IndexList from(std::span<const Integer> values) noexcept {
    IndexList list;
    for (const Integer value : values) list.push_back(static_cast<Index>(value));
    return list;
  }

  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr Index& operator[](std::size_t d) noexcept { return values_[d]; }
  constexpr Index operator[](std::size_t d) const noexcept { return values_[d]; }
  constexpr Index* begin() noexcept { return values_.data(); }
  constexpr Index* end() noexcept { return values_.data() + size_; }
  constexpr const Index* begin() const noexcept { return values_.data(); }
  constexpr const Index* end() const noexcept { return values_.data() + size_; }
  constexpr Index back() const noexcept { return values_[size_ - 1]; }
  constexpr void push_back(Index value) noexcept {
    if (size_ < max_rank) values_[size_++] = value;
  }
  constexpr void insert_front(Index value) noexcept {
    if (size_ == max_rank) return;
    for (std::size_t d = size_; d > 0; --d) values_[d] = values_[d - 1];
    values_[0] = value;
    ++size_;
  }
  constexpr void erase(std::size_t d) noexcept {
    for (; d + 1 < size_; ++d) values_[d] = values_[d + 1];
    --size_;
  }

  friend constexpr bool operator==(const IndexList& a, const IndexList& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t d = 0; d < a.size_; ++d) {
      if (a.values_[d] != b.values_[d]) return false;
    }
    return true;
  }

 private:
  std::array<Index, max_rank> values_{};
  std::size_t size_ = 0;
};

using Shape = IndexList;        ///< extents, in elements
using Strides = IndexList;      ///< steps, in elements; 0 broadcasts, a negative one walks backwards
using Coordinates = IndexList;  ///< one position

/// Number of elements; 1 for rank 0.
constexpr Index element_count(const Shape& shape) noexcept {
  Index count = 1;
  for (const Index extent : shape) count *= extent;
  return count;
}

/// Strides of the packed, row-major layout.
constexpr Strides packed_strides(const Shape& shape) noexcept {
  Strides strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// The coordinates of element `linear` in row-major order.
constexpr Coordinates unravel(Index linear, const Shape& shape) noexcept {
  Coordinates at(shape.size(), 0);
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = linear % shape[d];
    linear /= shape[d];
  }
  return at;
}

/// Steps `at` to the next position in row-major order; false after the last, when `at` is all zero again.
constexpr bool advance(Coordinates& at, const Shape& shape) noexcept {
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (++at[d] < shape[d]) return true;
    at[d] = 0;
  }
  return false;
}

DMLREF_END
