// requantization_vectors.hpp: the modes of requantize/vectors-inl.hpp as an epilogue calls them, for one target;
// included once per target, inside its namespace, hence no guard. The includer defines DMLREF_QLC_TARGET (the
// attribute) and V (simd/x86.hpp), and `rounding`, the modes' namespace.

/// The bytes of requantize's pack_high and pack_low in the order of the sums.
inline void in_order(const std::uint8_t* packed, std::uint8_t* out) {
  for (std::ptrdiff_t i = 0; i < 4 * V::lanes; ++i) {
    const std::ptrdiff_t part = i / 16, half = i / 8 % 2, lane = i % 8 / 2, odd = i % 2;
    out[(2 * half + odd) * V::lanes + 4 * part + lane] = packed[i];
  }
}

/// Which of 4 * V::lanes sums belongs to which channel.
inline std::ptrdiff_t channel_of(requantize::Factors factors, std::ptrdiff_t i) {
  return factors == requantize::Factors::one ? 0 : factors == requantize::Factors::each ? i : i % V::lanes / 4;
}

template <requantize::Factors F>
DMLREF_QLC_TARGET void fixed_point(const std::int32_t* sums, const Channels& channels, std::uint8_t* out) {
  const Requantizer& to = channels.requantizer;
  alignas(64) float scale[4 * V::lanes];
  for (std::ptrdiff_t i = 0; i < 4 * V::lanes; ++i) scale[i] = to.fixed_scale[channel_of(F, i)];
  const V::Bits tie_tolerance = V::all(static_cast<std::int32_t>(fixed_tie_tolerance));
  V::Bits sum[4], fixed[4];
  for (int v = 0; v < 4; ++v) {
    sum[v] = V::load(sums + V::lanes * v);
    fixed[v] = rounding::in_fixed_point(sum[v], V::load_floats(scale + V::lanes * v), V::all(to.fixed_shift()));
  }
  unsigned near = 0;
  for (int v = 0; v < 4; ++v) near |= rounding::lanes_near_ties(fixed[v]);
  if (rounding::has_near_tie(fixed, tie_tolerance) != (near != 0)) std::abort();  // the two ways to look disagree
  V::Floats scales[4], shifts[4];
  for (int v = 0; v < 4; ++v) {
    scales[v] = V::load_floats(scale + V::lanes * v);
    shifts[v] = V::all(to.fixed_shift());
  }
  if (near != 0) rounding::round_exactly<F>(sum, fixed, scales, shifts, channels.exact, channels.exact);
  std::uint8_t packed[4 * V::lanes];
  V::store(packed, V::xor_(rounding::pack_high(fixed), V::all_bytes(to.packed().flip)));
  in_order(packed, out);
}

/// Fixed point of which all values are suspect: products are clamped.
DMLREF_QLC_TARGET inline void clamped_fixed_point(const std::int32_t* sums, const Channels& channels,
                                                  std::uint8_t* out) {
  const Requantizer& to = channels.requantizer;
  V::Bits sum[4], fixed[4];
  V::Floats scales[4], shifts[4];
  for (int v = 0; v < 4; ++v) {
    sum[v] = V::load(sums + V::lanes * v);
    scales[v] = V::load_floats(to.fixed_scale + V::lanes * v);
    shifts[v] = V::all(to.fixed_shift());
  }
  rounding::round_exactly<requantize::Factors::each>(sum, fixed, scales, shifts, channels.exact, channels.exact);
  std::uint8_t packed[4 * V::lanes];
  V::store(packed, V::xor_(rounding::pack_high(fixed), V::all_bytes(to.packed().flip)));
  in_order(packed, out);
}

template <rounding::FixedPointOf Kind>
DMLREF_QLC_TARGET void stored_in_doubles(const std::int32_t* sums, const Channels& c, std::uint8_t* out) {
  rounding::store_in_doubles<Kind>(sums, c.requantizer, 0, static_cast<std::ptrdiff_t>(c.count()), 64, out);
}

template <requantize::Factors F, SumsBegin S>
DMLREF_QLC_TARGET void multiply_add(const std::int32_t* sums, const Channels& channels, std::uint8_t* out) {
  alignas(64) float scale[4 * V::lanes], shift[4 * V::lanes];
  alignas(64) std::int32_t begun[4 * V::lanes];
  const MultiplyAddRounding* rounded = channels.rounded[S == SumsBegin::as_integers ? 1 : 0];
  for (std::ptrdiff_t i = 0; i < 4 * V::lanes; ++i) {
    const MultiplyAddRounding& r = rounded[channel_of(F, i)];
    scale[i] = r.scale;
    shift[i] = r.shift;
    begun[i] = r.sum + sums[i];
  }
  V::Bits q[4];
  for (int v = 0; v < 4; ++v) {
    q[v] = rounding::template by_multiply_add<S>(V::load(begun + V::lanes * v), V::load_floats(scale + V::lanes * v),
                                                 V::load_floats(shift + V::lanes * v));
  }
  std::uint8_t packed[4 * V::lanes];
  V::store(packed, V::xor_(rounding::pack_low(q), V::all_bytes(channels.requantizer.packed().flip)));
  in_order(packed, out);
}
