// rows-inl.hpp: the kernels of segments: one source for all instruction sets that have vectors. Included once in the
// namespace of each, see targets.hpp. What scalar.hpp computes one by one, these do in blocks of 16.
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
  DoublePair total[block_units];
  DoublePair square[block_units];
};
DMLREF_VECTOR_TARGET void clear(Lanes& lanes) noexcept {
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) lanes.total[u] = lanes.square[u] = DoublePair::of(0);
}
/// Adds a block of floats or halves. `keep`: `doubles` takes them.
template <class T, bool keep>
DMLREF_VECTOR_TARGET void add_block(Lanes& lanes, const std::byte* elements, double* doubles) noexcept {
  if constexpr (std::is_same_v<T, half> && target.widens_in_memory) {
    static_assert(!keep);
    struct alignas(64) Block {
      float at[block];
    } floats;
    DMLREF_UNROLL
    for (std::size_t i = 0; i < block; i += unit) widen_unit<half>(elements + i * sizeof(half), floats.at + i);
    __asm__("" : "+m"(floats));  // (Else compilers take doubles from registers.)
    return add_block<float, keep>(lanes, reinterpret_cast<const std::byte*>(floats.at), doubles);
  }
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) {
    const DoublePair x = doubles_from<T>(elements + u * unit * sizeof(T));
    if constexpr (keep) store(reinterpret_cast<std::byte*>(doubles + u * unit), x);
    accumulate<!target.adds>(lanes.total[u], lanes.square[u], x);
  }
  static_cast<void>(doubles);
}
/// Adds the last elements of a summation block, fewer than a block; what is left of it is taken as zeros, which change
/// no sum.
template <class T, bool keep>
DMLREF_VECTOR_TARGET void add_last(Lanes& lanes, const std::byte* elements, std::size_t count,
                                   double* doubles) noexcept {
  alignas(64) std::byte last[block * sizeof(T)]{};
  std::memcpy(last, elements, count * sizeof(T));
  add_block<T, keep>(lanes, last, doubles);
}

/// The lanes in the order of reference::sum_lanes.
DMLREF_VECTOR_TARGET double sum_lanes(const DoublePair (&of)[block_units]) noexcept {
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

/// `prefetches_output`: not only what is read next.
template <class T, bool prefetches_output>
DMLREF_VECTOR_TARGET SumAndSquare sums_of(const std::byte* from, const Segment* segments, std::size_t count,
                                          const Prefetch& prefetch) noexcept {
  constexpr std::size_t line = 64 / sizeof(T);  // elements of a cache line
  const bool reads_ahead = target.prefetches && prefetch.read != address_of(from);
  Lanes lanes;
  clear(lanes);
  for (const Segment* segment = segments; segment != segments + count; ++segment) {
    const std::byte* const start = from + segment->from;
    const Address read = prefetch.read + static_cast<Address>(segment->from);
    const Address written = prefetch.written + static_cast<Address>(segment->to);
    const std::size_t size = segment->count;
    std::size_t i = 0;
    for (; i + line <= size; i += line) {
      if (reads_ahead) prefetch_line<0, std::is_same_v<T, half> ? 3 : 2>(read + i * sizeof(T));
      if constexpr (target.prefetches && prefetches_output) prefetch_line<1>(written + i * sizeof(T));
      DMLREF_UNROLL
      for (std::size_t k = i; k < i + line; k += block) add_block<T, false>(lanes, start + k * sizeof(T), nullptr);
    }
    for (; i + block <= size; i += block) add_block<T, false>(lanes, start + i * sizeof(T), nullptr);
    if (i < size) add_last<T, false>(lanes, start + i * sizeof(T), size - i, nullptr);
    static_cast<void>(written);
  }
  return total_of(lanes);
}
template <class T>
DMLREF_VECTOR_KERNEL SumAndSquare sums(const std::byte* from, const Segment* segments, std::size_t count,
                                       Address read) noexcept {
  return sums_of<T, false>(from, segments, count, {read, read});
}
DMLREF_VECTOR_KERNEL SumAndSquare row_sums(const std::byte* floats, std::size_t count, Address written) noexcept {
  const Segment all{0, 0, count};
  return sums_of<float, true>(floats, &all, 1, {address_of(floats), written});
}
DMLREF_VECTOR_KERNEL SumAndSquare convert(const std::byte* floats, std::size_t count, double* doubles,
                                          Address written) noexcept {
  Lanes lanes;
  clear(lanes);
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    if (target.prefetches) prefetch_line<1>(written + i * sizeof(float));
    add_block<float, true>(lanes, floats + i * sizeof(float), doubles + i);
  }
  if (i < count) add_last<float, true>(lanes, floats + i * sizeof(float), count - i, doubles + i);
  return total_of(lanes);
}
/// Rare. What is left of the last block is added one by one.
DMLREF_VECTOR_KERNEL SumAndSquare shifted_sums(const std::byte* floats, std::size_t count, double pivot) noexcept {
  Lanes lanes;
  clear(lanes);
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    DMLREF_UNROLL
    for (std::size_t u = 0; u < block_units; ++u) {
      const DoublePair x = DoublePair::from_floats(floats + (i + u * unit) * sizeof(float));
      accumulate(lanes.total[u], lanes.square[u], difference(x, DoublePair::of(pivot)));
    }
  }
  scalar::Lanes rest;
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) {
    store(reinterpret_cast<std::byte*>(&rest.sum[u * unit]), lanes.total[u]);
    store(reinterpret_cast<std::byte*>(&rest.square[u * unit]), lanes.square[u]);
  }
  scalar::add_to<true>(rest, floats + i * sizeof(float), count - i, pivot);
  return scalar::total(rest);
}

