// vectors-inl.hpp: ill-conditioned results vector by vector: one source for all instruction sets that have vectors.
// Included once in the namespace of each, see targets.hpp. The operations and their order are those of scalar.hpp and
// of reference/double_double.hpp, so that the bits are.
#ifdef DMLREF_VECTOR_TARGET

/// reference::DoubleDouble. No compiler may contract a product and a sum: products are pinned where a sum follows.
struct DoubledDoubles {
  Doubles high, low;
  DMLREF_VECTOR_TARGET static DoubledDoubles of(reference::DoubleDouble x) noexcept {
    return {Doubles::of(x.high), Doubles::of(x.low)};
  }
};
/// a - b as a - b * 1, the same number: there would be more additions than multiplications otherwise.
DMLREF_VECTOR_TARGET Doubles fused_difference(Doubles a, Doubles b) noexcept {
  return less_product(a, b, Doubles::of(1));
}
DMLREF_VECTOR_TARGET DoubledDoubles two_sum(Doubles a, Doubles b) noexcept {
  const Doubles total = sum(a, b);
  const Doubles b_part = fused_difference(total, a);
  const Doubles a_part = difference(total, b_part);
  return {total, sum(difference(a, a_part), fused_difference(b, b_part))};
}
DMLREF_VECTOR_TARGET DoubledDoubles fast_two_sum(Doubles a, Doubles b) noexcept {
  const Doubles total = sum(a, b);
  return {total, difference(b, fused_difference(total, a))};
}
DMLREF_VECTOR_TARGET DoubledDoubles add(DoubledDoubles a, DoubledDoubles b) noexcept {
  const DoubledDoubles high = two_sum(a.high, b.high);
  const DoubledDoubles low = two_sum(a.low, b.low);
  const DoubledDoubles total = fast_two_sum(high.high, sum(high.low, low.high));
  return fast_two_sum(total.high, sum(total.low, low.low));
}
DMLREF_VECTOR_TARGET DoubledDoubles multiply(DoubledDoubles a, DoubledDoubles b) noexcept {
  Doubles high = product(a.high, b.high);
  pin(high);
  const Doubles low = fma(a.high, b.high, negated(high));
  return fast_two_sum(high, fma(a.high, b.low, fma(a.low, b.high, low)));
}

/// reference::ElementCoefficients.
template <class V>
struct VectorCoefficients {
  V slope, offset, error_bound;
  decltype(less(V{}, V{})) is_finite;

  DMLREF_VECTOR_TARGET static VectorCoefficients of(const GroupErrors<typename V::Real>& group, V scale,
                                                    V bias) noexcept {
    const V slope = product(V::of(group.rate), scale);
    const V max = V::of((std::numeric_limits<typename V::Real>::max)());
    V offset = less_product(bias, V::of(group.rest), slope);
    if (group.rest == 0) offset = choose(at_most(magnitude(slope), max), offset, bias);
    const V of_bias = product(magnitude(bias), V::of(group.offset_error));
    const V total = sum(sum(V::of(group.size_of_mean), magnitude(slope)), magnitude(offset));
    const V bound = fma(magnitude(slope), V::of(group.slope_error), of_bias);
    const V none = V::of(std::numeric_limits<typename V::Real>::quiet_NaN());  // (as is the bound of a rate of 0)
    return {slope, offset, bound, at_most(choose(at_most(bound, bound), total, none), max)};
  }
};

template <class V>
DMLREF_VECTOR_KERNEL void error_bounds(const typename V::Real* scale, const typename V::Real* bias, std::size_t count,
                                       const GroupErrors<typename V::Real>& group, typename V::Real* bounds) noexcept {
  const V none = V::of(std::numeric_limits<typename V::Real>::quiet_NaN());
  for (std::size_t i = 0; i < count; i += V::lanes) {
    const auto c = VectorCoefficients<V>::of(group, V::load(scale + i), V::load(bias + i));
    store(reinterpret_cast<std::byte*>(bounds + i), choose(c.is_finite, c.error_bound, none));
  }
}

/// reference::is_ill_conditioned.
template <class V>
struct IllConditioned {
  using Real = typename V::Real;
  bool jumps, shrinks;
  V a, b, share_of_a, share_of_b;

