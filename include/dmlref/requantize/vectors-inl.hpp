// vectors-inl.hpp: the modes of requantizer.hpp on vectors of x86-64: one source for 256 and 512 bits. Where constants
// come from, and the order of bytes, is the callers' affair.
//
// Included once per target, inside its namespace, because a target attribute cannot be a template parameter; hence no
// guard. The includer defines DMLREF_QLC_TARGET (the attribute), V (simd/x86.hpp), and join_high_halves,
// join_low_halves, has_near_tie and lanes_near_ties of that target; without the macro this is empty.
#if defined(DMLREF_QLC_TARGET)

/// fixed_point: integer sums to results in high halves; low halves tell how near a tie is.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits in_fixed_point(V::Bits sums, V::Floats scale, V::Floats shift) noexcept {
  return V::converted(V::fma(V::converted(sums), scale, shift));
}

/// multiply_add: sums to results in low halves.
template <SumsBegin S = SumsBegin::as_floats>
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits by_multiply_add(V::Bits sums, V::Floats scale,
                                                               V::Floats shift) noexcept {
  const V::Floats sum = S == SumsBegin::as_integers ? V::converted(sums) : V::as_floats(sums);
  return V::bits(V::fma(sum, scale, shift));
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

/// The shuffle that takes bytes in that order to four neighbours of each vector.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE __m128i fours_of_vectors() noexcept {
  return _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
}

/// The words of four vectors in fixed point next to a tie: of the low halves, the smallest ones.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits nearest_words(const V::Bits (&fixed)[4]) noexcept {
  return V::min_words(V::min_words(fixed[0], fixed[1]), V::min_words(fixed[2], fixed[3]));
}
/// Whether a low half among four vectors in fixed point is at most its lane's `tie_tolerance`.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE bool has_near_tie(const V::Bits (&fixed)[4], V::Bits tie_tolerance) noexcept {
  return has_near_tie(nearest_words(fixed), tie_tolerance);
}

/// A vector of sums, or of what one channel, or one per lane, multiplies them with, as doubles: its two halves.
struct Halves {
  V::Doubles lower, upper;
};
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE Halves in_doubles(V::Bits sums) noexcept {
  return {V::lower_as_doubles(sums), V::upper_as_doubles(sums)};
}
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE Halves sum(const Halves& a, const Halves& b) noexcept {
  return {V::sum(a.lower, b.lower), V::sum(a.upper, b.upper)};
}

/// The results, zero point included, of sums in fixed point: round_exactly for all lanes. The upper half is the result
/// or, where a tie has been passed, one more. So the tie below it is the one that counts: 2 tie is odd, and the sign of
/// sum * factor - (2 tie) * (outputScale / 2), which a fused multiply-add has right, is that of the upper half of its
/// bits, which are 0 on the tie.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits decide(V::Bits fixed, const Halves& sums, const Halves& factor,
                                                      V::Doubles minus_half_scale, V::Bits zero_point) noexcept {
  const V::Bits result = V::upper_halves(fixed), whole = V::difference(result, zero_point);
  const V::Bits twice_tie = V::sum(whole, V::sum(whole, V::all(-1)));
  const V::Bits side = V::upper_halves_of_doubles(
      V::fma(sums.lower, factor.lower, V::product(V::lower_as_doubles(twice_tie), minus_half_scale)),
      V::fma(sums.upper, factor.upper, V::product(V::upper_as_doubles(twice_tie), minus_half_scale)));
  return V::sum(result, V::signs(V::difference(side, V::lowest_bits(whole))));  // on the tie: the even one
}

/// A block in fixed point with near ties, or whose products may exceed 2^15. Of one channel, or one per 128 bits, only
/// the first scale and shift are used.
struct SuspectBlock {
  V::Bits sums[4], fixed[4];
  V::Floats scale[4], shift[4];
};

/// The factors, or offsets, of vector `v` of a block.
template <Factors F>
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE Halves halves_of(const double* from, std::ptrdiff_t v) noexcept {
  if constexpr (F == Factors::one) return {V::all(*from), V::all(*from)};
  if constexpr (F == Factors::parts) return {V::of_parts(from), V::of_parts(from + V::parts_of_doubles)};
  from += V::lanes * v;
  return {V::load_doubles(from), V::load_doubles(from + V::lanes / 2)};
}

