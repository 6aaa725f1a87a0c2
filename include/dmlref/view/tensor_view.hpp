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
  T* data = nullptr;  ///< element 0
  /// Where element `index` lies.
  constexpr T* pointer(Index index) const noexcept { return data + index; }
  /// Element `index`.
  constexpr T& operator[](Index index) const noexcept { return data[index]; }
  /// The value of element `index`.
  constexpr std::remove_const_t<T> load(Index index) const noexcept { return data[index]; }
  /// Writes element `index`.
  constexpr void store(Index index, std::remove_const_t<T> value) const noexcept requires(!std::is_const_v<T>) {
    data[index] = value;
  }
};

/// Access to bytes of any alignment, and of any effective type: what a bound buffer is.
template <class T>
struct ByteAccess {
  /// Const where T is.
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  Byte* data = nullptr;  ///< the first byte of element 0, of any alignment
  /// The first byte of element `index`.
  constexpr Byte* pointer(Index index) const noexcept { return data + index * static_cast<Index>(sizeof(T)); }
  /// The value of element `index`.
  std::remove_const_t<T> load(Index index) const noexcept {
    std::remove_const_t<T> value;
    std::memcpy(&value, pointer(index), sizeof(T));
    return value;
  }
  /// Writes element `index`.
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
  using element_type = T;                     ///< const: read only
  using value_type = std::remove_const_t<T>;  ///< what `load` returns
  using access_type = Access;                 ///< DirectAccess, ByteAccess, or one like them

  /// No elements: of one dimension, whose extent is 0.
  constexpr TensorView() noexcept = default;
  /// `layout` over `access`. Requires layout.is_valid(), and memory for all its elements.
  constexpr TensorView(Access access, const Layout& layout) noexcept : access_(access), layout_(layout) {
    if constexpr (DMLREF_CHECKED) detail::expect(layout.is_valid(), "TensorView: invalid layout");
  }
  /// Packed elements at `data`.
  constexpr TensorView(T* data, const Shape& shape) noexcept requires std::is_same_v<Access, DirectAccess<T>>
      : TensorView(Access{data}, Layout(shape)) {}
  /// `data` points to element (0, …, 0); steps in elements.
  constexpr TensorView(T* data, const Shape& shape,
                       const Strides& strides) noexcept requires std::is_same_v<Access, DirectAccess<T>>
      : TensorView(Access{data}, Layout(shape, strides)) {}
  /// A TensorView<T> is a TensorView<const T>.
  template <class Other, class OtherAccess>
  requires(!std::is_const_v<Other> && std::is_same_v<const Other, T> &&
           requires(OtherAccess other) {
             Access{other.data};
           }) constexpr TensorView(const TensorView<Other, OtherAccess>& other) noexcept
      : access_{other.access().data}, layout_(other.layout()) {}

  /// Shape, strides, and the offset of element (0, …, 0), in elements from `access().data`.
  constexpr const Layout& layout() const noexcept { return layout_; }
  /// Extents, in elements.
  constexpr const Shape& shape() const noexcept { return layout_.shape; }
  /// Steps, in elements.
  constexpr const Strides& strides() const noexcept { return layout_.strides; }
  /// The number of dimensions.
  constexpr std::size_t rank() const noexcept { return layout_.rank(); }
  /// Elements along dimension d. d < rank().
  constexpr Index extent(std::size_t d) const noexcept { return layout_.shape[d]; }
  /// Step along dimension d, in elements. d < rank().
  constexpr Index stride(std::size_t d) const noexcept { return layout_.strides[d]; }
  /// The number of elements.
  constexpr Index size() const noexcept { return element_count(layout_.shape); }
  /// Packed, row-major: see Layout::is_contiguous.
  constexpr bool is_contiguous() const noexcept { return layout_.is_contiguous(); }
  /// No two elements at one address: see Layout::is_unique.
  constexpr bool is_unique() const noexcept { return layout_.is_unique(); }
  /// Elements from the lowest address to the highest, both included; 0 where there are none.
  constexpr Index required_span_size() const noexcept { return layout_.required_span_size(); }
  /// How elements are read and written.
  constexpr const Access& access() const noexcept { return access_; }
  /// Element (0, …, 0), as T* or, of a view of bytes, as bytes.
  constexpr auto* data() const noexcept { return access_.pointer(layout_.offset); }

