// layout.hpp: where the elements of a shape lie.
#pragma once

#include <cstddef>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/view/overlap.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN

/// A shape, the step of every dimension, and where element (0, …, 0) lies, counted in elements from the data pointer.
struct Layout {
  Shape shape;       ///< extents, in elements
  Strides strides;   ///< steps, in elements; as many as extents
  Index offset = 0;  ///< of element (0, …, 0), in elements

  /// One element: rank 0.
  constexpr Layout() noexcept = default;
  /// Packed, row-major.
  explicit constexpr Layout(const Shape& extents) noexcept : shape(extents), strides(packed_strides(extents)) {}
  /// Any steps; `first` is where element (0, …, 0) lies.
  constexpr Layout(const Shape& extents, const Strides& steps, Index first = 0) noexcept
      : shape(extents), strides(steps), offset(first) {}

  /// The number of dimensions.
  constexpr std::size_t rank() const noexcept { return shape.size(); }
  /// Where the element at these coordinates lies, in elements from the data pointer. Requires contains(at).
  constexpr Index operator()(const Coordinates& at) const noexcept {
    Index index = offset;
    for (std::size_t d = 0; d < shape.size(); ++d) index += at[d] * strides[d];
    return index;
  }

  /// What every view requires of its layout: as many strides as extents, at most `max_rank`; no extent negative; the
  /// number of elements and the distances between them representable.
  constexpr bool is_valid() const noexcept {
    if (shape.size() != strides.size() || !try_element_count(shape)) return false;
    constexpr Index limit = (std::numeric_limits<Index>::max)() / 2;
    Index reach = offset < 0 ? -(offset + 1) : offset;
    for (std::size_t d = 0; d < rank(); ++d) {
      if (shape[d] <= 1) continue;
      const Index step = strides[d] < 0 ? -(strides[d] + 1) : strides[d];
      if (reach > limit || step >= (limit - reach) / shape[d]) return false;
      reach += (step + 1) * shape[d];
    }
    return true;
  }
  /// Whether there is an element at these coordinates.
  constexpr bool contains(const Coordinates& at) const noexcept {
    if (at.size() != rank()) return false;
    for (std::size_t d = 0; d < rank(); ++d) {
      if (at[d] < 0 || at[d] >= shape[d]) return false;
    }
    return true;
  }

  /// Packed, row-major. A stride along an extent of 1 does not matter; without elements every layout is.
  constexpr bool is_contiguous() const noexcept {
    if (element_count(shape) == 0) return true;
    Index step = 1;
    for (std::size_t d = rank(); d-- > 0;) {
      if (shape[d] != 1 && strides[d] != step) return false;
      step *= shape[d];
    }
    return true;
  }
  /// No two elements at one place. Exact for all strides, but for layouts made to exhaust the search (see Overlap),
  /// which count as no.
  constexpr bool is_unique() const noexcept { return element_count(shape) == 0 || !find_overlap(shape, strides); }

  /// The least that operator() gives; `offset` where there are no elements.
  constexpr Index lowest_index() const noexcept { return offset + extreme(-1); }
  /// Elements from the lowest address to the highest, both included; 0 where there are none.
  constexpr Index required_span_size() const noexcept {
    return element_count(shape) == 0 ? 0 : extreme(1) - extreme(-1) + 1;
  }

  /// Same shape, strides and offset, also where a stride does not matter.
  friend constexpr bool operator==(const Layout&, const Layout&) noexcept = default;

 private:
  constexpr Index extreme(Index sign) const noexcept {
    Index sum = 0;
    if (element_count(shape) == 0) return sum;
    for (std::size_t d = 0; d < rank(); ++d) sum += strides[d] * sign > 0 ? strides[d] * (shape[d] - 1) : 0;
    return sum;
  }
};

DMLREF_END
