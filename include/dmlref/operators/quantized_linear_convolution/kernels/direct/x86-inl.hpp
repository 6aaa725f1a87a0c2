// x86-inl.hpp: the direct convolution's kernels of x86-64 over staged bytes, four taps to a 32-bit lane, and the table
// of all kernels: one source for 256 and 512 bits.
//
// Included once per target, inside its namespace, in front of its other kernels, because a target attribute cannot be a
// template parameter; hence no guard. The includer defines DMLREF_QLC_TARGET (the attribute), dot(sums, quads, weights)
// and multiply_add(sums, pairs of words, weights), `narrower` (Kernels), and what the Epilogue needs. Where no dot
// product takes bytes it defines DMLREF_QLC_WORDS and how words are multiplied instead:
//
//   weight_bytes                          of one weight
//   Quads, Weights                        what is multiplied: bytes widened to words
//   quads_of(bytes)                       of a vector of bytes
//   interleave<First>(a, b, c, d, quads)  of four vectors of bytes: some of the four that these make, from First on
//   load_weights(at), broadcast_weights(at)
#if defined(DMLREF_QLC_TARGET)

#if !defined(DMLREF_QLC_WORDS)
inline constexpr std::ptrdiff_t weight_bytes = 1;

using Quads = V::Bits;
using Weights = V::Bits;

DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Quads quads_of(V::Bits bytes) noexcept { return bytes; }

template <std::size_t First, std::size_t Count>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void interleave(V::Bits a, V::Bits b, V::Bits c, V::Bits d,
                                                       Quads (&quads)[Count]) noexcept {
  if constexpr (First == 0) {
    const V::Bits ab = V::zip_low_bytes(a, b), cd = V::zip_low_bytes(c, d);
    quads[0] = V::zip_low_words(ab, cd);
    quads[1] = V::zip_high_words(ab, cd);
  }
  if constexpr (First + Count == 4) {
    const V::Bits ab = V::zip_high_bytes(a, b), cd = V::zip_high_bytes(c, d);
    quads[Count - 2] = V::zip_low_words(ab, cd);
    quads[Count - 1] = V::zip_high_words(ab, cd);
  }
}

DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Weights load_weights(const std::byte* at) noexcept { return V::load(at); }
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Weights broadcast_weights(const std::byte* at) noexcept {
  return V::broadcast(at);
}
#endif  // words

/// Quads of four taps: `Count` of a block's four vectors, from number `First` on.
template <std::size_t First, std::size_t Count>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void make_quads(const std::uint8_t* x, const std::int32_t* offset,
                                                       Quads (&quads)[Count]) noexcept {
  interleave<First>(V::load(x + offset[0]), V::load(x + offset[1]), V::load(x + offset[2]), V::load(x + offset[3]),
                    quads);
}

/// Channels in lanes.
DMLREF_QLC_TARGET inline void channel_taps(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  constexpr std::ptrdiff_t group_bytes = 4 * weight_bytes * block;
  const std::ptrdiff_t high_part = group_bytes * t.groups;
  Epilogue e = Epilogue::of_channels(t.rounding);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    e.load_block(t.rounding, at);
    for (std::ptrdiff_t b = at; b < t.blocks; b += t.period) {
      V::Bits sums[4];
      DMLREF_UNROLL
      for (int v = 0; v < 4; ++v) sums[v] = V::load(t.rounding.sum + block * at + V::lanes * v);
      const std::byte* w = t.weights.data + at * t.weights.step;
      for (std::ptrdiff_t u = 0; u < t.groups; ++u, w += group_bytes) {
        Quads quads[4];
        make_quads<0>(t.staged + block * b, t.offsets + 4 * u, quads);
        const bool high = (t.weights.high_parts >> (u % 32) & 1) != 0;
        DMLREF_UNROLL
        for (int v = 0; v < 4; ++v) {
          sums[v] = dot(sums[v], quads[v], load_weights(w + block * v));
          if (high) sums[v] = dot(sums[v], quads[v], load_weights(w + high_part + block * v));
          V::pin(sums[v]);
        }
      }
      e.store<Factors::each>(sums, t.rounding, t.rounding + block * at, t.out, block * b);
    }
  }
}

