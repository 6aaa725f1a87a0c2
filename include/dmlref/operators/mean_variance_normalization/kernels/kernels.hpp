// kernels.hpp: what an instruction set does for normalization: pointers, counts and scalars only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/simd/address.hpp"

DMLREF_BEGIN
namespace fast::normalization {

using reference::chunk_count;
using reference::chunk_size;
using reference::GroupCoefficients;
using reference::normalization_chunk;
using reference::normalization_lanes;
using reference::SumAndSquare;

/// What a row kernel does with a value before it stores it. `values` keeps it unrounded for an activation of its own.
enum class Finish { identity, clamped, values };

/// The finish that `type` needs; `values` where it is an activation of its own.
constexpr Finish finish_of(ActivationType type) noexcept {
  switch (type) {
    case ActivationType::identity:
    case ActivationType::linear: return Finish::identity;
    case ActivationType::relu:
    case ActivationType::hard_sigmoid: return Finish::clamped;
    default: return Finish::values;
  }
}

/// Whether an activation jumps somewhere.
constexpr bool jumps(ActivationType type) noexcept {
  return type == ActivationType::thresholded_relu || type == ActivationType::shrink;
}

/// What clamped results are at most; they are at least 0.
constexpr float upper_bound_of(ActivationType type) noexcept {
  return type == ActivationType::hard_sigmoid ? 1.0f : std::numeric_limits<float>::infinity();
}

/// value = (x - shift) * slope + offset, one line for the whole row.
struct Line32 {
  double shift;
  double slope;
  double offset;
};
struct Line16 {
  float shift;
  float slope;
  float offset;
  float error_bound;
};

/// Another row of as many floats (or halves), whose sums are formed on the way and whose doubles take the place of
/// those that are normalized; null: none. (Its floats go to `floats`, which has room for as many and is none of those.)
/// `next` are as many floats that are prefetched meanwhile. Where an activation of its own follows, that is the row
/// after it, and `output` is prefetched too (null: not), which the activation writes.
struct RowAhead {
  const std::byte* elements = nullptr;
  SumAndSquare* sums = nullptr;
  Address next = 0;
  const std::byte* output = nullptr;
  float* floats = nullptr;
};

/// A row of float32 with one line. `wide`: the same values as doubles, if somebody has them already; kernels that form
/// the sums of a row ahead then do without `from`. `to` takes floats, or doubles for Finish::values.
struct Row32 {
  const std::byte* from;
  double* wide;
  std::byte* to;
  std::size_t count;
  Line32 line;
  float upper;       // of Finish::clamped
  bool stream;       // non-temporal stores, where the address allows it
  Address next = 0;  // as many elements that are read after these, to be prefetched; 0: none
  RowAhead ahead{};  // if the kernels are pipelined
};

/// A stretch of a chunk: where it begins, in bytes from the group's first elements, and how many elements it has.
struct Piece {
  std::int64_t from;
  std::int64_t to;
  std::size_t count;
};

/// A chunk of float32 in pieces of multiples of 16, from the group's first elements on. `ahead` bytes further lies what
/// is needed next of the output, and `prefetch_distance` bytes further of both where groups are contiguous and the
/// kernels prefetch it (0: not).
struct Pieces32 {
  const std::byte* from;
  std::byte* to;
  const Piece* pieces;
  std::size_t count;
  std::int64_t ahead;
  Line32 line;
  float upper;
  bool stream;
  std::int64_t prefetch_distance = 0;
  /// If the kernels are pipelined: the same chunk of another group, whose sums are formed on the way (null: none), and
  /// how many bytes further on lies what is summed after it (0: nothing is prefetched).
  const std::byte* summed = nullptr;
  SumAndSquare* sums = nullptr;
  std::int64_t summed_ahead = 0;
};

/// A row of float32 with a scale and a bias for each element; otherwise as Row32. Kernels that
/// are not pipelined take `from`, whatever `wide` is.
struct EachRow32 {
  const std::byte* from;
  double* wide;
  std::byte* to;
  std::size_t count;
  const GroupCoefficients* group;
  const double* scale;
  const double* bias;
  float upper;
  bool stream;
  Address next = 0;
  RowAhead ahead{};  // if the kernels are pipelined
};

/// The same for at most 1024 float16, whose elements come as floats. `to` takes halves, or floats for Finish::values.
/// Ill-conditioned elements are listed in `ill_conditioned`, which holds `count` entries.
struct Row16 {
  const float* from;
  std::byte* to;
  std::size_t count;
  Line16 line;
  float upper;
  std::uint16_t* ill_conditioned;
  RowAhead ahead{};  // if the kernels are pipelined
};
/// A chunk of float16 in pieces of any length, from the group's first elements on; otherwise as Row16. `ahead` and
/// `prefetch_distance` as in Pieces32. Not all kernels look at `stream`.
struct Pieces16 {
  const std::byte* from;
  std::byte* to;
  const Piece* pieces;
  std::size_t count;
  std::int64_t ahead;
  Line16 line;
  float upper;
  std::uint16_t* ill_conditioned;
  std::int64_t prefetch_distance = 0;
  bool stream = false;
};
/// A row with a scale and a bias for each element.
struct EachRow16 {
  const float* from;
  std::byte* to;
  std::size_t count;
  float shift;
  float rest;
  float rate;
  float slope_error;
  float error_bound;  // no element has a larger one
  const float* scale;
  const float* bias;
  float upper;
  std::uint16_t* ill_conditioned;
  RowAhead ahead{};
};

/// All kernels of one instruction set. Results are the same bits in each.
struct Kernels {
  /// float16 to float32.
  void (*widen)(const std::byte* halves, float* floats, std::size_t count);
  /// Sums of a chunk of floats; `wide` (may be null) takes them as doubles, and has room for a multiple of 16.
  /// `output` (may be null): where as many floats will be written next.
  SumAndSquare (*sums)(const std::byte* floats, std::size_t count, double* wide, const std::byte* output);
  SumAndSquare (*shifted_sums)(const std::byte* floats, std::size_t count, double pivot);
  /// Sums of a chunk in pieces of float32 or float16, of which only the last may have another length than a multiple of
  /// 16. What lies `ahead` bytes further on is prefetched.
  SumAndSquare (*piece_sums)(const std::byte* from, const Piece* pieces, std::size_t count, std::int64_t ahead);
  SumAndSquare (*half_sums)(const std::byte* from, const Piece* pieces, std::size_t count, std::int64_t ahead);
  /// The least |value| of the row, as float.
  float (*row32[3])(const Row32&);
  float (*each_row32[3])(const EachRow32&);
  float (*pieces32[2])(const Pieces32&);  // not for Finish::values
  /// How many elements are ill-conditioned.
  std::size_t (*row16[3])(const Row16&);
  std::size_t (*pieces16[2])(const Pieces16&);  // not for Finish::values
  std::size_t (*each_row16[3])(const EachRow16&);
  /// How many bytes ahead of a contiguous walk to prefetch; 0: hardware prefetchers are better.
  std::int64_t prefetch_distance = 0;
  /// Whether rows and pieces form the sums of others on the way (`RowAhead`, `Pieces32::sums`), and rows with a scale
  /// and a bias for each element are stored non-temporally where the others are.
  bool pipelined = false;
};

/// Prefetches `bytes` at `from`, line by line.
template <int written, int locality = 2>
DMLREF_ALWAYS_INLINE void prefetch(Address from, std::size_t bytes) noexcept {
  for (std::size_t line = 0; line < bytes; line += 64) prefetch_line<written, locality>(from + line);
}

/// Appends the numbers of the set bits below `limit`.
inline std::size_t list_ill_conditioned(unsigned mask, std::size_t first, std::size_t limit, std::uint16_t* list,
                                        std::size_t count) noexcept {
  for (; mask != 0; mask &= mask - 1) {
    const std::size_t element = first + static_cast<std::size_t>(__builtin_ctz(mask));
    if (element < limit) list[count++] = static_cast<std::uint16_t>(element);
  }
  return count;
}

}  // namespace fast::normalization
DMLREF_END