/// Clamps the products, and rounds vectors with near ties in doubles.
template <Factors F>
DMLREF_QLC_TARGET DMLREF_NOINLINE inline void round_suspects(SuspectBlock& block, const ExactFactors& by,
                                                             const ExactRounding& exact) noexcept {
  const V::Floats high = V::all(fixed_high), low = V::all(fixed_low);
  const V::Bits zero_point = V::all(exact.to.zero_point);
  const V::Doubles minus_half_scale = V::all(-0.5 * exact.output_scale);
#pragma GCC unroll 1
  for (int v = 0; v < 4; ++v) {
    const int of = F == Factors::each ? v : 0;
    const V::Floats value = V::fma(V::converted(block.sums[v]), block.scale[of], block.shift[of]);
    V::Bits fixed = V::converted(V::maximum(V::minimum(value, high), low));
    if (lanes_near_ties(fixed) != 0) {
      const Halves sums = sum(in_doubles(block.sums[v]), halves_of<F>(by.offset, v));
      const V::Bits results = decide(fixed, sums, halves_of<F>(by.factor, v), minus_half_scale, zero_point);
      fixed = V::to_upper_halves(results);
    }
    block.fixed[v] = fixed;
  }
}

/// Exactly, a block in fixed point.
template <Factors F>
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE void round_exactly(const V::Bits (&sums)[4], V::Bits (&fixed)[4],
                                                          const V::Floats (&scale)[4], const V::Floats (&shift)[4],
                                                          const ExactFactors& by, const ExactRounding& exact) noexcept {
  SuspectBlock block;
  constexpr int scales = F == Factors::each ? 4 : 1;
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) block.sums[v] = sums[v];
#pragma GCC unroll 4
  for (int v = 0; v < scales; ++v) {
    block.scale[v] = scale[v];
    block.shift[v] = shift[v];
  }
  round_suspects<F>(block, by, exact);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) fixed[v] = block.fixed[v];
}

/// What finds the tie next to a sum: fixed point out of floats, or out of doubles where sums lack their offsets.
enum class FixedPointOf { floats, doubles };

/// Sums to `count` bytes, in doubles. Their channels begin with `first` and repeat after `period`, as those of
/// `clamped` do. Reads, and uses as channels, whole blocks of four vectors. Out of doubles, their rows go on behind
/// `before` other sums.
template <FixedPointOf Kind>
DMLREF_QLC_TARGET DMLREF_NOINLINE inline void store_in_doubles(const std::int32_t* sums, const Requantizer& to,
                                                               std::ptrdiff_t first, std::ptrdiff_t period,
                                                               std::ptrdiff_t count, std::uint8_t* out,
                                                               std::ptrdiff_t before = 0) noexcept {
  constexpr std::ptrdiff_t at_once = 4 * V::lanes;
  constexpr bool floats = Kind == FixedPointOf::floats;
  const PackedOutput packed = to.packed();
  const V::Bits zero_point = V::all(packed.zero_point), flip = V::all_bytes(packed.flip);
  const V::Doubles minus_half_scale = V::all(-0.5 * to.divisor()), units = V::all(65536.0 / to.divisor());
  const V::Doubles shift = V::all(static_cast<double>(to.fixed_shift()));
  const V::Doubles high = V::all(static_cast<double>(fixed_high)), low = V::all(static_cast<double>(fixed_low));
  const auto in_fixed_point = [&](V::Doubles sum, V::Doubles factor) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    return V::maximum(V::minimum(V::fma(V::product(sum, factor), units, shift), high), low);
  };
  const V::Floats float_shift = V::all(to.fixed_shift()), float_high = V::all(fixed_high);
  const V::Floats float_low = V::all(fixed_low);
  V::Floats scale = V::all(to.fixed_scale[first]);
  Halves factor = halves_of<Factors::one>(to.factor + first, 0), offset = halves_of<Factors::one>(to.offset + first, 0);
  std::ptrdiff_t at = 0;
  for (std::ptrdiff_t i = 0; i < count; i += at_once) {
    V::Bits q[4];
#pragma GCC unroll 1
    for (int v = 0; v < 4; ++v) {
      if (period != 1) {
        scale = V::load_floats(to.fixed_scale + first + at);
        factor = halves_of<Factors::each>(to.factor + first + at, 0);
        if (!floats) offset = halves_of<Factors::each>(to.offset + first + at, 0);
        at = at + V::lanes == period ? 0 : at + V::lanes;
      }
      const V::Bits given = V::load(sums + i + V::lanes * v);
      Halves all = in_doubles(given), by = factor;
      V::Bits fixed;
      if constexpr (floats) {
        const V::Floats value = V::fma(V::converted(given), scale, float_shift);
        fixed = V::converted(V::maximum(V::minimum(value, float_high), float_low));
      } else {
        all = sum(all, offset);
        const V::Doubles row = V::all(to.rows.factor[to.rows.row_of(before + i + V::lanes * v)]);
        by = {V::product(by.lower, row), V::product(by.upper, row)};
        fixed = V::converted(in_fixed_point(all.lower, by.lower), in_fixed_point(all.upper, by.upper));
      }
      q[v] = decide(fixed, all, by, minus_half_scale, zero_point);
    }
    const V::Bits words = V::pack_words(V::pack_dwords(q[0], q[1]), V::pack_dwords(q[2], q[3]));
    const V::Bits bytes = V::xor_(V::transpose_lanes(words), flip);
    if (count - i >= at_once) {
      V::store(out + i, bytes);
    } else {
      std::uint8_t all[at_once];
      V::store(all, bytes);
      std::memcpy(out + i, all, static_cast<std::size_t>(count - i));
    }
  }
}

