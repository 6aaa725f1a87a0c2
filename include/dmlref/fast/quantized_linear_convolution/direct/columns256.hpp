// columns256.hpp: depthwise 3x3 kernels over pixels whose channels lie in lanes, read where they are.
//
// A column is the three pixels that a kernel column sees. An output row is made from its left to its right, so pixels
// become 16 bits and pairs once for all the outputs that they are part of. Nine taps are five pairs:
//
//   rows 0 and 1 of a column    (w00 w10) (w01 w11) (w02 w12)
//   row 2 of two columns        (w20 w21)  (0  w22)
//
// 16 of 32 channels at a time, so that the sums of three outputs stay in registers: the results of the lower eight of
// each 128 bits wait in memory for those of the upper eight.
//
// Included once per set with 256-bit registers, inside its namespace, as epilogue.hpp; hence no guard. The includer
// defines DMLREF_QLC_TARGET and a function multiply_add(sums, pairs, weights) of 16-bit pairs; without them this is
// empty.
#if defined(DMLREF_QLC_TARGET)

/// Outputs of a row at a time.
inline constexpr std::ptrdiff_t most_outputs = 64;

/// What is the same for all columns of an output row.
struct ColumnRows {
  const std::uint8_t* row[3];  // pixel 0 of each kernel row, or filling
  std::ptrdiff_t step[3];      // from pixel to pixel
  std::ptrdiff_t width;        // in pixels
  __m256i flips, fills;        // fills: flipped, and 16 bits, as they are multiplied
};

/// A column of 16 channels.
struct Column {
  __m256i pairs[2];  // of rows 0 and 1
  __m256i last;      // row 2
};

/// Part of an output row.
struct RowPart {
  std::ptrdiff_t first;  // its first pixel column
  std::ptrdiff_t outputs;
  std::uint8_t* to;
  std::ptrdiff_t step;
};

/// Column `x`, which may lie beside the row; `at` are its places in the three rows.
template <bool High>
[[gnu::always_inline]] DMLREF_QLC_TARGET inline Column column_at(const ColumnRows& rows, std::ptrdiff_t x,
                                                                 const std::ptrdiff_t (&at)[3]) noexcept {
  if (static_cast<std::size_t>(x) >= static_cast<std::size_t>(rows.width)) {
    return {{rows.fills, rows.fills}, rows.fills};
  }
  const __m256i zero = _mm256_setzero_si256();
  __m256i words[3];
#pragma GCC unroll 3
  for (int y = 0; y < 3; ++y) {
    const __m256i bytes = _mm256_xor_si256(V::load(rows.row[y] + at[y]), rows.flips);
    words[y] = High ? _mm256_unpackhi_epi8(bytes, zero) : _mm256_unpacklo_epi8(bytes, zero);
  }
  return {{_mm256_unpacklo_epi16(words[0], words[1]), _mm256_unpackhi_epi16(words[0], words[1])}, words[2]};
}

/// Adds the products of pairs and the weights of a unit, of two vectors each.
[[gnu::always_inline]] DMLREF_QLC_TARGET inline void add_pairs(__m256i (&sums)[2], const __m256i (&pairs)[2],
                                                               const std::byte* weights) noexcept {
  sums[0] = multiply_add(sums[0], pairs[0], V::load(weights));
  sums[1] = multiply_add(sums[1], pairs[1], V::load(weights + 32));
}

[[gnu::always_inline]] DMLREF_QLC_TARGET inline void copy_sums(__m256i (&to)[2], const __m256i (&from)[2]) noexcept {
  to[0] = from[0];
  to[1] = from[1];
}