  DMLREF_VECTOR_TARGET explicit IllConditioned(const Activation& activation) noexcept
      : jumps(normalization::jumps(activation.type)), shrinks(activation.type == ActivationType::shrink) {
    const Real at_a = shrinks ? std::fabs(Real{activation.parameters[0]}) : Real{activation.parameters[0]};
    const Real at_b = shrinks ? std::fabs(Real{activation.parameters[1]}) : at_a;
    constexpr Real share = reference::near_share<Real>;
    a = V::of(at_a);
    b = V::of(at_b);
    share_of_a = V::of(std::fabs(at_a) * share);
    share_of_b = V::of(std::fabs(at_b) * share);
  }
  DMLREF_VECTOR_TARGET auto operator()(V x, V error_bound) const noexcept {
    const V size = magnitude(x);
    auto found = not_at_most(error_bound, size);
    if (jumps) {
      const V place = shrinks ? size : x;
      found = or_(found, at_most(magnitude(difference(place, a)), sum(share_of_a, error_bound)));
      found = or_(found, at_most(magnitude(difference(place, b)), sum(share_of_b, error_bound)));
    }
    return found;
  }
  /// Whether whole vectors of values that share an error bound have any. (One branch: mostly there is nothing.)
  DMLREF_VECTOR_TARGET bool any_of(const Real* values, std::size_t count, V error_bound) const noexcept {
    const V near_a = jumps ? sum(share_of_a, error_bound) : V::of(-1);
    const V near_b = jumps ? sum(share_of_b, error_bound) : V::of(-1);
    auto found = less(error_bound, error_bound);
    for (std::size_t i = 0; i + V::lanes <= count; i += V::lanes) {
      const V x = V::load(values + i);
      const V size = magnitude(x);
      const V place = shrinks ? size : x;
      found = or_(found, not_at_most(error_bound, size));
      found = or_(found, at_most(magnitude(difference(place, a)), near_a));
      found = or_(found, at_most(magnitude(difference(place, b)), near_b));
    }
    return any(found);
  }
};

template <class V>
DMLREF_VECTOR_KERNEL std::size_t list_values(const Activation& activation, const typename V::Real* values,
                                             std::size_t count, const typename V::Real* bounds, std::size_t step,
                                             std::uint16_t* list) noexcept {
  const IllConditioned<V> is_ill_conditioned(activation);
  const V first = V::of(bounds[0]);
  std::size_t listed = 0;
  std::size_t i = 0;
  if (step == 0 && !is_ill_conditioned.any_of(values, count, first)) i = count / V::lanes * V::lanes;
  for (; i + V::lanes <= count; i += V::lanes) {
    const auto found = is_ill_conditioned(V::load(values + i), step == 0 ? first : V::load(bounds + i));
    if (!any(found)) continue;
    const unsigned mask = bits(found);  // (Without a branch: there may be many.)
    for (std::size_t k = 0; k < V::lanes; ++k) {
      list[listed] = static_cast<std::uint16_t>(i + k);
      listed += (mask >> k) & 1u;
    }
  }
  std::uint16_t* const rest = list + listed;
  const std::size_t more =
      scalar::list_ill_conditioned_values(activation, values + i, count - i, bounds + i * step, step, rest);
  return listed + scalar::renumber(rest, more, i);
}

DMLREF_VECTOR_TARGET DoubledDoubles value_from(const Batch& batch, std::size_t i, const MeanAndRate& group) noexcept {
  const Doubles none = Doubles::of(0);
  const DoubledDoubles minus_mean{Doubles::of(-group.mean.high), Doubles::of(-group.mean.low)};
  const DoubledDoubles deviation = add(DoubledDoubles{Doubles::load(batch.x + i), none}, minus_mean);
  const DoubledDoubles z = multiply(deviation, DoubledDoubles::of(group.rate));
  DoubledDoubles scaled = multiply(z, DoubledDoubles{Doubles::load(batch.scale + i), none});
  const DoubledDoubles bias{Doubles::load(batch.bias + i), Doubles::load(batch.bias_low + i)};
  // (reference::add_bias)
  const Doubles noise = Doubles::of(group.noise);
  scaled.low = choose(at_most(magnitude(scaled.low), product(magnitude(scaled.high), noise)), none, scaled.low);
  const DoubledDoubles total = add(scaled, bias);
  const auto is_noise = at_most(magnitude(total.high), product(magnitude(bias.high), noise));
  return {choose(is_noise, none, total.high), choose(is_noise, none, total.low)};
}

