// planes256.hpp: depthwise 3x3 and 5x5 kernels over planes of pixels that are read where they are.
//
// A strip of 16 output columns is made from its first row to its last. An input row becomes a few vectors of 16-bit
// pixels, neighbours in pairs, each of which is multiplied by all kernel rows at once: the sums of the output rows that
// are not yet whole stay in registers. With a stride of 1 and a kernel row w0 w1 w2:
//
//   pixels          (x0 x1) (x2 x3) (x4 x5) …    (x2 x3) (x4 x5) (x6 x7) …
//   even outputs  *  w0 w1                     +  w2  0                        outputs 0, 2, 4, …
//   odd outputs   *   0 w0                     +  w1 w2                        outputs 1, 3, 5, …
//
// With a stride of 2 one vector has pairs 0, 2, 4, …, which even outputs multiply by w0 w1, the next one has pairs
// 1, 3, 5, …, which odd outputs multiply by w0 w1 and even ones by w2 0, and so on. Sums go through memory before they
// are rounded: so fewer instructions wait for others. Up to 8 output columns fill half a vector: the other half takes
// the next plane.
//
// Included once per set with 256-bit registers, inside its namespace, as epilogue.hpp; hence no guard. The includer
// defines DMLREF_QLC_TARGET and a function multiply_add(sums, pairs, weights) of 16-bit pairs; without them this is
// empty.
#if defined(DMLREF_QLC_TARGET)

inline constexpr std::ptrdiff_t strip_rows = 32;  // at a time; even

template <std::size_t K, std::size_t S>
struct StripShape {
  static constexpr std::size_t pairs = (K + 1) / 2;                         // of a kernel row
  static constexpr std::size_t vectors = S == 1 ? pairs : pairs + 1;        // of an input row
  static constexpr std::size_t loads = S == 1 ? pairs : (vectors + 1) / 2;  // of an input row
  static constexpr std::size_t sets = S == 1 ? 2 : 1;                       // of weights: for even, for odd outputs
  static constexpr std::size_t unfinished = (K + S - 1) / S - 1;  // output rows begun before the one that ends
  static constexpr std::ptrdiff_t load_step = S == 1 ? 2 : 4;     // pixels from one load to the next
};

/// Where the columns of a strip lie.
enum class Columns {
  inside,     ///< within the row
  across,     ///< some beyond the row, which are replaced
  two_planes  ///< the same, of two planes
};

/// Where a strip's pixels lie in a row, and how they get to their places.
template <std::size_t K, std::size_t S>
struct Strip {
  using Shape = StripShape<K, S>;
  std::ptrdiff_t x = 0;  // of the output
  std::ptrdiff_t first = 0;
  bool inner = false;  // all columns lie within the row
  // Of how many rows 16 bytes from the row's start lie within the plane, and by how much those of the next row do not.
  std::ptrdiff_t whole_rows = 0, beyond = 0;
  std::ptrdiff_t at[Shape::loads][2];
  __m256i pattern[Shape::vectors], flips[Shape::vectors];
};

/// What the output channels of both halves of a vector need.
template <std::size_t K, std::size_t S>
struct StripChannel {
  using Shape = StripShape<K, S>;
  __m256i weights[K][Shape::pairs][Shape::sets];
  __m256i start;
  avx2::Epilogue epilogue;
  double factor[2];
};

