// interop.hpp: views to and from std::span, whatever has mdspan's members, and whatever has those of DLPack's DLTensor.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

struct half;

/// The elements of a span as a view of rank 1.
template <class T, std::size_t n>
constexpr TensorView<T> view_of(std::span<T, n> memory) noexcept {
  return TensorView<T>(memory.data(), Shape{static_cast<Index>(memory.size())});
}
/// `layout` over `memory`, its offset counted from the first element. Nothing where it is invalid or leaves the memory.
template <class T, std::size_t n>
[[nodiscard]] constexpr std::optional<TensorView<T>> try_view_of(std::span<T, n> memory,
                                                                 const Layout& layout) noexcept {
  if (!layout.is_valid()) return std::nullopt;
  const Index lowest = layout.lowest_index();
  const Index size = layout.required_span_size();
  if (size > 0 && (lowest < 0 || size > static_cast<Index>(memory.size()) - lowest)) return std::nullopt;
  return TensorView<T>(DirectAccess<T>{memory.data()}, layout);
}

/// All memory from the lowest element to the highest, gaps included.
template <class T>
constexpr std::span<T> memory_of(const TensorView<T>& view) noexcept {
  const Index size = view.required_span_size();
  if (size == 0) return {};
  return {view.access().data + view.layout().lowest_index(), static_cast<std::size_t>(size)};
}
/// The elements in row-major order, where they lie so.
template <class T>
[[nodiscard]] constexpr std::optional<std::span<T>> span_of(const TensorView<T>& view) noexcept {
  if (!view.is_contiguous()) return std::nullopt;
  return std::span<T>(view.size() == 0 ? nullptr : view.data(), static_cast<std::size_t>(view.size()));
}

/// std::mdspan, or its like, over plain memory: always strided, elements behind a pointer, at most 8 dimensions.
template <class M>
concept MdspanLike = requires(const M& m, std::size_t d) {
  typename M::extents_type;
  typename M::mapping_type;
  typename M::index_type;
  { m.extent(d) } -> std::convertible_to<Index>;
  { m.stride(d) } -> std::convertible_to<Index>;
  { m.data_handle() } -> std::convertible_to<typename M::element_type*>;
  requires std::same_as<typename M::reference, typename M::element_type&>;
  requires M::is_always_strided();
  requires M::rank()
  <= max_rank;
};

/// An mdspan's elements: the same extents and strides, in elements.
template <MdspanLike M>
constexpr TensorView<typename M::element_type> view_of(const M& m) noexcept {
  Layout layout;
  if constexpr (M::rank() > 0) {  // (a mapping of rank 0 has no stride())
    for (std::size_t d = 0; d < M::rank(); ++d) {
      layout.shape.push_back(static_cast<Index>(m.extent(d)));
      layout.strides.push_back(static_cast<Index>(m.stride(d)));
    }
  }
  return TensorView<typename M::element_type>(DirectAccess<typename M::element_type>{m.data_handle()}, layout);
}

/// The view as an M. Nothing where M has another rank or fixes another extent, its index_type cannot hold the numbers,
/// or its mapping has no such strides: std::layout_stride knows none below 1, and no interleaved dimensions.
template <MdspanLike M, class T>
requires(std::is_same_v<std::remove_const_t<typename M::element_type>, std::remove_const_t<T>>&& std::is_convertible_v<
         T*, typename M::element_type*>) constexpr std::optional<M> mdspan_of(const TensorView<T>& view) noexcept {
  using Mapping = typename M::mapping_type;
  using Extents = typename M::extents_type;
  using Number = typename M::index_type;
  using Numbers = std::array<Number, M::rank()>;
  if (view.rank() != M::rank() || !std::in_range<Number>(view.required_span_size())) return std::nullopt;
  Numbers extents{}, strides{};
  for (std::size_t d = 0; d < view.rank(); ++d) {
    const Index extent = view.extent(d), stride = extent > 1 ? view.stride(d) : 1;
    const auto fixed = static_cast<std::size_t>(Extents::static_extent(d));
    if (fixed != std::dynamic_extent && fixed != static_cast<std::size_t>(extent)) return std::nullopt;
    if (!std::in_range<Number>(extent) || !std::in_range<Number>(stride) || stride < 1) return std::nullopt;
    for (std::size_t i = 0; i < d; ++i) {  // of two dimensions one steps over all of the other
      const bool both = extent > 1 && view.extent(i) > 1;
      if (both && stride < view.stride(i) * view.extent(i) && view.stride(i) < stride * extent) return std::nullopt;
    }
    extents[d] = static_cast<Number>(extent);
    strides[d] = static_cast<Number>(stride);
  }
  Mapping mapping;
  if constexpr (std::is_constructible_v<Mapping, Extents, Numbers>) {
    mapping = Mapping(Extents(extents), strides);
  } else {
    mapping = Mapping(Extents(extents));
  }
  if constexpr (M::rank() > 0) {
    for (std::size_t d = 0; d < view.rank(); ++d) {
      if (view.extent(d) > 1 && static_cast<Index>(mapping.stride(d)) != view.stride(d)) return std::nullopt;
    }
  }
  return M(view.data(), mapping);
}

