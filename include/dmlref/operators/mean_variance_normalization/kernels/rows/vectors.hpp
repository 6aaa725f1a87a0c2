// vectors.hpp: the kernels of rows and of pieces: one source for all instruction sets that have vectors. Included once
// in the namespace of each, see avx2.hpp. What scalar.hpp computes one by one, these do in blocks of 16.
#ifdef DMLREF_VECTOR_TARGET

inline constexpr std::size_t block = normalization_lanes;
inline constexpr std::size_t block_units = block / unit;

// ---- Sums ----------------------------------------------------------------------------------------------------------

template <class T>
DMLREF_VECTOR_TARGET void widen_unit(const std::byte* from, float* floats) noexcept {
  store(reinterpret_cast<std::byte*>(floats), floats_from<T>(from));
}
// (Unrolled: five instructions may lie across two lines of the instruction cache, and then take twice as long.)
DMLREF_VECTOR_KERNEL void widen(const std::byte* halves, float* floats, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 32; k += unit) widen_unit<half>(halves + (i + k) * sizeof(half), floats + i + k);
  }
  for (; i + unit <= count; i += unit) widen_unit<half>(halves + i * sizeof(half), floats + i);
  if (i < count) {
    const First first(count - i);
    store(reinterpret_cast<std::byte*>(floats + i), floats_from<half>(halves + i * sizeof(half), first), first);
  }
}

/// The lanes in registers.
struct Lanes {
  Wide total[block_units];
  Wide square[block_units];
};
DMLREF_VECTOR_TARGET void clear(Lanes& lanes) noexcept {
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) lanes.total[u] = lanes.square[u] = Wide::of(0);
}
/// Adds a block of floats or halves. `keep`: `kept` takes them as doubles.
template <class T, bool keep>
DMLREF_VECTOR_TARGET void add_block(Lanes& lanes, const std::byte* elements, double* kept) noexcept {
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) {
    const Wide x = doubles_from<T>(elements + u * unit * sizeof(T));
    if constexpr (keep) store(reinterpret_cast<std::byte*>(kept + u * unit), x);
    accumulate(lanes.total[u], lanes.square[u], x);
  }
  static_cast<void>(kept);
}
/// Adds the last elements of a chunk, fewer than a block; what is left of it is taken as zeros, which change no sum.
template <class T, bool keep>
DMLREF_VECTOR_TARGET void add_last(Lanes& lanes, const std::byte* elements, std::size_t count, double* kept) noexcept {
  alignas(64) std::byte last[block * sizeof(T)]{};
  std::memcpy(last, elements, count * sizeof(T));
  add_block<T, keep>(lanes, last, kept);
}

/// The lanes in the order of reference::sum_lanes.
DMLREF_VECTOR_TARGET double sum_lanes(const Wide (&of)[block_units]) noexcept {
  Doubles lane[2 * block_units];
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) {
    lane[2 * u] = of[u].first;
    lane[2 * u + 1] = of[u].second;
  }
  DMLREF_UNROLL
  for (std::size_t n = block_units; n > 0; n /= 2) {
    DMLREF_UNROLL
    for (std::size_t k = 0; k < n; ++k) lane[k] = sum(lane[k], lane[k + n]);
  }
  return sum_of_lanes(lane[0]);
}
DMLREF_VECTOR_TARGET SumAndSquare total_of(const Lanes& lanes) noexcept {
  return {sum_lanes(lanes.total), sum_lanes(lanes.square)};
}

