// activation-inl.hpp: the activations of rows of values, vector by vector: one source for all instruction sets that
// have vectors.
//
// It is included once in the namespace of each, where Doubles, Floats and Vectors are those of simd/reals; without
// the macro DMLREF_VECTOR_TARGET it is empty. The operations and their order are those of reference/elementary.hpp and
// reference/activation.hpp (but for changed signs), so that the bits are.
#ifdef DMLREF_VECTOR_TARGET

/// A polynomial's coefficients.
template <class Real, std::size_t N>
struct Coefficients {
  Real at[N];
};
/// The coefficients in y of twice the polynomial in x = -2 y.
template <class Real, std::size_t N>
constexpr Coefficients<Real, N> for_half_negated(const Real (&c)[N]) noexcept {
  Coefficients<Real, N> result{};
  Real factor = 2;
  for (std::size_t i = 0; i < N; ++i, factor *= -2) result.at[i] = factor * c[i];
  return result;
}

/// sum * z^i + ... + (c[2] + c[3] x) z + (c[0] + c[1] x), z = x^2.
template <std::size_t i, class V, std::size_t N>
DMLREF_VECTOR_TARGET V polynomial_from(V sum, V x, V z, const typename V::Real (&c)[N]) noexcept {
  if constexpr (i == 0) {
    return sum;
  } else {
    return polynomial_from<i - 2>(fma(sum, z, fma(V::of(c[i - 1]), x, V::of(c[i - 2]))), x, z, c);
  }
}
template <class V, std::size_t N>
DMLREF_VECTOR_TARGET V polynomial_of(V x, V z, const typename V::Real (&c)[N]) noexcept {
  if constexpr (N % 2 == 0) {
    return polynomial_from<N - 2>(fma(V::of(c[N - 1]), x, V::of(c[N - 2])), x, z, c);
  } else {
    return polynomial_from<N - 1>(V::of(c[N - 1]), x, z, c);
  }
}

/// What one step of an activation hands to the next: up to three vectors, whose meaning is theirs.
template <class V>
struct State {
  V a{}, b{}, c{};
};

/// e^x = scale * (1 + rest), x within the limits: what `rest` is made of, and scale.
template <class V>
DMLREF_VECTOR_TARGET State<V> reduce_exponential_of(V x) noexcept {
  using E = reference::Elementary<typename V::Real>;
  const V shifted = fma(x, V::of(E::log2_e), V::of(E::shifter));
  const V k = difference(shifted, V::of(E::shifter));
  V r = fma(k, V::of(-E::ln_2), x);
  if constexpr (E::ln_2_rest != 0) r = fma(k, V::of(-E::ln_2_rest), r);
  return {r, power_of_2(shifted)};
}
template <class V>
DMLREF_VECTOR_TARGET V rest_of(V r) noexcept {
  const V square = product(r, r);
  return fma(square, polynomial_of(r, square, reference::Elementary<typename V::Real>::exponential), r);
}

/// e^x, x <= 0, in two steps.
template <class V>
DMLREF_VECTOR_TARGET State<V> reduce_decay_of(V x) noexcept {
  return reduce_exponential_of(not_below(x, V::of(-reference::Elementary<typename V::Real>::limit)));
}
template <class V>
DMLREF_VECTOR_TARGET V exponential_of(State<V> e) noexcept {
  return fma(e.b, rest_of(e.a), e.b);
}

/// e^x - 1 in two steps.
template <class V>
DMLREF_VECTOR_TARGET State<V> reduce_growth_of(V x) noexcept {
  using E = reference::Elementary<typename V::Real>;
  return reduce_exponential_of(not_above(not_below(x, V::of(-E::limit)), V::of(E::limit)));
}
template <class V>
DMLREF_VECTOR_TARGET V exponential_minus_1_of(State<V> e) noexcept {
  return fma(e.b, rest_of(e.a), difference(e.b, V::of(1)));
}