template <std::size_t K, std::size_t S>
DMLREF_QLC_TARGET inline Strip<K, S> make_strip(const PlaneArgs& p, std::ptrdiff_t x, bool halves) noexcept {
  using Shape = StripShape<K, S>;
  constexpr std::ptrdiff_t stride = S;
  Strip<K, S> strip;
  strip.x = x;
  strip.first = x * stride - p.pad_x;
  const std::ptrdiff_t columns = 2 * static_cast<std::ptrdiff_t>(Shape::vectors - 1) + 16 * stride;
  strip.inner = !halves && strip.first >= 0 && strip.first + columns <= p.width;
  const std::ptrdiff_t plane = (p.rows - 1) * p.row_step + p.width;
  strip.whole_rows = p.width >= 16 ? p.rows : (plane - 16) / p.row_step + 1;
  strip.beyond = strip.whole_rows * p.row_step + 16 - plane;
  const std::ptrdiff_t last_load = p.width >= 16 ? p.width - 16 : 0;
  for (std::size_t i = 0; i < Shape::loads; ++i) {
    for (std::size_t half = 0; half < 2; ++half) {
      const std::ptrdiff_t wanted =
          strip.first + Shape::load_step * static_cast<std::ptrdiff_t>(i) + (S == 2 && half == 1 && !halves ? 16 : 0);
      strip.at[i][half] = wanted < 0 ? 0 : wanted > last_load ? last_load : wanted;
    }
  }
  const __m128i low_lanes = S == 1 ? _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7) : _mm_setr_epi16(0, 1, 4, 5, 8, 9, 12, 13);
  const __m128i high_lanes = halves ? low_lanes : _mm_add_epi16(low_lanes, _mm_set1_epi16(8 * S));
  const __m256i lanes = _mm256_setr_m128i(low_lanes, high_lanes);
  const auto near = [](std::ptrdiff_t v) { return static_cast<short>(v < -64 ? -64 : v > 64 ? 64 : v); };
  for (std::size_t v = 0; v < Shape::vectors; ++v) {
    const std::ptrdiff_t column = strip.first + 2 * static_cast<std::ptrdiff_t>(v);
    const auto* at = strip.at[S == 1 ? v : v / 2];
    const __m256i before = _mm256_cmpgt_epi16(_mm256_set1_epi16(near(-column)), lanes);
    const __m256i after = _mm256_cmpgt_epi16(lanes, _mm256_set1_epi16(near(p.width - column - 1)));
    const __m256i outside = _mm256_or_si256(before, after);
    const __m256i moved = _mm256_setr_m128i(_mm_set1_epi8(static_cast<char>(column - at[0])),
                                            _mm_set1_epi8(static_cast<char>(column - at[1])));
    const __m256i from = _mm256_and_si256(_mm256_add_epi8(lanes, moved), _mm256_set1_epi16(0xFF));
    strip.pattern[v] = _mm256_blendv_epi8(_mm256_or_si256(from, _mm256_set1_epi16(static_cast<short>(0x8000))),
                                          _mm256_set1_epi8(static_cast<char>(0x80)), outside);
    strip.flips[v] = _mm256_blendv_epi8(_mm256_set1_epi16(p.flip), _mm256_set1_epi16(p.fill), outside);
  }
  return strip;
}

/// Constants of the channels that begin at `from[0]`, in the low half, and `from[1]`.
template <std::size_t K, std::size_t S, bool TwoPlanes>
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void make_channel(const LaneArgs& t, const std::byte* const (&from)[2],
                                                                  StripChannel<K, S>& c) noexcept {
  using Shape = StripShape<K, S>;
  const auto halves = [&](std::size_t at) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    const __m256i low = V::broadcast(from[0] + at);
    return TwoPlanes ? _mm256_blend_epi32(low, V::broadcast(from[1] + at), 0xF0) : low;
  };
#pragma GCC unroll 5
  for (std::size_t k = 0; k < K; ++k) {
    const std::size_t row = sizeof(ChannelData) + 2 * K * k;
#pragma GCC unroll 3
    for (std::size_t p = 0; p < Shape::pairs; ++p) {
      // w[2p] w[2p + 1], and w[2p - 1] w[2p]; what lies beyond the kernel row counts 0.
      const bool last = 2 * p + 1 == K;
      const __m256i even = halves(row + 4 * p - (last ? 2 : 0));
      c.weights[k][p][0] = last ? _mm256_srli_epi32(even, 16) : even;
      if constexpr (S == 1) {
        const __m256i odd = halves(row + 4 * p - (p == 0 ? 0 : 2));
        c.weights[k][p][1] = p == 0 ? _mm256_slli_epi32(odd, 16) : odd;
      }
    }
  }
  ChannelData channel[2];
  std::memcpy(&channel[0], from[0], sizeof channel[0]);
  std::memcpy(&channel[1], from[1], sizeof channel[1]);
  c.epilogue.floats = channel[0].floats.sum != 0 && channel[1].floats.sum != 0;
  const std::size_t numbers = c.epilogue.floats ? offsetof(ChannelData, floats) : offsetof(ChannelData, integers);
  c.start = halves(numbers + offsetof(SumConstants, sum));
  c.epilogue.scale[0] = _mm256_castsi256_ps(halves(numbers + offsetof(SumConstants, scale)));
  c.epilogue.shift[0] = _mm256_castsi256_ps(halves(numbers + offsetof(SumConstants, shift)));
  c.epilogue.near_tie = halves(numbers + offsetof(SumConstants, near_tie));
  c.epilogue.flip = _mm256_set1_epi8(static_cast<char>(t.flip));
  c.factor[0] = channel[0].factor;
  c.factor[1] = channel[1].factor;
}

