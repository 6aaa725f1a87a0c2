// kernels.hpp: what an instruction set does for normalization: pointers, counts and scalars only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/simd/address.hpp"

DMLREF_BEGIN
namespace fast::normalization {

using reference::Center;
using reference::GroupCoefficients;
using reference::normalization_lanes;
using reference::SumAndSquare;
using reference::summation_block;
using reference::summation_block_count;
using reference::summation_block_size;

/// What a kernel does with a value before it stores it. `unrounded`: nothing, an activation of its own follows.
enum class Finish { identity, clamped, unrounded };
inline constexpr std::size_t finishes = 3;

/// The finish that `type` needs; `unrounded` where it is an activation of its own.
constexpr Finish finish_of(ActivationType type) noexcept {
  switch (type) {
    case ActivationType::identity:
    case ActivationType::linear: return Finish::identity;
    case ActivationType::relu:
    case ActivationType::hard_sigmoid: return Finish::clamped;
    default: return Finish::unrounded;
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

/// Affine coefficients: value = (x - shift) * slope + offset, the same for all elements of a summation block, and the
/// error bound. float32 is computed in double, float16 in float.
template <class Real>
using SharedCoefficients = reference::ElementCoefficients<Real>;

/// The same with a scale and a bias for each element: slope = rate * scale[i], offset = bias[i] - rest * slope.
template <class Real>
struct PerElementCoefficients {
  Real shift, rest, rate;
  Real slope_error;  ///< of an element's error bound: float16 only,
  Real error_bound;  ///< as is the largest one
  const Real* scale;
  const Real* bias;
};

/// Contiguous elements of a summation block: where they begin, in bytes from the group's first elements, and how many
/// there are.
struct Segment {
  std::int64_t from;
  std::int64_t to;
  std::size_t count;
};

/// What results are computed from, and whether sums of as many other elements are formed in the same loop, which
/// pipelined kernels alone do.
enum class Source {
  memory,              ///< elements where they lie
  memory_and_sums,     ///< the same, with sums of the same segments of another group
  converted,           ///< one segment that an earlier pass converted: float32 to doubles, float16 to floats
  converted_and_sums,  ///< the same, while another row, the pipelined one, is converted and summed
};
constexpr bool is_converted(Source source) noexcept {
  return source == Source::converted || source == Source::converted_and_sums;
}
constexpr bool has_sums(Source source) noexcept {
  return source == Source::memory_and_sums || source == Source::converted_and_sums;
}

/// What is prefetched while segments are walked: addresses that correspond to Segment::from and Segment::to of 0. What
/// is walked anyway stands for nothing. Rows of doubles or floats are prefetched as if they were float32.
struct Prefetch {
  Address read;  ///< of what is summed, if there are sums
  Address written;
};

/// What is summed in the same loop: elements that lie as those of `Results`.
template <class Real>
struct Summed {
  const std::byte* from = nullptr;
  SumAndSquare* sums = nullptr;
  Real* converted = nullptr;  ///< takes the pipelined row, converted; doubles may replace Results::converted
};

/// A summation block whose results are computed in `Real`: double for float32, float for float16.
template <class Real>
struct Results {
  Source source;
  const std::byte* from;    ///< of Source::memory and memory_and_sums
  const Real* converted;    ///< of the others
  std::byte* to;            ///< of elements, or with Finish::unrounded of Reals
  const Segment* segments;  ///< if there are sums, all but the last one of whole blocks of 16
  std::size_t count;        ///< of segments
  float upper;              ///< of Finish::clamped
  bool stream;              ///< non-temporal stores, where addresses allow it and they pay; not if unrounded
  Prefetch prefetch;        ///< what is stored non-temporally is not prefetched
  Summed<Real> summed;      ///< if `source` has sums
  std::uint16_t* list;      ///< of float16: takes the numbers of ill-conditioned elements

  /// (Compilers clear an aggregate with padding before they fill it: for each row, 30 cycles of `rep stos`.)
  Results(Source kind, const std::byte* elements, const Real* reals, std::byte* output, const Segment* first_segment,
          std::size_t segment_count, float upper_bound, bool streams, Prefetch prefetched, Summed<Real> other = {},
          std::uint16_t* numbers = nullptr) noexcept
      : source(kind),
        from(elements),
        converted(reals),
        to(output),
        segments(first_segment),
        count(segment_count),
        upper(upper_bound),
        stream(streams),
        prefetch(prefetched),
        summed(other),
        list(numbers) {}
};
/// A row that is converted already.
template <class Real>
inline Results<Real> converted_row(const Real* converted, std::byte* to, const Segment& all, float upper) noexcept {
  return {Source::converted, nullptr, converted, to, &all, 1, upper, false, {address_of(converted), address_of(to)}};
}
/// A row of floats: elements of float32, or float16 that became floats.
template <class Real>
inline Results<Real> row_results(const std::byte* floats, std::byte* to, const Segment& all, float upper) noexcept {
  if constexpr (std::is_same_v<Real, double>) {
    return {Source::memory, floats, nullptr, to, &all, 1, upper, false, {address_of(floats), address_of(to)}};
  } else {
    return converted_row(reinterpret_cast<const float*>(floats), to, all, upper);
  }
}

/// Kernels that compute results, by Finish. They take every `source`, except Source::memory_and_sums of float16 or
/// unrounded, and float16's Source::memory unrounded.
template <class Real>
struct ResultKernels {
  /// What is found on the way. double: the minimum magnitude of the values; float: how many elements, numbered within
  /// the summation block, are listed as ill-conditioned.
  using Found = std::conditional_t<std::is_same_v<Real, double>, float, std::size_t>;
  Found (*shared[finishes])(const Results<Real>&, const SharedCoefficients<Real>&);
  Found (*per_element[finishes])(const Results<Real>&, const PerElementCoefficients<Real>&);
};

/// All kernels of one instruction set. Results are the same bits in each.
struct Kernels {
  /// float16 to float32.
  void (*widen)(const std::byte* halves, float* floats, std::size_t count);
  /// Sums of a summation block of float32 or float16 in segments, all but the last one of whole blocks of 16. `read`:
  /// as in Prefetch.
  SumAndSquare (*sums)(const std::byte* from, const Segment* segments, std::size_t count, Address read);
  SumAndSquare (*half_sums)(const std::byte* from, const Segment* segments, std::size_t count, Address read);
  /// Sums of a row of floats. `written`: as many floats that are prefetched to be written.
  SumAndSquare (*row_sums)(const std::byte* floats, std::size_t count, Address written);
  /// The same of a row that also becomes doubles, which has slack up to a multiple of 16.
  SumAndSquare (*convert)(const std::byte* floats, std::size_t count, double* doubles, Address written);
  SumAndSquare (*shifted_sums)(const std::byte* floats, std::size_t count, double pivot);
  ResultKernels<double> float32;
  ResultKernels<float> float16;
  /// Whether kernels form sums of other elements in the loop of results, and rows with coefficients for each element
  /// are stored non-temporally where the others are.
  bool pipelined = false;
  std::size_t vector_bits = 0;  ///< of kernels that prefetch, else 0

  template <class Real>
  const ResultKernels<Real>& results() const noexcept {
    if constexpr (std::is_same_v<Real, double>) {
      return float32;
    } else {
      return float16;
    }
  }
};

/// Rows of `width` neighbouring groups: element i of each lies at from + offset[i], in bytes.
struct Columns {
  const std::byte* from;
  const std::int64_t* offset;
  std::size_t rows;
  std::size_t width;      // at most panel_width
  std::int64_t prefetch;  // how far away the bytes lie that are read next; 0: no prefetch
  bool stream = false;    // non-temporal stores: rows of the output are whole cache lines
};
inline constexpr std::size_t panel_width = 64;

/// The lanes of a summation block's sums, in subpanels of 16 columns.
inline constexpr std::size_t subpanel_width = 16;
struct SubpanelLanes {
  double sum[normalization_lanes][subpanel_width];
  double square[normalization_lanes][subpanel_width];
};
struct alignas(64) ColumnLanes {
  SubpanelLanes subpanel[panel_width / subpanel_width];
};
/// Rows that are summed between two visits of the lanes: what is read of them and the lanes fit L1d.
constexpr std::size_t summed_rows(std::size_t width) noexcept {
  return width > 32 ? 64 : width > 16 ? 128 : width > 8 ? 256 : 512;
}

/// Coefficients of each column. A column whose minimum magnitude is not above `threshold` is ill-conditioned; float16:
/// a value below its column's error bound.
struct ColumnCoefficients32 {
  double shift[panel_width];
  double slope[panel_width];
  double offset[panel_width];
  float threshold[panel_width];
};
struct ColumnCoefficients16 {
  float shift[panel_width];
  float slope[panel_width];
  float offset[panel_width];
  float error_bound[panel_width];
};

/// The column kernels of one instruction set. Results are the same bits in each.
struct ColumnKernels {
  /// Adds rows of float32 or float16, the first of which is number 0 modulo 16 of the summation block, less a pivot for
  /// each column (which may be null and has panel_width entries). At most summed_rows(width).
  void (*add32)(const Columns&, const double* pivot, ColumnLanes&);
  void (*add16)(const Columns&, const double* pivot, ColumnLanes&);
  /// Adds the lanes of `width` columns in the order of reference::sum_lanes.
  void (*join)(const ColumnLanes&, std::size_t width, double* sum, double* square);
  /// Rows of columns; `to` at to + to_offset[i] (Finish::unrounded: packed, row by row). float32 gives the minimum
  /// magnitude of each column; float16 lists its ill-conditioned elements, numbered row * width + column, and says how
  /// many.
  void (*columns32[3])(const Columns&, const ColumnCoefficients32&, std::byte* to, const std::int64_t* to_offset,
                       float upper, float* minimum);
  std::size_t (*columns16[3])(const Columns&, const ColumnCoefficients16&, std::byte* to, const std::int64_t* to_offset,
                              float upper, std::uint16_t* ill_conditioned);
  /// float32: results are formed in blocks of 16 KiB instead of 4, whose lines are prefetched half a block ahead.
  bool large_blocks = false;
};

/// The activation kernels of one instruction set. Results are the same bits in each.
struct ActivationKernels {
  /// The activation, after its linear part, of unrounded values, rounded to float32 or float16. `stream`: float32
  /// with non-temporal stores, where addresses allow it. `read`: as many results' bytes that are prefetched meanwhile.
  void (*apply32)(const Activation&, const double* values, std::byte* to, std::size_t count, bool stream, Address read);
  void (*apply16)(const Activation&, const float* values, std::byte* to, std::size_t count, bool stream, Address read);

  void apply(const Activation& activation, const double* values, std::byte* to, std::size_t count, bool stream,
             Address read) const noexcept {
    apply32(activation, values, to, count, stream, read);
  }
  void apply(const Activation& activation, const float* values, std::byte* to, std::size_t count, bool stream,
             Address read) const noexcept {
    apply16(activation, values, to, count, stream, read);
  }
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