/// tanh(x) in three steps. (1 - e^(-2|x|)) / 2 is the reference's e^(-2|x|) - 1 with all signs changed, and all its
/// terms halved, which is exact: no step doubles |x|, and what is divided is positive.
template <class V>
DMLREF_VECTOR_TARGET State<V> reduce_tanh_of(V x) noexcept {
  using E = reference::Elementary<typename V::Real>;
  const V size = not_above(magnitude(x), V::of(E::limit / 2));
  const V shifted = fma(size, V::of(-2 * E::log2_e), V::of(E::shifter));
  const V k = difference(shifted, V::of(E::shifter));
  V half = fma(k, V::of(E::ln_2 / 2), size);
  if constexpr (E::ln_2_rest != 0) half = fma(k, V::of(E::ln_2_rest / 2), half);
  return {half, power_of_2(shifted)};
}
template <class V>
DMLREF_VECTOR_TARGET V decrease_of(State<V> e) noexcept {
  using Real = typename V::Real;
  static constexpr auto of_half = for_half_negated(reference::Elementary<Real>::exponential);
  const V square = product(e.a, e.a);
  const V half_rest = less_product(e.a, square, polynomial_of(e.a, square, of_half.at));
  return fma(e.b, half_rest, fma(e.b, V::of(Real{-0.5}), V::of(Real{0.5})));
}
template <class V>
DMLREF_VECTOR_TARGET V hyperbolic_tangent_of(V decrease, V x) noexcept {
  return with_sign(quotient(decrease, difference(V::of(1), decrease)), x);
}

/// ln(1 + u) in two steps.
template <class V>
DMLREF_VECTOR_TARGET State<V> reduce_logarithm_of_1_plus_of(V u) noexcept {
  using Real = typename V::Real;
  const auto upper = less(V::of(static_cast<Real>(0x1.a827999fcef32p-2)), u);
  const V s = quotient(choose(upper, difference(u, V::of(1)), u), sum(u, choose(upper, V::of(3), V::of(2))));
  return {s, choose(upper, V::of(reference::Elementary<Real>::ln_2), V::of(0))};
}
template <class V>
DMLREF_VECTOR_TARGET V logarithm_of_1_plus_of(State<V> l) noexcept {
  const V z = product(l.a, l.a);
  const V twice = sum(l.a, l.a);
  const V polynomial = polynomial_of(z, product(z, z), reference::Elementary<typename V::Real>::artanh);
  return sum(fma(product(twice, z), polynomial, twice), l.b);
}

/// An activation in three steps of about the same length. `inverse`: reference::inverse_of(a).
template <ActivationType type, class V>
struct Steps {
  using Real = typename V::Real;
  using E = reference::Elementary<Real>;
  static constexpr bool is_elu = type == ActivationType::elu || type == ActivationType::scaled_elu;
  static constexpr bool is_tanh = type == ActivationType::tanh || type == ActivationType::scaled_tanh;
  static constexpr bool is_softplus = type == ActivationType::softplus || type == ActivationType::parametric_softplus;
  static constexpr bool is_celu = type == ActivationType::celu;
  static constexpr bool is_gelu = type == ActivationType::gelu;
  static constexpr bool is_sigmoid = type == ActivationType::sigmoid;

  V a, b, inverse;

  /// What the elementary function takes.
  DMLREF_VECTOR_TARGET V inner(V x) const noexcept {
    if constexpr (is_celu) return product(x, inverse);
    if constexpr (type == ActivationType::scaled_tanh) return product(b, x);
    if constexpr (type == ActivationType::softplus) return fma(a, x, V::of(0));
    if constexpr (type == ActivationType::parametric_softplus) return fma(b, x, V::of(0));
    if constexpr (is_gelu) return not_below(x, V::of(-40));
    return x;
  }

  DMLREF_VECTOR_TARGET State<V> first(V x) const noexcept {
    const V y = inner(x);
    if constexpr (is_tanh) return reduce_tanh_of(y);
    if constexpr (is_elu || is_celu) return reduce_growth_of(y);
    if constexpr (is_softplus || is_sigmoid) return reduce_decay_of(negated(magnitude(y)));
    if constexpr (is_gelu) {
      const V distance = fma(magnitude(y), V::of(static_cast<Real>(0x1.6a09e667f3bcdp-1)), V::of(0));
      const V t = not_above(distance, V::of(E::erfc_limit));
      const V w = quotient(V::of(1), sum(t, V::of(3)));
      return {t, w, product(difference(t, V::of(3)), w)};
    }
    return {};
  }

