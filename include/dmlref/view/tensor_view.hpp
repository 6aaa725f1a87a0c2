// tensor_view.hpp: elements at a place in memory, seen through a shape and strides.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN

/// A shape, the step of every dimension, and where element (0, …, 0) lies, counted in elements from the data pointer.
struct Layout {
  Shape shape;
  Strides strides;
  Index offset = 0;

  constexpr Layout() noexcept = default;
  /// Packed, row-major.
  explicit constexpr Layout(const Shape& extents) noexcept : shape(extents), strides(packed_strides(extents)) {}
  constexpr Layout(const Shape& extents, const Strides& steps, Index first = 0) noexcept
      : shape(extents), strides(steps), offset(first) {}

  constexpr std::size_t rank() const noexcept { return shape.size(); }
  constexpr Index operator()(const Coordinates& at) const noexcept {
    Index index = offset;
    for (std::size_t d = 0; d < shape.size(); ++d) index += at[d] * strides[d];
    return index;
  }
  friend constexpr bool operator==(const Layout&, const Layout&) noexcept = default;
};

/// Access through an ordinary pointer; works in constant expressions.
template <class T>
struct DirectAccess {
  T* data = nullptr;
  constexpr std::remove_const_t<T> load(Index index) const noexcept { return data[index]; }
  constexpr void store(Index index, std::remove_const_t<T> value) const noexcept requires(!std::is_const_v<T>) {
    data[index] = value;
  }
};

/// Access to bytes of any alignment, and of any effective type: what a bound buffer is.
template <class T>
struct ByteAccess {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  Byte* data = nullptr;
  std::remove_const_t<T> load(Index index) const noexcept {
    std::remove_const_t<T> value;
    std::memcpy(&value, data + index * static_cast<Index>(sizeof(T)), sizeof(T));
    return value;
  }
  void store(Index index, std::remove_const_t<T> value) const noexcept requires(!std::is_const_v<T>) {
    std::memcpy(data + index * static_cast<Index>(sizeof(T)), &value, sizeof(T));
  }
};

/// Does not own; copying is cheap. T const: read only. Coordinates are not checked.
template <class T, class Access = DirectAccess<T>>
class TensorView {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using access_type = Access;

  constexpr TensorView() noexcept = default;
  constexpr TensorView(Access access, const Layout& layout) noexcept : access_(access), layout_(layout) {}
  /// Packed elements at `data`.
  constexpr TensorView(T* data, const Shape& shape) noexcept requires std::is_same_v<Access, DirectAccess<T>>
      : access_{data}, layout_(shape) {}
  constexpr TensorView(T* data, const Shape& shape,
                       const Strides& strides) noexcept requires std::is_same_v<Access, DirectAccess<T>>
      : access_{data}, layout_(shape, strides) {}

  constexpr const Layout& layout() const noexcept { return layout_; }
  constexpr const Shape& shape() const noexcept { return layout_.shape; }
  constexpr const Strides& strides() const noexcept { return layout_.strides; }
  constexpr std::size_t rank() const noexcept { return layout_.rank(); }
  constexpr Index extent(std::size_t d) const noexcept { return layout_.shape[d]; }
  constexpr Index stride(std::size_t d) const noexcept { return layout_.strides[d]; }
  constexpr Index size() const noexcept { return element_count(layout_.shape); }
  constexpr const Access& access() const noexcept { return access_; }

  constexpr value_type load(const Coordinates& at) const noexcept { return access_.load(layout_(at)); }
  constexpr void store(const Coordinates& at, value_type value) const noexcept { access_.store(layout_(at), value); }
  template <class... I>
  requires(sizeof...(I) > 0 && (std::is_integral_v<I> && ...)) constexpr value_type operator()(I... at) const noexcept {
    return load(Coordinates{static_cast<Index>(at)...});
  }

  /// The same elements under another layout.
  constexpr TensorView with_layout(const Layout& layout) const noexcept { return TensorView(access_, layout); }

  /// Dimension d of the result is dimension order[d] of this view. `order` is a permutation of 0 … rank - 1.
  constexpr TensorView permuted(const IndexList& order) const noexcept {
    Layout layout = layout_;
    for (std::size_t d = 0; d < rank(); ++d) {
      layout.shape[d] = extent(static_cast<std::size_t>(order[d]));
      layout.strides[d] = stride(static_cast<std::size_t>(order[d]));
    }
    return with_layout(layout);
  }

  /// Every size-1 or missing leading dimension repeated to `shape` with stride 0. The shapes must be compatible:
  /// compared from the right, each extent equal or 1.
  constexpr TensorView broadcast_to(const Shape& shape) const noexcept {
    Strides strides(shape.size(), 0);
    const std::size_t lead = shape.size() - rank();
    for (std::size_t d = 0; d < rank(); ++d) strides[lead + d] = extent(d) == 1 ? 0 : stride(d);
    return with_layout(Layout(shape, strides, layout_.offset));
  }

 private:
  Access access_{};
  Layout layout_{};
};

/// A view of bytes (any alignment) as elements of T.
template <class T>
using ByteTensorView = TensorView<T, ByteAccess<T>>;

template <class T>
TensorView(T*, const Shape&) -> TensorView<T>;
template <class T>
TensorView(T*, const Shape&, const Strides&) -> TensorView<T>;

DMLREF_END
