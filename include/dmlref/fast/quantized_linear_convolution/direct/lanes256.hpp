// lanes256.hpp: the direct convolution's kernels with four taps per 32-bit lane, for sets with 256-bit registers and a
// byte dot product. Included once per set, inside that set's namespace, because a target attribute cannot be a template
// parameter; hence no guard. The includer defines DMLREF_QLC_TARGET (the attribute) and a function
// dot(sums, activations, weights), and columns256.hpp and planes256.hpp before this one; without them this is empty.
#if defined(DMLREF_QLC_TARGET)

enum class Reach { two_loads, four_loads, stride2 };

template <Reach R, int Quads, bool Wide>
DMLREF_QLC_TARGET inline void pixel_rows_of(const LaneArgs& t) noexcept {
  constexpr std::ptrdiff_t step = R == Reach::stride2 ? 2 : 1;
  const __m256i even = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(t.pattern)));
  const __m256i odd = _mm256_add_epi8(even, _mm256_set1_epi8(1));
  const avx2::Epilogue e = avx2::make_epilogue(t, 0);
  const __m256i start = _mm256_set1_epi32(*t.sum);
  const std::ptrdiff_t units = Quads > 0 ? Quads : t.units;
  const std::byte* second = t.weights + 4 * units;
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    __m256i sums[4] = {start, start, start, start};
#pragma GCC unroll 4
    for (std::ptrdiff_t u = 0; u < units; ++u) {
      const std::uint8_t* x = t.staged + t.offsets[u] + 32 * step * b;
      __m256i quads[4];
      if constexpr (R == Reach::two_loads) {
        const __m256i low = avx2::load(x);
        const __m256i high = avx2::load(x + 8);
        quads[0] = _mm256_shuffle_epi8(low, even);
        quads[1] = _mm256_shuffle_epi8(low, odd);
        quads[2] = _mm256_shuffle_epi8(high, even);
        quads[3] = _mm256_shuffle_epi8(high, odd);
      } else {
        constexpr std::ptrdiff_t half = R == Reach::stride2 ? 32 : 8;
        quads[0] = _mm256_shuffle_epi8(avx2::load(x), even);
        quads[1] = _mm256_shuffle_epi8(avx2::load(x + step), even);
        quads[2] = _mm256_shuffle_epi8(avx2::load(x + half), even);
        quads[3] = _mm256_shuffle_epi8(avx2::load(x + half + step), even);
      }
      const __m256i w = avx2::broadcast(t.weights + 4 * u);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = dot(sums[v], quads[v], w);
      if (Wide && (t.wide >> (u % 32) & 1) != 0) {
        const __m256i more = avx2::broadcast(second + 4 * u);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sums[v] = dot(sums[v], quads[v], more);
      }
    }
    __m256i bytes = avx2::quantize<false>(sums, e, t, t.factor);
    if constexpr (R == Reach::stride2) bytes = _mm256_permute4x64_epi64(bytes, 0xD8);
    avx2::store(t.out + 32 * b, bytes);
  }
}

template <Reach R>
DMLREF_QLC_TARGET inline void pixel_rows_of(const LaneArgs& t) noexcept {
  if (t.units == 3) {
    t.wide != 0 ? pixel_rows_of<R, 3, true>(t) : pixel_rows_of<R, 3, false>(t);
  } else {
    t.wide != 0 ? pixel_rows_of<R, 0, true>(t) : pixel_rows_of<R, 0, false>(t);
  }
}
DMLREF_QLC_TARGET inline void pixel_rows(const LaneArgs& t) noexcept {
  t.tap_step <= 2 ? pixel_rows_of<Reach::two_loads>(t) : pixel_rows_of<Reach::four_loads>(t);
}
DMLREF_QLC_TARGET inline void pixel_rows_stride2(const LaneArgs& t) noexcept { pixel_rows_of<Reach::stride2>(t); }