/// Adds a K-group's products with the same weights for all pixels.
template <std::size_t Count>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void add_products(V::Bits* sums, const Quads (&quads)[Count],
                                                         const std::byte* weights) noexcept {
  const Weights w = broadcast_weights(weights);
  DMLREF_UNROLL
  for (std::size_t v = 0; v < Count; ++v) {
    sums[v] = dot(sums[v], quads[v], w);
    V::pin(sums[v]);
  }
}

/// Vectors `First` and on of the sums of a block of pixels, for some output channels.
template <std::size_t Outputs, std::size_t First, std::size_t Count>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void sum_pixels(const LaneArgs& t, const std::uint8_t* x,
                                                       V::Bits (&to)[Outputs][4]) noexcept {
  const std::ptrdiff_t high_part = 4 * weight_bytes * t.groups;
  V::Bits sums[Outputs][Count];
  DMLREF_UNROLL
  for (std::size_t m = 0; m < Outputs; ++m) {
    DMLREF_UNROLL
    for (std::size_t v = 0; v < Count; ++v) sums[m][v] = V::all(t.rounding.sum[m]);
  }
  const std::byte* w = t.weights.data;
  for (std::ptrdiff_t u = 0; u < t.groups; ++u, w += 4 * weight_bytes) {
    Quads quads[Count];
    make_quads<First>(x, t.offsets + 4 * u, quads);
    const std::byte* weights = w;
    DMLREF_UNROLL
    for (std::size_t m = 0; m < Outputs; ++m, weights += t.weights.step) add_products(sums[m], quads, weights);
    if ((t.weights.high_parts >> (u % 32) & 1) == 0) continue;
    weights = w + high_part;
    DMLREF_UNROLL
    for (std::size_t m = 0; m < Outputs; ++m, weights += t.weights.step) add_products(sums[m], quads, weights);
  }
  DMLREF_UNROLL
  for (std::size_t m = 0; m < Outputs; ++m) {
    DMLREF_UNROLL
    for (std::size_t v = 0; v < Count; ++v) to[m][First + v] = sums[m][v];
  }
}

/// A function of its own, so that nothing but the sums takes registers.
template <std::size_t Outputs, std::size_t First>
[[gnu::noinline]] DMLREF_QLC_TARGET inline void sum_half(const LaneArgs& t, const std::uint8_t* x,
                                                         V::Bits (&to)[Outputs][4]) noexcept {
  sum_pixels<Outputs, First, 2>(t, x, to);
}

/// Pixels in lanes. Several output channels of one group share the quads.
template <std::size_t Outputs>
DMLREF_QLC_TARGET inline void pixel_taps(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    const std::uint8_t* x = t.staged + block * b;
    V::Bits sums[Outputs][4];
    if constexpr (8 * Outputs <= V::registers) {
      sum_pixels<Outputs, 0, 4>(t, x, sums);
    } else {
      sum_half<Outputs, 0>(t, x, sums);
      sum_half<Outputs, 2>(t, x, sums);
    }
    std::ptrdiff_t to = block * b;
    DMLREF_UNROLL
    for (std::size_t m = 0; m < Outputs; ++m, to += t.out_step) {
      const Epilogue e = Epilogue::of_output(t.rounding, m);
      e.store<Factors::one>(sums[m], t.rounding, t.rounding + static_cast<std::ptrdiff_t>(m), t.out, to);
    }
  }
}

