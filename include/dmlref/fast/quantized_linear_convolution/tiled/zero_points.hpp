// zero_points.hpp: zero points of the filter that its weights take in, where DML owns both.
//
// A weight less its zero point has nine bits. Weights of sixteen bits hold them. Of bytes most fit where zero points
// are near the middle; what the others have beyond eight bits is a second part. Tiles of pixels add up a list of those
// for each channel, as long as that is less work than a term for each sum and the sums of the pixels, which it
// replaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// Calls visit(block, step, weights, minus) for the `lanes` groups of weights of each step, packed as T, with minus
/// their zero points, 0 beside filling, until it says false. `zero`: one per channel.
template <class T, class Visit>
void each_step(const Plan& p, const std::int32_t* zero, std::byte* packed, Visit visit) noexcept {
  constexpr Index elements = 4 / static_cast<Index>(sizeof(T)), most = 64;
  const Index count = p.filter.lanes * elements;
  for (Index block = 0; block < p.filter.groups * p.filter.blocks; ++block) {
    std::int16_t whole[most], partial[most];
    for (Index i = 0; i < count; ++i) {
      whole[i] = static_cast<std::int16_t>(zero[block * p.filter.lanes + i / elements]);
    }
    T* weights = reinterpret_cast<T*>(packed + block * p.filter.block_bytes());
    for (Index step = 0; step < p.filter.steps; ++step, weights += count) {
      const Index* at = &p.elements[static_cast<std::size_t>(step * elements)];
      bool complete = true;
      for (Index e = 0; e < elements; ++e) complete = complete && at[e] >= 0;
      for (Index i = 0; i < count && !complete; ++i) partial[i] = at[i % elements] < 0 ? std::int16_t{0} : whole[i];
      if (!visit(block, step, weights, complete ? whole : partial)) return;
    }
  }
}

/// How many weights less their zero points do not fit bytes; more than `most` as soon as there are, or where two bytes
/// do not hold one, either.
inline Index count_wide_weights(const Plan& p, const std::int32_t* zero, std::byte* packed, Index most) noexcept {
  Index count = 0;
  each_step<std::int8_t>(p, zero, packed, [&](Index, Index, const std::int8_t* weights, const std::int16_t* minus) {
    std::int32_t wide = 0, too_wide = 0;
    for (Index i = 0; i < 4 * p.filter.lanes; ++i) {
      const std::int32_t d = weights[i] + minus[i];
      wide += d < -128 || d > 127;
      too_wide += d > 254;
    }
    count += too_wide > 0 ? most + 1 : wide;
    return count <= most;
  });
  return count;
}

/// What a weight less its zero point has beyond 8 bits.
constexpr std::int32_t second_part(std::int32_t difference) noexcept {
  return difference > 127 ? difference - 127 : difference < -128 ? difference + 128 : 0;
}

/// Lists the second parts, channel by channel; `begin`: one per channel, and one more, all 0.
inline void list_second_parts(const Plan& p, const std::int32_t* zero, std::byte* packed, std::int32_t* begin,
                              SecondPart* parts) noexcept {
  const Index lanes = p.filter.lanes, channels = p.filter.groups * p.filter.channels();
  const auto each_part = [&](auto visit) {
    each_step<std::int8_t>(
        p, zero, packed, [&](Index block, Index step, const std::int8_t* weights, const std::int16_t* minus) {
          for (Index i = 0; i < 4 * lanes; ++i) {
            const std::int32_t part = second_part(weights[i] + minus[i]);
            if (part != 0) visit(block * lanes + i / 4, SecondPart{static_cast<std::int32_t>(4 * step + i % 4), part});
          }
          return true;
        });
  };
  each_part([&](Index channel, const SecondPart&) { ++begin[channel + 1]; });
  for (Index channel = 0; channel < channels; ++channel) begin[channel + 1] += begin[channel];
  each_part([&](Index channel, const SecondPart& part) { parts[begin[channel]++] = part; });
  for (Index channel = channels; channel > 0; --channel) begin[channel] = begin[channel - 1];
  begin[0] = 0;
}

/// From the weights, of which those with second parts keep the first ones, and from the sums of whole weights.
template <class T>
void subtract_zero_points(const Plan& p, const std::int32_t* zero, std::byte* packed) noexcept {
  constexpr std::int32_t least = (std::numeric_limits<T>::min)(), most = (std::numeric_limits<T>::max)();
  constexpr Index elements = 4 / static_cast<Index>(sizeof(T));
  const Index count = p.filter.lanes * elements;
  each_step<T>(p, zero, packed, [&](Index, Index, T* weights, const std::int16_t* minus) {
    for (Index i = 0; i < count; ++i) {
      const std::int32_t d = weights[i] + minus[i];
      weights[i] = static_cast<T>(d < least ? least : d > most ? most : d);
    }
    return true;
  });
  const Index of_row = p.row_steps * elements;
  for (Index ky = 0; ky < p.g.kernel_h; ++ky) {
    std::int32_t weights = 0;  // of a channel
    for (Index e = ky * of_row; e < (ky + 1) * of_row; ++e) weights += p.elements[static_cast<std::size_t>(e)] >= 0;
    std::byte* const sums = packed + p.filter.sums_at() + ky * p.filter.row_sums_bytes();
    for (Index channel = 0; channel < p.filter.groups * p.filter.channels(); ++channel) {
      const std::int32_t sum = load<std::int32_t>(sums, channel) + weights * zero[channel];
      std::memcpy(sums + 4 * channel, &sum, sizeof sum);
    }
  }
}

/// Whether the weights, of a packed filter that DML owns, take in their zero points; if so `zero`, minus these, are 0
/// afterwards. No sum may exceed 32 bits.
inline bool take_in_zero_points(const Plan& p, bool uniform, std::int32_t* zero, std::byte* packed,
                                std::byte* memory) noexcept {
  if (p.kernels.group == 2) {
    subtract_zero_points<std::int16_t>(p, zero, packed);
  } else {
    const Index most = p.second_parts() ? p.most_second_parts(uniform) : 0;
    const Index count = count_wide_weights(p, zero, packed, most);
    if (count > most) return false;
    if (count > 0) {
      list_second_parts(p, zero, packed, reinterpret_cast<std::int32_t*>(memory + p.second_begin_at),
                        reinterpret_cast<SecondPart*>(memory + p.second_parts_at));
    }
    subtract_zero_points<std::int8_t>(p, zero, packed);
  }
  std::memset(zero, 0, static_cast<std::size_t>(4 * p.filter.groups * p.filter.channels()));
  return true;
}

}  // namespace fast::qlc::tiled
DMLREF_END