  DMLREF_VECTOR_TARGET State<V> second(State<V> s) const noexcept {
    if constexpr (is_tanh) return {decrease_of(s)};
    if constexpr (is_elu || is_celu) return {exponential_minus_1_of(s)};
    if constexpr (is_sigmoid) return {exponential_of(s)};
    if constexpr (is_softplus) return reduce_logarithm_of_1_plus_of(exponential_of(s));
    if constexpr (is_gelu) {
      const State<V> e = reduce_decay_of(negated(product(s.a, s.a)));
      return {e.a, e.b, product(s.b, polynomial_of(s.c, product(s.c, s.c), E::erfc))};
    }
    return {};
  }

  DMLREF_VECTOR_TARGET V third(State<V> s, V x) const noexcept {
    const V zero = V::of(0);
    const V one = V::of(1);
    if constexpr (type == ActivationType::tanh) return hyperbolic_tangent_of(s.a, x);
    if constexpr (type == ActivationType::scaled_tanh) return product(a, hyperbolic_tangent_of(s.a, inner(x)));
    if constexpr (is_elu) {
      const V elu = choose(less(x, zero), product(a, s.a), x);
      return type == ActivationType::elu ? elu : product(b, elu);
    }
    if constexpr (is_celu) {
      const V curve = fma(a, s.a, zero);
      return sum(choose(less(x, zero), zero, x), choose(less(zero, curve), zero, curve));
    }
    if constexpr (is_sigmoid) return quotient(choose(less(x, zero), s.a, one), sum(one, s.a));
    if constexpr (is_softplus) {
      const V y = inner(x);
      const V softplus = sum(choose(less(y, zero), zero, y), logarithm_of_1_plus_of(s));
      return type == ActivationType::softplus ? product(softplus, inverse) : product(a, softplus);
    }
    if constexpr (is_gelu) {
      const V tail = product(V::of(Real{0.5}), product(exponential_of(s), s.c));
      const V y = inner(x);
      return product(y, choose(less(y, zero), tail, difference(one, tail)));
    }
    if constexpr (type == ActivationType::softsign) {
      const V clamped = not_above(not_below(x, V::of(-E::softsign_limit)), V::of(E::softsign_limit));
      return quotient(clamped, sum(one, magnitude(clamped)));
    }
    if constexpr (type == ActivationType::leaky_relu) return choose(less(x, zero), product(x, a), x);
    if constexpr (type == ActivationType::thresholded_relu) return choose(at_most(x, a), zero, x);
    if constexpr (type == ActivationType::shrink) {
      const V within = choose(at_most(x, x), zero, x);
      const V below = choose(less(x, negated(b)), sum(x, a), within);
      return choose(less(b, x), difference(x, a), below);
    }
    return x;
  }
};

/// Rounded results to memory; `streams`: float32 with non-temporal stores, where the address allows it.
template <class V>
DMLREF_VECTOR_TARGET void stream_results(std::byte* to, Vectors<V> x) noexcept {
  if constexpr (std::is_same_v<V, Doubles>) {
    stream(to, rounded(x));
  } else {
    stream_results(to, x.first);
    stream_results(to + V::lanes * sizeof(float), x.second);
  }
}
template <class V>
DMLREF_VECTOR_TARGET void store_results(std::byte* to, V x, bool streams) noexcept {
  if constexpr (target.streams && std::is_same_v<typename V::Real, double>) {
    if (streams && reinterpret_cast<std::uintptr_t>(to) % sizeof(Floats) == 0) return stream_results(to, x);
  }
  static_cast<void>(streams);
  store_rounded(to, x);
}

