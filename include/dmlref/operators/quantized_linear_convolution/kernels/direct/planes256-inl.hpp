// planes256-inl.hpp: depthwise 3x3 and 5x5 kernels over planes of pixels that are read where they are.
//
// A column panel of 16 output columns is made from its first row to its last. An input row becomes a few vectors of
// 16-bit pixels, neighbours in pairs, each of which is multiplied by all kernel rows at once: the sums of the output
// rows that are not yet whole stay in registers. With a stride of 1 and a kernel row w0 w1 w2:
//
//   pixels          (x0 x1) (x2 x3) (x4 x5) …    (x2 x3) (x4 x5) (x6 x7) …
//   even outputs  *  w0 w1                     +  w2  0                        outputs 0, 2, 4, …
//   odd outputs   *   0 w0                     +  w1 w2                        outputs 1, 3, 5, …
//
// With a stride of 2 one vector has pairs 0, 2, 4, …, which even outputs multiply by w0 w1, the next one has pairs
// 1, 3, 5, …, which odd outputs multiply by w0 w1 and even ones by w2 0, and so on. Where dot products take bytes,
// pixels are bytes in quads: even outputs multiply (x0 x1 x2 x3) … by w0 w1 w2 0, odd ones by 0 w0 w1 w2; with a stride
// of 2 they have quads of their own. What a weight has beyond eight bits is multiplied apart. Sums go through memory
// before they are rounded: so fewer instructions wait for others. Up to 8 output columns fill half a vector: the other
// half takes the next plane.
//
// Included once per set with 256-bit registers, inside its namespace, as epilogue.hpp; hence no guard. The includer
// defines DMLREF_QLC_TARGET, weight_bytes, and a function add_taps<words>(sums, pixels, weights) of pairs or quads;
// without them this is empty.
#if defined(DMLREF_QLC_TARGET)

inline constexpr std::ptrdiff_t panel_rows = 32;  // at a time; even

template <std::size_t K, std::size_t S>
struct PanelShape {
  static constexpr bool words = planes_in_words(weight_bytes, K, S);
  static constexpr std::size_t taps = words ? 2 : 4;                                         // that meet in a lane
  static constexpr std::size_t groups = (K + taps - 1) / taps;                               // of a kernel row
  static constexpr std::size_t vectors = S == 1 ? groups : words ? groups + 1 : 2 * groups;  // of an input row
  static constexpr std::size_t sets = S == 1 ? 2 : 1;               // of weights: for even, for odd outputs
  static constexpr std::size_t unfinished = (K + S - 1) / S - 1;    // output rows begun before the one that ends
  static constexpr std::size_t per_load = words && S == 2 ? 2 : 1;  // vectors that one load makes
  static constexpr std::size_t loads = (vectors + per_load - 1) / per_load;
  static constexpr std::ptrdiff_t vector_step = S == 1 ? taps : 2;          // pixels from one to the next
  static constexpr std::ptrdiff_t half_step = S == 2 ? 16 : words ? 0 : 8;  // from a load's half to the other
  static constexpr std::size_t even(std::size_t group) { return words || S == 1 ? group : 2 * group; }
  static constexpr std::size_t odd(std::size_t group) { return S == 1 ? group : even(group) + 1; }
};

/// Where a panel's pixels lie in a row, and how they get to their places.
template <std::size_t K, std::size_t S>
struct ColumnPanel {
  using Shape = PanelShape<K, S>;
  std::ptrdiff_t x = 0;  // of the output
  std::ptrdiff_t first = 0;
  // Of how many rows 16 bytes from the row's start lie within the plane, and by how much those of the next row do not.
  std::ptrdiff_t whole_rows = 0, beyond = 0;
  std::ptrdiff_t at[Shape::loads][2];
  __m256i pattern[Shape::vectors], flips[Shape::vectors];
};

/// What the output channels of both halves of a vector need.
template <std::size_t K, std::size_t S>
struct PanelChannel {
  using Shape = PanelShape<K, S>;
  __m256i weights[K][Shape::groups][Shape::sets], high[K][Shape::groups][Shape::sets];  // high: of bytes
  std::uint32_t high_parts = 0;  // a bit for each group that has anything in `high`
  __m256i start;
  Epilogue epilogue;
  double factor[2], offset[2];
};