// ---- Affine coefficients -------------------------------------------------------------------------------------------

/// x - shift. Most groups have none, and some targets kernels of their own for them.
template <class V, bool shifted>
struct Shift {
  V one, minus, shift;

  DMLREF_VECTOR_TARGET explicit Shift(typename V::Real s) noexcept : one(V::of(1)), minus(V::of(-s)), shift(V::of(s)) {
    if constexpr (!target.adds) pin(one);  // (Else compilers make a subtraction of it.)
  }
  DMLREF_VECTOR_TARGET V of(V x) const noexcept {
    if constexpr (!shifted) return x;
    if constexpr (target.adds) return difference(x, shift);
    return fma(x, one, minus);  // the same number, where additions compete with conversions
  }
};

/// The last elements of a segment, fewer than a block; the rest of it is the last one again and again, which changes
/// neither the minimum magnitude nor what is copied back.
template <class Real>
struct LastBlock {
  alignas(64) Real from[block];
  alignas(64) Real scale[block];
  alignas(64) Real bias[block];
  alignas(64) std::byte to[block * sizeof(Real)];
};

/// SharedCoefficients in registers.
template <class V, bool shifted>
struct Shared {
  using Real = typename V::Real;
  static constexpr bool per_element = false;
  Shift<V, shifted> shift;
  V slope, offset, error_bound;

  DMLREF_VECTOR_TARGET explicit Shared(const SharedCoefficients<Real>& c) noexcept
      : shift(c.shift), slope(V::of(c.slope)), offset(V::of(c.offset)), error_bound(V::of(c.error_bound)) {}
  /// The values of a vector from element `i` on, and their error bounds.
  DMLREF_VECTOR_TARGET V value(V x, std::size_t) const noexcept { return fma(shift.of(x), slope, offset); }
  DMLREF_VECTOR_TARGET V error_bound_of(std::size_t) const noexcept { return error_bound; }
  /// Those of elements from number `i` on.
  DMLREF_VECTOR_TARGET Shared behind(std::size_t) const noexcept { return *this; }
  DMLREF_VECTOR_TARGET Shared of_last(std::size_t, std::size_t, LastBlock<Real>&) const noexcept { return *this; }
};
/// PerElementCoefficients, the group's part in registers.
template <class V>
struct PerElement {
  using Real = typename V::Real;
  static constexpr bool per_element = true;
  V shift, rate, rest, slope_error, error_bound;
  const Real* scale;
  const Real* bias;

