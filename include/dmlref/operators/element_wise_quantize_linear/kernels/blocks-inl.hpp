// blocks-inl.hpp: quantization and dequantization of blocks by vectors: one source for all instruction sets.
//
// It is included by simd/reals/foreach_target-inl.hpp; without its macros it is empty. Kernels take groups of four
// vectors from element i on; the last group may begin within the one before. Fewer elements than a group go vector by
// vector in the same way, fewer than a vector to the scalar kernel.
#ifdef DMLREF_VECTOR_TARGET

inline constexpr std::size_t lanes = Floats::lanes, group = 4 * lanes;
static_assert(group <= group_elements);

/// Integers of 32 bits are rounded.
template <class T>
DMLREF_VECTOR_TARGET Floats rounded_from(const std::byte* from) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return floats_of_integers<T>(from);
  } else {
    return floats_from<T>(from);
  }
}
template <class T>
DMLREF_VECTOR_TARGET Vectors<Doubles> exact_from(const std::byte* from) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return doubles_of_integers<T>(from);
  } else {
    return doubles_from<T>(from);
  }
}
DMLREF_VECTOR_TARGET std::size_t smaller(std::size_t a, std::size_t b) noexcept { return a < b ? a : b; }

/// The groups of a row of results of `Bytes` bytes. Where stores are non-temporal, those between the first and the last
/// one begin on lines of the cache (or on the half that a group is), and no line is stored both ways but those that the
/// row shares with others.
template <std::size_t Bytes>
struct Groups {
  static constexpr std::size_t line = group * Bytes < 64 ? group * Bytes : 64;
  std::byte* to;
  std::size_t count, second;
  bool streams;

  DMLREF_VECTOR_TARGET Groups(std::byte* first, std::size_t elements, bool stream) noexcept
      : to(first), count(elements), second(group), streams(stream) {
    const std::size_t to_line = (0 - reinterpret_cast<std::uintptr_t>(to)) % line;
    streams = streams && to_line % Bytes == 0;
    if (streams && to_line != 0) second = to_line / Bytes;
  }
  DMLREF_VECTOR_TARGET std::size_t after(std::size_t next) const noexcept { return next == 0 ? second : next + group; }
  DMLREF_VECTOR_TARGET bool on_lines(std::size_t i) const noexcept {
    return streams && reinterpret_cast<std::uintptr_t>(to + i * Bytes) % line == 0;
  }
  /// Where the group at i goes by other stores: `space` holds one that is stored in part, by placed().
  DMLREF_VECTOR_TARGET std::byte* place(std::size_t i, std::byte* space) const noexcept {
    return streams ? space : to + i * Bytes;
  }
  DMLREF_VECTOR_TARGET void placed(std::size_t next, std::size_t i, const std::byte* space) const noexcept {
    if (streams)
      std::memcpy(to + next * Bytes, space + (next - i) * Bytes, (smaller(after(next), count) - next) * Bytes);
  }
};
/// Ahead of the group at `from`; of bytes it gains nothing.
template <class In>
DMLREF_VECTOR_TARGET void prefetch_group(const std::byte* from) noexcept {
  constexpr std::int64_t distance = 2048, bytes = sizeof(In) > 1 ? group * sizeof(In) : 0;
  for (std::int64_t line = 0; line < bytes; line += 64) prefetch_line(address_of(from, distance + line));
}

/// The nearest integer, or the even one of two, of numbers up to 2^22.
DMLREF_VECTOR_TARGET Floats nearest(Floats x) noexcept {
  const Floats shifter = Floats::of(0x1.8p23f);
  return difference(sum(x, shifter), shifter);
}
/// x / scale rounded, 0 for NaN, where `guess` is wrong by 1 at most and the scale is normal. As of any remainder,
/// x - guess * scale is exact.
DMLREF_VECTOR_TARGET Floats by_remainder(Floats x, Floats scale, Floats guess) noexcept {
  const Floats rest = less_product(x, guess, scale), size = magnitude(scale);
  const Floats twice = sum(magnitude(rest), magnitude(rest));
  const Floats half_step = with_sign(Floats::of(0.5f), product(rest, scale)), tie = sum(guess, half_step);
  const Floats at_tie = choose(at_most(size, twice), nearest(tie), guess);
  return choose(at_most(x, x), choose(less(size, twice), sum(tie, half_step), at_tie), Floats::of(0));
}
template <class In>
DMLREF_VECTOR_TARGET Floats by_doubles(const std::byte* x, Floats scale) noexcept {
  using DoublePair = Vectors<Doubles>;
  const DoublePair most = DoublePair::of(quotient_limit), least = DoublePair::of(-quotient_limit);
  const DoublePair shifter = DoublePair::of(0x1.8p52);
  const DoublePair ratio = quotient(exact_from<In>(x), widened(scale));
  const DoublePair integer = difference(sum(not_below(not_above(ratio, most), least), shifter), shifter);
  return rounded(choose(at_most(ratio, ratio), integer, DoublePair::of(0.0)));
}

