// repeated.hpp: elements whose results are the same again and again, found by their bits and computed once: those that
// are ill-conditioned and all the same number, and those beside an infinity.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/elements.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

template <class T>
using BitsOf = std::conditional_t<std::is_same_v<T, half>, std::uint16_t, std::uint32_t>;

/// The bits of a number as an integer in the order of numbers, and back.
template <class Bits>
constexpr Bits ordered(Bits bits) noexcept {
  return static_cast<Bits>(bits ^ (static_cast<Bits>(0 - (bits >> (sizeof(Bits) * 8 - 1))) >> 1));
}

/// Neighbouring numbers: `size` of them from `first` on, in their order.
template <class Bits>
struct Interval {
  Bits first = 0;
  Bits size = 0;

  /// All bits where a number is inside, else 0.
  constexpr Bits mask_of(Bits element) const noexcept {
    return static_cast<Bits>(static_cast<Bits>(ordered(element) - first) < size ? ~Bits{0} : Bits{0});
  }
};

/// The finite elements that are ill-conditioned under an activation without a jump: values grow or shrink with
/// elements. None where they are not found: a guess has to be one of them.
template <class T, class Real>
DMLREF_NOINLINE inline Interval<BitsOf<T>> ill_conditioned_elements(
    const reference::ElementCoefficients<Real>& coefficients) noexcept {
  using Bits = BitsOf<T>;
  constexpr Bits largest = std::is_same_v<T, half> ? 0x7BFF : 0x7F7FFFFF;
  const auto is_inside = [&](Bits at) {
    const auto x = static_cast<Real>(static_cast<float>(std::bit_cast<T>(ordered(at))));
    return !(std::fabs(coefficients.value(x)) >= coefficients.error_bound);
  };
  const auto zero = static_cast<float>(coefficients.shift - coefficients.offset / coefficients.slope);
  if (!(std::fabs(zero) <= static_cast<float>(std::bit_cast<T>(largest)))) return {};
  const Bits guess = ordered(std::bit_cast<Bits>(static_cast<T>(zero)));
  if (!is_inside(guess)) return {};
  const auto steps = [&](Bits limit, Bits sign) {  // from the guess to the last one inside
    Bits known = 0, step = 1;
    const auto goes_on = [&] {
      const std::uint32_t moved = guess + std::uint32_t{sign} * static_cast<Bits>(known + step);  // modulo, not in int
      return step <= limit - known && is_inside(static_cast<Bits>(moved));
    };
    for (; step != 0 && goes_on(); step = static_cast<Bits>(step * 2)) known = static_cast<Bits>(known + step);
    for (; step != 0; step = static_cast<Bits>(step / 2)) {
      if (goes_on()) known = static_cast<Bits>(known + step);
    }
    return known;
  };
  const Bits below = steps(static_cast<Bits>(guess - static_cast<Bits>(~largest)), static_cast<Bits>(-1));
  const Bits above = steps(static_cast<Bits>(largest - guess), 1);
  return {static_cast<Bits>(guess - below), static_cast<Bits>(below + above + 1)};
}

/// 16 lanes, of columns or of a row, and a few rows of them.
inline constexpr std::size_t repeated_lanes = 16;
inline constexpr std::size_t repeated_rows = 16;  ///< at once: few enough for registers and small stacks
template <class Bits>
using LaneRows = Bits[repeated_rows][repeated_lanes];

/// Lanes each with an interval: what elements inside have in common, then what is stored in their place.
template <class Bits>
struct Repeated {
  static constexpr std::size_t lanes = repeated_lanes;
  using Rows = LaneRows<Bits>;

  Bits first[lanes]{}, size[lanes]{};
  Bits any[lanes]{};  ///< bits that any element has; the result
  Bits all[lanes]{};  ///< bits that some element lacks

  void set(std::size_t lane, Interval<Bits> interval) noexcept {
    first[lane] = interval.first;
    size[lane] = interval.size;
  }
  /// Whether all elements inside are one number, and there is one.
  bool is_one(std::size_t lane) const noexcept { return any[lane] == static_cast<Bits>(~all[lane]); }
  bool is_none(std::size_t lane) const noexcept { return any[lane] == 0 && all[lane] == 0; }