/// DLPack's DLTensor, or its like. dmlref needs no header of DLPack.
template <class D>
concept DlTensorLike = requires(D& d) {
  { d.data } -> std::convertible_to<const void*>;
  d.device.device_type, d.ndim, d.dtype.code, d.dtype.bits, d.dtype.lanes, d.byte_offset;
  { *d.shape } -> std::convertible_to<std::int64_t>;
  { *d.strides } -> std::convertible_to<std::int64_t>;
};

namespace detail {
inline constexpr int dl_cpu = 1;  // kDLCPU
/// DLDataTypeCode of T: kDLInt, kDLUInt, kDLFloat, kDLBool; -1: none.
template <class T>
inline constexpr int dl_code = std::is_same_v<T, bool>                                  ? 6
                               : std::is_floating_point_v<T> || std::is_same_v<T, half> ? 2
                               : !std::is_integral_v<T>                                 ? -1
                               : std::is_signed_v<T>                                    ? 0
                                                                                        : 1;
}  // namespace detail

/// The elements of a tensor in the CPU's memory. Nothing where they are no T's, lie elsewhere or unaligned, the rank is
/// above 8, or the layout is invalid. Null strides mean packed. `T` const reads only; DLPack does not say who may
/// write.
template <class T, DlTensorLike D>
[[nodiscard]] std::optional<TensorView<T>> try_view_of(const D& tensor) noexcept {
  using Element = std::remove_const_t<T>;
  static_assert(detail::dl_code<Element> >= 0, "DLPack has no such element type");
  constexpr Index most = static_cast<Index>(max_rank);
  if (static_cast<int>(tensor.device.device_type) != detail::dl_cpu || tensor.dtype.lanes != 1 ||
      static_cast<int>(tensor.dtype.code) != detail::dl_code<Element> || tensor.dtype.bits != 8 * sizeof(Element) ||
      Index{tensor.ndim} < 0 || Index{tensor.ndim} > most || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  const Shape shape = rank == 0 ? Shape{} : Shape::from(std::span<const std::int64_t>(tensor.shape, rank));
  Layout layout(shape);
  if (rank > 0 && tensor.strides != nullptr) {
    layout.strides = Strides::from(std::span<const std::int64_t>(tensor.strides, rank));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + static_cast<std::uintptr_t>(tensor.byte_offset);
  if (!layout.is_valid() || address % alignof(Element) != 0) return std::nullopt;
  if (tensor.data == nullptr && layout.required_span_size() > 0) return std::nullopt;
  return TensorView<T>(DirectAccess<T>{reinterpret_cast<T*>(address)}, layout);
}

/// The view as a D that borrows `view`'s shape and strides: it lives no longer than the view.
template <DlTensorLike D, class T>
requires(!std::is_const_v<T> && detail::dl_code<T> >= 0) D dlpack_of(const TensorView<T>& view)
noexcept {
  D tensor{};
  tensor.data = view.data();
  tensor.device.device_type = static_cast<decltype(tensor.device.device_type)>(detail::dl_cpu);
  tensor.ndim = static_cast<decltype(tensor.ndim)>(view.rank());
  tensor.dtype.code = static_cast<decltype(tensor.dtype.code)>(detail::dl_code<T>);
  tensor.dtype.bits = static_cast<decltype(tensor.dtype.bits)>(8 * sizeof(T));
  tensor.dtype.lanes = 1;
  tensor.shape = const_cast<decltype(tensor.shape)>(view.shape().begin());
  tensor.strides = const_cast<decltype(tensor.strides)>(view.strides().begin());
  return tensor;
}
/// Not of a temporary view, whose shape would end first.
template <DlTensorLike D, class T>
D dlpack_of(const TensorView<T>&& view) = delete;

DMLREF_END