/// What is the same for all rows of a strip; each pass copies it, so that no store seems to change it.
struct StripRows {
  const std::uint8_t* src[2];
  std::ptrdiff_t row_step, rows, whole_rows, beyond;
  __m256i fills, flips;
};

/// Bytes of an input row that lies within the plane; it begins `row` bytes after the plane, 16 bytes are there to read.
template <std::size_t K, std::size_t S, Columns Which>
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void load_bytes(const Strip<K, S>& strip, const StripRows& p,
                                                                std::ptrdiff_t row,
                                                                __m256i (&loaded)[StripShape<K, S>::loads]) noexcept {
  const std::uint8_t* low = p.src[0] + row;
  const std::uint8_t* high = p.src[Which == Columns::two_planes] + row;
#pragma GCC unroll 3
  for (std::size_t i = 0; i < StripShape<K, S>::loads; ++i) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low + strip.at[i][0]));
    loaded[i] = S == 1 && Which == Columns::across
                    ? _mm256_broadcastsi128_si256(half)
                    : _mm256_setr_m128i(half, _mm_loadu_si128(reinterpret_cast<const __m128i*>(high + strip.at[i][1])));
  }
}

/// Input row `y`, which may lie above or below the plane and begins `row` bytes after it.
template <std::size_t K, std::size_t S, Columns Which>
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void load_row(const Strip<K, S>& strip, const StripRows& p,
                                                              std::ptrdiff_t y, std::ptrdiff_t row,
                                                              __m256i (&pixels)[StripShape<K, S>::vectors]) noexcept {
  using Shape = StripShape<K, S>;
  constexpr bool inside = Which == Columns::inside;
  __m256i loaded[Shape::loads];
  if (__builtin_expect(static_cast<std::size_t>(y) >= static_cast<std::size_t>(p.whole_rows), 0)) {
    if (inside || y < 0 || y >= p.rows) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Shape::vectors; ++v) pixels[v] = p.fills;
      return;
    }
    const std::ptrdiff_t back = p.beyond + (y - p.whole_rows) * p.row_step;
    const __m256i shift = _mm256_set1_epi16(static_cast<short>(back));
    load_bytes<K, S, Which>(strip, p, row - back, loaded);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      pixels[v] = _mm256_shuffle_epi8(loaded[S == 1 ? v : v / 2], _mm256_add_epi8(strip.pattern[v], shift));
      pixels[v] = _mm256_xor_si256(pixels[v], strip.flips[v]);
    }
    return;
  }
  if constexpr (inside) {
    const std::uint8_t* from = p.src[0] + row + strip.first;
    const __m256i even = _mm256_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1, 0, -1, 1, -1, 4, -1,
                                          5, -1, 8, -1, 9, -1, 12, -1, 13, -1);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      pixels[v] = S == 1 ? _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * v)))
                         : _mm256_shuffle_epi8(V::load(from + 2 * v), even);
      pixels[v] = _mm256_xor_si256(pixels[v], p.flips);
    }
  } else {
    load_bytes<K, S, Which>(strip, p, row, loaded);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      pixels[v] = _mm256_shuffle_epi8(loaded[S == 1 ? v : v / 2], strip.pattern[v]);
      pixels[v] = _mm256_xor_si256(pixels[v], strip.flips[v]);
    }
  }
}

/// Adds kernel row `k` of an input row's pixels.
template <std::size_t K, std::size_t S>
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void add_row(const StripChannel<K, S>& c, std::size_t k,
                                                             const __m256i* pixels, __m256i (&sums)[2]) noexcept {
  using Shape = StripShape<K, S>;
  // Weights are read where they are used, sums added in this order: otherwise compilers run out of registers.
  const auto* weights = c.weights[k];
  __asm__("" : "+r"(weights));
#pragma GCC unroll 3
  for (std::size_t p = 0; p < Shape::pairs; ++p) {
    sums[0] = multiply_add(sums[0], pixels[p], weights[p][0]);
    sums[1] = multiply_add(sums[1], pixels[Shape::vectors - Shape::pairs + p], weights[p][Shape::sets - 1]);
    __asm__("" : "+x"(sums[0]), "+x"(sums[1]));
  }
}

