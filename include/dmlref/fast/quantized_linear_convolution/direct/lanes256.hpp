// lanes256.hpp: the direct convolution's kernels with four taps per 32-bit lane, for sets with 256-bit registers and a
// byte dot product. Included once per set, inside that set's namespace, because a target attribute cannot be a template
// parameter; hence no guard. The includer defines DMLREF_QLC_TARGET (the attribute) and a function
// dot(sums, activations, weights), and columns256.hpp and planes256.hpp before this one; without them this is empty.
#if defined(DMLREF_QLC_TARGET)

/// Quads of four taps that may lie anywhere: pixels of one channel in lanes, or channels.
template <bool Channels>
DMLREF_QLC_TARGET inline void taps_of(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  avx2::Epilogue e = Channels ? avx2::make_epilogue(t) : avx2::make_epilogue(t, 0);
  constexpr std::ptrdiff_t unit_bytes = Channels ? 128 : 4;
  const std::ptrdiff_t second = unit_bytes * t.units;
  std::ptrdiff_t at = 0;
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    __m256i sums[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      sums[v] = Channels ? avx2::load(t.sum + 32 * at + 8 * v) : _mm256_set1_epi32(*t.sum);
    }
    if constexpr (Channels) avx2::take_block(t, at, e);
    const std::byte* w = t.weights + at * second * 2;
    const std::uint8_t* x = t.staged + 32 * b;
    for (std::ptrdiff_t u = 0; u < t.units; ++u, w += unit_bytes) {
      const std::int32_t* offset = t.offsets + 4 * u;
      const __m256i x0 = avx2::load(x + offset[0]);
      const __m256i x1 = avx2::load(x + offset[1]);
      const __m256i x2 = avx2::load(x + offset[2]);
      const __m256i x3 = avx2::load(x + offset[3]);
      const __m256i low01 = _mm256_unpacklo_epi8(x0, x1);
      const __m256i high01 = _mm256_unpackhi_epi8(x0, x1);
      const __m256i low23 = _mm256_unpacklo_epi8(x2, x3);
      const __m256i high23 = _mm256_unpackhi_epi8(x2, x3);
      const __m256i quads[4] = {_mm256_unpacklo_epi16(low01, low23), _mm256_unpackhi_epi16(low01, low23),
                                _mm256_unpacklo_epi16(high01, high23), _mm256_unpackhi_epi16(high01, high23)};
      const auto add = [&](const std::byte* weights) __attribute__((always_inline)) DMLREF_QLC_TARGET {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          sums[v] = dot(sums[v], quads[v], Channels ? avx2::load(weights + 32 * v) : avx2::broadcast(weights));
        }
      };
      add(w);
      if ((t.wide >> (u % 32) & 1) != 0) add(w + second);
    }
    constexpr Factors factors = Channels ? Factors::each : Factors::one;
    const __m256i bytes = avx2::quantize<factors>(sums, e, t, Channels ? t.factor + 32 * at : t.factor);
    avx2::store(t.out + 32 * b, avx2::in_order(bytes));
    at = at + 1 == t.period ? 0 : at + 1;
  }
}

/// Quads of channels as they lie in memory, against the weights of four outputs each; two pixels share the weights.
template <int Pixels>
DMLREF_QLC_TARGET inline void channel_quads_at(const LaneArgs& t, std::ptrdiff_t at, std::ptrdiff_t b,
                                               const avx2::Epilogue& e) noexcept {
  constexpr std::size_t pixels = Pixels;
  __m256i sums[pixels][4];
#pragma GCC unroll 2
  for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[p][v] = avx2::load(t.sum + 32 * at + 8 * v);
  }
  __m256i windows[pixels];
#pragma GCC unroll 2
  for (int p = 0; p < Pixels; ++p) windows[p] = _mm256_set1_epi32(-window_middle);
  const std::byte* w = t.weights + at * 128 * t.units;
  const std::uint8_t* x = t.staged + 32 * b;
  const std::ptrdiff_t next = 32 * t.period;
  for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 128) {
    __m256i quads[pixels];
#pragma GCC unroll 2
    for (int p = 0; p < Pixels; ++p) quads[p] = avx2::load(x + t.offsets[u] + p * next);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m256i weights = avx2::load(w + 32 * v);
#pragma GCC unroll 2
      for (int p = 0; p < Pixels; ++p) sums[p][v] = dot(sums[p][v], quads[p], weights);
    }
    if (t.window_shift != nullptr) {
#pragma GCC unroll 2
      for (int p = 0; p < Pixels; ++p) windows[p] = dot(windows[p], quads[p], _mm256_set1_epi8(1));
    }
  }
#pragma GCC unroll 2
  for (int p = 0; p < Pixels; ++p) {
    if (t.window_shift != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const __m256i shift = avx2::load(t.window_shift + 32 * at + 8 * v);
        sums[p][v] = _mm256_add_epi32(sums[p][v], _mm256_madd_epi16(windows[p], shift));
      }
    }
    const __m256i bytes = avx2::quantize<Factors::each>(sums[p], e, t, t.factor + 32 * at);
    avx2::store(t.out + 32 * (b + p * t.period), avx2::quads_in_order(bytes));
  }
}

DMLREF_QLC_TARGET inline void channel_quads(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  avx2::Epilogue e = avx2::make_epilogue(t);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    avx2::take_block(t, at, e);
    std::ptrdiff_t b = at;
    for (; b + t.period < t.blocks; b += 2 * t.period) channel_quads_at<2>(t, at, b, e);
    if (b < t.blocks) channel_quads_at<1>(t, at, b, e);
  }
}

inline constexpr Kernels kernels{
    .block = 32,
    .group = 4,
    .pixel_planes = &pixel_planes,
    .planes_suit = &planes_suit,
    .pixel_taps = &taps_of<false>,
    .channel_taps = &taps_of<true>,
    .channel_quads = &channel_quads,
    .fold = &avx2::fold,
    .fold_numbers = &avx2::fold_numbers,
    .rounded_sums = true,
    .channel_columns = &channel_columns,
    .columns_suit = &columns_suit,
    .pairs_in_place = true,
};

#endif
