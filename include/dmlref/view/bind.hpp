// bind.hpp: a tensor descriptor's layout, and its bytes as a view.
#pragma once

#include <cstddef>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

/// The layout that a valid descriptor describes.
inline Layout layout_of(const TensorDesc& tensor) noexcept {
  const Shape shape = Shape::from<std::uint32_t>(tensor.sizes);
  return tensor.strides ? Layout(shape, Strides::from<std::uint32_t>(*tensor.strides)) : Layout(shape);
}

/// Bytes at any address as elements of T. T const: read only.
template <class T>
ByteTensorView<T> bind(typename ByteAccess<T>::Byte* data, const Layout& layout) noexcept {
  return ByteTensorView<T>(ByteAccess<T>{data}, layout);
}

DMLREF_END