/// Of `count` output rows, the first of which begins with input row `y`, the sums, even and odd columns in a vector
/// each; where sums are floats, the results, 16 bits each, in the first one.
template <std::size_t K, std::size_t S, Columns Which, bool Floats>
DMLREF_QLC_TARGET inline void sum_rows(const Strip<K, S>& given, const PlaneArgs& planes,
                                       const std::uint8_t* const (&sources)[2], const StripChannel<K, S>& c,
                                       std::ptrdiff_t y, std::ptrdiff_t count, __m256i* to) noexcept {
  using Shape = StripShape<K, S>;
  const Strip<K, S> strip = given;
  const StripRows p{{sources[0], sources[1]},
                    planes.row_step,
                    planes.rows,
                    strip.whole_rows,
                    strip.beyond,
                    _mm256_set1_epi16(planes.fill),
                    _mm256_set1_epi16(planes.flip)};
  std::ptrdiff_t row = y * p.row_step;
  const __m256i start = c.start;
  const __m256 scale = c.epilogue.scale[0], shift = c.epilogue.shift[0];
  __m256i rows[Shape::unfinished + 1][2];
  __m256i pixels[Shape::vectors];
#pragma GCC unroll 4
  for (std::size_t m = 0; m < Shape::unfinished; ++m) rows[m][0] = rows[m][1] = start;
#pragma GCC unroll 4
  for (std::size_t r = 0; r < K - S; ++r, ++y, row += p.row_step) {
    load_row<K, S, Which>(strip, p, y, row, pixels);
#pragma GCC unroll 4
    for (std::size_t m = 0; m < Shape::unfinished; ++m) {
      if (r >= S * m) add_row<K, S>(c, r - S * m, pixels, rows[m]);
    }
  }
  for (; count > 0; --count, to += 2) {
    rows[Shape::unfinished][0] = rows[Shape::unfinished][1] = start;
#pragma GCC unroll 2
    for (std::size_t i = 0; i < S; ++i, ++y, row += p.row_step) {
      load_row<K, S, Which>(strip, p, y, row, pixels);
#pragma GCC unroll 5
      for (std::size_t m = 0; m <= Shape::unfinished; ++m) {
        if (K - S + i >= S * m) add_row<K, S>(c, K - S + i - S * m, pixels, rows[m]);
      }
    }
    if constexpr (Floats) {
      to[0] = requantize::avx2::join_low_halves(requantize::avx2::by_multiply_add(rows[0][0], scale, shift),
                                                requantize::avx2::by_multiply_add(rows[0][1], scale, shift));
    } else {
      to[0] = rows[0][0];
      to[1] = rows[0][1];
    }
#pragma GCC unroll 4
    for (std::size_t m = 0; m < Shape::unfinished; ++m) {
      rows[m][0] = rows[m + 1][0];
      rows[m][1] = rows[m + 1][1];
    }
  }
}

/// The first `count` bytes, at most 16.
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void store_first(std::uint8_t* to, __m128i bytes,
                                                                 std::ptrdiff_t count) noexcept {
  if (count == 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  } else if (count >= 8) {
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i last = _mm_shuffle_epi8(bytes, _mm_add_epi8(places, _mm_set1_epi8(static_cast<char>(count - 8))));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + count - 8), last);
  } else {
    auto left = static_cast<std::uint64_t>(_mm_cvtsi128_si64(bytes));
    if (count >= 4) {
      const auto first = static_cast<std::uint32_t>(left);
      const auto last = static_cast<std::uint32_t>(left >> (8 * (count - 4)));
      std::memcpy(to, &first, sizeof first);
      std::memcpy(to + count - 4, &last, sizeof last);
      return;
    }
    for (std::ptrdiff_t i = 0; i < count; ++i, left >>= 8) to[i] = static_cast<std::uint8_t>(left);
  }
}

