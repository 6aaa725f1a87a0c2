// lane_epilogue-inl.hpp: four vectors of sums, which their kernel has at hand until they are stored, to one of bytes:
// one source for 256 and 512 bits.
//
// A kernel makes a LaneEpilogue, loads its constants, and lets it store sums: rounded, or as they are
// (ExactRounding::stores_sums), which one branch for each four vectors tells. One that stores floats is another type of
// this shape.
//
// Included once per target, inside its namespace, behind vectors-inl.hpp; hence no guard. The includer defines
// DMLREF_QLC_TARGET; without the macro this is empty.
#if defined(DMLREF_QLC_TARGET)

struct LaneEpilogue {
  static constexpr std::ptrdiff_t block = 4 * V::lanes;  ///< sums of four vectors; and bytes of one

  V::Floats scale[4], shift[4];  // of each vector of sums; of one channel only the first is used
  V::Bits tie_tolerance;         // 32-bit lanes
  V::Bits flip;
  bool floats = false;       // what the sums are
  bool stores_sums = false;  // as ExactRounding's

  /// Of channels in lanes, for which each block loads scales and shifts.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static LaneEpilogue of_channels(const LaneRounding& t) noexcept {
    LaneEpilogue e;
    e.tie_tolerance = V::all(static_cast<std::int32_t>(t.tie_tolerance));
    e.flip = V::all_bytes(t.to.flip);
    e.stores_sums = t.stores_sums;
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
    // With AVX2 that hint costs columns 4 %.
    if (V::registers == 32 ? __builtin_expect(floats, 1) != 0 : floats) {
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

  /// Results from element `at` of `out` on, in the order of lanes.
  template <Factors F>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE void store(const V::Bits (&sums)[4], const ExactRounding& exact,
                                                    const ExactFactors& by, std::uint8_t* out,
                                                    std::ptrdiff_t at) const noexcept {
    if (__builtin_expect(!stores_sums, 1)) return V::store(out + at, bytes<F>(sums, exact, by));
    store_sums<F>(sums, out + 4 * at, 4);
  }
  /// Sums as they are, as INT32, in the order of lanes: so many vectors of them.
  template <Factors F>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE void store_sums(const V::Bits (&sums)[4], std::uint8_t* to,
                                                         int vectors) const noexcept {
    V::Bits given[4];
    take_sums<F>(sums, given);
    store_parts(given, to, vectors);
  }
  /// As store, in the order of quads of lanes.
  template <Factors F>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE void store_quads(const V::Bits (&sums)[4], const ExactRounding& exact,
                                                          const ExactFactors& by, std::uint8_t* out,
                                                          std::ptrdiff_t at) const noexcept {
    if (__builtin_expect(!stores_sums, 1)) return V::store(out + at, bytes_of_quads<F>(sums, exact, by));
    V::Bits given[4];
    take_sums<F>(sums, given);
    const V::Bits low01 = V::zip_low_dwords(given[0], given[1]), low23 = V::zip_low_dwords(given[2], given[3]);
    const V::Bits high01 = V::zip_high_dwords(given[0], given[1]), high23 = V::zip_high_dwords(given[2], given[3]);
    V::Bits quads[4] = {V::zip_low_qwords(low01, low23), V::zip_high_qwords(low01, low23),
                        V::zip_low_qwords(high01, high23), V::zip_high_qwords(high01, high23)};
    store_parts(quads, out + 4 * at, 4);
  }
  /// Sums that are stored: those of channels whose weights were negated change their sign.
  template <Factors F>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE void take_sums(const V::Bits (&sums)[4], V::Bits (&to)[4]) const noexcept {
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) {
      const V::Bits sign = V::signs(V::bits(scale[F == Factors::each ? v : 0]));
      to[v] = V::difference(V::xor_(sums[v], sign), sign);
    }
  }
  /// INT32 elements, of which parts of 128 bits are neighbours: so many vectors of them.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void store_parts(V::Bits (&sums)[4], std::uint8_t* to,
                                                                 int vectors) noexcept {
    V::transpose_parts(sums);
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) {
      if (v < vectors) V::store(to + 4 * V::lanes * v, sums[v]);
    }
  }
};

#endif
