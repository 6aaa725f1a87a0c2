// bind.hpp: the layout of a tensor descriptor, with which its bytes are bound (tensor_view.hpp).
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

DMLREF_END