template <bool keep>
DMLREF_VECTOR_KERNEL SumAndSquare sums_of(const std::byte* floats, std::size_t count, double* wide,
                                          const std::byte* output) noexcept {
  Lanes lanes;
  clear(lanes);
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    if (Target::prefetches && output != nullptr) prefetch_line<1>(address_of(output + i * sizeof(float)));
    add_block<float, keep>(lanes, floats + i * sizeof(float), keep ? wide + i : nullptr);
  }
  if (i < count) add_last<float, keep>(lanes, floats + i * sizeof(float), count - i, keep ? wide + i : nullptr);
  return total_of(lanes);
}
DMLREF_VECTOR_KERNEL SumAndSquare sums(const std::byte* floats, std::size_t count, double* wide,
                                       const std::byte* output) noexcept {
  return wide != nullptr ? sums_of<true>(floats, count, wide, output) : sums_of<false>(floats, count, nullptr, output);
}
/// Rare. What is left of the last block is added one by one.
DMLREF_VECTOR_KERNEL SumAndSquare shifted_sums(const std::byte* floats, std::size_t count, double pivot) noexcept {
  Lanes lanes;
  clear(lanes);
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    DMLREF_UNROLL
    for (std::size_t u = 0; u < block_units; ++u) {
      const Wide x = Wide::from_floats(floats + (i + u * unit) * sizeof(float));
      accumulate(lanes.total[u], lanes.square[u], difference(x, Wide::of(pivot)));
    }
  }
  scalar::Lanes rest;
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) {
    store(reinterpret_cast<std::byte*>(&rest.sum[u * unit]), lanes.total[u]);
    store(reinterpret_cast<std::byte*>(&rest.square[u * unit]), lanes.square[u]);
  }
  scalar::add_to<true>(rest, floats + i * sizeof(float), count - i, pivot, nullptr);
  return scalar::total(rest);
}
/// Pieces of float or half, of which only the last may have another length than a multiple of a block.
template <class T>
DMLREF_VECTOR_KERNEL SumAndSquare piece_sums(const std::byte* from, const Piece* pieces, std::size_t count,
                                             std::int64_t ahead) noexcept {
  constexpr std::size_t line = 64 / sizeof(T);  // elements of a cache line
  Lanes lanes;
  clear(lanes);
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    const std::size_t size = pieces[p].count;
    std::size_t i = 0;
    for (; i + line <= size; i += line) {
      if (Target::prefetches) prefetch_line<0, 2>(address_of(start + i * sizeof(T), ahead));
      DMLREF_UNROLL
      for (std::size_t k = i; k < i + line; k += block) add_block<T, false>(lanes, start + k * sizeof(T), nullptr);
    }
    for (; i + block <= size; i += block) add_block<T, false>(lanes, start + i * sizeof(T), nullptr);
    if (i < size) add_last<T, false>(lanes, start + i * sizeof(T), size - i, nullptr);
  }
  return total_of(lanes);
}

// ---- Results of float32 --------------------------------------------------------------------------------------------

/// x - shift. Most groups have none, and some targets kernels of their own for them.
template <class V, bool shifted>
struct Shift {
  V one, minus, shift;

  DMLREF_VECTOR_TARGET explicit Shift(typename V::Real s) noexcept : one(V::of(1)), minus(V::of(-s)), shift(V::of(s)) {
    if constexpr (!Target::subtracts) pin(one);  // (Else compilers make a subtraction of it.)
  }
  DMLREF_VECTOR_TARGET V of(V x) const noexcept {
    if constexpr (!shifted) return x;
    if constexpr (Target::subtracts) return difference(x, shift);
    return fused(x, one, minus);  // the same number, where additions compete with conversions
  }
};
constexpr bool without_shift(double shift) noexcept { return Target::unshifted && shift == 0.0; }

/// The last elements of a row, fewer than a block; the rest of it is the last one again and again, which changes
/// neither the least value nor what is copied back.
struct LastBlock {
  alignas(64) double from[block];
  alignas(64) double scale[block];
  alignas(64) double bias[block];
  alignas(64) std::byte to[block * sizeof(double)];
};

/// The same line for all elements of a row.
template <bool shifted>
struct OneLine32 {
  Shift<Doubles, shifted> shift;
  Doubles slope, offset;

