// columns512-inl.hpp: depthwise kernels of three rows and columns, or five, over pixels whose channels lie in lanes,
// read where they are.
//
// A column is the pixels that a kernel column sees, as quads of four vectors. An output row is made from its left to
// its right, so a column becomes quads once, for all the outputs that it is part of. What lies outside are columns or
// rows of padding. Quads have three pixels and a padding lane, which replicates one of them for the high parts of
// weights that do not fit eight bits.
//
// Pixels of 32 channels are taken in pairs, and then neighbouring columns begin at neighbouring pixels: the next pair
// of outputs is two columns on, as with a stride of 2.
//
// Included by avx512vnni.hpp inside its namespace, behind x86-inl.hpp; hence no guard.
#if defined(DMLREF_QLC_TARGET)

/// A kernel column's taps are in threes, and a padding lane, or in pairs, and high parts of the same.
template <int Kernel>
inline constexpr int column_groups = Kernel == 5 ? 2 : 1;

/// What is the same for all columns of an output row.
struct ColumnRows {
  const std::uint8_t* row[5];  // pixel 0 of each kernel row, or padding
  std::ptrdiff_t step[5];      // from pixel to pixel
  std::ptrdiff_t width;        // in pixels
  __m512i flips, fills;        // fills: as they are read, not yet flipped
  __mmask64 replicated[2];     // as LaneWeights::replicated
};

struct ColumnQuads {
  __m512i v[2][4];
};

/// The column of pixels `x`, or of pixels x and x + 1, which may lie beside the row.
template <int Kernel, int Pixels>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET ColumnQuads column_quads(const ColumnRows& rows, std::ptrdiff_t x) noexcept {
  constexpr std::size_t count = Kernel;
  __m512i pixels[count];
  const bool first = static_cast<std::size_t>(x) < static_cast<std::size_t>(rows.width);
  const bool last = static_cast<std::size_t>(x + Pixels - 1) < static_cast<std::size_t>(rows.width);
  if (__builtin_expect(first && last, 1)) {
    DMLREF_UNROLL
    for (int y = 0; y < Kernel; ++y) pixels[y] = _mm512_loadu_si512(rows.row[y] + x * rows.step[y]);
  } else if (Pixels == 2 && (first || last)) {
    const __mmask64 there = first ? 0xFFFFFFFF : 0xFFFFFFFF00000000;
    DMLREF_UNROLL
    for (int y = 0; y < Kernel; ++y) {
      // Half of it may lie before the row: no pointer leads there.
      const auto at = reinterpret_cast<std::uintptr_t>(rows.row[y]) + static_cast<std::uintptr_t>(x * rows.step[y]);
      pixels[y] = _mm512_mask_loadu_epi8(rows.fills, there, reinterpret_cast<const void*>(at));
    }
  } else {
    const __m512i f = _mm512_xor_si512(rows.fills, rows.flips);
    return {{{f, f, f, f}, {f, f, f, f}}};
  }
  DMLREF_UNROLL
  for (int y = 0; y < Kernel; ++y) pixels[y] = _mm512_xor_si512(pixels[y], rows.flips);
  __m512i replica = pixels[2];
  if (__builtin_expect((rows.replicated[0] | rows.replicated[1]) != 0, 0)) {  // mostly none
    replica = _mm512_mask_mov_epi8(replica, rows.replicated[0], pixels[0]);
    replica = _mm512_mask_mov_epi8(replica, rows.replicated[1], pixels[1]);
  }
  ColumnQuads quads;
  interleave<0>(pixels[0], pixels[1], pixels[2], replica, quads.v[0]);
  if constexpr (Kernel == 5) interleave<0>(pixels[3], pixels[4], pixels[3], pixels[4], quads.v[1]);
  return quads;
}

/// What the channels of a vector need.
template <int Kernel>
struct ColumnConstants {
  __m512i weights[Kernel][column_groups<Kernel>][4], high[Kernel][4], start[4];
  Epilogue epilogue;
  std::uint32_t high_parts;  // as LaneWeights::high_parts
};

template <int Kernel>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void make_constants(const ColumnArgs& p, ColumnConstants<Kernel>& c) noexcept {
  constexpr std::ptrdiff_t column_bytes = 256 * column_groups<Kernel>;
  c.epilogue = Epilogue::of_channels(p.rounding);
  c.epilogue.load_block(p.rounding, 0);
  c.high_parts = p.weights.high_parts;
  for (int v = 0; v < 4; ++v) {
    for (int column = 0; column < Kernel; ++column) {
      const std::byte* const weights = p.weights.data + column_bytes * column + 64 * v;
      for (int u = 0; u < column_groups<Kernel>; ++u) {
        c.weights[column][u][v] = _mm512_loadu_si512(weights + 256 * u);
      }
      c.high[column][v] = _mm512_loadu_si512(weights + column_bytes * Kernel);
    }
    c.start[v] = _mm512_loadu_si512(p.rounding.sum + 16 * v);
  }
}

