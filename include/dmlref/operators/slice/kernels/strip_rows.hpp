// strip_rows.hpp: transposition: rows whose neighbours in the input lie across the output, for every target with
// vectors of 16 bytes. Included as shuffle_rows.hpp is; the includer defines unpack_low and unpack_high besides.
#if defined(DMLREF_SLICE_TARGET)

/// A square of 16 / Unit by 16 / Unit units. Zipping the upper half of the rows with the lower half, log2 of their
/// number times, transposes.
template <std::size_t Unit>
DMLREF_SLICE_TARGET inline void transpose_square(const std::byte* in, std::byte* out, Index in_step,
                                                 Index out_cross) noexcept {
  constexpr std::size_t rows = 16 / Unit;
  Bytes16 a[rows], b[rows];
  DMLREF_UNROLL
  for (std::size_t i = 0; i < rows; ++i) a[i] = load16(in + static_cast<Index>(i) * in_step);
  DMLREF_UNROLL
  for (std::size_t stage = 1; stage < rows; stage *= 2) {
    DMLREF_UNROLL
    for (std::size_t i = 0; i < rows / 2; ++i) {
      b[2 * i] = unpack_low<Unit>(a[i], a[i + rows / 2]);
      b[2 * i + 1] = unpack_high<Unit>(a[i], a[i + rows / 2]);
    }
    DMLREF_UNROLL
    for (std::size_t i = 0; i < rows; ++i) a[i] = b[i];
  }
  DMLREF_UNROLL
  for (std::size_t i = 0; i < rows; ++i) store16(out + static_cast<Index>(i) * out_cross, a[i]);
}

/// Strips of neighbours in the input: squares, the last ones of a strip and of a row overlap the ones before.
template <std::size_t Unit>
DMLREF_SLICE_TARGET inline void strip_rows_of(const StripRows& strip, const std::byte* in, std::byte* out,
                                              const RowPlace* rows, std::size_t count) noexcept {
  constexpr std::size_t square = 16 / Unit;
  constexpr std::size_t block = (Unit == 1 ? 128 : 256) / Unit;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    for (std::size_t begin = 0; begin < strip.count; begin += block) {
      const std::size_t end = begin + block < strip.count ? begin + block : strip.count;
      for (std::size_t w = 0; w < strip.width; w += square) {
        const auto column = static_cast<Index>(w + square <= strip.width ? w : strip.width - square);
        for (std::size_t i = begin; i < end; i += square) {
          const auto row = static_cast<Index>(i + square <= strip.count ? i : strip.count - square);
          transpose_square<Unit>(from + row * strip.in_step + column * static_cast<Index>(Unit),
                                 to + column * strip.out_cross + row * static_cast<Index>(Unit), strip.in_step,
                                 strip.out_cross);
        }
      }
    }
  }
}

DMLREF_SLICE_TARGET inline void strip_rows(const RowStrategy& strategy, const std::byte* in, std::byte* out,
                                           const RowPlace* rows, std::size_t count, RowAccess access) noexcept {
  const auto& strip = static_cast<const StripRows&>(strategy);
  const std::size_t square = 16 / strip.unit_bytes;
  if (strip.in_cross == static_cast<Index>(strip.unit_bytes) && strip.count >= square && strip.width >= square) {
    switch (strip.unit_bytes) {
      case 1: return strip_rows_of<1>(strip, in, out, rows, count);
      case 2: return strip_rows_of<2>(strip, in, out, rows, count);
      case 4: return strip_rows_of<4>(strip, in, out, rows, count);
      case 8: return strip_rows_of<8>(strip, in, out, rows, count);
      default: break;
    }
  }
  scalar::strip_rows(strip, in, out, rows, count, access);
}

#endif