  DMLREF_VECTOR_TARGET explicit OneLine32(const Line32& line) noexcept
      : shift(line.shift), slope(Doubles::of(line.slope)), offset(Doubles::of(line.offset)) {}
  /// The values of a unit from element `i` on.
  DMLREF_VECTOR_TARGET Wide value(Wide x, std::size_t) const noexcept {
    return {fused(shift.of(x.first), slope, offset), fused(shift.of(x.second), slope, offset)};
  }
  DMLREF_VECTOR_TARGET OneLine32 of_last(std::size_t, std::size_t, LastBlock&) const noexcept { return *this; }
};
/// A scale and a bias for each element, and the group's part in registers.
struct LinePerElement32 {
  Doubles shift, rate, rest;
  const double* scale;
  const double* bias;

  DMLREF_VECTOR_TARGET explicit LinePerElement32(const EachRow32& row) noexcept
      : shift(Doubles::of(row.group->shift)),
        rate(Doubles::of(row.group->rate)),
        rest(Doubles::of(row.group->rest)),
        scale(row.scale),
        bias(row.bias) {}
  DMLREF_VECTOR_TARGET Doubles value(Doubles x, std::size_t i) const noexcept {
    const Doubles slope = product(rate, Doubles::load(scale + i));
    const Doubles offset = less_product(Doubles::load(bias + i), rest, slope);
    return fused(difference(x, shift), slope, offset);
  }
  DMLREF_VECTOR_TARGET Wide value(Wide x, std::size_t i) const noexcept {
    return {value(x.first, i), value(x.second, i + Doubles::lanes)};
  }
  DMLREF_VECTOR_TARGET LinePerElement32 of_last(std::size_t i, std::size_t count, LastBlock& last) const noexcept {
    for (std::size_t k = 0; k < block; ++k) {
      last.scale[k] = scale[i + (k < count ? k : count - 1)];
      last.bias[k] = bias[i + (k < count ? k : count - 1)];
    }
    LinePerElement32 line = *this;
    line.scale = last.scale;
    line.bias = last.bias;
    return line;
  }
};

/// Where the elements of a row come from; the last also forms the sums of another row.
enum class Source { floats, doubles, doubles_and_sums };

template <Finish finish>
DMLREF_VECTOR_TARGET float least_of(Low<finish> (&low)[block_units]) noexcept {
  DMLREF_UNROLL
  for (std::size_t u = 1; u < block_units; ++u) low[0] = lesser_magnitude(low[0], low[u]);
  return least_lane(magnitudes(low[0]));
}