  DMLREF_VECTOR_TARGET explicit PerElement(const PerElementCoefficients<Real>& c) noexcept
      : shift(V::of(c.shift)),
        rate(V::of(c.rate)),
        rest(V::of(c.rest)),
        slope_error(V::of(c.slope_error)),
        error_bound(V::of(c.error_bound)),
        scale(c.scale),
        bias(c.bias) {}
  DMLREF_VECTOR_TARGET V slope_of(std::size_t i) const noexcept { return product(rate, V::load(scale + i)); }
  DMLREF_VECTOR_TARGET V value(V x, std::size_t i) const noexcept {
    const V slope = slope_of(i);
    return fma(difference(x, shift), slope, less_product(V::load(bias + i), rest, slope));
  }
  DMLREF_VECTOR_TARGET V error_bound_of(std::size_t i) const noexcept {
    return fma(magnitude(slope_of(i)), slope_error, product(magnitude(V::load(bias + i)), V::of(Real{0x1p-9f})));
  }
  DMLREF_VECTOR_TARGET PerElement behind(std::size_t i) const noexcept {
    PerElement c = *this;
    c.scale += i;
    c.bias += i;
    return c;
  }
  DMLREF_VECTOR_TARGET PerElement of_last(std::size_t i, std::size_t count, LastBlock<Real>& last) const noexcept {
    for (std::size_t k = 0; k < block; ++k) {
      last.scale[k] = scale[i + (k < count ? k : count - 1)];
      last.bias[k] = bias[i + (k < count ? k : count - 1)];
    }
    PerElement c = *this;
    c.scale = last.scale;
    c.bias = last.bias;
    return c;
  }
};
template <class Coefficients>
DMLREF_VECTOR_TARGET DoublePair values_of(const Coefficients& c, DoublePair x, std::size_t i) noexcept {
  return {c.value(x.first, i), c.value(x.second, i + Doubles::lanes)};
}

// ---- Results of float32 --------------------------------------------------------------------------------------------

template <Finish finish>
DMLREF_VECTOR_TARGET float minimum_of(Minimum<finish> (&minimum)[block_units]) noexcept {
  DMLREF_UNROLL
  for (std::size_t u = 1; u < block_units; ++u) minimum[0] = lesser_magnitude(minimum[0], minimum[u]);
  return min_lane(magnitudes(minimum[0]));
}

