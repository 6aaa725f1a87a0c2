// buffers.hpp: the bytes of tensors, as `run` and the staged form take them.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"

DMLREF_BEGIN

using InputBuffer = std::span<const std::byte>;  ///< an empty span: not bound (an absent optional tensor)
using OutputBuffer = std::span<std::byte>;       ///< at least TotalTensorSizeInBytes, at any address

namespace detail {

/// What a braced list takes: arrays, vectors and spans.
template <class Range>
inline constexpr bool is_buffer_range = std::is_bounded_array_v<Range>;
template <class T, std::size_t N>
inline constexpr bool is_buffer_range<std::array<T, N>> = true;
template <class T, class Allocator>
inline constexpr bool is_buffer_range<std::vector<T, Allocator>> = !std::is_same_v<T, bool>;
template <class T, std::size_t N>
inline constexpr bool is_buffer_range<std::span<T, N>> = true;

/// Of an array, a vector or a span; const where the elements are.
template <class Range>
using ElementOf = typename decltype(std::span(std::declval<Range&>()))::element_type;

/// std::byte, or the C++ type of a DataType.
template <class T>
concept BufferElement = std::is_same_v<T, std::byte> ||(data_type_of<T> != DataType::unknown);

/// An array, a vector or a span of them.
template <class Range>
concept BufferRange =
    is_buffer_range<std::remove_const_t<Range>> && BufferElement<std::remove_const_t<ElementOf<Range>>>;
template <class Range>
concept WritableRange = BufferRange<Range> && !std::is_const_v<ElementOf<Range>>;

}  // namespace detail

/// One input of a braced list: an array, a vector or a span of elements of a DataType, or of std::byte. {} stands for
/// an absent tensor.
class InputArgument {
 public:
  /// Absent.
  constexpr InputArgument() noexcept = default;
  /// The bytes of `elements`, which must outlive the call.
  template <class Range>
  requires detail::BufferRange<const Range> InputArgument(const Range& elements)
  noexcept : bytes_(std::as_bytes(std::span(elements))) {}
  /// The bytes.
  constexpr operator InputBuffer() const noexcept { return bytes_; }

 private:
  InputBuffer bytes_;
};

/// One output of a braced list, of memory to write to.
class OutputArgument {
 public:
  /// Absent.
  constexpr OutputArgument() noexcept = default;
  /// The bytes of `elements`, which must outlive the call.
  template <class Range>
  requires detail::WritableRange<Range> OutputArgument(Range& elements)
  noexcept : bytes_(std::as_writable_bytes(std::span(elements))) {}
  /// The same for a span that is made in place.
  template <class T, std::size_t N>
  requires detail::WritableRange<std::span<T, N>> OutputArgument(std::span<T, N>&& elements)
  noexcept : bytes_(std::as_writable_bytes(elements)) {}
  /// The bytes.
  constexpr operator OutputBuffer() const noexcept { return bytes_; }

 private:
  OutputBuffer bytes_;
};

using InputList = std::initializer_list<InputArgument>;    ///< {input, scale, {}}: in the order of the desc
using OutputList = std::initializer_list<OutputArgument>;  ///< {output}: in the order of the desc

DMLREF_END
