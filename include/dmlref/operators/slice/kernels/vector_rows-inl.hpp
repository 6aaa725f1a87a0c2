// vector_rows-inl.hpp: rows copied, shuffled in steps of a pattern, and transposed, for every target with vectors of 16
// bytes. Included once per target, inside that target's namespace, because a target attribute cannot be a template
// parameter; hence no guard. The includer defines DMLREF_SLICE_TARGET (the attribute); Bytes16, load16, store16,
// stream16, load_control, shuffle16 (0 where a control is 0x80), or16, unpack_low and unpack_high; Vector, of
// vector_bytes, load and store of it; copy_long_rows, for rows of more than eight vectors and other stores than cached;
// and `streams`: whether there are prefetches and non-temporal stores. Without them this is empty.
#if defined(DMLREF_SLICE_TARGET)

/// Rows of Vectors vectors or of up to a vector less a byte fewer. One function with the other lengths would keep
/// addresses of its loops on the stack (18 bytes a row: a fifth more time).
template <std::size_t Vectors>
DMLREF_NOINLINE DMLREF_SLICE_TARGET inline void copy_short_rows(const RowCopy& row, const std::byte* in, std::byte* out,
                                                                const RowPlace* rows, std::size_t count) noexcept {
  constexpr std::size_t step = vector_bytes;
  const std::size_t last = row.out_bytes - step;
  const std::size_t ahead = 2 * row.prefetch.rows;
  const std::optional<Index> output = row.prefetch.output_bytes;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    if (streams && output) {
      DMLREF_UNROLL
      for (std::size_t k = 0; k < Vectors * step; k += 64) scalar::prefetch(to, *output + static_cast<Index>(k));
    } else if constexpr (streams && Vectors * step > 64) {
      const std::byte* const later = in + rows[r + ahead < count ? r + ahead : r].in;
      DMLREF_UNROLL
      for (std::size_t k = 0; k < Vectors * step; k += 64) scalar::prefetch(later, static_cast<Index>(k));
    }
    Vector v[Vectors];
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) v[k] = load(from + step * k);
    v[Vectors - 1] = load(from + last);
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) store(to + step * k, v[k]);
    store(to + last, v[Vectors - 1]);
  }
}

DMLREF_SLICE_TARGET inline void copy_rows(const RowCopy& row, const std::byte* in, std::byte* out, const RowPlace* rows,
                                          std::size_t count, const RowAccess& access) noexcept {
  const std::size_t bytes = row.out_bytes;
  const bool slack = access.read_slack && access.write_slack;
  if (bytes > 8 * vector_bytes || row.prefetch.whole_rows || access.stores != Stores::cached) {
    copy_long_rows(row, in, out, rows, count, access);
  } else if (bytes >= vector_bytes) {
    switch ((bytes + vector_bytes - 1) / vector_bytes) {
      case 1: return copy_short_rows<1>(row, in, out, rows, count);
      case 2: return copy_short_rows<2>(row, in, out, rows, count);
      case 3: return copy_short_rows<3>(row, in, out, rows, count);
      case 4: return copy_short_rows<4>(row, in, out, rows, count);
      case 5: return copy_short_rows<5>(row, in, out, rows, count);
      case 6: return copy_short_rows<6>(row, in, out, rows, count);
      case 7: return copy_short_rows<7>(row, in, out, rows, count);
      default: return copy_short_rows<8>(row, in, out, rows, count);
    }
  } else if (bytes > 16 && slack) {
    const std::optional<Index> output = row.prefetch.output_bytes;
    for (std::size_t r = 0; r < count; ++r) {
      if (streams && output) scalar::prefetch(out + rows[r].out, *output);
      store(out + rows[r].out, load(in + rows[r].in));
    }
  } else if (bytes >= 16) {
    for (std::size_t r = 0; r < count; ++r) {
      const std::byte* from = in + rows[r].in;
      std::byte* to = out + rows[r].out;
      const Bytes16 first = load16(from), last = load16(from + bytes - 16);
      store16(to, first);
      store16(to + bytes - 16, last);
    }
  } else if (slack) {
    for (std::size_t r = 0; r < count; ++r) store16(out + rows[r].out, load16(in + rows[r].in));
  } else {
    for (std::size_t r = 0; r < count; ++r) scalar::copy_few(out + rows[r].out, in + rows[r].in, bytes);
  }
}