/// A strip of one plane, or of two planes of at most 8 output columns.
template <std::size_t K, std::size_t S, Columns Which, bool Floats>
DMLREF_QLC_TARGET inline void run_rows(const Strip<K, S>& strip, const StripChannel<K, S>& c, const LaneArgs& t,
                                       const PlaneArgs& p, const std::uint8_t* const (&src)[2],
                                       std::uint8_t* const (&dst)[2]) noexcept {
  constexpr bool halves = Which == Columns::two_planes;
  __m256i sums[static_cast<std::size_t>(strip_rows + 1)][2];
  const std::ptrdiff_t count = p.out_width < 16 ? p.out_width : 16;
  const std::ptrdiff_t out_step = p.dst_row_step;
  const __m256i flip = c.epilogue.flip;
  for (std::ptrdiff_t y = 0; y < p.out_rows; y += strip_rows) {
    const std::ptrdiff_t rows = y + strip_rows < p.out_rows ? strip_rows : p.out_rows - y;
    sum_rows<K, S, Which, Floats>(strip, p, src, c, y * static_cast<std::ptrdiff_t>(S) - p.pad_y, rows, sums[0]);
    sums[rows][0] = sums[rows][1] = _mm256_setzero_si256();
    std::uint8_t* out[2] = {dst[0] + y * out_step + strip.x, dst[1] + y * out_step + strip.x};
    for (std::ptrdiff_t r = 0; r < rows; r += 2, out[0] += 2 * out_step, out[1] += 2 * out_step) {
      // In each 128 bits half of the first row, half of the second.
      __m256i bytes;
      if constexpr (Floats) {
        bytes = _mm256_xor_si256(_mm256_packs_epi16(sums[r][0], sums[r + 1][0]), flip);
      } else {
        const __m256i two_rows[4] = {sums[r][0], sums[r][1], sums[r + 1][0], sums[r + 1][1]};
        bytes = avx2::quantize<Factors::parts>(two_rows, c.epilogue, t, c.factor);
      }
      if constexpr (halves) {
        const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
        store_first(out[0], low, count);
        store_first(out[1], high, count);
        if (r + 1 < rows) {
          store_first(out[0] + out_step, _mm_srli_si128(low, 8), count);
          store_first(out[1] + out_step, _mm_srli_si128(high, 8), count);
        }
      } else {
        const __m256i in_order = _mm256_permute4x64_epi64(bytes, 0xD8);
        store_first(out[0], _mm256_castsi256_si128(in_order), count);
        if (r + 1 < rows) store_first(out[0] + out_step, _mm256_extracti128_si256(in_order, 1), count);
      }
    }
  }
}

template <std::size_t K, std::size_t S, Columns Which>
DMLREF_QLC_TARGET inline void run_strip(const Strip<K, S>& strip, const LaneArgs& t, const PlaneArgs& p,
                                        const std::byte* const (&channels)[2], const std::uint8_t* const (&src)[2],
                                        std::uint8_t* const (&dst)[2]) noexcept {
  StripChannel<K, S> c;
  make_channel<K, S, Which == Columns::two_planes>(t, channels, c);
  c.epilogue.floats ? run_rows<K, S, Which, true>(strip, c, t, p, src, dst)
                    : run_rows<K, S, Which, false>(strip, c, t, p, src, dst);
}

template <std::size_t K, std::size_t S>
DMLREF_QLC_TARGET inline void strips(const LaneArgs& t, const PlaneArgs& p) noexcept {
  const bool halves = p.out_width <= 8;
  for (std::ptrdiff_t x = 0; x < p.out_width; x += 16) {
    const std::ptrdiff_t last = p.out_width < 16 ? 0 : p.out_width - 16;
    const Strip<K, S> strip = make_strip<K, S>(p, x < last ? x : last, halves);
    const auto run = halves        ? &run_strip<K, S, Columns::two_planes>
                     : strip.inner ? &run_strip<K, S, Columns::inside>
                                   : &run_strip<K, S, Columns::across>;
    for (std::ptrdiff_t i = 0; i < p.planes; i += halves ? 2 : 1) {
      const std::ptrdiff_t j = halves && i + 1 < p.planes ? i + 1 : i;
      run(strip, t, p, {t.weights + i * t.weight_step, t.weights + j * t.weight_step},
          {p.src + i / p.outputs * p.plane_step, p.src + j / p.outputs * p.plane_step},
          {p.dst + i * p.dst_plane_step, p.dst + j * p.dst_plane_step});
    }
  }
}

DMLREF_QLC_TARGET inline void pixel_planes(const LaneArgs& t, const PlaneArgs& p) noexcept {
  if (p.kernel == 3) {
    p.stride == 1 ? strips<3, 1>(t, p) : strips<3, 2>(t, p);
  } else {
    p.stride == 1 ? strips<5, 1>(t, p) : strips<5, 2>(t, p);
  }
}

inline bool planes_suit(const Geometry& g) noexcept {
  return g.in_channels == 1 && g.kernel_w == g.kernel_h && (g.kernel_w == 3 || g.kernel_w == 5) &&
         g.stride_x == g.stride_y && g.stride_x <= 2 && g.dilation_x == 1 && g.dilation_y == 1 && g.in.x == 1 &&
         g.in.y >= g.width && (g.width >= 16 || (g.height - 1) * g.in.y + g.width >= 16) && g.out.x == 1 &&
         g.out.y >= g.out_width;
}

#endif