/// `Coefficients`: Shared or PerElement, made of `parameters`. (Not inline: one function for all sources would spill
/// registers in each of its loops.)
template <Finish finish, Source source, class Coefficients, class Parameters>
DMLREF_NOINLINE DMLREF_VECTOR_KERNEL float results32(const Results<double>& results,
                                                     const Parameters& parameters) noexcept {
  const Coefficients coefficients(parameters);
  constexpr bool sums = has_sums(source);
  constexpr bool converted = is_converted(source);
  constexpr std::size_t bytes = stored_bytes32<finish>;
  const Floats upper = Floats::of(results.upper);
  const double* const doubles = results.converted;  // (copies: for all the compiler knows, a store changes `results`)
  [[maybe_unused]] double* const next_doubles = results.summed.converted;
  const Prefetch prefetch = results.prefetch;
  // (To prefetch a line that is loaded at once costs a tenth of the time. Rows that are converted have a line ahead.)
  const bool reads_ahead =
      target.prefetches && (converted || prefetch.read != address_of(sums ? results.summed.from : results.from));
  const bool stream = results.stream;
  Minimum<finish> minimum[block_units];
  DMLREF_UNROLL
  for (std::size_t u = 0; u < block_units; ++u) minimum[u] = no_minimum<finish>();
  Lanes lanes;
  if constexpr (sums) clear(lanes);
  const Segment* const end = results.segments + results.count;
  std::size_t first = 0;  // number of the segment's first element within the summation block
  for (const Segment* segment = results.segments; segment != end; first += segment->count, ++segment) {
    const std::size_t count = segment->count;
    [[maybe_unused]] const std::byte* const from = converted ? nullptr : results.from + segment->from;
    std::byte* const to = results.to + segment->to;
    [[maybe_unused]] const std::byte* const summed = sums ? results.summed.from + segment->from : nullptr;
    const bool streams = stream && reinterpret_cast<std::uintptr_t>(to) % sizeof(Floats) == 0;
    const Address read = prefetch.read + static_cast<Address>(segment->from);
    const Address written = stream ? read : prefetch.written + static_cast<Address>(segment->to);
    std::size_t i = 0;
    for (; i + block <= count; i += block) {
      if constexpr (target.prefetches) {
        // (Into L2 where L1d is full of doubles. Segments with sums are faster without the output. What is read next
        // the activation prefetches.)
        if (finish != Finish::unrounded && reads_ahead) prefetch_line<0, sums ? 2 : 3>(read + i * sizeof(float));
        if constexpr (source == Source::memory || (sums && finish == Finish::unrounded)) {
          prefetch_line<1>(written + i * sizeof(float));
        }
      }
      DoublePair value[block_units];
      DMLREF_UNROLL
      for (std::size_t u = 0; u < block_units; ++u) {
        const std::size_t at = i + u * unit;
        DoublePair x;
        if constexpr (converted) {
          x = DoublePair::load(doubles + at);
        } else {
          x = DoublePair::from_floats(from + at * sizeof(float));
        }
        value[u] = values_of(coefficients, x, first + at);
      }
      if constexpr (sums)
        add_block<float, converted>(lanes, summed + i * sizeof(float), converted ? next_doubles + i : nullptr);
      DMLREF_UNROLL
      for (std::size_t u = 0; u < block_units; ++u) {
        finish32<finish>(to + (i + u * unit) * bytes, value[u], upper, minimum[u], streams);
      }
    }
    if (i < count) {
      LastBlock<double> last;
      const std::size_t n = count - i;
      for (std::size_t k = 0; k < block; ++k) {
        const std::size_t at = i + (k < n ? k : n - 1);
        if constexpr (converted) {
          last.from[k] = doubles[at];
        } else {
          float x;
          std::memcpy(&x, from + at * sizeof(float), sizeof x);
          last.from[k] = static_cast<double>(x);
        }
      }
      const Coefficients of_last = coefficients.of_last(first + i, n, last);
      DMLREF_UNROLL
      for (std::size_t u = 0; u < block_units; ++u) {
        const DoublePair value = values_of(of_last, DoublePair::load(last.from + u * unit), u * unit);
        finish32<finish>(last.to + u * unit * bytes, value, upper, minimum[u], false);
      }
      std::memcpy(to + i * bytes, last.to, n * bytes);
      if constexpr (sums)
        add_last<float, converted>(lanes, summed + i * sizeof(float), n, converted ? next_doubles + i : nullptr);
    }
  }
  if constexpr (sums) *results.summed.sums = total_of(lanes);
  return minimum_of<finish>(minimum);
}
/// Of the sources that the target has kernels for.
template <Finish finish, class Coefficients, class Parameters>
DMLREF_VECTOR_TARGET float results32_of(const Results<double>& results, const Parameters& parameters) noexcept {
  using enum Source;
  constexpr bool shared = !Coefficients::per_element;
  if constexpr (target.pipelined) {
    if (results.source == converted_and_sums) {
      return results32<finish, converted_and_sums, Coefficients>(results, parameters);
    }
    if constexpr (finish != Finish::unrounded) {
      if (results.source == memory_and_sums) {
        return results32<finish, memory_and_sums, Coefficients>(results, parameters);
      }
    }
  }
  if constexpr (shared || target.pipelined) {
    if (results.source == converted) return results32<finish, converted, Coefficients>(results, parameters);
  }
  return results32<finish, memory, Coefficients>(results, parameters);
}

// ---- Results of float16 --------------------------------------------------------------------------------------------

/// One branch for the comparisons of so many elements.
inline constexpr std::size_t step16 = unit < 16 ? 32 : 64;