/// The first `bytes` of v, 1 to 16.
DMLREF_SLICE_TARGET inline void store_part(std::byte* out, Bytes16 v, std::size_t bytes) noexcept {
  if (bytes == 16) return store16(out, v);
  std::byte part[16];
  store16(part, v);
  scalar::copy_few(out, part, bytes);
}

/// A pattern in registers: the compiler may not keep what lies in memory there, as every store of bytes might change
/// it.
template <std::size_t Vectors, std::size_t Terms>
struct HeldPattern {
  Bytes16 control[Vectors * Terms];
  Index load[Vectors * Terms];
  std::size_t pitch;

  DMLREF_SLICE_TARGET DMLREF_ALWAYS_INLINE explicit HeldPattern(const ShufflePattern& pattern) noexcept
      : pitch(pattern.pitch) {
    DMLREF_UNROLL
    for (std::size_t t = 0; t < Vectors * Terms; ++t) {
      control[t] = load_control(pattern.term[t]);
      load[t] = pattern.term[t].load;
    }
  }

  /// One step, the last vector whole; all loads before the stores. Stream: `out` is a multiple of 16.
  template <bool Stream>
  DMLREF_SLICE_TARGET DMLREF_ALWAYS_INLINE void step(const std::byte* in, std::byte* out) const noexcept {
    Bytes16 v[Vectors];
    DMLREF_UNROLL
    for (std::size_t p = 0; p < Vectors; ++p) {
      v[p] = shuffle16(load16(in + load[p * Terms]), control[p * Terms]);
      DMLREF_UNROLL
      for (std::size_t t = p * Terms + 1; t < (p + 1) * Terms; ++t) {
        v[p] = or16(v[p], shuffle16(load16(in + load[t]), control[t]));
      }
    }
    DMLREF_UNROLL
    for (std::size_t p = 0; p < Vectors; ++p) {
      if constexpr (Stream) {
        stream16(out + 16 * p, v[p]);
      } else {
        store16(out + (Terms == 1 ? pitch : 16) * p, v[p]);
      }
    }
  }
};

/// A pattern of any size, out of memory.
struct AnyPattern {
  const ShufflePattern& pattern;

  DMLREF_SLICE_TARGET Bytes16 vector(std::size_t p, const std::byte* in) const noexcept {
    const ShuffleTerm* term = &pattern.term[p * pattern.terms];
    Bytes16 v = shuffle16(load16(in + term->load), load_control(*term));
    for (std::size_t t = 1; t < pattern.terms; ++t) {
      v = or16(v, shuffle16(load16(in + term[t].load), load_control(term[t])));
    }
    return v;
  }

  template <bool Stream>
  DMLREF_SLICE_TARGET void step(const std::byte* in, std::byte* out) const noexcept {
    for (std::size_t p = 0; p < pattern.vectors; ++p, out += pattern.pitch) {
      const Bytes16 v = vector(p, in);
      if constexpr (Stream) {
        stream16(out, v);
      } else {
        store16(out, v);
      }
    }
  }
};

/// What is left of a row.
struct PatternRow {
  const std::byte* from;
  std::byte* to;
  std::size_t left;          // periods
  std::size_t streamed = 0;  // steps by non-temporal stores
};

/// From the first whole line of a row on. Streamed are fours of steps, which are whole lines, as one that is written
/// half past and half through the caches costs as much as many. `last`: periods that are left to the row's end at
/// least.
DMLREF_NOINLINE inline PatternRow begin_stream(const PatternRows& rows, std::size_t last, PatternRow row) noexcept {
  const std::size_t bytes = rows.period.bytes();
  if (rows.pattern.last_bytes != 16) return row;
  std::size_t head = 0;
  while (head < 64 && head < row.left && scalar::misaligned(row.to + head * bytes, 64) != 0) ++head;
  if (head == 64 || head >= row.left || row.left - head < rows.pattern.periods + last) return row;
  scalar::step_periods(rows.period, row.from, row.to, head);
  row.from += static_cast<Index>(head) * rows.period.in_advance;
  row.to += head * bytes;
  row.left -= head;
  row.streamed = (row.left - last) / rows.pattern.periods / 4 * 4;
  return row;
}

