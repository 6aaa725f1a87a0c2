// kept.hpp: inputs that DML owns, as a plan sees them: where their strides leave gaps, without these.
//
// A tensor of a few elements may span gigabytes. Its copy in the persistent memory, and what plans know of it, is then
// packed: the same elements in the same order in memory, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace detail {

/// How an input is kept. Dimensions that repeat the same elements (strides of 0) have extents of 1 in `given` and
/// `kept`.
struct KeptInput {
  bool packed = false;
  std::uint64_t bytes = 0;  ///< of the copy; 0: the input is not owned
  std::size_t element = 0;  ///< bytes of an element
  Layout given, kept;       ///< where packed: in the buffer that is bound, and in the copy
};

/// What a plan knows of a tensor.
struct SeenTensor {
  Layout layout;
  std::uint64_t readable_bytes = 0;
};

/// The layout without gaps, if it spans twice its elements: the strides in the order in which they are.
inline std::optional<Layout> without_gaps(const Layout& layout, std::size_t element) noexcept {
  constexpr Index negligible_bytes = Index{64} << 10, worth_while = 2;  // times the elements
  const Index span = layout.required_span_size();
  if (span * static_cast<Index>(element) <= negligible_bytes) return std::nullopt;
  Layout packed(layout.shape, Strides::filled(layout.rank(), 0));
  std::size_t order[max_rank] = {}, count = 0;  // of the dimensions that lead anywhere, the least step first
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    if (layout.shape[d] == 1 || layout.strides[d] == 0) continue;
    std::size_t at = count++;
    for (; at > 0 && layout.strides[order[at - 1]] > layout.strides[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  Index elements = 1;
  for (std::size_t i = 0; i < count; ++i) {
    packed.strides[order[i]] = elements;
    // A span has at most 2^32 elements, and so have the factors (rules of TotalTensorSizeInBytes).
    if (layout.shape[order[i]] > span / worth_while / elements) return std::nullopt;
    elements *= layout.shape[order[i]];
  }
  return packed;
}

/// A tensor of a valid desc.
inline SeenTensor seen(const TensorDesc& tensor) noexcept {
  const Layout layout = layout_of(tensor);
  if (!tensor.owned_by_dml) return {layout, tensor.total_size_in_bytes};
  const Layout kept = without_gaps(layout, size_of(tensor.data_type)).value_or(layout);
  return {kept, static_cast<std::uint64_t>(kept.required_span_size()) * size_of(tensor.data_type)};
}

/// How CompiledOperator keeps it.
inline KeptInput kept(const TensorDesc& tensor) noexcept {
  if (!tensor.owned_by_dml) return {};
  const SeenTensor to = seen(tensor);
  KeptInput input{false, to.readable_bytes, size_of(tensor.data_type), layout_of(tensor), to.layout};
  input.packed = input.kept != input.given;
  for (std::size_t d = 0; d < input.given.rank(); ++d) {
    if (input.given.strides[d] == 0) input.given.shape[d] = input.kept.shape[d] = 1;
  }
  return input;
}

/// `count` elements of so many bytes, `step` bytes apart, to neighbouring ones.
template <std::size_t Bytes>
void gather(const std::byte* from, Index step, Index count, std::byte* to) noexcept {
  for (Index i = 0; i < count; ++i) std::memcpy(to + i * Index{Bytes}, from + i * step, Bytes);
}
inline void gather(std::size_t element, const std::byte* from, Index step, Index count, std::byte* to) noexcept {
  if (step == static_cast<Index>(element)) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * element);
    return;
  }
  switch (element) {
    case 1: return gather<1>(from, step, count, to);
    case 2: return gather<2>(from, step, count, to);
    case 4: return gather<4>(from, step, count, to);
    default: return gather<8>(from, step, count, to);
  }
}

/// The copy of a bound buffer.
DMLREF_NOINLINE inline void keep(const KeptInput& input, const std::byte* from, std::byte* to) noexcept {
  if (!input.packed) {
    std::memcpy(to, from, static_cast<std::size_t>(input.bytes));
    return;
  }
  const auto element = static_cast<Index>(input.element);
  Shape outer = input.given.shape;
  Index count = 1, step = element;  // of the dimension whose elements are neighbours in the copy
  for (std::size_t d = 0; d < outer.size(); ++d) {
    if (outer[d] == 1 || input.kept.strides[d] != 1) continue;
    count = outer[d];
    step = input.given.strides[d] * element;
    outer[d] = 1;
  }
  auto at = Coordinates::filled(outer.size(), 0);
  do {
    gather(input.element, from + input.given(at) * element, step, count, to + input.kept(at) * element);
  } while (advance(at, outer));
}

}  // namespace detail
DMLREF_END