/// A Row32 with OneLine32 or an EachRow32 with LinePerElement32.
template <Finish finish, Source source, class Row, class Line>
DMLREF_VECTOR_KERNEL float row32_from(const Row& row, const Line line) noexcept {
  constexpr bool has_sums = source == Source::doubles_and_sums;
  constexpr std::size_t bytes = stored_bytes32<finish>;
  const Floats upper = Floats::of(row.upper);
  const bool streams = row.stream && reinterpret_cast<std::uintptr_t>(row.to) % sizeof(Floats) == 0;
  const std::byte* const from = row.from;  // (copies: for all the compiler knows, a store changes `row`)
  double* const wide = row.wide;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  const std::byte* const summed = row.ahead.elements;
  Address next = has_sums ? row.ahead.next : row.next;
  if (next == 0) next = address_of(source == Source::floats ? from : reinterpret_cast<const std::byte*>(wide));
  const Address output = row.ahead.output != nullptr ? address_of(row.ahead.output) : next;
  Low<finish> low[block_units];
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) low[u] = no_low<finish>();
  Lanes lanes;
  if constexpr (has_sums) clear(lanes);
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    // (Into L2 where L1d is full of doubles.)
    if (Target::prefetches) prefetch_line<0, has_sums && finish != Finish::values ? 2 : 3>(next + i * sizeof(float));
    if constexpr (has_sums && finish == Finish::values) prefetch_line<1>(output + i * sizeof(float));
    Wide value[block_units];
    DMLREF_UNROLL
    for (std::size_t u = 0; u < block_units; ++u) {
      const std::size_t at = i + u * unit;
      Wide x;
      if constexpr (source == Source::floats) {
        x = Wide::from_floats(from + at * sizeof(float));
      } else {
        x = Wide::load(wide + at);
      }
      value[u] = line.value(x, at);
    }
    if constexpr (has_sums) add_block<float, true>(lanes, summed + i * sizeof(float), wide + i);
    DMLREF_UNROLL
    for (std::size_t u = 0; u < block_units; ++u) {
      finish32<finish>(to + (i + u * unit) * bytes, value[u], upper, low[u], streams);
    }
  }
  if (i < count) {
    LastBlock last;
    const std::size_t n = count - i;
    for (std::size_t k = 0; k < block; ++k) {
      const std::size_t at = i + (k < n ? k : n - 1);
      if constexpr (source == Source::floats) {
        float x;
        std::memcpy(&x, from + at * sizeof(float), sizeof x);
        last.from[k] = static_cast<double>(x);
      } else {
        last.from[k] = wide[at];
      }
    }
    const Line last_line = line.of_last(i, n, last);
    DMLREF_UNROLL
    for (std::size_t u = 0; u < block_units; ++u) {
      const Wide value = last_line.value(Wide::load(last.from + u * unit), u * unit);
      finish32<finish>(last.to + u * unit * bytes, value, upper, low[u], false);
    }
    std::memcpy(to + i * bytes, last.to, n * bytes);
    if constexpr (has_sums) add_last<float, true>(lanes, summed + i * sizeof(float), n, wide + i);
  }
  if constexpr (has_sums) *row.ahead.sums = total_of(lanes);
  static_cast<void>(summed);
  static_cast<void>(output);
  return least_of<finish>(low);
}
template <Finish finish, bool shifted>
DMLREF_VECTOR_KERNEL float row32_of(const Row32& row) noexcept {
  const OneLine32<shifted> line(row.line);
  if (row.wide == nullptr) return row32_from<finish, Source::floats>(row, line);
  if constexpr (Target::pipelined) {
    if (row.ahead.elements != nullptr) return row32_from<finish, Source::doubles_and_sums>(row, line);
  }
  return row32_from<finish, Source::doubles>(row, line);
}
template <Finish finish>
DMLREF_VECTOR_KERNEL float row32(const Row32& row) noexcept {
  if (without_shift(row.line.shift)) return row32_of<finish, !Target::unshifted>(row);
  return row32_of<finish, true>(row);
}
template <Finish finish>
DMLREF_VECTOR_KERNEL float each_row32(const EachRow32& row) noexcept {
  const LinePerElement32 line(row);
  if constexpr (Target::pipelined) {
    if (row.ahead.elements != nullptr) return row32_from<finish, Source::doubles_and_sums>(row, line);
    if (row.wide != nullptr) return row32_from<finish, Source::doubles>(row, line);
  }
  return row32_from<finish, Source::floats>(row, line);
}

