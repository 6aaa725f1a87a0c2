// tensor_view.hpp: elements at a place in memory, seen through a shape and strides.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/view/expect.hpp"
#include "dmlref/view/layout.hpp"
#include "dmlref/view/shape.hpp"
#include "dmlref/view/transform.hpp"

DMLREF_BEGIN

/// Access through an ordinary pointer; works in constant expressions.
template <class T>
struct DirectAccess {
  T* data = nullptr;
  constexpr T* pointer(Index index) const noexcept { return data + index; }
  constexpr T& operator[](Index index) const noexcept { return data[index]; }
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
  constexpr Byte* pointer(Index index) const noexcept { return data + index * static_cast<Index>(sizeof(T)); }
  std::remove_const_t<T> load(Index index) const noexcept {
    std::remove_const_t<T> value;
    std::memcpy(&value, pointer(index), sizeof(T));
    return value;
  }
  void store(Index index, std::remove_const_t<T> value) const noexcept requires(!std::is_const_v<T>) {
    std::memcpy(pointer(index), &value, sizeof(T));
  }
};

/// Does not own; copying is cheap. T const: read only; a TensorView<T> converts to it.
///
/// transform.hpp states what each operation requires of its arguments. Where they do not fit, `try_x` returns nothing,
/// and `x` breaks a precondition: an error in a constant expression, a call of the handler in a checked unit
/// (expect.hpp), else a view of no elements. Element access is checked in checked units only.
template <class T, class Access = DirectAccess<T>>
class TensorView {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using access_type = Access;

  /// One element at null: rank 0.
  constexpr TensorView() noexcept = default;
  /// layout.is_valid(), and all its elements lie in memory.
  constexpr TensorView(Access access, const Layout& layout) noexcept : access_(access), layout_(layout) {
    if constexpr (DMLREF_CHECKED) detail::expect(layout.is_valid(), "TensorView: invalid layout");
  }
  /// Packed elements at `data`.
  constexpr TensorView(T* data, const Shape& shape) noexcept requires std::is_same_v<Access, DirectAccess<T>>
      : TensorView(Access{data}, Layout(shape)) {}
  /// `data` points to element (0, …, 0).
  constexpr TensorView(T* data, const Shape& shape,
                       const Strides& strides) noexcept requires std::is_same_v<Access, DirectAccess<T>>
      : TensorView(Access{data}, Layout(shape, strides)) {}
  template <class Other, class OtherAccess>
  requires(!std::is_const_v<Other> && std::is_same_v<const Other, T> &&
           requires(OtherAccess other) {
             Access{other.data};
           }) constexpr TensorView(const TensorView<Other, OtherAccess>& other) noexcept
      : access_{other.access().data}, layout_(other.layout()) {}

  constexpr const Layout& layout() const noexcept { return layout_; }
  constexpr const Shape& shape() const noexcept { return layout_.shape; }
  constexpr const Strides& strides() const noexcept { return layout_.strides; }
  constexpr std::size_t rank() const noexcept { return layout_.rank(); }
  constexpr Index extent(std::size_t d) const noexcept { return layout_.shape[d]; }
  constexpr Index stride(std::size_t d) const noexcept { return layout_.strides[d]; }
  constexpr Index size() const noexcept { return element_count(layout_.shape); }
  constexpr bool is_contiguous() const noexcept { return layout_.is_contiguous(); }
  constexpr bool is_unique() const noexcept { return layout_.is_unique(); }
  constexpr Index required_span_size() const noexcept { return layout_.required_span_size(); }
  constexpr const Access& access() const noexcept { return access_; }
  /// Element (0, …, 0), as T* or, of a view of bytes, as bytes.
  constexpr auto* data() const noexcept { return access_.pointer(layout_.offset); }