/// The ill-conditioned values of a summation block so far.
struct Listed {
  std::uint16_t* list;
  std::size_t count;
};

/// Normalizes elements of T, halves or the floats they became, from `from` to `to`: numbers `first` on of their
/// summation block.
template <Finish finish, class T, class Coefficients>
DMLREF_VECTOR_TARGET void segment16(const std::byte* from, std::byte* to, std::size_t count,
                                    const Coefficients coefficients, Floats upper, bool streams, std::size_t first,
                                    Listed& listed) noexcept {
  constexpr std::size_t bytes = stored_bytes16<finish>;
  std::size_t i = 0;
  for (; i + step16 <= count; i += step16) {
    Floats value[step16 / unit];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < step16 / unit; ++v) {
      const std::size_t at = i + v * unit;
      value[v] = coefficients.value(floats_from<T>(from + at * sizeof(T)), at);
      finish16<finish>(to + at * bytes, value[v], upper, streams);
    }
    Floats low = magnitude(value[0]);
    DMLREF_UNROLL
    for (std::size_t v = 1; v < step16 / unit; ++v) low = lesser_magnitude(low, value[v]);
    if (!any(not_at_least(low, coefficients.error_bound))) continue;
    DMLREF_UNROLL
    for (std::size_t v = 0; v < step16 / unit; ++v) {
      const std::size_t at = i + v * unit;
      listed.count = list_ill_conditioned(bits(ill_conditioned_of(value[v], coefficients.error_bound_of(at))),
                                          first + at, SIZE_MAX, listed.list, listed.count);
    }
  }
  for (; i + unit <= count; i += unit) {
    const Floats value = coefficients.value(floats_from<T>(from + i * sizeof(T)), i);
    finish16<finish>(to + i * bytes, value, upper, false);
    listed.count = list_ill_conditioned(bits(ill_conditioned_of(value, coefficients.error_bound_of(i))), first + i,
                                        SIZE_MAX, listed.list, listed.count);
  }
  if (i < count) {
    const std::size_t left = count - i;
    LastBlock<float> last;
    const Coefficients of_last = coefficients.of_last(i, left, last);
    const Floats value = of_last.value(floats_from<T>(from + i * sizeof(T), First(left)), 0);
    finish16<finish>(last.to, value, upper, false);
    std::memcpy(to + i * bytes, last.to, left * bytes);
    listed.count = list_ill_conditioned(bits(ill_conditioned_of(value, of_last.error_bound_of(0))), first + i,
                                        first + count, listed.list, listed.count);
  }
}

