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

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// visit(channel, step, element, weight) of all weights but filling; packed as T.
template <class T, class Visit>
void each_weight(const Plan& p, std::byte* packed, Visit visit) noexcept {
  const Index lanes = p.filter.lanes, elements = p.block.order.group;
  for (Index block = 0; block < p.filter.groups * p.filter.blocks; ++block) {
    T* weights = reinterpret_cast<T*>(packed + block * p.filter.block_bytes());
    for (Index step = 0; step < p.filter.steps; ++step) {
      for (Index lane = 0; lane < lanes; ++lane, weights += elements) {
        for (Index e = 0; e < elements; ++e) {
          if (p.elements[static_cast<std::size_t>(step * elements + e)] < 0) continue;
          visit(block * lanes + lane, step, e, weights[e]);
        }
      }
    }
  }
}

/// Tables of second parts.
struct SecondPartTables {
  std::int32_t* begin;  // one per channel, and one more: where its list begins
  SecondPart* parts;

  SecondPartTables(const Plan& p, std::byte* memory) noexcept
      : begin(reinterpret_cast<std::int32_t*>(memory + p.second_begin_at)),
        parts(reinterpret_cast<SecondPart*>(memory + p.second_parts_at)) {}
};

/// How many weights less their zero points do not fit bytes; more than `most` where lists cannot hold them, either.
inline Index count_wide_weights(const Plan& p, const std::int32_t* zero, std::byte* packed, Index most) noexcept {
  Index count = 0;
  each_weight<std::int8_t>(p, packed, [&](Index channel, Index, Index, std::int8_t weight) {
    const std::int32_t d = weight + zero[channel];
    if (d < -128 || d > 127) count += d > 254 ? most + 1 : 1;
  });
  return count;
}

/// Bytes take in their zero points; the lists, of as many weights as were counted.
inline void list_second_parts(const Plan& p, const std::int32_t* zero, std::byte* packed,
                              const SecondPartTables& tables) noexcept {
  const Index channels = p.filter.groups * p.filter.channels();
  const auto second = [&](Index channel, std::int8_t weight) {
    const std::int32_t d = weight + zero[channel];
    return d > 127 ? d - 127 : d < -128 ? d + 128 : 0;
  };
  each_weight<std::int8_t>(p, packed, [&](Index channel, Index, Index, std::int8_t weight) {
    tables.begin[channel + 1] += second(channel, weight) != 0;
  });
  for (Index channel = 0; channel < channels; ++channel) tables.begin[channel + 1] += tables.begin[channel];
  each_weight<std::int8_t>(p, packed, [&](Index channel, Index step, Index e, std::int8_t weight) {
    const std::int32_t part = second(channel, weight);
    if (part != 0) tables.parts[tables.begin[channel]++] = {static_cast<std::int32_t>(4 * step + e), part};
  });
  for (Index channel = channels; channel > 0; --channel) tables.begin[channel] = tables.begin[channel - 1];
  tables.begin[0] = 0;
}

template <class T>
void subtract_zero_points(const Plan& p, const std::int32_t* zero, std::byte* packed) noexcept {
  constexpr std::int32_t least = sizeof(T) == 1 ? -128 : -32768, most = -1 - least;
  each_weight<T>(p, packed, [&](Index channel, Index step, Index, T& weight) {
    const std::int32_t d = weight + zero[channel];
    weight = static_cast<T>(d < least ? least : d > most ? most : d);
    std::byte* const sum = packed + p.filter.sums_at() + step / p.row_steps * p.filter.row_sums_bytes() + channel * 4;
    const std::int32_t total = load<std::int32_t>(sum, 0) + zero[channel];
    std::memcpy(sum, &total, sizeof total);
  });
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
    if (count > 0) list_second_parts(p, zero, packed, SecondPartTables(p, memory));
    subtract_zero_points<std::int8_t>(p, zero, packed);
  }
  std::memset(zero, 0, static_cast<std::size_t>(4 * p.filter.groups * p.filter.channels()));
  return true;
}

}  // namespace fast::qlc::tiled
DMLREF_END
