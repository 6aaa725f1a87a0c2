// reference.hpp: SLICE and SLICE1: a slice is a view of the input, and the operator copies it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dmlref/config.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace reference {

namespace detail {

/// From one output coordinate to the next. An extent of 1 is never stepped along, and only there may both factors be
/// so large that their product overflows.
constexpr Index window_step(Index extent, Index window_stride, Index input_stride) noexcept {
  return extent == 1 ? 0 : window_stride * input_stride;
}

}  // namespace detail

/// The layout that SLICE reads: coordinate c of dimension d is input coordinate offsets[d] + strides[d] * c.
/// The step of an extent of 1 is 0.
constexpr Layout slice_layout(const Layout& input, const Shape& output, std::span<const std::uint32_t> offsets,
                              std::span<const std::uint32_t> strides) noexcept {
  Layout window(output, input.strides, input.offset);
  for (std::size_t d = 0; d < output.size(); ++d) {
    window.offset += static_cast<Index>(offsets[d]) * input.strides[d];
    window.strides[d] = detail::window_step(output[d], strides[d], input.strides[d]);
  }
  return window;
}

/// The layout that SLICE1 reads: from the window's first element for a positive stride, from its last for a negative
/// one. The step of an extent of 1 is 0.
constexpr Layout slice1_layout(const Layout& input, const Shape& output, std::span<const std::uint32_t> window_offsets,
                               std::span<const std::uint32_t> window_sizes,
                               std::span<const std::int32_t> window_strides) noexcept {
  Layout window(output, input.strides, input.offset);
  for (std::size_t d = 0; d < output.size(); ++d) {
    const Index first = window_offsets[d];
    const Index last = first + static_cast<Index>(window_sizes[d]) - 1;
    window.offset += (window_strides[d] > 0 ? first : last) * input.strides[d];
    window.strides[d] = detail::window_step(output[d], window_strides[d], input.strides[d]);
  }
  return window;
}

/// Copies every element of `from` to the same coordinates of `to`. Bits are copied: NaN payloads survive.
template <class From, class To>
constexpr void copy(const From& from, const To& to) noexcept {
  if (to.size() == 0) return;
  auto at = Coordinates::filled(to.rank(), 0);
  do {
    to.store(at, from.load(at));
  } while (advance(at, to.shape()));
}

/// DML_OPERATOR_SLICE on views. The arrays have one entry per dimension; reads stay inside the input.
template <class In, class Out>
constexpr void slice(const In& input, const Out& output, std::span<const std::uint32_t> offsets,
                     std::span<const std::uint32_t> strides) noexcept {
  copy(input.with_layout(slice_layout(input.layout(), output.shape(), offsets, strides)), output);
}

/// DML_OPERATOR_SLICE1 on views. The output may be smaller than what the window offers.
template <class In, class Out>
constexpr void slice1(const In& input, const Out& output, std::span<const std::uint32_t> window_offsets,
                      std::span<const std::uint32_t> window_sizes,
                      std::span<const std::int32_t> window_strides) noexcept {
  copy(input.with_layout(slice1_layout(input.layout(), output.shape(), window_offsets, window_sizes, window_strides)),
       output);
}

}  // namespace reference
DMLREF_END
