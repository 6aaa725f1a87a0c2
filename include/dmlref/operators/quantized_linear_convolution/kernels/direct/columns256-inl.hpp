// columns256-inl.hpp: depthwise 3x3 kernels over pixels whose channels lie in lanes, read where they are.
//
// A column is the three pixels that a kernel column sees. An output row is made from its left to its right, so pixels
// become 16 bits and pairs once for all the outputs that they are part of. Nine taps are five pairs:
//
//   rows 0 and 1 of a column    (w00 w10) (w01 w11) (w02 w12)
//   row 2 of two columns        (w20 w21)  (0  w22)
//
// 16 of 32 channels at a time, so that the sums of three outputs stay in registers: they wait in memory until those of
// all channels are there to be rounded.
//
// Included once per set with 256-bit registers, inside its namespace, as epilogue.hpp; hence no guard. The includer
// defines DMLREF_QLC_TARGET and a function multiply_add(sums, pairs, weights) of 16-bit pairs; without them this is
// empty.
#if defined(DMLREF_QLC_TARGET)

/// Outputs of a row at a time.
inline constexpr std::ptrdiff_t max_outputs = 64;

/// What is the same for all columns of an output row.
struct ColumnRows {
  const std::uint8_t* row[3];  // pixel 0 of each kernel row, or padding
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
};

/// Column `x`, which may lie beside the row; `at` are its places in the three rows.
template <bool High>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Column column_at(const ColumnRows& rows, std::ptrdiff_t x,
                                                        const std::ptrdiff_t (&at)[3]) noexcept {
  if (static_cast<std::size_t>(x) >= static_cast<std::size_t>(rows.width)) {
    return {{rows.fills, rows.fills}, rows.fills};
  }
  const __m256i zero = _mm256_setzero_si256();
  __m256i words[3];
  DMLREF_UNROLL
  for (int y = 0; y < 3; ++y) {
    const __m256i bytes = _mm256_xor_si256(V::load(rows.row[y] + at[y]), rows.flips);
    words[y] = High ? _mm256_unpackhi_epi8(bytes, zero) : _mm256_unpacklo_epi8(bytes, zero);
  }
  return {{_mm256_unpacklo_epi16(words[0], words[1]), _mm256_unpackhi_epi16(words[0], words[1])}, words[2]};
}

/// Adds the products of pairs and the weights of a K-group, of two vectors each.
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void add_pairs(__m256i (&sums)[2], const __m256i (&pairs)[2],
                                                      const std::byte* weights) noexcept {
  sums[0] = multiply_add(sums[0], pairs[0], V::load(weights));
  sums[1] = multiply_add(sums[1], pairs[1], V::load(weights + 32));
}

DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void copy_sums(__m256i (&to)[2], const __m256i (&from)[2]) noexcept {
  to[0] = from[0];
  to[1] = from[1];
}

/// Sums of half of the channels of part of a row, to those vectors of `sums_of` each output.
template <int Step, bool High>
[[gnu::noinline]] DMLREF_QLC_TARGET inline void half_of_row(const ColumnArgs& args, const ColumnRows& given,
                                                            const RowPart& part, __m256i (*sums_of)[4]) noexcept {
  const ColumnRows rows = given;                  // stores might change what it refers to
  constexpr std::ptrdiff_t first = High ? 2 : 0;  // of a block's four vectors
  constexpr std::ptrdiff_t group_bytes = 128;
  const std::byte* const w = args.weights.data + 32 * first;
  const __m256i start[2] = {V::load(args.rounding.sum + 8 * first), V::load(args.rounding.sum + 8 * first + 8)};
  std::ptrdiff_t x = part.first;
  std::ptrdiff_t at[3] = {x * rows.step[0], x * rows.step[1], x * rows.step[2]};
  Column column = column_at<High>(rows, x, at);
  __m256i last = column.last, across[2];
  __m256i sums[2][2];  // of this output and the next, without the columns that are not yet read
  const auto read = [&]() DMLREF_QLC_TARGET {
    ++x;
    DMLREF_UNROLL
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
    add_pairs(sums[0], column.pairs, w + group_bytes);
    add_pairs(sums[0], across, w + 3 * group_bytes);
  };
  begin_output(sums[0]);
  if constexpr (Step == 1) {
    read();
    add_middle();
    begin_output(sums[1]);
  }
  for (const auto* const end = sums_of + part.outputs; sums_of != end; ++sums_of) {
    if constexpr (Step == 2) {
      read();
      add_middle();
    }
    read();
    add_pairs(sums[0], column.pairs, w + 2 * group_bytes);
    add_pairs(sums[0], across, w + 4 * group_bytes);
    (*sums_of)[first] = sums[0][0];
    (*sums_of)[first + 1] = sums[0][1];
    if constexpr (Step == 1) {
      copy_sums(sums[0], sums[1]);
      add_middle();
      begin_output(sums[1]);
    } else {
      begin_output(sums[0]);
    }
  }
}

template <int Step>
DMLREF_QLC_TARGET inline void columns_of(const ColumnArgs& args) noexcept {
  const ColumnArgs p = args;
  Epilogue e = Epilogue::of_channels(p.rounding);
  e.load_block(p.rounding, 0);
  alignas(32) std::uint8_t padding[32];
  __m256i sums[static_cast<std::size_t>(max_outputs)][4];
  ColumnRows rows;
  rows.width = p.in.width;
  rows.flips = V::all_bytes(p.in.flip);
  rows.fills = _mm256_set1_epi16(p.in.fill);
  V::store(padding, V::all_bytes(static_cast<std::uint8_t>(p.in.fill ^ p.in.flip)));
  for (std::ptrdiff_t y = 0; y < p.out.rows; ++y) {
    take_rows<3>(p, y, padding, rows);
    for (std::ptrdiff_t x = 0; x < p.out.width; x += max_outputs) {
      const RowPart part{Step * x - p.in.pad_x, smaller(max_outputs, p.out.width - x)};
      half_of_row<Step, false>(args, rows, part, sums);
      half_of_row<Step, true>(args, rows, part, sums);
      const std::ptrdiff_t to = y * p.out.row_step + x * p.out_step;
      for (std::ptrdiff_t i = 0; i < part.outputs; ++i) {
        e.store<Factors::each>(sums[i], args.rounding, args.rounding, p.out.dst, to + i * p.out_step);
      }
    }
  }
}
DMLREF_QLC_TARGET inline void channel_columns(const ColumnArgs& p) noexcept {
  p.stride_x == 2 ? columns_of<2>(p) : columns_of<1>(p);
}

/// Vectors of 32 channels.
inline bool columns_suit(const Geometry& g) noexcept {
  return g.in_channels == 1 && g.out_channels == 1 && g.kernel_h == 3 && g.kernel_w == 3 && g.dilation_y == 1 &&
         g.dilation_x == 1 && g.stride_x <= 2 && g.in.c == 1 && g.out.c == 1 && g.groups >= 32;
}

#endif