  /// The value of an element. Requires layout().contains(at).
  constexpr value_type load(const Coordinates& at) const noexcept { return access_.load(index_of(at)); }
  /// Writes an element. Requires layout().contains(at).
  constexpr void store(const Coordinates& at, value_type value) const noexcept { access_.store(index_of(at), value); }
  /// T&, or a value where the memory holds other objects. Requires layout().contains({at...}).
  template <class... Indices>
  requires(sizeof...(Indices) <= max_rank && (std::is_integral_v<Indices> && ...)) constexpr decltype(auto) operator()(
      Indices... at) const noexcept {
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
  template <class... Indices>
  requires(std::is_integral_v<Indices>&&...)
      [[nodiscard]] constexpr std::optional<value_type> at(Indices... at) const noexcept {
    return this->at(Coordinates{static_cast<Index>(at)...});
  }
  /// The same with coordinates in a list.
  [[nodiscard]] constexpr std::optional<value_type> at(const Coordinates& at) const noexcept {
    return layout_.contains(at) ? std::optional(access_.load(layout_(at))) : std::nullopt;
  }

  /// The same memory under another layout.
  constexpr TensorView with_layout(const Layout& layout) const noexcept { return TensorView(access_, layout); }

  /// What SLICE1 reads, as a view; nothing where the window does not fit. See dmlref::try_slice.
  [[nodiscard]] constexpr std::optional<TensorView> try_slice(const Coordinates& offsets, const Shape& sizes,
                                                              const Strides& strides) const noexcept {
    return seen(dmlref::try_slice(layout_, offsets, sizes, strides));
  }
  /// Dimension `d` backwards; nothing where there is none.
  [[nodiscard]] constexpr auto try_flip(std::size_t d) const noexcept { return seen(dmlref::try_flip(layout_, d)); }
  /// Without dimension `d`, at its coordinate `i`; nothing where there is none.
  [[nodiscard]] constexpr auto try_select(std::size_t d, Index i) const noexcept {
    return seen(dmlref::try_select(layout_, d, i));
  }
  /// With an extent of 1 before dimension `d`; nothing beyond rank 8.
  [[nodiscard]] constexpr auto try_unsqueeze(std::size_t d) const noexcept {
    return seen(dmlref::try_unsqueeze(layout_, d));
  }
  /// Dimension d of the result is dimension order[d]; nothing where `order` is no permutation.
  [[nodiscard]] constexpr auto try_permute(const IndexList& order) const noexcept {
    return seen(dmlref::try_permute(layout_, order));
  }
  /// Extents of 1, and missing ones in front, repeated with stride 0; nothing where other extents differ.
  [[nodiscard]] constexpr auto try_broadcast_to(const Shape& to) const noexcept {
    return seen(dmlref::try_broadcast_to(layout_, to));
  }
  /// The same elements in row-major order; nothing where the memory does not split or join so.
  [[nodiscard]] constexpr auto try_reshape(const Shape& to) const noexcept {
    return seen(dmlref::try_reshape(layout_, to));
  }

  /// As try_slice, of arguments that fit.
  constexpr TensorView slice(const Coordinates& offsets, const Shape& sizes, const Strides& strides) const noexcept {
    return must(try_slice(offsets, sizes, strides), "TensorView::slice");
  }
  /// As try_flip, of arguments that fit.
  constexpr TensorView flip(std::size_t d) const noexcept { return must(try_flip(d), "TensorView::flip"); }
  /// As try_select, of arguments that fit.
  constexpr TensorView select(std::size_t d, Index i) const noexcept {
    return must(try_select(d, i), "TensorView::select");
  }
  /// Without the dimensions of extent 1.
  constexpr TensorView squeeze() const noexcept { return with_layout(squeezed(layout_)); }
  /// As try_unsqueeze, of arguments that fit.
  constexpr TensorView unsqueeze(std::size_t d) const noexcept {
    return must(try_unsqueeze(d), "TensorView::unsqueeze");
  }
  /// As try_permute, of arguments that fit.
  constexpr TensorView permute(const IndexList& order) const noexcept {
    return must(try_permute(order), "TensorView::permute");
  }
  /// As try_broadcast_to, of arguments that fit.
  constexpr TensorView broadcast_to(const Shape& to) const noexcept {
    return must(try_broadcast_to(to), "TensorView::broadcast_to");
  }
  /// As try_reshape, of arguments that fit.
  constexpr TensorView reshape(const Shape& to) const noexcept { return must(try_reshape(to), "TensorView::reshape"); }

 private:
  constexpr Index index_of(const Coordinates& at) const noexcept {
    if constexpr (DMLREF_CHECKED) detail::expect(layout_.contains(at), "TensorView: no such element");
    return layout_(at);
  }
  [[nodiscard]] constexpr std::optional<TensorView> seen(const std::optional<Layout>& layout) const noexcept {
    return layout ? std::optional(with_layout(*layout)) : std::nullopt;
  }
  constexpr TensorView must(const std::optional<TensorView>& view, const char* operation) const noexcept {
    detail::expect(view.has_value(), operation);
    return view ? *view : with_layout(Layout(Shape{0}));
  }

  Access access_{};
  Layout layout_{Shape{0}};
};

/// A view of bytes (any alignment) as elements of T.
template <class T>
using ByteTensorView = TensorView<T, ByteAccess<T>>;

/// Bytes at any address as elements of T. T const: read only.
template <class T>
constexpr ByteTensorView<T> bind(typename ByteAccess<T>::Byte* data, const Layout& layout) noexcept {
  return ByteTensorView<T>(ByteAccess<T>{data}, layout);
}

/// TensorView(data, shape) deduces T.
template <class T>
TensorView(T*, const Shape&) -> TensorView<T>;
/// TensorView(data, shape, strides) deduces T.
template <class T>
TensorView(T*, const Shape&, const Strides&) -> TensorView<T>;

DMLREF_END