template <std::size_t K, std::size_t S>
DMLREF_QLC_TARGET inline ColumnPanel<K, S> make_panel(const PlaneArgs& p, std::ptrdiff_t x, bool halves) noexcept {
  using Shape = PanelShape<K, S>;
  ColumnPanel<K, S> panel;
  panel.x = x;
  panel.first = x * static_cast<std::ptrdiff_t>(S) - p.in.pad_x;
  const std::ptrdiff_t plane = (p.in.rows - 1) * p.in.row_step + p.in.width;
  panel.whole_rows = p.in.width >= 16 ? p.in.rows : (plane - 16) / p.in.row_step + 1;
  panel.beyond = panel.whole_rows * p.in.row_step + 16 - plane;
  const std::ptrdiff_t last_load = p.in.width >= 16 ? p.in.width - 16 : 0;
  for (std::size_t i = 0; i < Shape::loads; ++i) {
    for (std::size_t half = 0; half < 2; ++half) {
      const std::ptrdiff_t column = panel.first +
                                    Shape::vector_step * static_cast<std::ptrdiff_t>(Shape::per_load * i) +
                                    (half == 1 && !halves ? Shape::half_step : 0);
      panel.at[i][half] = column < 0 ? 0 : column > last_load ? last_load : column;
    }
  }
  // The pixel of each byte; of words the lower ones, while the upper ones are 0.
  const __m128i low_lanes = Shape::words ? S == 1 ? _mm_setr_epi8(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7)
                                                  : _mm_setr_epi8(0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13)
                            : S == 1 ? _mm_setr_epi8(0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9)
                                         : _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m128i high_lanes = halves ? low_lanes : _mm_add_epi8(low_lanes, _mm_set1_epi8(8 * S));
  const __m256i lanes = _mm256_setr_m128i(low_lanes, high_lanes);
  const __m256i upper = _mm256_set1_epi16(static_cast<short>(Shape::words ? 0xFF00 : 0));
  const auto clamped = [](std::ptrdiff_t v) { return static_cast<char>(v < -64 ? -64 : v > 64 ? 64 : v); };
  for (std::size_t v = 0; v < Shape::vectors; ++v) {
    const std::ptrdiff_t column = panel.first + Shape::vector_step * static_cast<std::ptrdiff_t>(v);
    const auto* at = panel.at[v / Shape::per_load];
    const __m256i before = _mm256_cmpgt_epi8(_mm256_set1_epi8(clamped(-column)), lanes);
    const __m256i after = _mm256_cmpgt_epi8(lanes, _mm256_set1_epi8(clamped(p.in.width - column - 1)));
    const __m256i outside = _mm256_or_si256(before, after);
    const __m256i moved = _mm256_setr_m128i(_mm_set1_epi8(static_cast<char>(column - at[0])),
                                            _mm_set1_epi8(static_cast<char>(column - at[1])));
    panel.pattern[v] =
        _mm256_blendv_epi8(_mm256_add_epi8(lanes, moved), V::all_bytes(0x80), _mm256_or_si256(outside, upper));
    panel.flips[v] =
        _mm256_andnot_si256(upper, _mm256_blendv_epi8(V::all_bytes(p.in.flip), V::all_bytes(p.in.fill), outside));
  }
  return panel;
}

/// Constants of the channels that begin at `from[0]`, in the low half, and `from[1]`.
template <std::size_t K, std::size_t S, bool TwoPlanes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void make_channel(const std::byte* const (&from)[2], std::uint8_t flip,
                                                         PanelChannel<K, S>& c) noexcept {
  using Shape = PanelShape<K, S>;
  const auto halves = [&](std::size_t at) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    const __m256i low = V::broadcast(from[0] + at);
    return TwoPlanes ? _mm256_blend_epi32(low, V::broadcast(from[1] + at), 0xF0) : low;
  };
  const auto take_rows = [&](std::size_t at, auto& rows) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    DMLREF_UNROLL
    for (std::size_t k = 0; k < K; ++k) {
      const std::size_t row = at + (Shape::words ? 2 * K : 4 * Shape::groups) * k;
      DMLREF_UNROLL
      for (std::size_t g = 0; g < Shape::groups; ++g) {
        // A row's taps, and for odd outputs those from the one before on; what lies beyond the kernel row counts 0.
        const bool last = Shape::words && 2 * g + 1 == K;
        const __m256i even = halves(row + 4 * g - (last ? 2 : 0));
        rows[k][g][0] = last ? _mm256_srli_epi32(even, 16) : even;
        if constexpr (S == 1) {
          rows[k][g][1] =
              g == 0 ? _mm256_slli_epi32(even, Shape::words ? 16 : 8) : halves(row + 4 * g - 4 / Shape::taps);
        }
      }
    }
  };
  take_rows(sizeof(ChannelData), c.weights);
  ChannelData channel[2];
  std::memcpy(&channel[0], from[0], sizeof channel[0]);
  std::memcpy(&channel[1], from[1], sizeof channel[1]);
  if constexpr (!Shape::words) {
    c.high_parts = channel[0].high_parts | channel[1].high_parts;
    if (c.high_parts != 0) take_rows(sizeof(ChannelData) + 4 * Shape::groups * K, c.high);
  }
  c.epilogue.floats = channel[0].floats.sum != 0 && channel[1].floats.sum != 0;
  const std::size_t numbers = c.epilogue.floats ? offsetof(ChannelData, floats) : offsetof(ChannelData, integers);
  c.start = halves(numbers + offsetof(SumConstants, sum));
  c.epilogue.scale[0] = _mm256_castsi256_ps(halves(numbers + offsetof(SumConstants, scale)));
  c.epilogue.shift[0] = _mm256_castsi256_ps(halves(numbers + offsetof(SumConstants, shift)));
  c.epilogue.tie_tolerance = halves(numbers + offsetof(SumConstants, tie_tolerance));
  c.epilogue.flip = V::all_bytes(flip);
  c.factor[0] = channel[0].factor;
  c.factor[1] = channel[1].factor;
  c.offset[0] = channel[0].offset;
  c.offset[1] = channel[1].offset;
}