template <bool Channels, bool Wide>
DMLREF_QLC_TARGET inline void taps_of(const LaneArgs& t) noexcept {
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
    [[maybe_unused]] const __m256i ones = _mm256_set1_epi8(1);
    [[maybe_unused]] __m256i windows[4];
    if constexpr (Wide && !Channels) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) windows[v] = _mm256_set1_epi32(-window_middle);
    }
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
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        sums[v] = dot(sums[v], quads[v], Channels ? avx2::load(w + 32 * v) : avx2::broadcast(w));
        if constexpr (Wide) {
          if constexpr (Channels) {
            sums[v] = dot(sums[v], quads[v], avx2::load(w + second + 32 * v));
          } else {
            windows[v] = dot(windows[v], quads[v], ones);
          }
        }
      }
    }
    if constexpr (Wide && !Channels) {
      const __m256i shift = _mm256_set1_epi32(*t.shift);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = _mm256_add_epi32(sums[v], _mm256_madd_epi16(windows[v], shift));
    }
    const __m256i bytes = avx2::quantize<Channels>(sums, e, t, Channels ? t.factor + 32 * at : t.factor);
    avx2::store(t.out + 32 * b, avx2::in_order(bytes));
    at = at + 1 == t.period ? 0 : at + 1;
  }
}
DMLREF_QLC_TARGET inline void pixel_taps(const LaneArgs& t) noexcept {
  t.shift != nullptr ? taps_of<false, true>(t) : taps_of<false, false>(t);
}
DMLREF_QLC_TARGET inline void channel_taps(const LaneArgs& t) noexcept {
  t.wide != 0 ? taps_of<true, true>(t) : taps_of<true, false>(t);
}

/// Quads of channels as they lie in memory, against the weights of four outputs each; two pixels share the weights.
template <int Pixels, bool Shifted>
DMLREF_QLC_TARGET inline void channel_quads_at(const LaneArgs& t, std::ptrdiff_t at, std::ptrdiff_t b,
                                               const avx2::Epilogue& e) noexcept {
  constexpr std::size_t pixels = Pixels;
  __m256i sums[pixels][4];
#pragma GCC unroll 2
  for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[p][v] = avx2::load(t.sum + 32 * at + 8 * v);
  }
  [[maybe_unused]] __m256i windows[pixels];
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
    if constexpr (Shifted) {
#pragma GCC unroll 2
      for (int p = 0; p < Pixels; ++p) windows[p] = dot(windows[p], quads[p], _mm256_set1_epi8(1));
    }
  }
#pragma GCC unroll 2
  for (int p = 0; p < Pixels; ++p) {
    if constexpr (Shifted) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const __m256i shift = avx2::load(t.shift + 32 * at + 8 * v);
        sums[p][v] = _mm256_add_epi32(sums[p][v], _mm256_madd_epi16(windows[p], shift));
      }
    }
    const __m256i bytes = avx2::quantize<true>(sums[p], e, t, t.factor + 32 * at);
    avx2::store(t.out + 32 * (b + p * t.period), avx2::quads_in_order(bytes));
  }
}

template <bool Shifted>
DMLREF_QLC_TARGET inline void channel_quads_of(const LaneArgs& t) noexcept {
  avx2::Epilogue e = avx2::make_epilogue(t);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    avx2::take_block(t, at, e);
    std::ptrdiff_t b = at;
    for (; b + t.period < t.blocks; b += 2 * t.period) channel_quads_at<2, Shifted>(t, at, b, e);
    if (b < t.blocks) channel_quads_at<1, Shifted>(t, at, b, e);
  }
}
DMLREF_QLC_TARGET inline void channel_quads(const LaneArgs& t) noexcept {
  t.shift != nullptr ? channel_quads_of<true>(t) : channel_quads_of<false>(t);
}

/// In large planes with a stride of 1 quads of staged rows take less time than pairs.
inline bool pairs_of_planes_suit(const Geometry& g) noexcept {
  return planes_suit(g) && g.kernel_w == 3 && (g.stride_x == 2 || g.out_height * g.out_width <= 4096);
}

inline constexpr Kernels kernels{
    .block = 32,
    .group = 4,
    .pixel_rows = &pixel_rows,
    .pixel_rows_stride2 = &pixel_rows_stride2,
    .pixel_planes = &pixel_planes,
    .planes_suit = &pairs_of_planes_suit,
    .reach = 3,
    .pixel_taps = &pixel_taps,
    .channel_taps = &channel_taps,
    .channel_quads = &channel_quads,
    .stage = &avx2::stage,
    .stage_even = &avx2::stage_even,
    .unstage = &avx2::unstage,
    .rounded_sums = true,
    .channel_columns = &channel_columns,
    .columns_suit = &columns_suit,
    .rounded_channels = true,
    .pairs_in_place = true,
};

#endif