/// `has_sums`: with those of the same chunk of another group.
template <Finish finish, bool has_sums, bool shifted>
DMLREF_VECTOR_KERNEL float pieces32_of(const Pieces32& chunk) noexcept {
  const OneLine32<shifted> line(chunk.line);
  const Floats upper = Floats::of(chunk.upper);
  const std::int64_t prefetch_distance = chunk.prefetch_distance;
  const std::int64_t summed_ahead = chunk.summed_ahead;
  Low<finish> low[block_units];
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) low[u] = no_low<finish>();
  Lanes lanes;
  if constexpr (has_sums) clear(lanes);
  for (std::size_t p = 0; p < chunk.count; ++p) {
    const Piece piece = chunk.pieces[p];
    const std::byte* const from = chunk.from + piece.from;
    const std::byte* const summed = has_sums ? chunk.summed + piece.from : from;
    std::byte* const to = chunk.to + piece.to;
    const bool streams = chunk.stream && reinterpret_cast<std::uintptr_t>(to) % sizeof(Floats) == 0;
    // (What is stored non-temporally is not prefetched.)
    const Address read =
        prefetch_distance != 0 || chunk.stream ? address_of(from, prefetch_distance) : address_of(to, chunk.ahead);
    const Address written = prefetch_distance != 0 && !chunk.stream ? address_of(to, prefetch_distance) : read;
    for (std::size_t i = 0; i < piece.count; i += block) {
      const std::size_t at = i * sizeof(float);
      if constexpr (has_sums) {  // (Not for the output: it is faster without.)
        prefetch_line<0, 2>(address_of(summed + at, summed_ahead));
      } else if constexpr (Target::prefetches) {
        prefetch_line(read + at);
        prefetch_line<1>(written + at);
      }
      Wide value[block_units];
      DMLREF_UNROLL
      for (std::size_t u = 0; u < block_units; ++u) {
        value[u] = line.value(Wide::from_floats(from + at + u * unit * sizeof(float)), 0);
      }
      if constexpr (has_sums) add_block<float, false>(lanes, summed + at, nullptr);
      DMLREF_UNROLL
      for (std::size_t u = 0; u < block_units; ++u) {
        finish32<finish>(to + at + u * unit * sizeof(float), value[u], upper, low[u], streams);
      }
    }
  }
  if constexpr (has_sums) *chunk.sums = total_of(lanes);
  return least_of<finish>(low);
}
template <Finish finish, bool shifted>
DMLREF_VECTOR_KERNEL float pieces32_with(const Pieces32& chunk) noexcept {
  if constexpr (Target::pipelined) {
    if (chunk.sums != nullptr) return pieces32_of<finish, true, shifted>(chunk);
  }
  return pieces32_of<finish, false, shifted>(chunk);
}
template <Finish finish>
DMLREF_VECTOR_KERNEL float pieces32(const Pieces32& chunk) noexcept {
  if (without_shift(chunk.line.shift)) return pieces32_with<finish, !Target::unshifted>(chunk);
  return pieces32_with<finish, true>(chunk);
}

// ---- Results of float16 --------------------------------------------------------------------------------------------

/// The same line for all elements of a row.
template <bool shifted>
struct OneLine16 {
  Shift<Floats, shifted> shift;
  Floats slope, offset, error_bound;

  DMLREF_VECTOR_TARGET explicit OneLine16(const Line16& line) noexcept
      : shift(line.shift),
        slope(Floats::of(line.slope)),
        offset(Floats::of(line.offset)),
        error_bound(Floats::of(line.error_bound)) {}
  DMLREF_VECTOR_TARGET Floats value(Floats x, std::size_t) const noexcept { return fused(shift.of(x), slope, offset); }
  DMLREF_VECTOR_TARGET Floats error_bound_of(std::size_t) const noexcept { return error_bound; }
  DMLREF_VECTOR_TARGET OneLine16 behind(std::size_t) const noexcept { return *this; }
  DMLREF_VECTOR_TARGET OneLine16 of_last(std::size_t, std::size_t, LastBlock&) const noexcept { return *this; }
};
/// A scale and a bias for each element, and the group's part in registers.
struct LinePerElement16 {
  Floats shift, rate, rest, slope_error;
  Floats error_bound;  // no element has a larger one
  const float* scale;
  const float* bias;

  DMLREF_VECTOR_TARGET explicit LinePerElement16(const EachRow16& row) noexcept
      : shift(Floats::of(row.shift)),
        rate(Floats::of(row.rate)),
        rest(Floats::of(row.rest)),
        slope_error(Floats::of(row.slope_error)),
        error_bound(Floats::of(row.error_bound)),
        scale(row.scale),
        bias(row.bias) {}
  DMLREF_VECTOR_TARGET Floats slope_of(std::size_t i) const noexcept { return product(rate, Floats::load(scale + i)); }
  DMLREF_VECTOR_TARGET Floats value(Floats x, std::size_t i) const noexcept {
    const Floats slope = slope_of(i);
    return fused(difference(x, shift), slope, less_product(Floats::load(bias + i), rest, slope));
  }
  DMLREF_VECTOR_TARGET Floats error_bound_of(std::size_t i) const noexcept {
    return fused(magnitude(slope_of(i)), slope_error, product(magnitude(Floats::load(bias + i)), Floats::of(0x1p-9f)));
  }
  /// From element `i` on.
  DMLREF_VECTOR_TARGET LinePerElement16 behind(std::size_t i) const noexcept {
    LinePerElement16 line = *this;
    line.scale += i;
    line.bias += i;
    return line;
  }
  DMLREF_VECTOR_TARGET LinePerElement16 of_last(std::size_t i, std::size_t count, LastBlock& last) const noexcept {
    auto* const scales = reinterpret_cast<float*>(last.scale);
    auto* const biases = reinterpret_cast<float*>(last.bias);
    for (std::size_t k = 0; k < unit; ++k) {
      scales[k] = k < count ? scale[i + k] : 0.0f;
      biases[k] = k < count ? bias[i + k] : 0.0f;
    }
    LinePerElement16 line = *this;
    line.scale = scales;
    line.bias = biases;
    return line;
  }
};