/// What is the same for all rows of a panel; each pass copies it, so that no store seems to change it.
struct PanelRows {
  const std::uint8_t* src[2];
  std::ptrdiff_t row_step, rows, whole_rows, beyond;
  __m256i fills;
};

/// Input row `y`, which may lie above or below the plane and begins `row` bytes after it.
template <std::size_t K, std::size_t S, bool TwoPlanes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void load_row(const ColumnPanel<K, S>& panel, const PanelRows& p,
                                                     std::ptrdiff_t y, std::ptrdiff_t row,
                                                     __m256i (&pixels)[PanelShape<K, S>::vectors]) noexcept {
  using Shape = PanelShape<K, S>;
  // Bytes `back` before where they are read; that many were added to the pattern.
  const auto load = [&](std::ptrdiff_t back, __m256i added) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    const std::uint8_t* low = p.src[0] + row - back;
    const std::uint8_t* high = p.src[TwoPlanes ? 1 : 0] + row - back;
    __m256i loaded[Shape::loads];
    DMLREF_UNROLL
    for (std::size_t i = 0; i < Shape::loads; ++i) {
      const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low + panel.at[i][0]));
      loaded[i] =
          Shape::half_step == 0 && !TwoPlanes
              ? _mm256_broadcastsi128_si256(half)
              : _mm256_setr_m128i(half, _mm_loadu_si128(reinterpret_cast<const __m128i*>(high + panel.at[i][1])));
    }
    DMLREF_UNROLL
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      pixels[v] = _mm256_shuffle_epi8(loaded[v / Shape::per_load], _mm256_add_epi8(panel.pattern[v], added));
      pixels[v] = _mm256_xor_si256(pixels[v], panel.flips[v]);
    }
  };
  if (__builtin_expect(static_cast<std::size_t>(y) < static_cast<std::size_t>(p.whole_rows), 1)) {
    load(0, _mm256_setzero_si256());
  } else if (y >= 0 && y < p.rows) {
    const std::ptrdiff_t back = p.beyond + (y - p.whole_rows) * p.row_step;
    load(back,
         Shape::words ? _mm256_set1_epi16(static_cast<short>(back)) : V::all_bytes(static_cast<std::uint8_t>(back)));
  } else {
    DMLREF_UNROLL
    for (std::size_t v = 0; v < Shape::vectors; ++v) pixels[v] = p.fills;
  }
}

/// Adds the products of an input row's pixels with the weights of a kernel row, from `weights` on.
template <std::size_t K, std::size_t S, std::size_t Groups, std::size_t Sets>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void add_row(const __m256i (*weights)[Groups][Sets], const __m256i* pixels,
                                                    __m256i (&sums)[2]) noexcept {
  using Shape = PanelShape<K, S>;
  // Weights are read where they are used, sums added in this order: otherwise compilers run out of registers.
  __asm__("" : "+r"(weights));
  DMLREF_UNROLL
  for (std::size_t g = 0; g < Groups; ++g) {
    sums[0] = add_taps<Shape::words>(sums[0], pixels[Shape::even(g)], (*weights)[g][0]);
    sums[1] = add_taps<Shape::words>(sums[1], pixels[Shape::odd(g)], (*weights)[g][Sets - 1]);
    __asm__("" : "+x"(sums[0]), "+x"(sums[1]));
  }
}