/// Halves where they lie.
template <Finish finish, class Coefficients>
DMLREF_VECTOR_KERNEL std::size_t halves16(const Results<float>& results, const Coefficients coefficients) noexcept {
  const Floats upper = Floats::of(results.upper);
  Listed listed{results.list, 0};
  std::size_t first = 0;
  const bool stream = streams16<finish>(results.stream);
  // (Prefetching what is walked anyway would cost a tenth of the time.)
  const bool reads_ahead = target.prefetches && results.prefetch.read != address_of(results.from);
  const bool writes_ahead = target.prefetches && !stream && results.prefetch.written != address_of(results.to);
  const Segment* const end = results.segments + results.count;
  for (const Segment* segment = results.segments; segment != end; ++segment) {
    const std::size_t bytes = segment->count * sizeof(half);
    std::byte* const to = results.to + segment->to;
    if (reads_ahead) prefetch<0>(results.prefetch.read + static_cast<Address>(segment->from), bytes);
    if (writes_ahead) prefetch<1>(results.prefetch.written + static_cast<Address>(segment->to), bytes);
    const bool streams = stream && reinterpret_cast<std::uintptr_t>(to) % 32 == 0;
    segment16<finish, half>(results.from + segment->from, to, segment->count, coefficients.behind(first), upper,
                            streams, first, listed);
    first += segment->count;
  }
  return listed.count;
}
/// The floats of a row. A pipelined row becomes floats on the way, and is summed then. (With shared coefficients
/// prefetching would cost time.)
template <Finish finish, class Coefficients>
DMLREF_VECTOR_KERNEL std::size_t floats16(const Results<float>& results, const Coefficients coefficients) noexcept {
  Listed listed{results.list, 0};
  const auto* const from = reinterpret_cast<const std::byte*>(results.converted);
  std::byte* const to = results.to;
  const std::size_t count = results.segments->count;
  const Floats upper = Floats::of(results.upper);
  std::size_t i = 0;
  if constexpr (target.pipelined) {
    if (results.source == Source::converted_and_sums) {
      const std::byte* const halves = results.summed.from;
      float* const floats = results.summed.converted;
      const auto* const summed = reinterpret_cast<const std::byte*>(floats);
      constexpr std::size_t lag = 2 * step16;  // floats just stored would hold up those who load them
      Lanes lanes;
      clear(lanes);
      std::size_t k = 0;
      const Prefetch ahead = results.prefetch;
      const bool prefetches = Coefficients::per_element && ahead.read != address_of(halves);
      for (; i + step16 <= count; i += step16) {
        if (prefetches) {
          prefetch<0>(ahead.read + i * sizeof(half), step16 * sizeof(half));
          prefetch<1>(ahead.written + i * sizeof(half), step16 * sizeof(half));
        }
        // (Before floats are stored at what may be the same place of another page.)
        segment16<finish, float>(from + i * sizeof(float), to + i * stored_bytes16<finish>, step16,
                                 coefficients.behind(i), upper, false, i, listed);
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
      *results.summed.sums = total_of(lanes);
    }
  }
  segment16<finish, float>(from + i * sizeof(float), to + i * stored_bytes16<finish>, count - i, coefficients.behind(i),
                           upper, false, i, listed);
  return listed.count;
}
template <Finish finish, class Coefficients>
DMLREF_VECTOR_KERNEL std::size_t results16_of(const Results<float>& results, const Coefficients coefficients) noexcept {
  if constexpr (finish != Finish::unrounded) {
    if (results.source == Source::memory) return halves16<finish>(results, coefficients);
  }
  return floats16<finish>(results, coefficients);
}

// ---- Both ----------------------------------------------------------------------------------------------------------

template <Finish finish, class Coefficients, class Real, class Parameters>
DMLREF_VECTOR_TARGET auto results_of(const Results<Real>& results, const Parameters& parameters) noexcept {
  if constexpr (std::is_same_v<Real, double>) {
    return results32_of<finish, Coefficients>(results, parameters);
  } else {
    return results16_of<finish>(results, Coefficients(parameters));
  }
}
template <Finish finish, class V>
DMLREF_VECTOR_KERNEL auto shared(const Results<typename V::Real>& results,
                                 const SharedCoefficients<typename V::Real>& c) noexcept {
  if constexpr (target.unshifted) {
    if (c.shift == 0) return results_of<finish, Shared<V, false>>(results, c);
  }
  return results_of<finish, Shared<V, true>>(results, c);
}
template <Finish finish, class V>
DMLREF_VECTOR_KERNEL auto per_element(const Results<typename V::Real>& results,
                                      const PerElementCoefficients<typename V::Real>& c) noexcept {
  return results_of<finish, PerElement<V>>(results, c);
}
template <class V>
constexpr ResultKernels<typename V::Real> result_kernels() noexcept {
  using enum Finish;
  return {{shared<identity, V>, shared<clamped, V>, shared<unrounded, V>},
          {per_element<identity, V>, per_element<clamped, V>, per_element<unrounded, V>}};
}

inline const Kernels& kernels() noexcept {
  static constexpr Kernels table{widen,
                                 sums<float>,
                                 sums<half>,
                                 row_sums,
                                 convert,
                                 shifted_sums,
                                 result_kernels<Doubles>(),
                                 result_kernels<Floats>(),
                                 target.pipelined,
                                 target.prefetches ? Floats::lanes * 32 : 0};
  return table;
}

#endif  // DMLREF_VECTOR_TARGET
