// zero_points.hpp: zero points of the filter that its weights take in, where DML owns both.
//
// A weight less its zero point has nine bits. Weights of sixteen bits hold them; bytes do where zero points are near
// the middle, or weights far from the ends of their range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/plan.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// Calls visit(block, step, weights, minus) for the `lanes` groups of weights of each step, packed as T, with minus
/// their zero points, 0 beside padding, until it says false. `zero`: one per channel.
template <class T, class Visit>
void each_step(const Plan& p, const std::int32_t* zero, std::byte* packed, Visit visit) noexcept {
  constexpr Index elements = 4 / static_cast<Index>(sizeof(T)), max_elements = 64;
  const Index count = p.filter.lanes * elements;
  for (Index block = 0; block < p.filter.groups * p.filter.blocks; ++block) {
    std::int16_t whole[max_elements], partial[max_elements];
    for (Index i = 0; i < count; ++i) {
      whole[i] = dmlref::detail::narrow<std::int16_t>(zero[block * p.filter.lanes + i / elements]);  // of bytes
    }
    T* weights = reinterpret_cast<T*>(packed + block * p.filter.block_bytes());
    for (Index step = 0; step < p.filter.steps; ++step, weights += count) {
      const Index* at = &p.depth.elements[static_cast<std::size_t>(step * elements)];
      bool complete = true;
      for (Index e = 0; e < elements; ++e) complete = complete && at[e] != no_element;
      for (Index i = 0; i < count && !complete; ++i)
        partial[i] = at[i % elements] == no_element ? std::int16_t{0} : whole[i];
      if (!visit(block, step, weights, complete ? whole : partial)) return;
    }
  }
}

/// Whether all weights less their zero points are bytes.
inline bool differences_are_bytes(const Plan& p, const std::int32_t* zero, std::byte* packed) noexcept {
  bool all = true;
  each_step<std::int8_t>(p, zero, packed, [&](Index, Index, const std::int8_t* weights, const std::int16_t* minus) {
    std::int32_t outside = 0;
    for (Index i = 0; i < 4 * p.filter.lanes; ++i) {
      const std::int32_t d = weights[i] + minus[i];
      outside += d < -128 || d > 127;
    }
    all = outside == 0;
    return all;
  });
  return all;
}

/// From the weights and from their sums.
template <class T>
void subtract_zero_points(const Plan& p, const std::int32_t* zero, std::byte* packed) noexcept {
  constexpr Index elements = 4 / static_cast<Index>(sizeof(T));
  const Index count = p.filter.lanes * elements;
  each_step<T>(p, zero, packed, [&](Index, Index, T* weights, const std::int16_t* minus) {
    for (Index i = 0; i < count; ++i) {
      weights[i] = dmlref::detail::narrow<T>(weights[i] + minus[i]);  // words, or as differences_are_bytes says
    }
    return true;
  });
  const Index of_row = p.row_steps * elements;
  for (Index ky = 0; ky < p.g.kernel_h; ++ky) {
    std::int32_t weights = 0;  // of a channel
    for (Index e = ky * of_row; e < (ky + 1) * of_row; ++e)
      weights += p.depth.elements[static_cast<std::size_t>(e)] != no_element;
    std::byte* const sums = packed + p.filter.sums_at() + ky * p.filter.row_sums_bytes();
    for (Index channel = 0; channel < p.filter.groups * p.filter.channels(); ++channel) {
      const std::uint32_t sum = load<std::uint32_t>(sums, channel) + wrap(weights) * wrap(zero[channel]);
      std::memcpy(sums + 4 * channel, &sum, sizeof sum);
    }
  }
}

/// Whether the weights, of a packed filter that DML owns, take in their zero points; if so `zero`, minus these, are 0
/// afterwards. Sums are modulo 2^32.
inline bool take_in_zero_points(const Plan& p, std::int32_t* zero, std::byte* packed) noexcept {
  if (p.kernels.group == 2) {
    subtract_zero_points<std::int16_t>(p, zero, packed);
  } else {
    if (!differences_are_bytes(p, zero, packed)) return false;
    subtract_zero_points<std::int8_t>(p, zero, packed);
  }
  std::memset(zero, 0, static_cast<std::size_t>(4 * p.filter.groups * p.filter.channels()));
  return true;
}

}  // namespace fast::qlc::tiled
DMLREF_END