/// Of `count` output rows, the first of which begins with input row `y`, the sums, even and odd columns in a vector
/// each.
template <std::size_t K, std::size_t S, bool TwoPlanes>
DMLREF_QLC_TARGET inline void sum_rows(const ColumnPanel<K, S>& given, const PlaneArgs& planes,
                                       const std::uint8_t* const (&sources)[2], const PanelChannel<K, S>& c,
                                       std::ptrdiff_t y, std::ptrdiff_t count, __m256i* to) noexcept {
  using Shape = PanelShape<K, S>;
  const ColumnPanel<K, S> panel = given;
  const PanelRows p{{sources[0], sources[1]},
                    planes.in.row_step,
                    planes.in.rows,
                    panel.whole_rows,
                    panel.beyond,
                    Shape::words ? _mm256_set1_epi16(planes.in.fill) : V::all_bytes(planes.in.fill)};
  std::ptrdiff_t row = y * p.row_step;
  const __m256i start = c.start;
  __m256i rows[Shape::unfinished + 1][2];
  __m256i pixels[Shape::vectors];
  constexpr std::uint32_t any_group = (1u << Shape::groups) - 1;
  // Adds an input row to output rows, the first of which sees it by kernel row `k`.
  const auto add_rows = [&](std::size_t k, std::size_t count_of_rows) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    DMLREF_UNROLL
    for (std::size_t m = 0; m < count_of_rows; ++m) {
      if (k >= S * m) add_row<K, S>(&c.weights[k - S * m], pixels, rows[m]);
    }
    if (Shape::words || __builtin_expect(c.high_parts == 0, 1)) return;
    DMLREF_UNROLL
    for (std::size_t m = 0; m < count_of_rows; ++m) {
      if (k >= S * m && (c.high_parts >> Shape::groups * (k - S * m) & any_group) != 0)
        add_row<K, S>(&c.high[k - S * m], pixels, rows[m]);
    }
  };
  DMLREF_UNROLL
  for (std::size_t m = 0; m < Shape::unfinished; ++m) rows[m][0] = rows[m][1] = start;
  DMLREF_UNROLL
  for (std::size_t r = 0; r < K - S; ++r, ++y, row += p.row_step) {
    load_row<K, S, TwoPlanes>(panel, p, y, row, pixels);
    add_rows(r, Shape::unfinished);
  }
  for (; count > 0; --count, to += 2) {
    rows[Shape::unfinished][0] = rows[Shape::unfinished][1] = start;
    DMLREF_UNROLL
    for (std::size_t i = 0; i < S; ++i, ++y, row += p.row_step) {
      load_row<K, S, TwoPlanes>(panel, p, y, row, pixels);
      add_rows(K - S + i, Shape::unfinished + 1);
    }
    to[0] = rows[0][0];
    to[1] = rows[0][1];
    DMLREF_UNROLL
    for (std::size_t m = 0; m < Shape::unfinished; ++m) {
      rows[m][0] = rows[m + 1][0];
      rows[m][1] = rows[m + 1][1];
    }
  }
}

/// Sums that are stored, of `rows` rows: `count` columns of one plane, or of two.
template <bool TwoPlanes>
[[gnu::noinline]] DMLREF_QLC_TARGET inline void store_sums(const Epilogue& epilogue, const __m256i (*sums)[2],
                                                           std::ptrdiff_t rows, std::ptrdiff_t count,
                                                           std::ptrdiff_t row_bytes,
                                                           std::uint8_t* const (&to)[2]) noexcept {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    const __m256i two[4] = {sums[r][0], sums[r][1], sums[r][0], sums[r][1]};
    __m256i v[4];
    epilogue.take_sums<Factors::parts>(two, v);
    const __m256i low = V::zip_low_dwords(v[0], v[1]), high = V::zip_high_dwords(v[0], v[1]);
    const __m256i first = _mm256_permute2x128_si256(low, high, 0x20),
                  second = _mm256_permute2x128_si256(low, high, 0x31);
    if (!TwoPlanes && count == 16) {
      V::store(to[0] + r * row_bytes, first);
      V::store(to[0] + r * row_bytes + 32, second);
      continue;
    }
    alignas(32) std::uint8_t all[64];
    V::store(all, first);
    V::store(all + 32, second);
    std::memcpy(to[0] + r * row_bytes, all, static_cast<std::size_t>(4 * count));
    if constexpr (TwoPlanes) std::memcpy(to[1] + r * row_bytes, all + 32, static_cast<std::size_t>(4 * count));
  }
}

