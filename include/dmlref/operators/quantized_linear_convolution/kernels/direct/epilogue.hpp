// epilogue.hpp: four vectors of sums to one of bytes: one source for 256 and 512 bits.
//
// Included once per target, inside its namespace, as requantize/vectors.hpp; hence no guard. The includer defines
// DMLREF_QLC_TARGET, V, and `rounding` as the namespace of that target's requantization; without the macro this is
// empty.
#if defined(DMLREF_QLC_TARGET)

inline constexpr std::ptrdiff_t block = 4 * V::lanes;  ///< sums of four vectors; and bytes of one

struct Epilogue {
  V::Floats scale[4], shift[4];  // of each vector of sums; of one channel only the first is used
  V::Bits near_tie;              // 32-bit lanes
  V::Bits flip;
  bool floats = false;  // what the sums are
};

/// Of channels in lanes, for which each block loads scales and shifts.
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Epilogue make_epilogue(const Rounding& t) noexcept {
  Epilogue e;
  e.near_tie = V::all(static_cast<std::int32_t>(t.near_tie));
  e.flip = V::all_bytes(t.to.flip);
  return e;
}

/// Of output `m`, its pixels in lanes.
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Epilogue make_epilogue(const Rounding& t, std::size_t m) noexcept {
  Epilogue e = make_epilogue(t);
  e.floats = (t.floats >> m & 1) != 0;
  e.scale[0] = V::all(t.scale[m]);
  e.shift[0] = V::all(t.shift[m]);
  return e;
}

/// Scales and shifts of block `at` of channels.
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void take_block(const Rounding& t, std::ptrdiff_t at, Epilogue& e) noexcept {
  e.floats = (t.floats >> at & 1) != 0;
  DMLREF_UNROLL
  for (int v = 0; v < 4; ++v) {
    e.scale[v] = V::load_floats(t.scale + block * at + V::lanes * v);
    e.shift[v] = V::load_floats(t.shift + block * at + V::lanes * v);
  }
}

/// Sums that are floats to bytes, in the order of requantize's pack_high.
template <Factors F>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET V::Bits quantize_floats(const V::Bits (&sums)[4], const Epilogue& e) noexcept {
  constexpr bool each = F == Factors::each;
  V::Bits q[4];
  DMLREF_UNROLL
  for (int v = 0; v < 4; ++v) q[v] = rounding::by_multiply_add(sums[v], e.scale[each ? v : 0], e.shift[each ? v : 0]);
  return V::either(rounding::pack_low(q), e.flip);
}

/// Sums that are integers, in fixed point; whether one may have passed a tie.
template <Factors F>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET bool fix(const V::Bits (&sums)[4], const Epilogue& e,
                                                V::Bits (&fixed)[4]) noexcept {
  constexpr bool each = F == Factors::each;
  DMLREF_UNROLL
  for (int v = 0; v < 4; ++v) {
    fixed[v] = rounding::in_fixed_point(sums[v], e.scale[each ? v : 0], e.shift[each ? v : 0]);
  }
  return rounding::near_tie(fixed, e.near_tie);
}

/// Four vectors of sums to bytes, in the order of requantize's pack_high.
template <Factors F>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET V::Bits quantize(const V::Bits (&sums)[4], const Epilogue& e,
                                                        const requantize::ExactRounding& exact,
                                                        const ExactFactors& by) noexcept {
  if (e.floats) return quantize_floats<F>(sums, e);
  V::Bits fixed[4];
  if (__builtin_expect(fix<F>(sums, e, fixed), 0)) {
    rounding::round_exactly<F>(sums, fixed, e.scale, e.shift, by, exact);
  }
  return V::either(rounding::pack_high(fixed), e.flip);
}

/// Takes what `quantize` gave for sums in the order of lanes to the order of lanes.
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET V::Bits in_order(V::Bits bytes) noexcept {
  return V::shuffle(bytes, _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
}

/// Takes what it gave for channel_quads' sums to the order of channels.
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET V::Bits quads_in_order(V::Bits bytes) noexcept {
  return V::shuffle(bytes, _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
}

#endif