/// Half of the channels of part of a row, whose epilogue is `e`. `waiting`: where sums are floats, the results that the
/// lower half leaves for the upper one, 16 bits each; else sums, four vectors for each output.
template <int Step, bool High, bool Floats>
[[gnu::noinline]] DMLREF_QLC_TARGET inline void half_of_row(const LaneArgs& t, const avx2::Epilogue& e,
                                                            const ColumnRows& given, const RowPart& part,
                                                            __m256i* waiting) noexcept {
  const ColumnRows rows = given;                  // stores to bytes might change what it refers to
  constexpr std::ptrdiff_t first = High ? 2 : 0;  // of a block's four vectors
  constexpr std::ptrdiff_t unit_bytes = 128;
  const std::byte* const w = t.weights + 32 * first;
  const __m256i start[2] = {V::load(t.sum + 8 * first), V::load(t.sum + 8 * first + 8)};
  const __m256 scale[2] = {e.scale[first], e.scale[first + 1]}, shift[2] = {e.shift[first], e.shift[first + 1]};
  const __m256i flip = e.flip;
  const std::ptrdiff_t step = part.step;
  std::ptrdiff_t x = part.first;
  std::uint8_t* to = part.to;
  std::ptrdiff_t at[3] = {x * rows.step[0], x * rows.step[1], x * rows.step[2]};
  Column column = column_at<High>(rows, x, at);
  __m256i last = column.last, across[2];
  __m256i sums[2][2];  // of this output and the next, without the columns that are not yet read
  const auto read = [&]() DMLREF_QLC_TARGET {
    ++x;
#pragma GCC unroll 3
    for (int y = 0; y < 3; ++y) at[y] += rows.step[y];
    column = column_at<High>(rows, x, at);
    across[0] = _mm256_unpacklo_epi16(last, column.last);
    across[1] = _mm256_unpackhi_epi16(last, column.last);
    last = column.last;
  };
  const auto begin_output = [&](__m256i(&of)[2]) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    copy_sums(of, start);
    add_pairs(of, column.pairs, w);
  };
  const auto add_middle = [&]() __attribute__((always_inline)) DMLREF_QLC_TARGET {
    add_pairs(sums[0], column.pairs, w + unit_bytes);
    add_pairs(sums[0], across, w + 3 * unit_bytes);
  };
  begin_output(sums[0]);
  if constexpr (Step == 1) {
    read();
    add_middle();
    begin_output(sums[1]);
  }
  for (const std::uint8_t* const end = to + part.outputs * step; to != end; to += step) {
    if constexpr (Step == 2) {
      read();
      add_middle();
    }
    read();
    add_pairs(sums[0], column.pairs, w + 2 * unit_bytes);
    add_pairs(sums[0], across, w + 4 * unit_bytes);
    if constexpr (Floats) {
      const __m256i even = requantize::avx2::by_multiply_add(sums[0][0], scale[0], shift[0]);
      const __m256i odd = requantize::avx2::by_multiply_add(sums[0][1], scale[1], shift[1]);
      const __m256i words = requantize::avx2::join_low_halves(even, odd);
      if constexpr (High) {
        V::store(to, avx2::in_order(_mm256_xor_si256(_mm256_packs_epi16(*waiting++, words), flip)));
      } else {
        *waiting++ = words;
      }
    } else {
      waiting[first] = sums[0][0];
      waiting[first + 1] = sums[0][1];
      waiting += 4;
    }
    if constexpr (Step == 1) {
      copy_sums(sums[0], sums[1]);
      add_middle();
      begin_output(sums[1]);
    } else {
      begin_output(sums[0]);
    }
  }
}

template <int Step, bool Floats>
DMLREF_QLC_TARGET inline void columns_of(const LaneArgs& t, const ColumnArgs& columns) noexcept {
  const ColumnArgs p = columns;
  avx2::Epilogue e = avx2::make_epilogue(t);
  avx2::take_block(t, 0, e);
  alignas(32) std::uint8_t filling[32];
  __m256i waiting[static_cast<std::size_t>(most_outputs)][4];
  ColumnRows rows;
  rows.width = p.width;
  rows.flips = _mm256_set1_epi8(static_cast<char>(p.flip));
  rows.fills = _mm256_set1_epi16(p.fill);
  V::store(filling, _mm256_set1_epi8(static_cast<char>(p.fill ^ p.flip)));
  for (std::ptrdiff_t y = 0; y < p.out_rows; ++y) {
    take_rows<3>(p, y, filling, rows);
    for (std::ptrdiff_t x = 0; x < p.out_width; x += most_outputs) {
      const std::ptrdiff_t outputs = x + most_outputs < p.out_width ? most_outputs : p.out_width - x;
      const RowPart part{Step * x - p.pad_x, outputs, p.dst + y * p.dst_row_step + x * p.dst_column_step,
                         p.dst_column_step};
      half_of_row<Step, false, Floats>(t, e, rows, part, waiting[0]);
      half_of_row<Step, true, Floats>(t, e, rows, part, waiting[0]);
      for (std::ptrdiff_t i = 0; !Floats && i < outputs; ++i) {
        const __m256i bytes = avx2::quantize<Factors::each>(waiting[i], e, t, t.factor);
        V::store(part.to + i * part.step, avx2::in_order(bytes));
      }
    }
  }
}
DMLREF_QLC_TARGET inline void channel_columns(const LaneArgs& t, const ColumnArgs& p) noexcept {
  if (t.floats == 0) {
    p.stride_x == 2 ? columns_of<2, false>(t, p) : columns_of<1, false>(t, p);
  } else {
    p.stride_x == 2 ? columns_of<2, true>(t, p) : columns_of<1, true>(t, p);
  }
}

/// Vectors of 32 channels.
inline bool columns_suit(const Geometry& g) noexcept {
  return g.in_channels == 1 && g.out_channels == 1 && g.kernel_h == 3 && g.kernel_w == 3 && g.dilation_y == 1 &&
         g.dilation_x == 1 && g.stride_x <= 2 && g.in.c == 1 && g.out.c == 1 && g.groups >= 32;
}

#endif
