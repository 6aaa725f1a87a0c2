// tensor_desc.hpp: what a tensor is asked to be: type, sizes, optional strides, and its size in bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"

DMLREF_BEGIN

/// Sizes, strides, offsets: one unsigned 32-bit number per dimension, as in DirectML.
using Dimensions = std::vector<std::uint32_t>;

/// Index of the last element counted from the first, plus one: the elements that the layout spans. Strides are in
/// elements; empty strides mean packed. Empty where a size is 0 or the result does not fit 64 bits.
[[nodiscard]] constexpr std::optional<std::uint64_t> spanned_elements(std::span<const std::uint32_t> sizes,
                                                                      std::span<const std::uint32_t> strides) noexcept {
  constexpr std::uint64_t limit = (std::numeric_limits<std::uint64_t>::max)();
  std::uint64_t product = 1;
  std::uint64_t last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return std::nullopt;
    if (strides.empty()) {
      if (product > limit / sizes[d]) return std::nullopt;
      product *= sizes[d];
    } else {
      // A product of two 32-bit numbers fits 64 bits; the sum may not.
      const std::uint64_t reach = (std::uint64_t{sizes[d]} - 1) * strides[d];
      if (last > limit - reach) return std::nullopt;
      last += reach;
    }
  }
  if (strides.empty()) return product;
  if (last == limit) return std::nullopt;
  return last + 1;
}

/// DMLCalcBufferTensorSize in 64 bits: the least TotalTensorSizeInBytes, a multiple of 4. Unlike the published helper,
/// which sums in 32 bits and wraps, an overflow is reported (empty), as are a size of 0 and an unknown type.
[[nodiscard]] constexpr std::optional<std::uint64_t> buffer_tensor_size(
    DataType type, std::span<const std::uint32_t> sizes, std::span<const std::uint32_t> strides = {}) noexcept {
  const std::uint64_t element = size_of(type);
  const auto elements = spanned_elements(sizes, strides);
  if (element == 0 || !elements) return std::nullopt;
  constexpr std::uint64_t limit = (std::numeric_limits<std::uint64_t>::max)() - 3;
  if (*elements > limit / element) return std::nullopt;
  return (*elements * element + 3) / 4 * 4;
}

/// A buffer tensor (DML_BUFFER_TENSOR_DESC) as a value.
struct TensorDesc {
  DataType data_type = DataType::unknown;              ///< of every element
  Dimensions sizes;                                    ///< 1 to 8 extents, none of them 0
  std::optional<Dimensions> strides;                   ///< in elements; absent: packed, row-major
  std::uint64_t total_size_in_bytes = 0;               ///< at least buffer_tensor_size(data_type, sizes, strides)
  std::uint32_t guaranteed_base_offset_alignment = 0;  ///< bytes; a hint; 0: no promise
  bool owned_by_dml = false;                           ///< given to `initialize` instead of `execute`

  /// No tensor yet: no operator accepts it.
  TensorDesc() = default;
  /// The usual tensor: total_size_in_bytes is the least that holds the layout (0 where that overflows).
  TensorDesc(DataType type, Dimensions extents, std::optional<Dimensions> steps = std::nullopt)
      : data_type(type), sizes(std::move(extents)), strides(std::move(steps)) {
    if (strides && strides->size() != sizes.size()) return;
    total_size_in_bytes =
        buffer_tensor_size(data_type, sizes,
                           strides ? std::span<const std::uint32_t>(*strides) : std::span<const std::uint32_t>())
            .value_or(0);
  }

  /// The number of dimensions.
  std::size_t rank() const noexcept { return sizes.size(); }
};

DMLREF_END