/// The end of a row, at least a period, where nothing beyond it may be written, or even read.
DMLREF_NOINLINE DMLREF_SLICE_TARGET inline void end_row_exactly(const PatternRows& rows, PatternRow row,
                                                                bool may_read) noexcept {
  const ShufflePattern& pattern = rows.pattern;
  if (!may_read) return scalar::step_periods(rows.period, row.from, row.to, row.left);
  while (true) {
    if (row.left < pattern.periods) {  // does again some periods that are done
      const std::size_t back = pattern.periods - row.left;
      row.from -= static_cast<Index>(back) * rows.period.in_advance;
      row.to -= back * rows.period.bytes();
      row.left = pattern.periods;
    }
    for (std::size_t p = 0; p < pattern.vectors; ++p) {
      store_part(row.to + pattern.pitch * p, AnyPattern{pattern}.vector(p, row.from),
                 p + 1 < pattern.vectors ? 16 : pattern.last_bytes);
    }
    row.left -= pattern.periods;
    if (row.left == 0) return;  // the next step may be longer than all addresses that follow
    row.from += pattern.in_advance;
    row.to += pattern.out_advance;
  }
}

/// The streamed steps of a row: in a function of their own, whose loop fits the registers. `next_row`: from the end of
/// this row to the one that is prefetched there.
template <class Pattern>
DMLREF_NOINLINE DMLREF_SLICE_TARGET inline PatternRow stream_steps(const PatternRows& rows, PatternRow row,
                                                                   Index next_row) noexcept {
  const Pattern held{rows.pattern};
  const std::size_t periods = rows.pattern.periods, out_advance = rows.pattern.out_advance;
  const Index in_advance = rows.pattern.in_advance, step = rows.period.in_advance;
  const Index ahead = !rows.prefetch.own_row ? 0 : step < 0 ? -2048 : 2048;
  const std::size_t ahead_periods = step == 0 ? 0 : static_cast<std::size_t>(ahead / step);
  for (; row.streamed > 0; --row.streamed, row.left -= periods) {
    if (ahead != 0) scalar::prefetch(row.from, row.left > ahead_periods ? ahead : ahead + next_row);
    held.template step<true>(row.from, row.to);
    row.from += in_advance;
    row.to += out_advance;
  }
  return row;
}

template <class Pattern>
DMLREF_SLICE_TARGET inline void shuffle_rows_by(const PatternRows& strategy, const std::byte* in, std::byte* out,
                                                const RowPlace* rows, std::size_t count,
                                                const RowAccess& access) noexcept {
  const Pattern held{strategy.pattern};
  const std::size_t periods = strategy.pattern.periods, out_advance = strategy.pattern.out_advance;
  const std::size_t row_periods = strategy.count, period_bytes = strategy.period.bytes();
  const Index in_advance = strategy.pattern.in_advance, step = strategy.period.in_advance;
  const bool may_read = access.read_slack || strategy.pattern.over_read == 0;
  const bool exact = !may_read || !(access.write_slack || strategy.pattern.last_bytes == 16);
  if (row_periods == periods && !exact) {  // (the loops below take short rows twice the time)
    const std::optional<Index> output = strategy.prefetch.output_bytes;
    for (std::size_t r = 0; r < count; ++r) {
      if (streams && output) scalar::prefetch(out + rows[r].out, *output);
      held.template step<false>(in + rows[r].in, out + rows[r].out);
    }
    return;
  }
  const std::size_t last = exact && strategy.pattern.spill > 1 ? strategy.pattern.spill : 1;  // must follow a step
  for (std::size_t r = 0; r < count; ++r) {
    PatternRow row{in + rows[r].in, out + rows[r].out, row_periods};
    if (streams && access.stores != Stores::cached) {
      row = begin_stream(strategy, last, row);
      const Index next_row = r + 1 < count ? rows[r + 1].in - rows[r].in - static_cast<Index>(row_periods) * step : 0;
      if (row.streamed > 0) row = stream_steps<Pattern>(strategy, row, next_row);
    }
    for (; row.left >= periods + last; row.left -= periods) {
      held.template step<false>(row.from, row.to);
      row.from += in_advance;
      row.to += out_advance;
    }
    if (exact) {
      end_row_exactly(strategy, row, may_read);
      continue;
    }
    // The row's last step does again some periods that are done, if it must.
    const std::size_t back = periods - row.left;
    held.template step<false>(row.from - static_cast<Index>(back) * step, row.to - back * period_bytes);
  }
}