DMLREF_VECTOR_KERNEL std::size_t recompute(Batch& batch, const Activation& activation, const GroupCoefficients& group,
                                           const MeanAndRate& careful, std::uint16_t* pending) noexcept {
  const IllConditioned<Doubles> is_ill_conditioned(activation);
  const Doubles infinite = Doubles::of(std::numeric_limits<double>::infinity());
  const GroupErrors<double> errors = errors32(group);
  std::size_t listed = 0;
  for (std::size_t i = 0; i < batch.count; i += Doubles::lanes) {
    const Doubles bias = Doubles::load(batch.bias + i);
    const auto c = VectorCoefficients<Doubles>::of(errors, Doubles::load(batch.scale + i), bias);
    Doubles value = fma(difference(Doubles::load(batch.x + i), Doubles::of(group.shift)), c.slope, c.offset);
    // (Where a coefficient is no number, neither test finds anything.)
    auto found =
        is_ill_conditioned(choose(c.is_finite, value, infinite), choose(c.is_finite, c.error_bound, Doubles::of(0)));
    if (any(found)) {
      if (!is_ill_conditioned.jumps) {
        const Doubles again = value_from(batch, i, careful).high;
        const Doubles error_bound = fma(magnitude(c.slope), Doubles::of(group.careful_slope_error),
                                        product(magnitude(bias), Doubles::of(group.careful_offset_error)));
        value = choose(found, again, value);
        found = not_at_most(choose(found, error_bound, Doubles::of(0)), choose(found, magnitude(again), infinite));
      }
      listed = list_ill_conditioned(bits(found), i, batch.count, pending, listed);
    }
    store(reinterpret_cast<std::byte*>(batch.value + i), value);
  }
  return listed;
}

/// 1 where a double-double is above a point, else 0 or less.
DMLREF_VECTOR_TARGET auto is_above(DoubledDoubles value, Doubles point) noexcept {
  const Doubles above = choose(less(point, value.high), Doubles::of(1), value.low);
  return less(Doubles::of(0), choose(less(value.high, point), Doubles::of(-1), above));
}
DMLREF_VECTOR_KERNEL void recompute_exactly(Batch& batch, const Activation& activation,
                                            const MeanAndRate& group) noexcept {
  const Doubles a = Doubles::of(activation.parameters[0]);
  const Doubles b = Doubles::of(activation.parameters[1]);
  for (std::size_t i = 0; i < batch.count; i += Doubles::lanes) {
    const DoubledDoubles value = value_from(batch, i, group);
    Doubles result = value.high;
    if (activation.type == ActivationType::thresholded_relu) {
      result = choose(is_above(value, a), value.high, Doubles::of(0));
    } else if (activation.type == ActivationType::shrink) {
      const auto below = is_above({negated(value.high), negated(value.low)}, b);
      result = choose(below, sum(sum(value.high, a), value.low), Doubles::of(0));
      result = choose(is_above(value, b), sum(difference(value.high, a), value.low), result);
    }
    store(reinterpret_cast<std::byte*>(batch.value + i), result);
  }
}

template <bool squared>
DMLREF_VECTOR_KERNEL std::size_t add_exact_blocks(const std::byte* floats, std::size_t count, const ExactLanes& means,
                                                  ExactLanes& lanes) noexcept {
  // (A register's worth of lanes at a time, that chains of additions stay in registers.)
  std::size_t done = 0;
  for (std::size_t v = 0; v < normalization_lanes; v += Doubles::lanes) {
    [[maybe_unused]] const Doubles mean = Doubles::load(means.high + v);
    [[maybe_unused]] const Doubles mean_low = Doubles::load(means.low + v);
    Doubles high = Doubles::load(lanes.high + v);
    Doubles low = Doubles::load(lanes.low + v);
    for (done = 0; done + normalization_lanes <= count; done += normalization_lanes) {
      DoubledDoubles term{Doubles::from_floats(floats + (done + v) * sizeof(float)), Doubles::of(0)};
      if constexpr (squared) {
        term = two_sum(term.high, negated(mean));
        term = fast_two_sum(term.high, difference(term.low, mean_low));
        term = multiply(term, term);
      }
      const DoubledDoubles total = two_sum(high, term.high);
      high = total.high;
      low = sum(low, sum(total.low, term.low));
    }
    store(reinterpret_cast<std::byte*>(lanes.high + v), high);
    store(reinterpret_cast<std::byte*>(lanes.low + v), low);
  }
  return done;
}
DMLREF_VECTOR_KERNEL void add_exact(const std::byte* floats, std::size_t count, const ExactLanes* means,
                                    ExactLanes& lanes) noexcept {
  const std::size_t done = means != nullptr ? add_exact_blocks<true>(floats, count, *means, lanes)
                                            : add_exact_blocks<false>(floats, count, lanes, lanes);
  scalar::add_exact(floats + done * sizeof(float), count - done, means, lanes);
}

inline const IllConditionedKernels& ill_conditioned_kernels() noexcept {
  static constexpr IllConditionedKernels table{error_bounds<Doubles>,
                                               error_bounds<Floats>,
                                               list_values<Doubles>,
                                               list_values<Floats>,
                                               recompute,
                                               recompute_exactly,
                                               add_exact};
  return table;
}

#endif  // DMLREF_VECTOR_TARGET
