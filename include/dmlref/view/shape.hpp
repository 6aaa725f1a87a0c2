// shape.hpp: up to eight extents, strides or coordinates with a run-time rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>

#include "dmlref/config.hpp"
#include "dmlref/view/expect.hpp"

DMLREF_BEGIN

/// DML_TENSOR_DIMENSION_COUNT_MAX1.
inline constexpr std::size_t max_rank = 8;

/// Signed, so that a reversed view can step backwards.
using Index = std::int64_t;

/// What the numbers of a list mean. Roles do not convert to each other implicitly, so strides passed as a shape do not
/// compile.
enum class IndexRole { any, shape, strides, coordinates };

/// Up to `max_rank` numbers, no heap. A list that is given more has the size `max_rank + 1`, whatever their count:
/// every check of ranks refuses it, where a list cut to eight would pass.
template <IndexRole role>
class BasicIndexList {
 public:
  /// Empty.
  constexpr BasicIndexList() noexcept = default;
  /// These numbers.
  constexpr BasicIndexList(std::initializer_list<Index> values) noexcept {
    for (const Index value : values) push_back(value);
  }
  /// `rank` copies of `value`.
  static constexpr BasicIndexList filled(std::size_t rank, Index value) noexcept {
    BasicIndexList list;
    for (; list.size_ < rank && list.size_ <= max_rank; ++list.size_) list.values_[list.size_] = value;
    return list;
  }
  /// The same numbers in another role: implicit to a plain IndexList, explicit to all others.
  template <IndexRole other>
  requires(other !=
           role) explicit(role != IndexRole::any) constexpr BasicIndexList(const BasicIndexList<other>& list) noexcept {
    for (const Index value : list) push_back(value);
  }
  /// The numbers of a span of any integers.
  template <class Integer>
  static constexpr BasicIndexList from(std::span<const Integer> values) noexcept {
    BasicIndexList list;
    for (const Integer value : values) list.push_back(static_cast<Index>(value));
    return list;
  }

  /// How many numbers; at most max_rank, or max_rank + 1 where it was given more.
  constexpr std::size_t size() const noexcept { return size_; }
  /// Whether there are none: rank 0.
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// The number of dimension d. d < size().
  constexpr Index& operator[](std::size_t d) noexcept { return values_[checked(d)]; }
  /// The number of dimension d. d < size().
  constexpr Index operator[](std::size_t d) const noexcept { return values_[checked(d)]; }
  /// The first number.
  constexpr Index* begin() noexcept { return values_.data(); }
  /// Beyond the last number.
  constexpr Index* end() noexcept { return values_.data() + size_; }
  /// The first number.
  constexpr const Index* begin() const noexcept { return values_.data(); }
  /// Beyond the last number.
  constexpr const Index* end() const noexcept { return values_.data() + size_; }
  /// The last number. Not of an empty list.
  constexpr Index back() const noexcept { return values_[checked(size_ - 1)]; }
  /// Appends; beyond max_rank the list becomes one that no check accepts.
  constexpr void push_back(Index value) noexcept {
    if (size_ <= max_rank) values_[size_++] = value;
  }
  /// Puts `value` before entry `d`. d <= size().
  constexpr void insert(std::size_t d, Index value) noexcept {
    detail::expect(d <= size_, "IndexList::insert: position beyond the end");
    push_back(0);
    for (std::size_t i = size_; i-- > d + 1;) values_[i] = values_[i - 1];
    if (d < size_) values_[d] = value;
  }
  /// Puts `value` before all others.
  constexpr void insert_front(Index value) noexcept { insert(0, value); }
  /// Removes entry `d`. d < size().
  constexpr void erase(std::size_t d) noexcept {
    detail::expect(d < size_, "IndexList::erase: no such entry");
    if (d >= size_) return;
    for (; d + 1 < size_; ++d) values_[d] = values_[d + 1];
    --size_;
  }

  /// Same size and numbers.
  friend constexpr bool operator==(const BasicIndexList& a, const BasicIndexList& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t d = 0; d < a.size_; ++d) {
      if (a.values_[d] != b.values_[d]) return false;
    }
    return true;
  }

 private:
  constexpr std::size_t checked(std::size_t d) const noexcept {
    if constexpr (DMLREF_CHECKED) detail::expect(d < size_, "IndexList: no such entry");
    return d;
  }
  std::array<Index, max_rank + 1> values_{};
  std::size_t size_ = 0;
};

using IndexList = BasicIndexList<IndexRole::any>;  ///< e.g. axes, or an order of dimensions
using Shape = BasicIndexList<IndexRole::shape>;    ///< extents, in elements
using Strides =
    BasicIndexList<IndexRole::strides>;  ///< steps, in elements; 0 broadcasts, a negative one walks backwards
using Coordinates = BasicIndexList<IndexRole::coordinates>;  ///< one position

namespace detail {
/// Wraps where the product is no Index.
constexpr Index product(Index a, Index b) noexcept {
  return static_cast<Index>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
}  // namespace detail

/// Number of elements; 1 for rank 0. Of a shape for which try_element_count gives nothing it is any number.
constexpr Index element_count(const Shape& shape) noexcept {
  Index count = 1;
  for (const Index extent : shape) count = detail::product(count, extent);
  return count;
}

/// Number of elements; nothing where an extent is negative, the rank above `max_rank`, or the count beyond an Index.
[[nodiscard]] constexpr std::optional<Index> try_element_count(const Shape& shape) noexcept {
  Index count = 1;
  bool none = false;
  for (const Index extent : shape) {
    if (extent < 0 || (extent > 0 && count > (std::numeric_limits<Index>::max)() / extent)) return std::nullopt;
    none = none || extent == 0;
    if (extent > 0) count *= extent;
  }
  if (shape.size() > max_rank) return std::nullopt;
  return none ? 0 : count;
}

/// Strides of the packed, row-major layout.
constexpr Strides packed_strides(const Shape& shape) noexcept {
  auto strides = Strides::filled(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = detail::product(strides[d], shape[d]);
  return strides;
}

/// The coordinates of element `linear` in row-major order.
constexpr Coordinates unravel(Index linear, const Shape& shape) noexcept {
  auto at = Coordinates::filled(shape.size(), 0);
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