/// As scalar::clamped.
DMLREF_QLC_TARGET inline void clamped(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to,
                                      std::ptrdiff_t first, std::ptrdiff_t period, std::uint8_t* out) noexcept {
  constexpr std::ptrdiff_t at_once = 4 * V::lanes;
  V::Floats scale[4], tie_tolerance[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const std::ptrdiff_t at = first + V::lanes * v % period;
    scale[v] = period == 1 ? V::all(to.scale[first]) : V::load_floats(to.scale + at);
    tie_tolerance[v] = period == 1 ? V::all(to.tie_tolerance[first]) : V::load_floats(to.tie_tolerance + at);
  }
  const V::Floats none = V::all(0.0f);
  if (V::beyond(none, V::minimum(V::minimum(tie_tolerance[0], tie_tolerance[1]),
                                 V::minimum(tie_tolerance[2], tie_tolerance[3]))) != 0) {
    return store_in_doubles<FixedPointOf::doubles>(sums, to, first, period, 64 * blocks, out);
  }
  const PackedOutput packed = to.packed();
  const V::Floats magic = V::all(rounding_magic);
  const V::Floats high = V::all(float_clamp), low = V::all(-float_clamp);
  const V::Bits shift = V::all(rounding_magic_bits - packed.zero_point);
  const V::Bits flip = V::all_bytes(packed.flip);
  for (std::ptrdiff_t i = 0; i < 64 * blocks; i += at_once, sums += at_once, out += at_once) {
    V::Floats beyond[4];
    V::Bits q[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const V::Floats row = V::all(to.rows.scale[to.rows.row_of(i + V::lanes * v)]);
      const V::Floats sum = V::product(V::converted(V::load(sums + V::lanes * v)), row);
      const V::Floats product = V::maximum(V::minimum(V::product(sum, scale[v]), high), low);
      const V::Floats rounded = V::sum(product, magic);
      beyond[v] = V::difference(V::magnitude(V::difference(product, V::difference(rounded, magic))), tie_tolerance[v]);
      q[v] = V::difference(V::bits(rounded), shift);
    }
    const V::Floats worst = V::maximum(V::maximum(beyond[0], beyond[1]), V::maximum(beyond[2], beyond[3]));
    const V::Bits bytes = V::pack_words(V::pack_dwords(q[0], q[1]), V::pack_dwords(q[2], q[3]));
    V::store(out, V::xor_(V::transpose_lanes(bytes), flip));
    if (__builtin_expect(V::beyond(worst, none) != 0, 0)) {
      if (to.rows.present()) {
        store_in_doubles<FixedPointOf::doubles>(sums, to, first, period, at_once, out, i);
      } else {
        store_in_doubles<FixedPointOf::floats>(sums, to, first, period, at_once, out);
      }
    }
  }
}

#endif
