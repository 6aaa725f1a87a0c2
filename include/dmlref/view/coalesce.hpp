// coalesce.hpp: fewer dimensions for the same walk.
#pragma once

#include <cstddef>

#include "dmlref/config.hpp"
#include "dmlref/view/layout.hpp"

DMLREF_BEGIN

/// Several layouts of one shape walked together, e.g. input and output: strides[k] belongs to the k-th.
template <std::size_t N>
struct JointLayout {
  Shape shape;         ///< of all of them
  Strides strides[N];  ///< in elements, as many as extents
  /// The number of dimensions.
  constexpr std::size_t rank() const noexcept { return shape.size(); }
};

/// Drops dimensions of extent 1 and merges neighbours that every layout walks as one. The order of elements stays.
/// At least one dimension is left.
template <std::size_t N>
constexpr JointLayout<N> coalesce(const JointLayout<N>& from) noexcept {
  JointLayout<N> to;
  for (std::size_t d = 0; d < from.rank(); ++d) {
    if (from.shape[d] == 1) continue;
    bool merges = !to.shape.empty();
    for (std::size_t k = 0; k < N && merges; ++k) {
      merges = to.strides[k].back() == from.strides[k][d] * from.shape[d];
    }
    if (merges) {
      const std::size_t last = to.rank() - 1;
      to.shape[last] *= from.shape[d];
      for (std::size_t k = 0; k < N; ++k) to.strides[k][last] = from.strides[k][d];
    } else {
      to.shape.push_back(from.shape[d]);
      for (std::size_t k = 0; k < N; ++k) to.strides[k].push_back(from.strides[k][d]);
    }
  }
  if (to.shape.empty()) {
    to.shape.push_back(1);
    for (std::size_t k = 0; k < N; ++k) to.strides[k].push_back(1);
  }
  return to;
}

/// One layout alone.
constexpr Layout coalesce(const Layout& layout) noexcept {
  JointLayout<1> joint;
  joint.shape = layout.shape;
  joint.strides[0] = layout.strides;
  const JointLayout<1> merged = coalesce(joint);
  return Layout(merged.shape, merged.strides[0], layout.offset);
}

DMLREF_END
