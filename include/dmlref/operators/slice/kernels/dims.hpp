// dims.hpp: two layouts of one shape as dimensions in bytes: ordered, merged and widened.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast {

constexpr Index magnitude(Index step) noexcept { return step < 0 ? -step : step; }

/// A dimension of a copy: both steps in bytes.
struct CopyDim {
  Index extent = 1;
  Index in = 0;
  Index out = 0;
};

/// Up to eight of them, the outermost first; elements are runs of `unit` bytes.
struct CopyDims {
  std::size_t unit = 1;
  std::size_t rank = 0;
  CopyDim dim[max_rank + 1];

  constexpr CopyDim& back() noexcept { return dim[rank - 1]; }
  constexpr const CopyDim& back() const noexcept { return dim[rank - 1]; }
  constexpr void push_back(const CopyDim& d) noexcept { dim[rank++] = d; }
  constexpr void erase(std::size_t at) noexcept {
    for (; at + 1 < rank; ++at) dim[at] = dim[at + 1];
    --rank;
  }
};

/// Begins a dimension at its other end: its steps change their signs, and rows start from another `first`.
constexpr void reverse(CopyDim& dim, RowPlace& first) noexcept {
  first.in += dim.in * (dim.extent - 1);
  first.out += dim.out * (dim.extent - 1);
  dim.in = -dim.in;
  dim.out = -dim.out;
}

/// The dimensions of a copy in the order of the output's memory (the order of a copy is free), each with the output
/// upwards, neighbours merged, runs that both sides have contiguous taken as units. `first`: where they begin.
constexpr CopyDims copy_dims(const Layout& from, const Layout& to, std::size_t element_size, RowPlace& first) noexcept {
  const Index size = static_cast<Index>(element_size);
  first = {from.offset * size, to.offset * size};
  CopyDims sorted;
  for (std::size_t d = 0; d < to.rank(); ++d) {  // insertion sort by the output's step, the largest first
    if (to.shape[d] == 1) continue;
    CopyDim dim{to.shape[d], from.strides[d] * size, to.strides[d] * size};
    if (dim.out < 0) reverse(dim, first);
    std::size_t at = sorted.rank++;
    for (; at > 0 && sorted.dim[at - 1].out < dim.out; --at) sorted.dim[at] = sorted.dim[at - 1];
    sorted.dim[at] = dim;
  }
  CopyDims dims;
  dims.unit = element_size;
  for (std::size_t d = 0; d < sorted.rank; ++d) {
    const CopyDim& dim = sorted.dim[d];
    if (dims.rank > 0 && dims.back().in == dim.in * dim.extent && dims.back().out == dim.out * dim.extent) {
      dims.back() = {dims.back().extent * dim.extent, dim.in, dim.out};
    } else {
      dims.push_back(dim);
    }
  }
  while (dims.rank > 0 && dims.back().in == static_cast<Index>(dims.unit) && dims.back().out == dims.back().in) {
    dims.unit *= static_cast<std::size_t>(dims.back().extent);
    --dims.rank;
  }
  return dims;
}

/// Whether rows along `dims` each start where the one before it ends.
constexpr bool rows_joined(std::size_t row_bytes, const CopyDims& dims) noexcept {
  auto next = static_cast<Index>(row_bytes);
  for (std::size_t d = dims.rank; d-- > 0;) {
    if (dims.dim[d].out != next) return false;
    next *= dims.dim[d].extent;
  }
  return true;
}

/// About how many bytes of the input's cache lines a copy touches: steps within a line make one run.
inline std::uint64_t touched_bytes(const CopyDims& dims, std::uint64_t in_bytes) noexcept {
  constexpr std::uint64_t line = 64;
  CopyDim by_step[max_rank + 1];
  for (std::size_t d = 0; d < dims.rank; ++d) {
    std::size_t at = d;
    for (; at > 0 && magnitude(by_step[at - 1].in) > magnitude(dims.dim[d].in); --at) by_step[at] = by_step[at - 1];
    by_step[at] = dims.dim[d];
  }
  std::uint64_t run = dims.unit, runs = 1;
  for (std::size_t d = 0; d < dims.rank; ++d) {
    const auto step = static_cast<std::uint64_t>(magnitude(by_step[d].in));
    const auto extent = static_cast<std::uint64_t>(by_step[d].extent);
    if (step == 0) continue;
    if (runs == 1 && step < run + line) {
      run += step * (extent - 1);
    } else {
      runs *= extent;
    }
  }
  const std::uint64_t bytes = runs * ((run + line - 1) / line * line);
  return bytes < in_bytes ? bytes : in_bytes;
}

}  // namespace fast
DMLREF_END
