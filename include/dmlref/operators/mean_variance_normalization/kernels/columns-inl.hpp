// columns-inl.hpp: the kernels of neighbouring groups: one source for all instruction sets that have vectors.
//
// It is part of vectors-inl.hpp; without the macro DMLREF_VECTOR_TARGET it is empty. What scalar.hpp computes one by
// one, `unit` columns compute at a time: a vector of floats, or two of doubles.
#ifdef DMLREF_VECTOR_TARGET

// ---- Sums ----------------------------------------------------------------------------------------------------------

/// Adds `units` vectors of columns of a row.
template <class T, bool shifted, bool whole, std::size_t units>
DMLREF_VECTOR_TARGET void add_row(const std::byte* row, First first, const DoublePair (&pivot)[units],
                                  DoublePair (&total)[units], DoublePair (&square)[units]) noexcept {
  DMLREF_UNROLL
  for (std::size_t u = 0; u < units; ++u) {
    DoublePair x;
    if constexpr (whole) {
      x = doubles_from<T>(row + u * unit * sizeof(T));
    } else {
      x = widened(floats_from<T>(row, first));
    }
    if constexpr (shifted) x = difference(x, pivot[u]);
    accumulate(total[u], square[u], x);
  }
}

/// Prefetches whole rows in their order, some lines at each step of a subpanel: the prefetcher of L2 then soon runs
/// ahead.
struct RowPrefetch {
  Address from;  // 0: none
  const std::int64_t* offset;
  std::size_t rows, bytes, at_once;
  std::size_t row = 0, at = 0;  // what comes next

  DMLREF_VECTOR_TARGET void step() noexcept {
    if (from == 0) return;
    for (std::size_t k = 0; k < at_once && row < rows; ++k) {
      prefetch_line<0>(from + static_cast<Address>(offset[row]) + at);
      at += 64;
      if (at < bytes) continue;
      at = 0;
      ++row;
    }
  }
};

/// Adds `units` vectors of columns of a subpanel, some lanes at a time: enough chains of additions to hide their
/// latency. If not `whole`, only the first columns of one.
template <class T, bool shifted, bool whole, std::size_t units>
DMLREF_VECTOR_KERNEL void add_subpanel(const Columns& columns, std::size_t column, const double* pivot,
                                       ColumnLanes& lanes, RowPrefetch& ahead) noexcept {
  constexpr std::size_t at_once = target.summed_vectors > units ? target.summed_vectors / units : 1;
  SubpanelLanes& subpanel = lanes.subpanel[column / subpanel_width];
  const std::size_t within = column % subpanel_width;
  const First first(whole ? unit : columns.width - column);
  DoublePair p[units];
  DMLREF_UNROLL
  for (std::size_t u = 0; u < units; ++u)
    p[u] = shifted ? DoublePair::load(pivot + column + u * unit) : DoublePair::of(0.0);
  const std::byte* const from = columns.from + column * sizeof(T);
  const std::int64_t* const offset = columns.offset;
  const std::size_t rows = columns.rows;
  for (std::size_t lane = 0; lane < normalization_lanes && lane < rows; lane += at_once) {
    DoublePair s[at_once][units];
    DoublePair q[at_once][units];
    DMLREF_UNROLL
    for (std::size_t l = 0; l < at_once; ++l) {
      DMLREF_UNROLL
      for (std::size_t u = 0; u < units; ++u) {
        s[l][u] = DoublePair::load(&subpanel.sum[lane + l][within + u * unit]);
        q[l][u] = DoublePair::load(&subpanel.square[lane + l][within + u * unit]);
      }
    }
    std::size_t i = lane;
    for (; i + at_once <= rows; i += normalization_lanes) {
      ahead.step();
      DMLREF_UNROLL
      for (std::size_t l = 0; l < at_once; ++l) {
        add_row<T, shifted, whole, units>(from + offset[i + l], first, p, s[l], q[l]);
      }
    }
    DMLREF_UNROLL
    for (std::size_t l = 0; l + 1 < at_once; ++l) {
      if (i + l < rows) add_row<T, shifted, whole, units>(from + offset[i + l], first, p, s[l], q[l]);
    }
    DMLREF_UNROLL
    for (std::size_t l = 0; l < at_once; ++l) {
      DMLREF_UNROLL
      for (std::size_t u = 0; u < units; ++u) {
        store(reinterpret_cast<std::byte*>(&subpanel.sum[lane + l][within + u * unit]), s[l][u]);
        store(reinterpret_cast<std::byte*>(&subpanel.square[lane + l][within + u * unit]), q[l][u]);
      }
    }
  }
}
template <class T, bool shifted>
DMLREF_VECTOR_KERNEL void add_subpanels(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  constexpr std::size_t vectors =
      subpanel_width / unit < target.summed_vectors ? subpanel_width / unit : target.summed_vectors;
  constexpr std::size_t rows_at_once = target.summed_vectors / vectors;
  const std::size_t subpanels = (columns.width + vectors * unit - 1) / (vectors * unit);
  const std::size_t bytes = columns.width * sizeof(T);
  RowPrefetch ahead{columns.prefetch != 0 ? address_of(columns.from, columns.prefetch) : 0, columns.offset,
                    columns.rows, bytes, (rows_at_once * bytes + subpanels * 64 - 1) / (subpanels * 64)};
  std::size_t c = 0;
  for (; c + vectors * unit <= columns.width; c += vectors * unit) {
    add_subpanel<T, shifted, true, vectors>(columns, c, pivot, lanes, ahead);
  }
  if constexpr (vectors > 1) {
    for (; c + unit <= columns.width; c += unit) add_subpanel<T, shifted, true, 1>(columns, c, pivot, lanes, ahead);
  }
  if (c < columns.width) add_subpanel<T, shifted, false, 1>(columns, c, pivot, lanes, ahead);
}
template <class T>
DMLREF_VECTOR_KERNEL void add_columns(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  pivot != nullptr ? add_subpanels<T, true>(columns, pivot, lanes) : add_subpanels<T, false>(columns, nullptr, lanes);
}

