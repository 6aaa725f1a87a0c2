// lanes.hpp: the direct convolution's kernels with four taps per 32-bit lane, of bytes that may lie anywhere: one text
// for 256 and 512 bits.
//
// Included once per target with a byte dot product, inside its namespace, as epilogue.hpp, which comes before; hence no
// guard. The includer defines dot(sums, quads, weights) of bytes and multiply_add(sums, pairs, weights) of words, too.
#if defined(DMLREF_QLC_TARGET)

/// Four vectors of bytes, interleaved.
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void zip(V::Bits a, V::Bits b, V::Bits c, V::Bits d,
                                                         V::Bits (&quads)[4]) noexcept {
  const V::Bits low01 = V::zip_low_bytes(a, b), high01 = V::zip_high_bytes(a, b);
  const V::Bits low23 = V::zip_low_bytes(c, d), high23 = V::zip_high_bytes(c, d);
  quads[0] = V::zip_low_words(low01, low23);
  quads[1] = V::zip_high_words(low01, low23);
  quads[2] = V::zip_low_words(high01, high23);
  quads[3] = V::zip_high_words(high01, high23);
}

/// Quads of four taps.
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void make_quads(const std::uint8_t* x, const std::int32_t* offset,
                                                                V::Bits (&quads)[4]) noexcept {
  zip(V::load(x + offset[0]), V::load(x + offset[1]), V::load(x + offset[2]), V::load(x + offset[3]), quads);
}

/// Channels in lanes.
DMLREF_QLC_TARGET inline void channel_taps(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  const std::ptrdiff_t second = 4 * block * t.units;
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    take_block(t, at, e);
    for (std::ptrdiff_t b = at; b < t.blocks; b += t.period) {
      V::Bits sums[4];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = V::load(t.sum + block * at + V::lanes * v);
      const std::byte* w = t.weights + at * second * 2;
      for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 4 * block) {
        V::Bits quads[4];
        make_quads(t.staged + block * b, t.offsets + 4 * u, quads);
        const bool wide = (t.wide >> (u % 32) & 1) != 0;
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          sums[v] = dot(sums[v], quads[v], V::load(w + block * v));
          if (wide) sums[v] = dot(sums[v], quads[v], V::load(w + second + block * v));
          V::pin(sums[v]);
        }
      }
      const V::Bits bytes = quantize<Factors::each>(sums, e, t, t.factor + block * at);
      V::store(t.out + block * b, in_order(bytes));
    }
  }
}

/// Adds a quad's products with the same weights for all pixels.
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void add_products(V::Bits (&sums)[4], const V::Bits (&quads)[4],
                                                                  V::Bits weights) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    sums[v] = dot(sums[v], quads[v], weights);
    V::pin(sums[v]);
  }
}

/// Pixels in lanes. Several output channels of one group share the quads.
template <int Outputs>
DMLREF_QLC_TARGET inline void pixel_taps_of(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  constexpr std::size_t outputs = Outputs;
  const std::ptrdiff_t second = 4 * t.units;
  std::uint32_t wide[outputs];
  std::memcpy(wide, t.wide_of_output, sizeof wide);
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    V::Bits sums[outputs][4];
#pragma GCC unroll 4
    for (int m = 0; m < Outputs; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[m][v] = V::all(t.sum[m]);
    }
    const std::uint8_t* x = t.staged + block * b;
    const std::byte* w = t.weights;
    for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 4) {
      V::Bits quads[4];
      make_quads(x, t.offsets + 4 * u, quads);
#pragma GCC unroll 4
      for (int m = 0; m < Outputs; ++m) add_products(sums[m], quads, V::broadcast(w + m * t.weight_step));
      if ((t.wide >> (u % 32) & 1) == 0) continue;
#pragma GCC unroll 4
      for (int m = 0; m < Outputs; ++m) {
        if ((wide[m] >> (u % 32) & 1) == 0) continue;
        add_products(sums[m], quads, V::broadcast(w + m * t.weight_step + second));
      }
    }
#pragma GCC unroll 4
    for (int m = 0; m < Outputs; ++m) {
      const V::Bits bytes = quantize<Factors::one>(sums[m], make_epilogue(t, m), t, t.factor + m);
      V::store(t.out + m * t.out_step + block * b, in_order(bytes));
    }
  }
}

/// Quads of channels as they lie in memory, against the weights of four outputs each, which some pixels share.
template <int Pixels>
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void channel_quads_at(const LaneArgs& t, std::ptrdiff_t at,
                                                                      std::ptrdiff_t b, const Epilogue& e) noexcept {
  constexpr std::size_t pixels = Pixels;
  V::Bits sums[pixels][4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const V::Bits start = V::load(t.sum + block * at + V::lanes * v);
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p) sums[p][v] = start;
  }
  V::Bits windows[pixels];
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) windows[p] = V::all(-window_middle);
  const bool shifted = t.window_shift != nullptr;
  const std::byte* w = t.weights + at * 4 * block * t.units;
  const std::uint8_t* x = t.staged + block * b;
  const std::ptrdiff_t next = block * t.period;
  for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 4 * block) {
    const std::uint8_t* from = x + t.offsets[u];
    V::Bits quads[pixels];
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p, from += next) quads[p] = V::load(from);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const V::Bits weights = V::load(w + block * v);
#pragma GCC unroll 4
      for (int p = 0; p < Pixels; ++p) sums[p][v] = dot(sums[p][v], quads[p], weights);
    }
    if (shifted) {
#pragma GCC unroll 4
      for (int p = 0; p < Pixels; ++p) windows[p] = dot(windows[p], quads[p], V::all_bytes(1));
    }
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) V::pin(sums[p][v]);
      V::pin(windows[p]);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) {
    if (shifted) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const V::Bits shift = V::load(t.window_shift + block * at + V::lanes * v);
        sums[p][v] = multiply_add(sums[p][v], windows[p], shift);
      }
    }
    const V::Bits bytes = quantize<Factors::each>(sums[p], e, t, t.factor + block * at);
    V::store(t.out + block * (b + p * t.period), quads_in_order(bytes));
  }
}

DMLREF_QLC_TARGET inline void channel_quads(const LaneArgs& args) noexcept {
  constexpr int pixels = V::registers / 8;
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    take_block(t, at, e);
    std::ptrdiff_t b = at;
    for (; b + (pixels - 1) * t.period < t.blocks; b += pixels * t.period) channel_quads_at<pixels>(t, at, b, e);
    for (; b < t.blocks; b += t.period) channel_quads_at<1>(t, at, b, e);
  }
}

#endif
