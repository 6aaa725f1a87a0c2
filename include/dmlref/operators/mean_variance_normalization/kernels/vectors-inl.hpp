// vectors-inl.hpp: all kernels of a target that has vectors, one source for all of them. Included once in the namespace
// of each, by simd/reals/foreach_target-inl.hpp; `target` says there what suits it. What is in this file, the kernels
// of rows and of columns share.
#ifdef DMLREF_VECTOR_TARGET

/// How many elements the kernels take at a time: a vector of floats, or two of doubles.
inline constexpr std::size_t unit = Floats::lanes;
using DoublePair = Vectors<Doubles>;

template <Finish finish>
constexpr std::size_t stored_bytes32 = finish == Finish::unrounded ? sizeof(double) : sizeof(float);
template <Finish finish>
constexpr std::size_t stored_bytes16 = finish == Finish::unrounded ? sizeof(float) : sizeof(half);

/// Adds to Σ and Σ². `mixed`: half of the sums go by way of fma(x, 1, sum), which is the same number, where additions
/// compete with conversions.
template <bool mixed = true>
DMLREF_VECTOR_TARGET void accumulate(DoublePair& total, DoublePair& square, DoublePair x) noexcept {
  total.first = sum(total.first, x.first);
  total.second = mixed ? fma(x.second, Doubles::of(1.0), total.second) : sum(total.second, x.second);
  square = fma(x, x, square);
}

/// NaN stays NaN. -0, which may be a negative value that was rounded, becomes +0, as in the reference.
template <Finish finish>
DMLREF_VECTOR_TARGET Floats clamp(Floats value, Floats upper) noexcept {
  if constexpr (finish == Finish::clamped) {
    const Floats zero = Floats::of(0);
    return sum(not_below(not_above(value, upper), zero), zero);
  }
  static_cast<void>(upper);
  return value;
}

/// The smallest magnitudes so far: of results, or of values that an activation of its own will round. (Rounding keeps
/// their order.)
template <Finish finish>
using Minimum = std::conditional_t<finish == Finish::unrounded, DoublePair, Floats>;
template <Finish finish>
DMLREF_VECTOR_TARGET Minimum<finish> no_minimum() noexcept {
  return Minimum<finish>::of(std::numeric_limits<float>::infinity());
}
DMLREF_VECTOR_TARGET Floats magnitudes(Floats minimum) noexcept { return minimum; }
DMLREF_VECTOR_TARGET Floats magnitudes(DoublePair minimum) noexcept { return rounded(minimum); }

/// A unit of values rounded and finished.
template <Finish finish>
DMLREF_VECTOR_TARGET Floats result_of(DoublePair value, Floats upper, Floats& minimum) noexcept {
  const Floats result = rounded(value);
  minimum = lesser_magnitude(minimum, result);
  return clamp<finish>(result, upper);
}
/// The same stored, or (Finish::unrounded) the values as they are. `streams`: with non-temporal stores.
template <Finish finish>
DMLREF_VECTOR_TARGET void finish32(std::byte* to, DoublePair value, Floats upper, Minimum<finish>& minimum,
                                   bool streams) noexcept {
  if constexpr (finish == Finish::unrounded) {
    minimum = lesser_magnitude(minimum, value);
    store(to, value);
  } else {
    const Floats result = result_of<finish>(value, upper, minimum);
    if (target.streams && streams) {
      stream(to, result);
    } else {
      store(to, result);
    }
  }
}

/// Whether float16 is stored non-temporally if asked to.
template <Finish finish>
constexpr bool streams16(bool stream) noexcept {
  return finish == Finish::identity && target.streams_halves && stream;
}
/// A unit of float16's values.
template <Finish finish>
DMLREF_VECTOR_TARGET void finish16(std::byte* to, Floats value, Floats upper, bool streams) noexcept {
  if constexpr (finish == Finish::unrounded) {
    store(to, value);
  } else {
    const Floats result = clamp<finish>(value, upper);
    if (streams16<finish>(streams)) {
      stream_rounded(to, result);
    } else {
      store_rounded(to, result);
    }
  }
}
DMLREF_VECTOR_TARGET auto ill_conditioned_of(Floats value, Floats error_bound) noexcept {
  return not_at_least(magnitude(value), error_bound);
}

#include "dmlref/operators/mean_variance_normalization/kernels/activation-inl.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/columns-inl.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/vectors-inl.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows-inl.hpp"

inline TargetKernels target_kernels() noexcept {
  return {&kernels(), &activation_kernels(), &column_kernels(), &ill_conditioned_kernels(), target.has_fma};
}

#endif  // DMLREF_VECTOR_TARGET