/// Sums of a vector of columns over the lanes.
DMLREF_VECTOR_TARGET Doubles join(const double (&lane)[normalization_lanes][subpanel_width],
                                  std::size_t column) noexcept {
  Doubles t[normalization_lanes];
  DMLREF_UNROLL
  for (std::size_t l = 0; l < normalization_lanes; ++l) t[l] = Doubles::load(&lane[l][column]);
  DMLREF_UNROLL
  for (std::size_t l = 0; l < 8; ++l) t[l] = sum(t[l], t[l + 8]);
  DMLREF_UNROLL
  for (std::size_t l = 0; l < 4; ++l) t[l] = sum(t[l], t[l + 4]);
  return sum(sum(t[0], t[2]), sum(t[1], t[3]));
}
DMLREF_VECTOR_KERNEL void join_columns(const ColumnLanes& lanes, std::size_t width, double* total,
                                       double* square) noexcept {
  for (std::size_t c = 0; c < width; c += Doubles::lanes) {
    const SubpanelLanes& subpanel = lanes.subpanel[c / subpanel_width];
    store(reinterpret_cast<std::byte*>(total + c), join(subpanel.sum, c % subpanel_width));
    store(reinterpret_cast<std::byte*>(square + c), join(subpanel.square, c % subpanel_width));
  }
}

// ---- Results -------------------------------------------------------------------------------------------------------