/// Any scales and data. A quotient of floats errs by less than 2^-13 where it is at most 512. So it decides where it is
/// farther than that from a tie; elsewhere, and of NaN, remainders do, or doubles where floats hold not all.
template <class In>
DMLREF_NOINLINE DMLREF_VECTOR_KERNEL void quantize_vector(const Parameters& p, const std::byte* from, std::size_t i,
                                                          std::byte* to) noexcept {
  const std::size_t k = i & p.mask;
  const std::byte* const at = from + i * sizeof(In);
  const Floats x = rounded_from<In>(at), scale = Floats::load(p.scales + k);
  const Floats ratio =
      p.ordinary ? product(product(x, Floats::load(p.inverses + k)), Floats::of(0x1p-16f)) : quotient(x, scale);
  const Floats clamped = not_below(not_above(ratio, Floats::of(quotient_limit)), Floats::of(-quotient_limit));
  Floats integer = nearest(clamped);
  if (any(not_at_most(magnitude(difference(clamped, integer)), Floats::of(0.5f - 0x1p-13f)))) {
    integer = !std::is_integral_v<In> && p.ordinary ? by_remainder(x, scale, integer) : by_doubles<In>(at, scale);
  }
  const Floats lowest = Floats::of(p.is_signed ? -128.0f : 0.0f), highest = sum(lowest, Floats::of(255));
  const Floats result = sum(integer, Floats::load(p.zero_points + k));
  store_bytes(to + i, not_below(not_above(result, highest), lowest));
}

/// In fixed point: (quotient + zero point + 1/2) * 2^16 and 4 more. Where the result is no saturated one, quotients are
/// at most 256: their errors (of the inverse, of integers as floats, of the multiply-add and of the conversion) sum up
/// to less than 4. So the upper 16 bits are the result unless the lower ones are below 8: then there may be a tie. NaN
/// and what lies far beyond the range look like that, too.
template <class In>
DMLREF_VECTOR_TARGET Integers in_fixed_point(const std::byte* from, std::size_t i, Floats inverse,
                                             Floats offset) noexcept {
  return nearest_integers(fma(rounded_from<In>(from + i * sizeof(In)), inverse, offset));
}

template <class In>
DMLREF_VECTOR_KERNEL void quantize(const Parameters& p, const std::byte* from, std::size_t count, std::byte* to,
                                   Access access) noexcept {
  if (count < lanes) return scalar::quantize<In>(p, from, count, to, access);
  if (count < group || !p.ordinary) {
    for (std::size_t i = 0; i < count; i += lanes) quantize_vector<In>(p, from, smaller(i, count - lanes), to);
    return;
  }
  const Integers flip = Integers::of_bytes(p.is_signed ? 0x80 : 0);
  const Groups<1> groups(to, count, access.streams);
  const bool shared = p.mask == 0;  // in registers: loads of parameters would take a third of the time
  const Floats inverse = Floats::load(p.inverses), offset = Floats::load(p.offsets);
  alignas(64) std::byte space[group];
  for (std::size_t next = 0; next < count; next = groups.after(next)) {
    const std::size_t i = smaller(next, count - group);
    if (access.prefetches) prefetch_group<In>(from + i * sizeof(In));
    Integers q[4];
    if (shared) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 4; ++v) q[v] = in_fixed_point<In>(from, i + v * lanes, inverse, offset);
    } else {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 4; ++v) {
        const std::size_t at = i + v * lanes;
        q[v] = in_fixed_point<In>(from, at, Floats::load(p.inverses + at), Floats::load(p.offsets + at));
      }
    }
    const Integers bytes = xor_(upper_words_as_bytes(q[0], q[1], q[2], q[3]), flip);
    if (any_lower_word_below_8(min_words(min_words(q[0], q[1]), min_words(q[2], q[3])))) [[unlikely]] {
      for (std::size_t v = 0; v < group; v += lanes) quantize_vector<In>(p, from, i + v, to);
    } else if (groups.on_lines(i)) {
      stream(to + i, bytes);
    } else {
      store(groups.place(i, space), bytes);
      groups.placed(next, i, space);
    }
  }
}

