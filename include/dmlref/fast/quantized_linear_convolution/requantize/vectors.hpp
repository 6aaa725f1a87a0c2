// vectors.hpp: the modes of requantizer.hpp on vectors of x86-64: one source for 256 and 512 bits. Where constants come
// from, and the order of bytes, is the callers' affair.
//
// Included once per target, inside its namespace, because a target attribute cannot be a template parameter; hence no
// guard. The includer defines DMLREF_QLC_TARGET (the attribute), V (simd/x86.hpp), and join_high_halves,
// join_low_halves and near_tie of that target; without the macro this is empty.
#if defined(DMLREF_QLC_TARGET)

/// fixed_point: integer sums to results in high halves; low halves tell how near a tie is.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits in_fixed_point(V::Bits sums, V::Floats scale, V::Floats shift) noexcept {
  return V::converted(V::fused(V::converted(sums), scale, shift));
}

/// multiply_add: sums to results in low halves.
template <SumsBegin S = SumsBegin::as_floats>
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits by_multiply_add(V::Bits sums, V::Floats scale,
                                                               V::Floats shift) noexcept {
  const V::Floats sum = S == SumsBegin::as_integers ? V::converted(sums) : V::as_floats(sums);
  return V::bits(V::fused(sum, scale, shift));
}

/// The high halves of four vectors as bytes; within 128 bits they come in the order 0 of v[0], 0 of v[1], 1 of v[0], …,
/// 0 of v[2], 0 of v[3], ….
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits pack_high(const V::Bits (&v)[4]) noexcept {
  return V::pack_words(join_high_halves(v[0], v[1]), join_high_halves(v[2], v[3]));
}
/// The same of low halves.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits pack_low(const V::Bits (&v)[4]) noexcept {
  return V::pack_words(join_low_halves(v[0], v[1]), join_low_halves(v[2], v[3]));
}

/// Whether a low half among four vectors in fixed point is at most its lane's `band`.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE bool near_tie(const V::Bits (&fixed)[4], V::Bits band) noexcept {
  return near_tie(V::least_words(V::least_words(fixed[0], fixed[1]), V::least_words(fixed[2], fixed[3])), band);
}

/// Exactly, those lanes in fixed point whose low half is at most their `band`.
template <Factors F>
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE void round_exactly(const V::Bits (&sums)[4], V::Bits (&fixed)[4], V::Bits band,
                                                          const double* factor, const ExactRounding& exact) noexcept {
  alignas(64) std::int32_t lanes[4 * V::lanes], results[4 * V::lanes];
  alignas(64) std::uint16_t limits[2 * V::lanes];
  V::store(limits, band);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    V::store(lanes + V::lanes * v, sums[v]);
    V::store(results + V::lanes * v, fixed[v]);
  }
  round_near_ties(lanes, results, 4 * V::lanes, limits, V::lanes, F, factor, exact);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) fixed[v] = V::load(results + V::lanes * v);
}

/// As scalar::clamped.
DMLREF_QLC_TARGET inline void clamped(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to,
                                      std::ptrdiff_t first, std::ptrdiff_t period, std::uint8_t* out) noexcept {
  constexpr std::ptrdiff_t at_once = 4 * V::lanes;
  V::Floats scale[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    scale[v] = period == 1 ? V::all(to.scale[first]) : V::load_floats(to.scale + first + V::lanes * v % period);
  }
  const V::Floats magic = V::all(rounding_magic), band = V::all(clamped_band);
  const V::Floats high = V::all(float_clamp), low = V::all(-float_clamp);
  const V::Bits shift = V::all(rounding_magic_bits - to.packed_zero_point());
  const V::Bits flip = V::all_bytes(to.packed_flip());
  for (std::ptrdiff_t i = 0; i < 64 * blocks; i += at_once, sums += at_once, out += at_once) {
    V::Floats residual[4];
    V::Bits q[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const V::Floats sum = V::converted(V::load(sums + V::lanes * v));
      const V::Floats product = V::most(V::least(V::product(sum, scale[v]), high), low);
      const V::Floats rounded = V::sum(product, magic);
      residual[v] = V::magnitude(V::difference(product, V::difference(rounded, magic)));
      q[v] = V::difference(V::bits(rounded), shift);
    }
    const V::Floats worst = V::most(V::most(residual[0], residual[1]), V::most(residual[2], residual[3]));
    const V::Bits bytes = V::pack_words(V::pack_dwords(q[0], q[1]), V::pack_dwords(q[2], q[3]));
    V::store(out, V::either(V::across(bytes), flip));
    if (__builtin_expect(V::beyond(worst, band) != 0, 0)) {
      std::uint64_t lanes = 0;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) lanes |= std::uint64_t{V::beyond(residual[v], band)} << (V::lanes * v);
      to.refine(lanes, sums, first, period, out);
    }
  }
}

#endif