  DMLREF_NOINLINE void find(bool has_fma, const Rows& x, std::size_t rows) noexcept {
    with_fma(has_fma, [&] {
      Repeated here = *this;  // (in registers)
      for (std::size_t k = 0; k < rows; ++k) {
        for (std::size_t c = 0; c < lanes; ++c) {
          const Bits mask = Interval<Bits>{here.first[c], here.size[c]}.mask_of(x[k][c]);
          here.any[c] = static_cast<Bits>(here.any[c] | (x[k][c] & mask));
          here.all[c] = static_cast<Bits>(here.all[c] | (~x[k][c] & mask));
        }
      }
      *this = here;
    });
  }
  DMLREF_NOINLINE void replace(bool has_fma, const Rows& x, Rows& y, std::size_t rows) const noexcept {
    with_fma(has_fma, [&] { replace_rows(*this, &x[0][0], &y[0][0], rows); });
  }

 private:
  static void replace_rows(Repeated here, const Bits* __restrict x, Bits* __restrict y, std::size_t rows) noexcept {
    for (std::size_t k = 0; k < rows; ++k, x += lanes, y += lanes) {
      for (std::size_t c = 0; c < lanes; ++c) {
        const Bits mask = Interval<Bits>{here.first[c], here.size[c]}.mask_of(x[c]);
        y[c] = static_cast<Bits>((y[c] & ~mask) | (here.any[c] & mask));
      }
    }
  }
};

/// Lanes each with two results, of finite elements of either sign; those of infinite ones are NaN.
template <class T>
struct BySign {
  using Bits = BitsOf<T>;
  static constexpr std::size_t lanes = repeated_lanes;

  Bits positive[lanes]{}, negative[lanes]{};
  Bits chosen[lanes]{};  ///< all bits, or 0: nothing is replaced

  DMLREF_NOINLINE void replace(bool has_fma, const LaneRows<Bits>& x, LaneRows<Bits>& y,
                               std::size_t rows) const noexcept {
    with_fma(has_fma, [&] { replace_rows(*this, &x[0][0], &y[0][0], rows); });
  }

 private:
  static void replace_rows(BySign here, const Bits* __restrict x, Bits* __restrict y, std::size_t rows) noexcept {
    constexpr Bits sign = std::is_same_v<T, half> ? 0x8000 : 0x80000000;
    constexpr Bits infinity = std::is_same_v<T, half> ? 0x7C00 : 0x7F800000;
    const Bits none = std::bit_cast<Bits>(nan_result<T>());
    for (std::size_t k = 0; k < rows; ++k, x += lanes, y += lanes) {
      for (std::size_t c = 0; c < lanes; ++c) {
        const Bits finite = (x[c] & sign) != 0 ? here.negative[c] : here.positive[c];
        const Bits result = static_cast<Bits>(x[c] & ~sign) == infinity ? none : finite;
        y[c] = static_cast<Bits>((y[c] & ~here.chosen[c]) | (result & here.chosen[c]));
      }
    }
  }
};

/// Rows of at most 64 elements that lie side by side: where they begin, in bytes from `from` and from `to`. The
/// first `contiguous` ones follow each other.
struct ElementRows {
  const std::byte* from;
  const std::int64_t* input;
  std::byte* to;
  const std::int64_t* output;
  std::size_t rows, width;
  std::size_t contiguous = 0;
};

/// A few rows of 16 columns: elements, and their results if these are replaced.
template <class T>
struct PartOfRows {
  alignas(64) LaneRows<BitsOf<T>> x{};
  alignas(64) LaneRows<BitsOf<T>> y{};