/// Integers of 32 bits beyond this, and zero points, are taken as doubles: below, floats have their difference.
inline constexpr float exact_limit = 0x1p23f;

/// The product has at most 17 + 11 bits in float16's case, whose rounding to odd keeps what decides the second one.
template <class In, class Out>
DMLREF_VECTOR_TARGET Floats dequantized(const Parameters& p, Floats q, std::size_t k) noexcept {
  const Floats d = difference(q, Floats::load(p.zero_points + k)), scale = Floats::load(p.scales + k);
  const Floats result = product(d, scale);
  if constexpr (std::is_same_v<Out, half> && sizeof(In) > 1) {
    return rounded_to_odd(result, less_product(result, d, scale));
  } else {
    return result;
  }
}
template <class Out>
DMLREF_VECTOR_TARGET void store_as(std::byte* to, Floats x) noexcept {
  std::is_same_v<Out, half> ? store_rounded(to, x) : store(to, x);
}
template <class Out>
DMLREF_VECTOR_TARGET void stream_as(std::byte* to, Floats x) noexcept {
  std::is_same_v<Out, half> ? stream_rounded(to, x) : stream(to, x);
}

/// Any scales, and integers of 32 bits: in doubles, whose rounding to odd keeps what decides the second one.
template <class In, class Out>
DMLREF_NOINLINE DMLREF_VECTOR_KERNEL void dequantize_vector(const Parameters& p, const std::byte* from, std::size_t i,
                                                            std::byte* to) noexcept {
  const std::size_t k = i & p.mask;
  const Vectors<Doubles> d = difference(doubles_of_integers<In>(from + i * sizeof(In)),
                                        doubles_of_integers<In>(p.integers() + k * sizeof(In)));
  const Vectors<Doubles> scale = widened(Floats::load(p.scales + k));
  Vectors<Doubles> wide = product(d, scale);
  const Vectors<Doubles> excess = less_product(wide, d, scale);
  wide = {rounded_to_odd(wide.first, excess.first), rounded_to_odd(wide.second, excess.second)};
  Floats result = rounded(wide);
  if constexpr (std::is_same_v<Out, half>) {
    result = rounded_to_odd(result, rounded(difference(widened(result), wide)));  // (with float16's scales all exact)
  }
  const Floats nan = Floats::of(std::numeric_limits<float>::quiet_NaN());
  store_as<Out>(to + i * sizeof(Out), choose(at_most(result, result), result, nan));
}

template <class In, class Out>
DMLREF_VECTOR_KERNEL void dequantize(const Parameters& p, const std::byte* from, std::size_t count, std::byte* to,
                                     Access access) noexcept {
  constexpr bool is_wide = sizeof(In) == sizeof(std::int32_t);
  if (count < lanes || (!is_wide && !p.ordinary)) return scalar::dequantize<In, Out>(p, from, count, to, access);
  if (count < group || !p.ordinary) {
    for (std::size_t next = 0; next < count; next += lanes) {
      const std::size_t i = smaller(next, count - lanes);
      if constexpr (is_wide) {
        dequantize_vector<In, Out>(p, from, i, to);
      } else {
        const Floats q = floats_of_integers<In>(from + i * sizeof(In));
        store_as<Out>(to + i * sizeof(Out), dequantized<In, Out>(p, q, i & p.mask));
      }
    }
    return;
  }
  const Groups<sizeof(Out)> groups(to, count, access.streams);
  const std::size_t mask = p.mask;
  alignas(64) std::byte space[group * sizeof(Out)];
  for (std::size_t next = 0; next < count; next = groups.after(next)) {
    const std::size_t i = smaller(next, count - group), k = i & mask;
    if (access.prefetches) prefetch_group<In>(from + i * sizeof(In));
    Floats a = floats_of_integers<In>(from + i * sizeof(In));
    Floats b = floats_of_integers<In>(from + (i + lanes) * sizeof(In));
    Floats c = floats_of_integers<In>(from + (i + 2 * lanes) * sizeof(In));
    Floats d = floats_of_integers<In>(from + (i + 3 * lanes) * sizeof(In));
    if constexpr (is_wide) {
      const Floats limit = Floats::of(exact_limit);
      const auto ab = or_(not_at_most(magnitude(a), limit), not_at_most(magnitude(b), limit));
      const auto cd = or_(not_at_most(magnitude(c), limit), not_at_most(magnitude(d), limit));
      if (any(or_(ab, cd))) [[unlikely]] {
        for (std::size_t v = 0; v < group; v += lanes) dequantize_vector<In, Out>(p, from, i + v, to);
        continue;
      }
    }
    a = dequantized<In, Out>(p, a, k);
    b = dequantized<In, Out>(p, b, k + lanes);
    c = dequantized<In, Out>(p, c, k + 2 * lanes);
    d = dequantized<In, Out>(p, d, k + 3 * lanes);
    constexpr std::size_t step = lanes * sizeof(Out);
    if (groups.on_lines(i)) {
      std::byte* const at = to + i * sizeof(Out);
      stream_as<Out>(at, a);
      stream_as<Out>(at + step, b);
      stream_as<Out>(at + 2 * step, c);
      stream_as<Out>(at + 3 * step, d);
    } else {
      std::byte* const at = groups.place(i, space);
      store_as<Out>(at, a);
      store_as<Out>(at + step, b);
      store_as<Out>(at + 2 * step, c);
      store_as<Out>(at + 3 * step, d);
      groups.placed(next, i, space);
    }
  }
}

