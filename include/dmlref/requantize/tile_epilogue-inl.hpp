// tile_epilogue-inl.hpp: the sums of a micro-tile, in registers, to bytes: one source for 256 and 512 bits.
//
// A micro-kernel (int8/tiles-inl.hpp, amx/) sees of its epilogue: Channels, of_row and of_pixels, whose Result it hands
// back to the stores; and NearTies, the units of four vectors that need exact results. No register keeps a tile's sums,
// so the kernel computes those once more. An epilogue that stores something else, sums of 32 bits or floats, is another
// type of this shape: it has no near ties, and stores of its own.
//
// Included once per target, inside its namespace, behind vectors-inl.hpp; hence no guard. The includer defines
// DMLREF_QLC_TARGET, PackedOrder, TieTest, NearTies and TileStores of that target; without the macro this is empty.
#if defined(DMLREF_QLC_TARGET)

/// Requantizes four vectors of sums: in fixed point, or with one multiply-add where `Rounds` is true.
class TileEpilogue : public TileStores {
 public:
  /// Pixels in lanes: so many neighbouring channels are rounded alike. Each by itself takes a branch for each row.
  static constexpr std::ptrdiff_t rows_alike = V::registers == 32 ? 1 : 4;

  struct Result {
    V::Bits bytes;
    TieTest::Result has_near_tie;  // of some sum: exact fallback
  };

  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE explicit TileEpilogue(const Requantizer& to) noexcept
      : shift_(V::all(to.fixed_shift())), order_(to.packed().flip), to_(to) {}

  /// What turns the sums of N vectors of channels into results.
  template <int N>
  struct Channels {
    V::Floats scale[static_cast<std::size_t>(N)], shift[static_cast<std::size_t>(N)];
  };
  template <int N, bool Rounds>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE Channels<N> channels(std::ptrdiff_t first) const noexcept {
    Channels<N> c;
    DMLREF_UNROLL
    for (int v = 0; v < N; ++v) {
      c.scale[v] = V::load_floats((Rounds ? to_.rounded_scale : to_.fixed_scale) + first + V::lanes * v);
      c.shift[v] = Rounds ? V::load_floats(to_.rounded_shift + first + V::lanes * v) : shift_;
    }
    return c;
  }

  /// Sums of these channels, the first one of vector `first`, pixel after pixel. Of those that are rounded, S says what
  /// they are.
  template <int N, bool Rounds, SumsBegin S>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE Result of_pixels(const V::Bits (&sums)[4], const Channels<N>& c,
                                                          std::size_t first = 0) const noexcept {
    V::Bits q[4];
    DMLREF_UNROLL
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t v = (first + i) % N;
      q[i] = Rounds ? by_multiply_add<S>(sums[i], c.scale[v], c.shift[v]) : in_fixed_point(sums[i], c.scale[v], shift_);
    }
    return finish<Rounds>(q);
  }

  /// Sums of one channel.
  template <bool Rounds>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE Result of_row(const V::Bits (&sums)[4],
                                                       std::ptrdiff_t channel) const noexcept {
    const V::Floats scale = V::all((Rounds ? to_.rounded_scale : to_.fixed_scale)[channel]);
    const V::Floats shift = Rounds ? V::all(to_.rounded_shift[channel]) : shift_;
    V::Bits q[4];
    DMLREF_UNROLL
    for (int i = 0; i < 4; ++i) {
      q[i] = Rounds ? by_multiply_add(sums[i], scale, shift) : in_fixed_point(sums[i], scale, shift);
    }
    return finish<Rounds>(q);
  }

  const TieTest& tie_test() const noexcept { return ties_; }

 private:
  template <bool Rounds>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE Result finish(const V::Bits (&q)[4]) const noexcept {
    if constexpr (Rounds) {
      return {order_.low(q), TieTest::none()};
    } else {
      return {order_.high(q), ties_.of(q)};
    }
  }

  V::Floats shift_;
  PackedOrder order_;
  TieTest ties_;
  const Requantizer& to_;
};

#endif