/// `units` vectors of columns row by row, their coefficients in registers.
template <Finish finish, std::size_t units, bool shifted>
DMLREF_VECTOR_KERNEL void subpanel32(const Columns& columns, std::size_t column,
                                     const ColumnCoefficients32& coefficients, std::byte* to,
                                     const std::int64_t* to_offset, Floats upper, float* minimums) noexcept {
  DoublePair slope[units], offset[units];
  Minimum<finish> minimum[units];
  DMLREF_UNROLL
  for (std::size_t u = 0; u < units; ++u) {
    slope[u] = DoublePair::load(coefficients.slope + column + u * unit);
    offset[u] = DoublePair::load(coefficients.offset + column + u * unit);
    minimum[u] = no_minimum<finish>();
  }
  [[maybe_unused]] const double* const shift = coefficients.shift + column;
  const std::byte* const from = columns.from + column * sizeof(float);  // (copies: stores may change `columns`)
  const std::int64_t* const from_offset = columns.offset;
  const std::size_t rows = columns.rows;
  const std::size_t width = columns.width;
  const std::int64_t ahead = columns.prefetch;
  const bool streams = target.streams && columns.stream;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::byte* const row = from + from_offset[i];
    DMLREF_UNROLL
    for (std::size_t u = 0; u < units; ++u) {
      const std::size_t at = u * unit;
      if (target.prefetches && at * sizeof(float) % 64 == 0) prefetch_line(address_of(row + at * sizeof(float), ahead));
      DoublePair x = DoublePair::from_floats(row + at * sizeof(float));
      if constexpr (shifted) x = difference(x, DoublePair::load(shift + at));
      const DoublePair value = fma(x, slope[u], offset[u]);
      std::byte* const out = finish == Finish::unrounded ? to + i * width * sizeof(double) : to + to_offset[i];
      finish32<finish>(out + (column + at) * stored_bytes32<finish>, value, upper, minimum[u], streams);
    }
  }
  DMLREF_UNROLL
  for (std::size_t u = 0; u < units; ++u) {
    store(reinterpret_cast<std::byte*>(minimums + column + u * unit), magnitudes(minimum[u]));
  }
}
/// The first columns of a vector.
template <Finish finish>
DMLREF_VECTOR_KERNEL void few32(const Columns& columns, std::size_t column, const ColumnCoefficients32& coefficients,
                                std::byte* to, const std::int64_t* to_offset, Floats upper, float* minimums) noexcept {
  const First first(columns.width - column);
  const DoublePair shift = DoublePair::load(coefficients.shift + column);
  const DoublePair slope = DoublePair::load(coefficients.slope + column);
  const DoublePair offset = DoublePair::load(coefficients.offset + column);
  Minimum<finish> minimum = no_minimum<finish>();
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const std::byte* const row = columns.from + columns.offset[i] + column * sizeof(float);
    const DoublePair value = fma(difference(widened(floats_from<float>(row, first)), shift), slope, offset);
    if constexpr (finish == Finish::unrounded) {
      minimum = lesser_magnitude(minimum, value);
      std::byte space[unit * sizeof(double)];
      store(space, value);
      std::memcpy(to + (i * columns.width + column) * sizeof(double), space, first.count * sizeof(double));
    } else {
      store(to + to_offset[i] + column * sizeof(float), result_of<finish>(value, upper, minimum), first);
    }
  }
  store(reinterpret_cast<std::byte*>(minimums + column), magnitudes(minimum));
}
template <Finish finish, bool shifted>
DMLREF_VECTOR_KERNEL void columns32_of(const Columns& columns, const ColumnCoefficients32& coefficients, std::byte* to,
                                       const std::int64_t* to_offset, float upper_bound, float* minimums) noexcept {
  const Floats upper = Floats::of(upper_bound);
  constexpr std::size_t vectors = target.result_vectors;
  std::size_t c = 0;
  for (; c + vectors * unit <= columns.width; c += vectors * unit) {
    subpanel32<finish, vectors, shifted>(columns, c, coefficients, to, to_offset, upper, minimums);
  }
  if constexpr (vectors > 1) {
    for (; c + unit <= columns.width; c += unit) {
      subpanel32<finish, 1, shifted>(columns, c, coefficients, to, to_offset, upper, minimums);
    }
  }
  if (c < columns.width) few32<finish>(columns, c, coefficients, to, to_offset, upper, minimums);
}
template <Finish finish>
DMLREF_VECTOR_KERNEL void columns32(const Columns& columns, const ColumnCoefficients32& coefficients, std::byte* to,
                                    const std::int64_t* to_offset, float upper_bound, float* minimums) noexcept {
  bool shifted = !target.unshifted;
  for (std::size_t c = 0; c < columns.width && !shifted; ++c) shifted = coefficients.shift[c] != 0;
  if (shifted) return columns32_of<finish, true>(columns, coefficients, to, to_offset, upper_bound, minimums);
  columns32_of<finish, !target.unshifted>(columns, coefficients, to, to_offset, upper_bound, minimums);
}

