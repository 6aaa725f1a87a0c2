// blocks-inl.hpp: quantization and dequantization of blocks by vectors: one source for all instruction sets.
//
// It is included by simd/reals/foreach_target-inl.hpp; without its macros it is empty. Kernels walk `count` elements,
// at least a vector of them, in vectors v that begin at element i; the last one may begin within the one before.
#ifdef DMLREF_VECTOR_TARGET

DMLREF_VECTOR_TARGET std::size_t vectors_of(std::size_t count) noexcept {
  return (count + Floats::lanes - 1) / Floats::lanes;
}
/// Where vector v begins. It does not depend on the vector before, so that no chain of selects limits a loop.
DMLREF_VECTOR_TARGET std::size_t start_of(std::size_t v, std::size_t count) noexcept {
  const std::size_t start = v * Floats::lanes, last = count - Floats::lanes;
  return start < last ? start : last;
}

DMLREF_VECTOR_TARGET Floats values_at(const Parameter<float>& parameter, std::size_t i) noexcept {
  return parameter.extent == Extent::each ? Floats::load(parameter.values + i) : Floats::of(parameter.values[0]);
}

/// x / scale rounded half to even; 0 for NaN.
DMLREF_VECTOR_TARGET Floats rounded_quotients(Floats x, Floats scale) noexcept {
  using DoublePair = Vectors<Doubles>;
  const DoublePair limit = DoublePair::of(quotient_limit), negative_limit = DoublePair::of(-quotient_limit);
  const DoublePair shifter = DoublePair::of(0x1.8p52);
  const DoublePair ratio = quotient(widened(x), widened(scale));
  const DoublePair integer = difference(sum(not_below(not_above(ratio, limit), negative_limit), shifter), shifter);
  return rounded(choose(at_most(ratio, ratio), integer, DoublePair::of(0.0)));
}

/// The quotient, or x times the scale's inverse, errs by less than 2^-14 where it is at most 512. So it decides where
/// it is farther than 2^-13 from a tie; else, and for NaN, doubles do.
template <Extent extent>
DMLREF_VECTOR_KERNEL void quantize_by(const std::byte* x, const Parameter<float>& scale,
                                      const Parameter<float>& zero_point, Range range, std::size_t count,
                                      std::byte* to) noexcept {
  const Floats limit = Floats::of(quotient_limit), negative_limit = Floats::of(-quotient_limit);
  const Floats shifter = Floats::of(0x1.8p23f), decided = Floats::of(0.5f - 0x1p-13f);
  const Floats lowest = Floats::of(range.lowest), highest = Floats::of(range.highest);
  const Floats inverse = Floats::of(1.0f / scale.values[0]);
  for (std::size_t v = 0, vectors = vectors_of(count); v < vectors; ++v) {
    const std::size_t i = start_of(v, count);
    const Floats dividend = floats_from<float>(x + i * sizeof(float));
    const Floats ratio =
        extent == Extent::one ? product(dividend, inverse) : quotient(dividend, Floats::load(scale.values + i));
    const Floats clamped = not_below(not_above(ratio, limit), negative_limit);
    Floats integer = difference(sum(clamped, shifter), shifter);
    if (any(not_at_most(magnitude(difference(clamped, integer)), decided))) [[unlikely]] {
      integer = rounded_quotients(dividend, values_at(scale, i));
    }
    store_bytes(to + i, not_below(not_above(sum(integer, values_at(zero_point, i)), highest), lowest));
  }
}

DMLREF_VECTOR_KERNEL void quantize(const std::byte* x, const Parameter<float>& scale,
                                   const Parameter<float>& zero_point, Range range, std::size_t count,
                                   std::byte* to) noexcept {
  if (count < Floats::lanes) return scalar::quantize(x, scale, zero_point, range, count, to);
  if (scale.extent == Extent::each) return quantize_by<Extent::each>(x, scale, zero_point, range, count, to);
  if (std::isnormal(scale.values[0]) && std::isnormal(1.0f / scale.values[0])) {
    return quantize_by<Extent::one>(x, scale, zero_point, range, count, to);
  }
  float scales[block_elements];
  for (std::size_t i = 0; i < count; ++i) scales[i] = scale.values[0];
  quantize_by<Extent::each>(x, {Extent::each, scales}, zero_point, range, count, to);
}

DMLREF_VECTOR_KERNEL void dequantize(const float* q, const Parameter<float>& scale, const Parameter<float>& zero_point,
                                     std::size_t count, std::byte* to) noexcept {
  if (count < Floats::lanes) return scalar::dequantize(q, scale, zero_point, count, to);
  const Floats nan = Floats::of(std::numeric_limits<float>::quiet_NaN());
  for (std::size_t v = 0, vectors = vectors_of(count); v < vectors; ++v) {
    const std::size_t i = start_of(v, count);
    const Floats result = product(difference(Floats::load(q + i), values_at(zero_point, i)), values_at(scale, i));
    store(to + i * sizeof(float), choose(at_most(result, result), result, nan));
  }
}

DMLREF_VECTOR_KERNEL void widen_halves(const std::byte* from, std::size_t count, float* to) noexcept {
  if (count < Floats::lanes) return scalar::widen_halves(from, count, to);
  for (std::size_t v = 0, vectors = vectors_of(count); v < vectors; ++v) {
    const std::size_t i = start_of(v, count);
    store(reinterpret_cast<std::byte*>(to + i), floats_from<half>(from + i * sizeof(half)));
  }
}
template <class T>
DMLREF_VECTOR_KERNEL void widen_integers(const std::byte* from, std::size_t count, float* to) noexcept {
  if (count < Floats::lanes) return scalar::widen_integers<T>(from, count, to);
  for (std::size_t v = 0, vectors = vectors_of(count); v < vectors; ++v) {
    const std::size_t i = start_of(v, count);
    store(reinterpret_cast<std::byte*>(to + i), floats_of_integers<T>(from + i * sizeof(T)));
  }
}

inline const Kernels& target_kernels() noexcept {
  static constexpr Kernels all{quantize,
                               dequantize,
                               widen_halves,
                               {widen_integers<std::int8_t>, widen_integers<std::uint8_t>, widen_integers<std::int16_t>,
                                widen_integers<std::uint16_t>}};
  return all;
}

#endif  // DMLREF_VECTOR_TARGET
