// transform.hpp: layouts of the same memory: windows, mirrors, other orders and shapes. Each requires a valid layout
// and returns nothing where its arguments do not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/view/coalesce.hpp"
#include "dmlref/view/layout.hpp"

DMLREF_BEGIN

/// What SLICE1 reads: windows of `sizes` elements from `offsets`, in steps of `strides`; a negative stride begins at
/// its window's last element. An extent of the result is the window's size over the stride's magnitude, rounded up.
/// Requires an entry per dimension, windows inside the shape, no stride of 0.
[[nodiscard]] constexpr std::optional<Layout> try_slice(const Layout& from, const Coordinates& offsets,
                                                        const Shape& sizes, const Strides& strides) noexcept {
  if (offsets.size() != from.rank() || sizes.size() != from.rank() || strides.size() != from.rank())
    return std::nullopt;
  Layout to = from;
  for (std::size_t d = 0; d < from.rank(); ++d) {
    const Index first = offsets[d], size = sizes[d], stride = strides[d];
    if (first < 0 || size < 0 || size > from.shape[d] || first > from.shape[d] - size || stride == 0)
      return std::nullopt;
    const std::uint64_t bits = static_cast<std::uint64_t>(stride);
    const std::uint64_t magnitude = stride < 0 ? 0 - bits : bits;
    to.shape[d] = size == 0 ? 0 : static_cast<Index>(static_cast<std::uint64_t>(size - 1) / magnitude) + 1;
    if (to.shape[d] > 0) to.offset += (stride > 0 ? first : first + size - 1) * from.strides[d];
    if (to.shape[d] > 1) to.strides[d] *= stride;
  }
  return to;
}

/// Dimension `d` backwards. Requires d < rank.
[[nodiscard]] constexpr std::optional<Layout> try_flip(const Layout& from, std::size_t d) noexcept {
  if (d >= from.rank()) return std::nullopt;
  Layout to = from;
  if (from.shape[d] <= 1) return to;
  to.offset += (from.shape[d] - 1) * from.strides[d];
  to.strides[d] = -from.strides[d];
  return to;
}

/// The elements whose coordinate in dimension `d` is `i`, without that dimension. Requires d < rank, 0 <= i < its
/// extent.
[[nodiscard]] constexpr std::optional<Layout> try_select(const Layout& from, std::size_t d, Index i) noexcept {
  if (d >= from.rank() || i < 0 || i >= from.shape[d]) return std::nullopt;
  Layout to = from;
  to.offset += i * from.strides[d];
  to.shape.erase(d);
  to.strides.erase(d);
  return to;
}

/// Without the dimensions of extent 1.
constexpr Layout squeezed(const Layout& from) noexcept {
  Layout to({}, {}, from.offset);
  for (std::size_t d = 0; d < from.rank(); ++d) {
    if (from.shape[d] == 1) continue;
    to.shape.push_back(from.shape[d]);
    to.strides.push_back(from.strides[d]);
  }
  return to;
}

/// With a dimension of extent 1 before dimension `d`. Requires d <= rank, rank < max_rank.
[[nodiscard]] constexpr std::optional<Layout> try_unsqueeze(const Layout& from, std::size_t d) noexcept {
  if (d > from.rank() || from.rank() >= max_rank) return std::nullopt;
  Layout to = from;
  to.shape.insert(d, 1);
  to.strides.insert(d, 0);
  return to;
}

/// Dimension d of the result is dimension order[d]. Requires a permutation of 0 … rank - 1.
[[nodiscard]] constexpr std::optional<Layout> try_permute(const Layout& from, const IndexList& order) noexcept {
  if (order.size() != from.rank()) return std::nullopt;
  Layout to = from;
  std::uint32_t seen = 0;
  for (std::size_t d = 0; d < from.rank(); ++d) {
    if (order[d] < 0 || order[d] >= static_cast<Index>(from.rank()) || (seen >> order[d] & 1u) != 0)
      return std::nullopt;
    seen |= 1u << order[d];
    to.shape[d] = from.shape[static_cast<std::size_t>(order[d])];
    to.strides[d] = from.strides[static_cast<std::size_t>(order[d])];
  }
  return to;
}

/// Every dimension of extent 1, and every one missing in front, repeated with stride 0. Requires a rank from this one's
/// to max_rank, and extents that, compared from the right, are equal or 1 here.
[[nodiscard]] constexpr std::optional<Layout> try_broadcast_to(const Layout& from, const Shape& shape) noexcept {
  if (shape.size() < from.rank() || !try_element_count(shape)) return std::nullopt;
  Layout to(shape, Strides::filled(shape.size(), 0), from.offset);
  const std::size_t lead = shape.size() - from.rank();
  for (std::size_t d = 0; d < from.rank(); ++d) {
    if (from.shape[d] != 1 && from.shape[d] != shape[lead + d]) return std::nullopt;
    to.strides[lead + d] = from.shape[d] == 1 ? 0 : from.strides[d];
  }
  return to;
}

/// The same elements in the same row-major order as another shape. Requires as many elements, and dimensions that split
/// or join where the memory does: a packed layout can always, a transposed one often not.
[[nodiscard]] constexpr std::optional<Layout> try_reshape(const Layout& from, const Shape& shape) noexcept {
  const std::optional<Index> count = try_element_count(shape);
  if (!count || *count != element_count(from.shape)) return std::nullopt;
  Layout to(shape);
  to.offset = from.offset;
  if (*count == 0) return to;
  const Layout merged = coalesce(from);
  std::size_t left_dimensions = merged.rank();
  Index left = 1;  // of the merged dimension that is being split, from its inner end
  Index step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (left == 1) {
      --left_dimensions;
      left = merged.shape[left_dimensions];
      step = merged.strides[left_dimensions];
    }
    if (left % shape[d] != 0) return std::nullopt;
    left /= shape[d];
    to.strides[d] = step;
    if (left > 1) step *= shape[d];
  }
  return to;
}

DMLREF_END