/// The larger patterns are rare and take their size at run time.
DMLREF_SLICE_TARGET inline void shuffle_rows(const RowCopy& strategy, const std::byte* in, std::byte* out,
                                             const RowPlace* rows, std::size_t count,
                                             const RowAccess& access) noexcept {
  const auto& pattern = static_cast<const PatternRows&>(strategy);
  switch (pattern.pattern.vectors * 10 + pattern.pattern.terms) {
    case 11: return shuffle_rows_by<HeldPattern<1, 1>>(pattern, in, out, rows, count, access);
    case 12: return shuffle_rows_by<HeldPattern<1, 2>>(pattern, in, out, rows, count, access);
    case 13: return shuffle_rows_by<HeldPattern<1, 3>>(pattern, in, out, rows, count, access);
    case 14: return shuffle_rows_by<HeldPattern<1, 4>>(pattern, in, out, rows, count, access);
    case 21: return shuffle_rows_by<HeldPattern<2, 1>>(pattern, in, out, rows, count, access);
    case 22: return shuffle_rows_by<HeldPattern<2, 2>>(pattern, in, out, rows, count, access);
    case 23: return shuffle_rows_by<HeldPattern<2, 3>>(pattern, in, out, rows, count, access);
    case 31: return shuffle_rows_by<HeldPattern<3, 1>>(pattern, in, out, rows, count, access);
    case 32: return shuffle_rows_by<HeldPattern<3, 2>>(pattern, in, out, rows, count, access);
    case 41: return shuffle_rows_by<HeldPattern<4, 1>>(pattern, in, out, rows, count, access);
    default: return shuffle_rows_by<AnyPattern>(pattern, in, out, rows, count, access);
  }
}

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

/// Panels of neighbours in the input: squares, the last ones of a panel and of a row overlap the ones before.
template <std::size_t Unit>
DMLREF_SLICE_TARGET inline void transpose_panels_of(const PanelRows& panel, const std::byte* in, std::byte* out,
                                                    const RowPlace* rows, std::size_t count) noexcept {
  constexpr std::size_t square = 16 / Unit;
  constexpr std::size_t block = (Unit == 1 ? 128 : 256) / Unit;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    for (std::size_t begin = 0; begin < panel.count; begin += block) {
      const std::size_t end = begin + block < panel.count ? begin + block : panel.count;
      for (std::size_t w = 0; w < panel.width; w += square) {
        const auto column = static_cast<Index>(w + square <= panel.width ? w : panel.width - square);
        for (std::size_t i = begin; i < end; i += square) {
          const auto row = static_cast<Index>(i + square <= panel.count ? i : panel.count - square);
          transpose_square<Unit>(from + row * panel.in_step + column * static_cast<Index>(Unit),
                                 to + column * panel.out_cross + row * static_cast<Index>(Unit), panel.in_step,
                                 panel.out_cross);
        }
      }
    }
  }
}

DMLREF_SLICE_TARGET inline void transpose_panels(const RowCopy& strategy, const std::byte* in, std::byte* out,
                                                 const RowPlace* rows, std::size_t count,
                                                 const RowAccess& access) noexcept {
  const auto& panel = static_cast<const PanelRows&>(strategy);
  const std::size_t square = 16 / panel.unit_bytes;
  if (panel.in_cross == static_cast<Index>(panel.unit_bytes) && panel.count >= square && panel.width >= square) {
    switch (panel.unit_bytes) {
      case 1: return transpose_panels_of<1>(panel, in, out, rows, count);
      case 2: return transpose_panels_of<2>(panel, in, out, rows, count);
      case 4: return transpose_panels_of<4>(panel, in, out, rows, count);
      case 8: return transpose_panels_of<8>(panel, in, out, rows, count);
      default: break;
    }
  }
  scalar::transpose_panels(panel, in, out, rows, count, access);
}

#endif
