// buffers.hpp: the bytes of tensors, as `run` and the staged form take them.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"

DMLREF_BEGIN

using InputBuffer = std::span<const std::byte>;  ///< an empty span: not bound (an absent optional tensor)
using OutputBuffer = std::span<std::byte>;       ///< at least TotalTensorSizeInBytes, at any address

namespace detail {

template <class Range>
struct ElementOf {};  // of nothing else
template <class T, std::size_t N>
struct ElementOf<T[N]> {
  using Type = T;
};
template <class T, std::size_t N>
struct ElementOf<std::array<T, N>> {
  using Type = T;
};
template <class T, std::size_t N>
struct ElementOf<const std::array<T, N>> {
  using Type = const T;
};
template <class T, class Allocator>
struct ElementOf<std::vector<T, Allocator>> {
  using Type = T;
};
template <class T, class Allocator>
struct ElementOf<const std::vector<T, Allocator>> {
  using Type = const T;
};
template <class T, std::size_t N>
struct ElementOf<std::span<T, N>> {
  using Type = T;
};
template <class T, std::size_t N>
struct ElementOf<const std::span<T, N>> {
  using Type = T;
};

/// std::byte, or the C++ type of a DataType.
template <class T>
concept BufferElement = std::is_same_v<T, std::byte> || data_type_of<T>
!= DataType::unknown;

/// An array, a vector or a span of them.
template <class Range>
concept BufferRange = BufferElement<std::remove_const_t<typename ElementOf<Range>::Type>>;
template <class Range>
concept WritableRange = BufferRange<Range> && !std::is_const_v<typename ElementOf<Range>::Type>;

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