/// One branch for the comparisons of so many elements.
inline constexpr std::size_t step16 = unit < 16 ? 32 : 64;

/// The ill-conditioned values of a chunk so far.
struct Listed {
  std::uint16_t* list;
  std::size_t count;
};

/// Normalizes elements of T, halves or the floats they became, from `from` to `to`: numbers `first` on of their chunk.
template <Finish finish, class T, class Line>
DMLREF_VECTOR_TARGET void piece16(const std::byte* from, std::byte* to, std::size_t count, const Line line,
                                  Floats upper, bool streams, std::size_t first, Listed& listed) noexcept {
  constexpr std::size_t bytes = stored_bytes16<finish>;
  std::size_t i = 0;
  for (; i + step16 <= count; i += step16) {
    Floats value[step16 / unit];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < step16 / unit; ++v) {
      const std::size_t at = i + v * unit;
      value[v] = line.value(floats_from<T>(from + at * sizeof(T)), at);
      finish16<finish>(to + at * bytes, value[v], upper, streams);
    }
    Floats low = magnitude(value[0]);
    DMLREF_UNROLL
    for (std::size_t v = 1; v < step16 / unit; ++v) low = lesser_magnitude(low, value[v]);
    if (!any(ill_conditioned_of(low, line.error_bound))) continue;
    DMLREF_UNROLL
    for (std::size_t v = 0; v < step16 / unit; ++v) {
      const std::size_t at = i + v * unit;
      listed.count = list_ill_conditioned(bits(ill_conditioned_of(value[v], line.error_bound_of(at))), first + at,
                                          SIZE_MAX, listed.list, listed.count);
    }
  }
  for (; i + unit <= count; i += unit) {
    const Floats value = line.value(floats_from<T>(from + i * sizeof(T)), i);
    finish16<finish>(to + i * bytes, value, upper, false);
    listed.count = list_ill_conditioned(bits(ill_conditioned_of(value, line.error_bound_of(i))), first + i, SIZE_MAX,
                                        listed.list, listed.count);
  }
  if (i < count) {
    const std::size_t left = count - i;
    LastBlock last;
    const Line last_line = line.of_last(i, left, last);
    const Floats value = last_line.value(floats_from<T>(from + i * sizeof(T), First(left)), 0);
    finish16<finish>(last.to, value, upper, false);
    std::memcpy(to + i * bytes, last.to, left * bytes);
    listed.count = list_ill_conditioned(bits(ill_conditioned_of(value, last_line.error_bound_of(0))), first + i,
                                        first + count, listed.list, listed.count);
  }
}