/// A vector's third step runs beside the second of the next one and the first of the one after: a processor sees too
/// few instructions ahead to overlap whole chains. The last vector overlaps its predecessor; `count` is not below one.
template <ActivationType type, class V>
DMLREF_VECTOR_KERNEL void apply_type(const Activation& activation, const typename V::Real* values, std::byte* to,
                                     std::size_t count, bool streams, Address read) noexcept {
  using Real = typename V::Real;
  constexpr std::size_t result_bytes = sizeof(Real) / 2;
  const Steps<type, V> steps{V::of(activation.parameters[0]), V::of(activation.parameters[1]),
                             V::of(reference::inverse_of(Real{activation.parameters[0]}))};
  const std::size_t last = count - V::lanes;
  State<V> second = steps.second(steps.first(V::load(values)));
  std::size_t next = V::lanes < last ? V::lanes : last;
  State<V> first = steps.first(V::load(values + next));
  for (std::size_t i = 0;;) {
    if constexpr (target.prefetches) prefetch<0>(read + i * result_bytes, V::lanes * result_bytes);
    store_results(to + i * result_bytes, steps.third(second, V::load(values + i)), streams);
    if (i == last) return;
    i = next;
    next = next + V::lanes < last ? next + V::lanes : last;
    second = steps.second(first);
    first = steps.first(V::load(values + next));
  }
}

template <class V>
DMLREF_VECTOR_KERNEL void apply(const Activation& activation, const typename V::Real* values, std::byte* to,
                                std::size_t count, bool streams, Address read) noexcept;

/// Rows shorter than a vector go by way of buffers.
template <class V>
DMLREF_NOINLINE DMLREF_VECTOR_KERNEL void apply_short(const Activation& activation, const typename V::Real* values,
                                                      std::byte* to, std::size_t count, Address read) noexcept {
  using Real = typename V::Real;
  Real in[V::lanes]{};
  std::byte out[V::lanes * sizeof(Real) / 2];
  std::memcpy(in, values, count * sizeof(Real));
  apply<V>(activation, in, out, V::lanes, false, read);
  std::memcpy(to, out, count * sizeof(Real) / 2);
}

template <class V>
DMLREF_VECTOR_KERNEL void apply(const Activation& activation, const typename V::Real* values, std::byte* to,
                                std::size_t count, bool streams, Address read) noexcept {
  using enum ActivationType;
  if (count < V::lanes) return apply_short<V>(activation, values, to, count, read);
  switch (activation.type) {
    case elu: return apply_type<elu, V>(activation, values, to, count, streams, read);
    case leaky_relu: return apply_type<leaky_relu, V>(activation, values, to, count, streams, read);
    case parametric_softplus: return apply_type<parametric_softplus, V>(activation, values, to, count, streams, read);
    case scaled_elu: return apply_type<scaled_elu, V>(activation, values, to, count, streams, read);
    case scaled_tanh: return apply_type<scaled_tanh, V>(activation, values, to, count, streams, read);
    case sigmoid: return apply_type<sigmoid, V>(activation, values, to, count, streams, read);
    case softplus: return apply_type<softplus, V>(activation, values, to, count, streams, read);
    case softsign: return apply_type<softsign, V>(activation, values, to, count, streams, read);
    case ActivationType::tanh: return apply_type<ActivationType::tanh, V>(activation, values, to, count, streams, read);
    case thresholded_relu: return apply_type<thresholded_relu, V>(activation, values, to, count, streams, read);
    case shrink: return apply_type<shrink, V>(activation, values, to, count, streams, read);
    case celu: return apply_type<celu, V>(activation, values, to, count, streams, read);
    case gelu: return apply_type<gelu, decltype(V::first)>(activation, values, to, count, streams, read);
    default: return scalar::apply(activation, values, to, count, streams, read);  // part of the row kernels' stores
  }
}

inline const ActivationKernels& activation_kernels() noexcept {
  using ManyDoubles = Vectors<Vectors<Doubles>>;
  using ManyFloats = Vectors<Vectors<Floats>>;
  static constexpr ActivationKernels table{apply<ManyDoubles>, apply<ManyFloats>};
  return table;
}

#endif  // DMLREF_VECTOR_TARGET