/// Quads of channels as they lie in memory, against the weights of four outputs each, which some pixels share.
template <std::size_t Pixels>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void channel_quads_at(const LaneArgs& t, std::ptrdiff_t at, std::ptrdiff_t b,
                                                             const Epilogue& e) noexcept {
  V::Bits sums[Pixels][4], windows[Pixels];
  DMLREF_UNROLL
  for (std::size_t p = 0; p < Pixels; ++p) {
    windows[p] = V::all(-window_middle);
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) sums[p][v] = V::load(t.rounding.sum + block * at + V::lanes * v);
  }
  const bool shifted = t.weights.high_parts != 0;
  const std::byte* w = t.weights.data + at * t.weights.step;
  const std::ptrdiff_t next = block * t.period;
  for (std::ptrdiff_t u = 0; u < t.groups; ++u, w += 4 * weight_bytes * block) {
    const std::uint8_t* from = t.staged + block * b + t.offsets[u];
    Quads quads[Pixels];
    DMLREF_UNROLL
    for (std::size_t p = 0; p < Pixels; ++p, from += next) quads[p] = quads_of(V::load(from));
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) {
      const Weights weights = load_weights(w + block * v);
      DMLREF_UNROLL
      for (std::size_t p = 0; p < Pixels; ++p) sums[p][v] = dot(sums[p][v], quads[p], weights);
    }
    if constexpr (weight_bytes == 1) {
      if (shifted) {
        DMLREF_UNROLL
        for (std::size_t p = 0; p < Pixels; ++p) windows[p] = dot(windows[p], quads[p], V::all_bytes(1));
      }
    }
    DMLREF_UNROLL
    for (std::size_t p = 0; p < Pixels; ++p) {
      DMLREF_UNROLL
      for (int v = 0; v < 4; ++v) V::pin(sums[p][v]);
      V::pin(windows[p]);
    }
  }
  std::ptrdiff_t to = block * b;
  DMLREF_UNROLL
  for (std::size_t p = 0; p < Pixels; ++p, to += next) {
    if (shifted) {
      DMLREF_UNROLL
      for (int v = 0; v < 4; ++v) {
        const V::Bits shift = V::load(t.weights.window_shift + block * at + V::lanes * v);
        sums[p][v] = multiply_add(sums[p][v], windows[p], shift);
      }
    }
    e.store_quads<Factors::each>(sums[p], t.rounding, t.rounding + block * at, t.out, to);
  }
}

DMLREF_QLC_TARGET inline void channel_quads(const LaneArgs& args) noexcept {
  constexpr std::ptrdiff_t pixels = V::registers / 8;
  const LaneArgs t = args;
  Epilogue e = Epilogue::of_channels(t.rounding);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    e.load_block(t.rounding, at);
    std::ptrdiff_t b = at;
    for (; b + (pixels - 1) * t.period < t.blocks; b += pixels * t.period) channel_quads_at<pixels>(t, at, b, e);
    for (; b < t.blocks; b += t.period) channel_quads_at<1>(t, at, b, e);
  }
}

// Of what is read in place; defined behind this.
DMLREF_QLC_TARGET inline void pixel_planes(const PlaneArgs& p) noexcept;
DMLREF_QLC_TARGET inline void channel_columns(const ColumnArgs& p) noexcept;
inline bool planes_suit(const Geometry& g) noexcept;
inline bool columns_suit(const Geometry& g) noexcept;

inline constexpr Kernels kernels{
    .block = block,
    .group = 4,
    .weight_bytes = weight_bytes,
    .pixel_taps = &pixel_taps<1>,
    .pixel_taps_2 = &pixel_taps<2>,
    .pixel_taps_4 = &pixel_taps<4>,
    .channel_taps = &channel_taps,
    .channel_quads = &channel_quads,
    .pixel_planes = &pixel_planes,
    .planes_suit = &planes_suit,
    .channel_columns = &channel_columns,
    .columns_suit = &columns_suit,
    .narrower = narrower,
    .pairs_in_place = V::registers == 16,
    .precompute = &direct::avx2::precompute,
    .pack = &direct::avx2::pack,
    .multiply_add_rounding = true,
};

#endif