/// A row's results from its floats. A row ahead becomes floats on the way, and is summed then.
template <Finish finish, class Row, class Line>
DMLREF_VECTOR_TARGET std::size_t row16_with(const Row& row, const Line line) noexcept {
  Listed listed{row.ill_conditioned, 0};
  const auto* const from = reinterpret_cast<const std::byte*>(row.from);
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  const Floats upper = Floats::of(row.upper);
  std::size_t i = 0;
  if constexpr (Target::pipelined) {
    if (row.ahead.elements != nullptr) {
      const std::byte* const halves = row.ahead.elements;
      float* const floats = row.ahead.floats;
      const auto* const summed = reinterpret_cast<const std::byte*>(floats);
      constexpr std::size_t lag = 2 * step16;  // floats just stored would hold up those who load them
      Lanes lanes;
      clear(lanes);
      std::size_t k = 0;
      for (; i + step16 <= count; i += step16) {
        // (Before floats are stored at what may be the same place of another page.)
        piece16<finish, float>(from + i * sizeof(float), to + i * stored_bytes16<finish>, step16, line.behind(i), upper,
                               false, i, listed);
        DMLREF_UNROLL
        for (std::size_t u = i; u < i + step16; u += unit) widen_unit<half>(halves + u * sizeof(half), floats + u);
        if (i >= lag) {
          DMLREF_UNROLL
          for (std::size_t b = 0; b < step16; b += block, k += block) {
            add_block<float, false>(lanes, summed + k * sizeof(float), nullptr);
          }
        }
      }
      widen(halves + i * sizeof(half), floats + i, count - i);
      for (; k + block <= count; k += block) add_block<float, false>(lanes, summed + k * sizeof(float), nullptr);
      if (k < count) add_last<float, false>(lanes, summed + k * sizeof(float), count - k, nullptr);
      *row.ahead.sums = total_of(lanes);
    }
  }
  piece16<finish, float>(from + i * sizeof(float), to + i * stored_bytes16<finish>, count - i, line.behind(i), upper,
                         false, i, listed);
  return listed.count;
}
template <Finish finish>
DMLREF_VECTOR_KERNEL std::size_t row16(const Row16& row) noexcept {
  if (without_shift(row.line.shift)) return row16_with<finish>(row, OneLine16<!Target::unshifted>(row.line));
  return row16_with<finish>(row, OneLine16<true>(row.line));
}
template <Finish finish>
DMLREF_VECTOR_KERNEL std::size_t each_row16(const EachRow16& row) noexcept {
  return row16_with<finish>(row, LinePerElement16(row));
}
template <Finish finish, bool shifted>
DMLREF_VECTOR_KERNEL std::size_t pieces16_of(const Pieces16& chunk) noexcept {
  const OneLine16<shifted> line(chunk.line);
  const Floats upper = Floats::of(chunk.upper);
  Listed listed{chunk.ill_conditioned, 0};
  std::size_t first = 0;
  const Piece* const end = chunk.pieces + chunk.count;
  for (const Piece* piece = chunk.pieces; piece != end; ++piece) {
    const std::size_t bytes = piece->count * sizeof(half);
    const std::byte* const from = chunk.from + piece->from;
    std::byte* const to = chunk.to + piece->to;
    if (chunk.prefetch_distance != 0) {
      prefetch<0>(address_of(from, chunk.prefetch_distance), bytes);
      prefetch<1>(address_of(to, chunk.prefetch_distance), bytes);
    } else if (chunk.ahead != 0) {
      prefetch<1>(address_of(to, chunk.ahead), bytes);
    }
    const bool streams = chunk.stream && reinterpret_cast<std::uintptr_t>(to) % 32 == 0;
    piece16<finish, half>(from, to, piece->count, line, upper, streams, first, listed);
    first += piece->count;
  }
  return listed.count;
}

template <Finish finish>
DMLREF_VECTOR_KERNEL std::size_t pieces16(const Pieces16& chunk) noexcept {
  if (without_shift(chunk.line.shift)) return pieces16_of<finish, !Target::unshifted>(chunk);
  return pieces16_of<finish, true>(chunk);
}

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{widen,
                                 sums,
                                 shifted_sums,
                                 piece_sums<float>,
                                 piece_sums<half>,
                                 {row32<identity>, row32<clamped>, row32<values>},
                                 {each_row32<identity>, each_row32<clamped>, each_row32<values>},
                                 {pieces32<identity>, pieces32<clamped>},
                                 {row16<identity>, row16<clamped>, row16<values>},
                                 {pieces16<identity>, pieces16<clamped>},
                                 {each_row16<identity>, each_row16<clamped>, each_row16<values>},
                                 Target::prefetch_distance,
                                 Target::pipelined};
  return table;
}

#endif  // DMLREF_VECTOR_TARGET