/// Adds column `at` of what output i sees to the sums of outputs i, i + 1, ….
template <int Kernel, int Step, int Outputs>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void add_column(__m512i (&sums)[Outputs][4], const ColumnQuads& quads,
                                                       const ColumnConstants<Kernel>& c, int at) noexcept {
  DMLREF_UNROLL
  for (int i = 0; i < Outputs; ++i) {
    const int column = at - Step * i;
    if (column < 0) break;
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) {
      __m512i sum = column == 0 ? c.start[v] : sums[i][v];
      DMLREF_UNROLL
      for (int u = 0; u < column_groups<Kernel>; ++u) {
        sum = _mm512_dpbusd_epi32(sum, quads.v[u][v], c.weights[column][u][v]);
      }
      sums[i][v] = sum;
    }
    if (__builtin_expect((c.high_parts >> column_groups<Kernel> * column & 1) == 0, 1)) continue;
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) sums[i][v] = _mm512_dpbusd_epi32(sums[i][v], quads.v[0][v], c.high[column][v]);
  }
}

/// Outputs of one row. `Step`: columns from one output, or pair of them, to the next.
template <int Kernel, int Step, int Pixels>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void column_row(const ColumnArgs& p, const LaneRounding& exact,
                                                       const ColumnRows& rows, const ColumnConstants<Kernel>& c,
                                                       std::ptrdiff_t to) noexcept {
  constexpr int in_work = (Kernel + Step - 1) / Step;
  const auto quads = [&](std::ptrdiff_t column) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    return column_quads<Kernel, Pixels>(rows, column - p.in.pad_x);
  };
  __m512i sums[in_work][4];  // of output i and those behind it, without the columns that are not yet read
  DMLREF_UNROLL
  for (int at = 0; at < Kernel - Step; ++at) add_column<Kernel, Step>(sums, quads(at), c, at);
  const std::ptrdiff_t outputs = (p.out.width + Pixels - 1) / Pixels;
  for (std::ptrdiff_t i = 0; i < outputs; ++i) {
    if (i > 0) to += Pixels * p.out_step;
    DMLREF_UNROLL
    for (int at = Kernel - Step; at < Kernel; ++at) add_column<Kernel, Step>(sums, quads(Step * i + at), c, at);
    const bool one = Pixels == 2 && 2 * i + 1 == p.out.width;  // and no second pixel
    if (__builtin_expect(c.epilogue.stores_sums, 0)) {
      c.epilogue.template store_sums<Factors::each>(sums[0], p.out.dst + 4 * to, one ? 2 : 4);
    } else {
      const __m512i bytes = c.epilogue.template bytes<Factors::each>(sums[0], exact, exact);
      if (Pixels == 2 && __builtin_expect(one, 0)) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p.out.dst + to), _mm512_castsi512_si256(bytes));
      } else {
        V::store(p.out.dst + to, bytes);
      }
    }
    DMLREF_UNROLL
    for (int n = 0; n + 1 < in_work; ++n) {
      DMLREF_UNROLL
      for (int v = 0; v < 4; ++v) sums[n][v] = sums[n + 1][v];
    }
  }
}

template <int Kernel, int Step, int Pixels>
[[gnu::noinline]] DMLREF_QLC_TARGET inline void column_rows(const ColumnArgs& args) noexcept {
  const ColumnArgs p = args;  // stores to bytes might change what it refers to
  ColumnConstants<Kernel> c;
  make_constants<Kernel>(p, c);
  alignas(64) std::uint8_t padding[64];
  ColumnRows rows;
  rows.width = p.in.width;
  rows.flips = _mm512_set1_epi8(static_cast<char>(p.in.flip));
  rows.fills = _mm512_set1_epi8(static_cast<char>(p.in.fill ^ p.in.flip));
  rows.replicated[0] = p.weights.replicated[0];
  rows.replicated[1] = p.weights.replicated[1];
  _mm512_store_si512(padding, rows.fills);
  for (std::ptrdiff_t y = 0; y < p.out.rows; ++y) {
    take_rows<Kernel>(p, y, padding, rows);
    column_row<Kernel, Step, Pixels>(p, args.rounding, rows, c, y * p.out.row_step);
  }
}

template <int Kernel>
DMLREF_QLC_TARGET inline void column_rows(const ColumnArgs& p) noexcept {
  if (p.pixels == 2) return column_rows<Kernel, 2, 2>(p);
  p.stride_x == 2 ? column_rows<Kernel, 2, 1>(p) : column_rows<Kernel, 1, 1>(p);
}
DMLREF_QLC_TARGET inline void channel_columns(const ColumnArgs& p) noexcept {
  p.kernel == 5 ? column_rows<5>(p) : column_rows<3>(p);
}

/// Vectors of 64 channels, or two pixels of 32.
inline bool columns_suit(const Geometry& g) noexcept {
  const bool pairs = g.groups == 32 && g.stride_x == 1 && g.in.x == 32 && g.out.x == 32;
  return g.in_channels == 1 && g.out_channels == 1 && (g.kernel_h == 3 || g.kernel_h == 5) &&
         g.kernel_w == g.kernel_h && g.dilation_y == 1 && g.dilation_x == 1 && g.stride_x <= 2 && g.in.c == 1 &&
         g.out.c == 1 && (pairs || g.groups >= 64);
}

#endif