/// A column panel of one plane, or of two planes of at most 8 output columns.
template <std::size_t K, std::size_t S, bool TwoPlanes>
DMLREF_QLC_TARGET inline void run_rows(const ColumnPanel<K, S>& panel, const PanelChannel<K, S>& c, const PlaneArgs& p,
                                       const std::uint8_t* const (&src)[2], std::uint8_t* const (&dst)[2]) noexcept {
  __m256i sums[static_cast<std::size_t>(panel_rows + 1)][2];
  const std::ptrdiff_t count = p.out.width < 16 ? p.out.width : 16;
  const std::ptrdiff_t out_step = p.out.row_step;
  for (std::ptrdiff_t y = 0; y < p.out.rows; y += panel_rows) {
    const std::ptrdiff_t rows = y + panel_rows < p.out.rows ? panel_rows : p.out.rows - y;
    sum_rows<K, S, TwoPlanes>(panel, p, src, c, y * static_cast<std::ptrdiff_t>(S) - p.in.pad_y, rows, sums[0]);
    if (__builtin_expect(c.epilogue.stores_sums, 0)) {
      const std::ptrdiff_t at = 4 * (y * out_step + panel.x);
      store_sums<TwoPlanes>(c.epilogue, sums, rows, count, 4 * out_step, {dst[0] + at, dst[1] + at});
      continue;
    }
    sums[rows][0] = sums[rows][1] = _mm256_setzero_si256();
    for (std::ptrdiff_t r = 0; r < rows; r += 2) {
      const std::ptrdiff_t at = (y + r) * out_step + panel.x;
      std::uint8_t* const out[2] = {dst[0] + at, dst[1] + at};
      // In each 128 bits half of the first row, half of the second.
      const __m256i two_rows[4] = {sums[r][0], sums[r][1], sums[r + 1][0], sums[r + 1][1]};
      const __m256i bytes = c.epilogue.template packed<Factors::parts>(two_rows, p.rounding, {c.factor, c.offset});
      if constexpr (TwoPlanes) {
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

template <std::size_t K, std::size_t S, bool TwoPlanes>
DMLREF_QLC_TARGET inline void run_panel(const ColumnPanel<K, S>& panel, const PlaneArgs& p,
                                        const std::byte* const (&channels)[2], const std::uint8_t* const (&src)[2],
                                        std::uint8_t* const (&dst)[2]) noexcept {
  PanelChannel<K, S> c;
  make_channel<K, S, TwoPlanes>(channels, p.rounding.to.flip, c);
  c.epilogue.stores_sums = p.rounding.stores_sums;
  run_rows<K, S, TwoPlanes>(panel, c, p, src, dst);
}

template <std::size_t K, std::size_t S>
DMLREF_QLC_TARGET inline void panels(const PlaneArgs& p) noexcept {
  const bool two_planes = p.out.width <= 8;
  const std::ptrdiff_t step = two_planes ? 2 : 1;
  const auto run = two_planes ? &run_panel<K, S, true> : &run_panel<K, S, false>;
  for (std::ptrdiff_t x = 0; x < p.out.width; x += 16) {
    const std::ptrdiff_t last = p.out.width < 16 ? 0 : p.out.width - 16;
    const ColumnPanel<K, S> panel = make_panel<K, S>(p, x < last ? x : last, two_planes);
    for (std::ptrdiff_t i = 0; i < p.planes; i += step) {
      const std::ptrdiff_t j = i + step <= p.planes ? i + step - 1 : i;
      run(panel, p, {p.channel + i * p.channel_step, p.channel + j * p.channel_step},
          {p.in.src + i / p.outputs * p.in_plane_step, p.in.src + j / p.outputs * p.in_plane_step},
          {output_at(p, i), output_at(p, j)});
    }
  }
}

DMLREF_QLC_TARGET inline void pixel_planes(const PlaneArgs& p) noexcept {
  if (p.kernel == 3) {
    p.stride == 1 ? panels<3, 1>(p) : panels<3, 2>(p);
  } else {
    p.stride == 1 ? panels<5, 1>(p) : panels<5, 2>(p);
  }
}

inline bool planes_suit(const Geometry& g) noexcept {
  return g.in_channels == 1 && g.kernel_w == g.kernel_h && (g.kernel_w == 3 || g.kernel_w == 5) &&
         g.stride_x == g.stride_y && g.stride_x <= 2 && g.dilation_x == 1 && g.dilation_y == 1 && g.in.x == 1 &&
         g.in.y >= g.width && (g.width >= 16 || (g.height - 1) * g.in.y + g.width >= 16) && g.out.x == 1 &&
         g.out.y >= g.out_width;
}

#endif