  /// Lets `parts` of 16 columns, those that have some of `columns` (a bit each), replace results, or find what elements
  /// have in common.
  template <class Part>
  DMLREF_NOINLINE void each(bool has_fma, const ElementRows& in, std::uint64_t columns, bool replaces,
                            Part* parts) noexcept {
    constexpr std::size_t lanes = repeated_lanes;
    // (Some rows are copied: what is copied in parts just before it is read in one waits.)
    const auto copy_run = [](void* to, const void* from, std::size_t bytes) {
      bytes == sizeof(x[0]) ? std::memcpy(to, from, sizeof(x[0])) : std::memcpy(to, from, bytes);
    };
    for (std::size_t row = 0; row < in.rows; row += repeated_rows) {
      const std::size_t rows = (std::min)(in.rows - row, repeated_rows);
      for (std::size_t first = 0; first < in.width; first += lanes) {
        if ((columns >> first & 0xFFFF) == 0) continue;
        const bool at_once = row + rows <= in.contiguous;
        const std::size_t runs = at_once ? 1 : rows, skipped = first * sizeof(T);
        const std::size_t bytes = at_once ? rows * sizeof(x[0]) : (std::min)(in.width - first, lanes) * sizeof(T);
        for (std::size_t k = 0; k < runs; ++k) copy_run(x[k], in.from + in.input[row + k] + skipped, bytes);
        Part& part = parts[first / lanes];
        if constexpr (std::is_same_v<Part, Repeated<BitsOf<T>>>) {
          if (!replaces) {
            part.find(has_fma, x, rows);
            continue;
          }
        }
        for (std::size_t k = 0; k < runs; ++k) copy_run(y[k], in.to + in.output[row + k] + skipped, bytes);
        part.replace(has_fma, x, y, rows);
        for (std::size_t k = 0; k < runs; ++k) copy_run(in.to + in.output[row + k] + skipped, y[k], bytes);
      }
    }
  }
};

/// Corrects columns (a bit each) beside an infinity; `result_of(column, element)` computes a result.
template <class T, class ResultOf>
DMLREF_NOINLINE void correct_by_sign(bool has_fma, const ElementRows& in, std::uint64_t columns,
                                     const ResultOf& result_of) noexcept {
  using Part = BySign<T>;
  Part parts[panel_width / repeated_lanes];
  for (const float element : {1.0f, -1.0f}) {
    for (std::uint64_t rest = columns; rest != 0; rest &= rest - 1) {
      const auto c = static_cast<std::size_t>(__builtin_ctzll(rest));
      Part& part = parts[c / repeated_lanes];
      (element < 0 ? part.negative : part.positive)[c % repeated_lanes] =
          std::bit_cast<BitsOf<T>>(result_of(c, static_cast<T>(element)));
      part.chosen[c % repeated_lanes] = static_cast<BitsOf<T>>(~BitsOf<T>{0});
    }
  }
  PartOfRows<T>{}.each(has_fma, in, columns, true, parts);
}

/// Corrects columns (a bit each) whose ill-conditioned elements are all the same number, as often where there are many.
/// `interval_of(column)` has these elements, `result_of(column, element)` computes one. Returns the columns that are
/// left.
template <class T, class IntervalOf, class ResultOf>
DMLREF_NOINLINE std::uint64_t correct_repeated(bool has_fma, const ElementRows& in, std::uint64_t columns,
                                               const IntervalOf& interval_of, const ResultOf& result_of) noexcept {
  using Bits = BitsOf<T>;
  using Part = Repeated<Bits>;
  constexpr std::size_t lanes = Part::lanes;
  Part parts[panel_width / lanes];
  std::uint64_t left = 0;
  for (std::uint64_t rest = columns; rest != 0; rest &= rest - 1) {
    const auto c = static_cast<std::size_t>(__builtin_ctzll(rest));
    const Interval<Bits> interval = interval_of(c);
    parts[c / lanes].set(c % lanes, interval);
    if (interval.size == 0) left |= std::uint64_t{1} << c;
  }
  PartOfRows<T> some;
  some.each(has_fma, in, columns, false, parts);
  for (std::uint64_t rest = columns & ~left; rest != 0; rest &= rest - 1) {
    const auto c = static_cast<std::size_t>(__builtin_ctzll(rest));
    Part& part = parts[c / lanes];
    Bits& bits = part.any[c % lanes];
    if (part.is_one(c % lanes)) {
      bits = std::bit_cast<Bits>(result_of(c, std::bit_cast<T>(bits)));
    } else {
      if (!part.is_none(c % lanes)) left |= std::uint64_t{1} << c;
      part.set(c % lanes, {});
    }
  }
  if (left != columns) some.each(has_fma, in, columns, true, parts);
  return left;
}

}  // namespace fast::normalization
DMLREF_END