template <class T>
DMLREF_VECTOR_KERNEL void to_floats(const std::byte* from, std::size_t count, float* to) noexcept {
  if (count < lanes) return scalar::to_floats<T>(from, count, to);
  for (std::size_t next = 0; next < count; next += lanes) {
    const std::size_t i = smaller(next, count - lanes);
    store(reinterpret_cast<std::byte*>(to + i), rounded_from<T>(from + i * sizeof(T)));
  }
}

DMLREF_VECTOR_KERNEL void prepare(Parameters& p, std::size_t count, bool quantizes) noexcept {
  const Floats unit = Floats::of(0x1p16f), largest = Floats::of((std::numeric_limits<float>::max)());
  const Floats normal = Floats::of(quantizes ? (std::numeric_limits<float>::min)() : 0.0f);
  const Floats half_and_more = Floats::of((p.is_signed ? 128.5f : 0.5f) * 0x1p16f + 4), exact = Floats::of(exact_limit);
  Floats scale = Floats::of(p.scales[0]), zero_point = Floats::of(p.zero_points[0]);
  Floats inverse = quotient(unit, scale);
  auto beyond = less(scale, scale);
  for (std::size_t i = 0, entries = p.mask != 0 ? count : group; i < entries; i += lanes) {
    if (p.mask != 0) {
      scale = Floats::load(p.scales + i);
      zero_point = Floats::load(p.zero_points + i);
      inverse = quotient(unit, scale);
    } else {
      store(reinterpret_cast<std::byte*>(p.scales + i), scale);
      store(reinterpret_cast<std::byte*>(p.zero_points + i), zero_point);
    }
    const Floats size = magnitude(scale);
    beyond = or_(beyond, or_(not_at_most(normal, size), not_at_most(size, largest)));
    if (quantizes) {
      store(reinterpret_cast<std::byte*>(p.inverses + i), inverse);
      store(reinterpret_cast<std::byte*>(p.offsets + i), fma(zero_point, unit, half_and_more));
      const Floats inverse_size = magnitude(inverse);
      beyond = or_(beyond, or_(not_at_most(normal, inverse_size), not_at_most(inverse_size, largest)));
    } else {
      beyond = or_(beyond, not_at_most(magnitude(zero_point), exact));
    }
  }
  p.ordinary = !any(beyond);
}

inline const Kernels& target_kernels() noexcept {
  static constexpr Kernels all{
      {{to_floats<float>, quantize<float>, nullptr, nullptr},
       {to_floats<half>, quantize<half>, nullptr, nullptr},
       {to_floats<std::uint32_t>, nullptr, dequantize<std::uint32_t, float>, dequantize<std::uint32_t, half>},
       {to_floats<std::uint16_t>, nullptr, dequantize<std::uint16_t, float>, dequantize<std::uint16_t, half>},
       {to_floats<std::uint8_t>, nullptr, dequantize<std::uint8_t, float>, dequantize<std::uint8_t, half>},
       {to_floats<std::int32_t>, quantize<std::int32_t>, dequantize<std::int32_t, float>,
        dequantize<std::int32_t, half>},
       {to_floats<std::int16_t>, nullptr, dequantize<std::int16_t, float>, dequantize<std::int16_t, half>},
       {to_floats<std::int8_t>, nullptr, dequantize<std::int8_t, float>, dequantize<std::int8_t, half>}},
      prepare};
  return all;
}

#endif  // DMLREF_VECTOR_TARGET
