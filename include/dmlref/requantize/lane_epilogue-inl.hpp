// lane_epilogue-inl.hpp: four vectors of sums, which their kernel has at hand until they are stored, to one of bytes:
// one source for 256 and 512 bits.
//
// A kernel makes a LaneEpilogue, loads its constants, and lets it store sums. One that stores something else, sums of
// 32 bits or floats, is another type of this shape.
//
// Included once per target, inside its namespace, behind vectors-inl.hpp; hence no guard. The includer defines
// DMLREF_QLC_TARGET; without the macro this is empty.
#if defined(DMLREF_QLC_TARGET)

struct LaneEpilogue {
  static constexpr std::ptrdiff_t block = 4 * V::lanes;  ///< sums of four vectors; and bytes of one

  V::Floats scale[4], shift[4];  // of each vector of sums; of one channel only the first is used
  V::Bits tie_tolerance;         // 32-bit lanes
  V::Bits flip;
  bool floats = false;  // what the sums are

  /// Of channels in lanes, for which each block loads scales and shifts.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static LaneEpilogue of_channels(const LaneRounding& t) noexcept {
    LaneEpilogue e;
    e.tie_tolerance = V::all(static_cast<std::int32_t>(t.tie_tolerance));
    e.flip = V::all_bytes(t.to.flip);
    return e;
  }
  /// Scales and shifts of block `at` of channels.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE void load_block(const LaneRounding& t, std::ptrdiff_t at) noexcept {
    floats = (t.floats >> at & 1) != 0;
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) {
      scale[v] = V::load_floats(t.scale + block * at + V::lanes * v);
      shift[v] = V::load_floats(t.shift + block * at + V::lanes * v);
    }
  }
  /// Of output `m`, its pixels in lanes.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static LaneEpilogue of_output(const LaneRounding& t, std::size_t m) noexcept {
    LaneEpilogue e = of_channels(t);
    e.floats = (t.floats >> m & 1) != 0;
    e.scale[0] = V::all(t.scale[m]);
    e.shift[0] = V::all(t.shift[m]);
    return e;
  }

  /// Four vectors of sums to bytes, in the order of pack_high.
  template <Factors F>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits packed(const V::Bits (&sums)[4], const ExactRounding& exact,
                                                        const ExactFactors& by) const noexcept {
    constexpr bool each = F == Factors::each;
    V::Bits q[4];
    if (floats) {
      DMLREF_UNROLL
      for (int v = 0; v < 4; ++v) q[v] = by_multiply_add(sums[v], scale[each ? v : 0], shift[each ? v : 0]);
      return V::xor_(pack_low(q), flip);
    }
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) q[v] = in_fixed_point(sums[v], scale[each ? v : 0], shift[each ? v : 0]);
    if (__builtin_expect(has_near_tie(q, tie_tolerance), 0)) round_exactly<F>(sums, q, scale, shift, by, exact);
    return V::xor_(pack_high(q), flip);
  }

  /// The same in the order of lanes: 16 l + 4 g + j is element j of 128-bit part l of vector g.
  template <Factors F>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits bytes(const V::Bits (&sums)[4], const ExactRounding& exact,
                                                       const ExactFactors& by) const noexcept {
    return V::shuffle(packed<F>(sums, exact, by), fours_of_vectors());
  }
  /// In the order of quads of lanes: 4 d + g is element d of vector g.
  template <Factors F>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE V::Bits bytes_of_quads(const V::Bits (&sums)[4], const ExactRounding& exact,
                                                                const ExactFactors& by) const noexcept {
    const __m128i quads = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    return V::shuffle(packed<F>(sums, exact, by), quads);
  }
};

#endif