  /// Requires layout().contains(at), as the next two.
  constexpr value_type load(const Coordinates& at) const noexcept { return access_.load(index_of(at)); }
  constexpr void store(const Coordinates& at, value_type value) const noexcept { access_.store(index_of(at), value); }
  /// T&, or a value where the memory holds other objects.
  template <class... I>
  requires(sizeof...(I) <= max_rank && (std::is_integral_v<I> && ...)) constexpr decltype(auto) operator()(
      I... at) const noexcept {
    if constexpr (DMLREF_CHECKED) static_cast<void>(index_of(Coordinates{static_cast<Index>(at)...}));
    Index index = layout_.offset;
    [[maybe_unused]] std::size_t d = 0;
    ((index += static_cast<Index>(at) * layout_.strides[d++]), ...);  // with a rank that the compiler sees
    if constexpr (requires(const Access& access) { access[index]; }) {
      return access_[index];
    } else {
      return access_.load(index);
    }
  }
  /// The element, where there is one at these coordinates.
  template <class... I>
  requires(std::is_integral_v<I>&&...) constexpr std::optional<value_type> at(I... at) const noexcept {
    return this->at(Coordinates{static_cast<Index>(at)...});
  }
  constexpr std::optional<value_type> at(const Coordinates& at) const noexcept {
    return layout_.contains(at) ? std::optional(access_.load(layout_(at))) : std::nullopt;
  }

  /// The same memory under another layout.
  constexpr TensorView with_layout(const Layout& layout) const noexcept { return TensorView(access_, layout); }

  constexpr std::optional<TensorView> try_slice(const Coordinates& offsets, const Shape& sizes,
                                                const Strides& strides) const noexcept {
    return seen(dmlref::try_slice(layout_, offsets, sizes, strides));
  }
  constexpr auto try_flip(std::size_t d) const noexcept { return seen(dmlref::try_flip(layout_, d)); }
  constexpr auto try_select(std::size_t d, Index i) const noexcept { return seen(dmlref::try_select(layout_, d, i)); }
  constexpr auto try_unsqueeze(std::size_t d) const noexcept { return seen(dmlref::try_unsqueeze(layout_, d)); }
  constexpr auto try_permute(const IndexList& order) const noexcept {
    return seen(dmlref::try_permute(layout_, order));
  }
  constexpr auto try_broadcast_to(const Shape& to) const noexcept {
    return seen(dmlref::try_broadcast_to(layout_, to));
  }
  constexpr auto try_reshape(const Shape& to) const noexcept { return seen(dmlref::try_reshape(layout_, to)); }

  constexpr TensorView slice(const Coordinates& offsets, const Shape& sizes, const Strides& strides) const noexcept {
    return must(try_slice(offsets, sizes, strides), "TensorView::slice");
  }
  constexpr TensorView flip(std::size_t d) const noexcept { return must(try_flip(d), "TensorView::flip"); }
  constexpr TensorView select(std::size_t d, Index i) const noexcept {
    return must(try_select(d, i), "TensorView::select");
  }
  constexpr TensorView squeeze() const noexcept { return with_layout(squeezed(layout_)); }
  constexpr TensorView unsqueeze(std::size_t d) const noexcept {
    return must(try_unsqueeze(d), "TensorView::unsqueeze");
  }
  constexpr TensorView permute(const IndexList& order) const noexcept {
    return must(try_permute(order), "TensorView::permute");
  }
  constexpr TensorView broadcast_to(const Shape& to) const noexcept {
    return must(try_broadcast_to(to), "TensorView::broadcast_to");
  }
  constexpr TensorView reshape(const Shape& to) const noexcept { return must(try_reshape(to), "TensorView::reshape"); }

  [[deprecated("permute; goes in 0.3")]] constexpr TensorView permuted(const IndexList& order) const noexcept {
    return permute(order);
  }

 private:
  constexpr Index index_of(const Coordinates& at) const noexcept {
    if constexpr (DMLREF_CHECKED) detail::expect(layout_.contains(at), "TensorView: no such element");
    return layout_(at);
  }
  constexpr std::optional<TensorView> seen(const std::optional<Layout>& layout) const noexcept {
    return layout ? std::optional(with_layout(*layout)) : std::nullopt;
  }
  constexpr TensorView must(const std::optional<TensorView>& view, const char* operation) const noexcept {
    detail::expect(view.has_value(), operation);
    return view ? *view : with_layout(Layout(Shape{0}));
  }

  Access access_{};
  Layout layout_{};
};

/// A view of bytes (any alignment) as elements of T.
template <class T>
using ByteTensorView = TensorView<T, ByteAccess<T>>;

/// Bytes at any address as elements of T. T const: read only.
template <class T>
constexpr ByteTensorView<T> bind(typename ByteAccess<T>::Byte* data, const Layout& layout) noexcept {
  return ByteTensorView<T>(ByteAccess<T>{data}, layout);
}

template <class T>
TensorView(T*, const Shape&) -> TensorView<T>;
template <class T>
TensorView(T*, const Shape&, const Strides&) -> TensorView<T>;

DMLREF_END
