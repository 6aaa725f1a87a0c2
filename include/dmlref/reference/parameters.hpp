// parameters.hpp: scales and zero points: one value for a tensor, or one per channel, row or column.
#pragma once

#include <cstddef>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace reference::detail {

/// Element `channel` of a tensor with one element, or with one per channel along its only extent above 1.
template <class View>
constexpr typename View::value_type load_channel(const View& view, Index channel) noexcept {
  Index step = 0;
  for (std::size_t d = 0; d < view.rank(); ++d) {
    if (view.extent(d) > 1) step = view.stride(d);
  }
  return view.access().load(view.layout().offset + channel * step);
}
template <class View>
constexpr typename View::value_type load_channel(const std::optional<View>& view, Index channel) noexcept {
  return view ? load_channel(*view, channel) : typename View::value_type{0};
}

}  // namespace reference::detail
DMLREF_END