/// `units` vectors of columns, several rows at a time where they are few: a branch for the comparisons of each costs
/// more than the rest of such a row. If not `whole`, only the first columns of one.
template <Finish finish, bool whole, std::size_t units>
DMLREF_VECTOR_KERNEL std::size_t subpanel16(const Columns& columns, std::size_t column,
                                            const ColumnCoefficients16& coefficients, std::byte* to,
                                            const std::int64_t* to_offset, Floats upper, std::uint16_t* list) noexcept {
  using Mask = decltype(ill_conditioned_of(Floats{}, Floats{}));
  constexpr std::size_t at_once = 4 / units;  // rows
  constexpr std::size_t size = stored_bytes16<finish>;
  const First first(whole ? unit : columns.width - column);
  Floats shift[units], slope[units], offset[units], error_bound[units];
  DMLREF_UNROLL
  for (std::size_t u = 0; u < units; ++u) {
    shift[u] = Floats::load(coefficients.shift + column + u * unit);
    slope[u] = Floats::load(coefficients.slope + column + u * unit);
    offset[u] = Floats::load(coefficients.offset + column + u * unit);
    error_bound[u] = Floats::load(coefficients.error_bound + column + u * unit);
  }
  const std::byte* const from = columns.from + column * sizeof(half);  // (copies: stores may change `columns`)
  const std::int64_t* const from_offset = columns.offset;
  const std::size_t rows = columns.rows;
  const std::size_t width = columns.width;
  const std::int64_t ahead = target.prefetches && column * sizeof(half) % 64 == 0 ? columns.prefetch : 0;
  std::size_t ill_conditioned = 0;
  for (std::size_t i = 0; i < rows; i += at_once) {
    Mask mask[4];
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t row = i + k / units;
      const std::size_t u = k % units;
      mask[k] = Mask{};
      if (row >= rows) continue;
      const std::byte* const halves = from + from_offset[row] + u * unit * sizeof(half);
      if (ahead != 0 && u * unit * sizeof(half) % 64 == 0) prefetch_line(address_of(halves, ahead));
      Floats x;
      if constexpr (whole) {
        x = floats_from<half>(halves);
      } else {
        x = floats_from<half>(halves, first);
      }
      const Floats value = fma(difference(x, shift[u]), slope[u], offset[u]);
      std::byte space[unit * size];
      std::byte* const place =
          (finish == Finish::unrounded ? to + row * width * size : to + to_offset[row]) + (column + u * unit) * size;
      finish16<finish>(whole ? place : space, value, upper, false);
      if constexpr (!whole) std::memcpy(place, space, first.count * size);
      mask[k] = ill_conditioned_of(value, error_bound[u]);
    }
    if (!any(or_(or_(mask[0], mask[1]), or_(mask[2], mask[3])))) continue;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t row = (i + k / units) * width;
      ill_conditioned =
          list_ill_conditioned(bits(mask[k]), row + column + k % units * unit, row + width, list, ill_conditioned);
    }
  }
  return ill_conditioned;
}
template <Finish finish>
DMLREF_VECTOR_KERNEL std::size_t columns16(const Columns& columns, const ColumnCoefficients16& coefficients,
                                           std::byte* to, const std::int64_t* to_offset, float upper_bound,
                                           std::uint16_t* list) noexcept {
  const Floats upper = Floats::of(upper_bound);
  constexpr std::size_t vectors = target.result_vectors;
  std::size_t ill_conditioned = 0;
  std::size_t c = 0;
  for (; c + vectors * unit <= columns.width; c += vectors * unit) {
    ill_conditioned +=
        subpanel16<finish, true, vectors>(columns, c, coefficients, to, to_offset, upper, list + ill_conditioned);
  }
  if constexpr (vectors > 1) {
    for (; c + unit <= columns.width; c += unit) {
      ill_conditioned +=
          subpanel16<finish, true, 1>(columns, c, coefficients, to, to_offset, upper, list + ill_conditioned);
    }
  }
  if (c < columns.width)
    ill_conditioned +=
        subpanel16<finish, false, 1>(columns, c, coefficients, to, to_offset, upper, list + ill_conditioned);
  return ill_conditioned;
}

inline const ColumnKernels& column_kernels() noexcept {
  using enum Finish;
  static constexpr ColumnKernels table{add_columns<float>,
                                       add_columns<half>,
                                       join_columns,
                                       {columns32<identity>, columns32<clamped>, columns32<unrounded>},
                                       {columns16<identity>, columns16<clamped>, columns16<unrounded>},
                                       target.large_blocks};
  return table;
}

#endif  // DMLREF_VECTOR_TARGET
