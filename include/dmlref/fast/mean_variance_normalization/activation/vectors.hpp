// vectors.hpp: the activations of rows of values, vector by vector: one text for all instruction sets that have
// vectors.
//
// It is included once in the namespace of each, after the macro DMLREF_VECTOR_TARGET names the attribute and the types
// Doubles and Floats stand for a vector of either; without the macro it is empty. Their operations: of, load,
// store_rounded (to the type that the results have), sum, difference, product, quotient, fused(a, b, c) = a * b + c,
// magnitude, with_sign(of magnitude, sign), not_above(x, most), not_below(x, least) (both hand NaN on), power_of_2 (of
// a shifted integer), and with masks less, at_most, choose(mask, yes, no), either, any. The steps and their order are
// those of reference/elementary.hpp and reference/activation.hpp, so that the bits are.
#ifdef DMLREF_VECTOR_TARGET

/// Two vectors that take each step together, so that their long chains of operations overlap; and two masks.
template <class Mask>
struct Pair {
  Mask first, second;
};
template <class V>
struct Vectors {
  V first, second;
  using Real = typename V::Real;
  static constexpr std::size_t lanes = 2 * V::lanes;
  DMLREF_VECTOR_TARGET static Vectors of(Real x) noexcept { return {V::of(x), V::of(x)}; }
  DMLREF_VECTOR_TARGET static Vectors load(const Real* from) noexcept {
    return {V::load(from), V::load(from + V::lanes)};
  }
};
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> sum(Vectors<V> a, Vectors<V> b) noexcept {
  return {sum(a.first, b.first), sum(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> difference(Vectors<V> a, Vectors<V> b) noexcept {
  return {difference(a.first, b.first), difference(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> product(Vectors<V> a, Vectors<V> b) noexcept {
  return {product(a.first, b.first), product(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> quotient(Vectors<V> a, Vectors<V> b) noexcept {
  return {quotient(a.first, b.first), quotient(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> not_above(Vectors<V> a, Vectors<V> b) noexcept {
  return {not_above(a.first, b.first), not_above(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> not_below(Vectors<V> a, Vectors<V> b) noexcept {
  return {not_below(a.first, b.first), not_below(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> with_sign(Vectors<V> a, Vectors<V> b) noexcept {
  return {with_sign(a.first, b.first), with_sign(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> magnitude(Vectors<V> x) noexcept {
  return {magnitude(x.first), magnitude(x.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> negated(Vectors<V> x) noexcept {
  return {negated(x.first), negated(x.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> power_of_2(Vectors<V> x) noexcept {
  return {power_of_2(x.first), power_of_2(x.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> fused(Vectors<V> a, Vectors<V> b, Vectors<V> c) noexcept {
  return {fused(a.first, b.first, c.first), fused(a.second, b.second, c.second)};
}
template <class V>
DMLREF_VECTOR_TARGET auto less(Vectors<V> a, Vectors<V> b) noexcept {
  return Pair<decltype(less(a.first, b.first))>{less(a.first, b.first), less(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET auto at_most(Vectors<V> a, Vectors<V> b) noexcept {
  return Pair<decltype(at_most(a.first, b.first))>{at_most(a.first, b.first), at_most(a.second, b.second)};
}
template <class Mask, class V>
DMLREF_VECTOR_TARGET Vectors<V> choose(Pair<Mask> mask, Vectors<V> yes, Vectors<V> no) noexcept {
  return {choose(mask.first, yes.first, no.first), choose(mask.second, yes.second, no.second)};
}
template <class V>
DMLREF_VECTOR_TARGET void store_rounded(std::byte* to, Vectors<V> x) noexcept {
  store_rounded(to, x.first);
  store_rounded(to + V::lanes * sizeof(typename V::Real) / 2, x.second);
}

/// sum * z^i + ... + (c[2] + c[3] x) z + (c[0] + c[1] x), z = x^2.
template <std::size_t i, class V, std::size_t N>
DMLREF_VECTOR_TARGET V polynomial_from(V sum, V x, V z, const typename V::Real (&c)[N]) noexcept {
  if constexpr (i == 0) {
    return sum;
  } else {
    return polynomial_from<i - 2>(fused(sum, z, fused(V::of(c[i - 1]), x, V::of(c[i - 2]))), x, z, c);
  }
}
template <class V, std::size_t N>
DMLREF_VECTOR_TARGET V polynomial_of(V x, V z, const typename V::Real (&c)[N]) noexcept {
  if constexpr (N % 2 == 0) {
    return polynomial_from<N - 2>(fused(V::of(c[N - 1]), x, V::of(c[N - 2])), x, z, c);
  } else {
    return polynomial_from<N - 1>(V::of(c[N - 1]), x, z, c);
  }
}

/// e^x = scale * (1 + rest).
template <class V>
DMLREF_VECTOR_TARGET void reduce_exponential_of(V x, V& scale, V& rest) noexcept {
  using E = reference::Elementary<typename V::Real>;
  const V shifter = V::of(E::shifter);
  const V shifted = fused(x, V::of(E::log2_e), shifter);
  const V k = difference(shifted, shifter);
  V r = fused(k, V::of(-E::ln_2), x);
  if constexpr (E::ln_2_rest != 0) r = fused(k, V::of(-E::ln_2_rest), r);
  const V square = product(r, r);
  rest = fused(square, polynomial_of(r, square, E::exponential), r);
  scale = power_of_2(shifted);
}

template <class V>
DMLREF_VECTOR_TARGET V exponential_of(V x) noexcept {
  V scale, rest;
  reduce_exponential_of(not_below(x, V::of(-reference::Elementary<typename V::Real>::limit)), scale, rest);
  return fused(scale, rest, scale);
}

template <class V>
DMLREF_VECTOR_TARGET V exponential_minus_1_of(V x) noexcept {
  using E = reference::Elementary<typename V::Real>;
  V scale, rest;
  reduce_exponential_of(not_above(not_below(x, V::of(-E::limit)), V::of(E::limit)), scale, rest);
  return fused(scale, rest, difference(scale, V::of(1)));
}

template <class V>
DMLREF_VECTOR_TARGET V logarithm_of_1_plus_of(V u) noexcept {
  using E = reference::Elementary<typename V::Real>;
  using Real = typename V::Real;
  const auto upper = less(V::of(static_cast<Real>(0x1.a827999fcef32p-2)), u);
  const V s = quotient(choose(upper, difference(u, V::of(1)), u), sum(u, choose(upper, V::of(3), V::of(2))));
  const V z = product(s, s);
  const V twice = sum(s, s);
  const V rest = fused(product(twice, z), polynomial_of(z, product(z, z), E::artanh), twice);
  return sum(rest, choose(upper, V::of(E::ln_2), V::of(0)));
}

template <class V>
DMLREF_VECTOR_TARGET V complementary_error_function_of(V t) noexcept {
  using E = reference::Elementary<typename V::Real>;
  const V w = quotient(V::of(1), sum(t, V::of(3)));
  const V u = product(difference(t, V::of(3)), w);
  const V p = product(w, polynomial_of(u, product(u, u), E::erfc));
  return product(exponential_of(negated(product(t, t))), p);
}

template <class V>
DMLREF_VECTOR_TARGET V hyperbolic_tangent_of(V x) noexcept {
  using E = reference::Elementary<typename V::Real>;
  V scale, rest;
  reduce_exponential_of(not_below(product(V::of(-2), magnitude(x)), V::of(-E::limit)), scale, rest);
  const V n = fused(scale, rest, difference(scale, V::of(1)));
  return with_sign(quotient(n, sum(n, V::of(2))), x);
}

template <class V>
DMLREF_VECTOR_TARGET V elu_of(V x, V alpha) noexcept {
  return choose(less(x, V::of(0)), product(alpha, exponential_minus_1_of(x)), x);
}

template <class V>
DMLREF_VECTOR_TARGET V softplus_of(V x) noexcept {
  const V above = choose(less(x, V::of(0)), V::of(0), x);
  return sum(above, logarithm_of_1_plus_of(exponential_of(negated(magnitude(x)))));
}

/// `inverse`: reference::inverse_of(a).
template <ActivationType type, class V>
DMLREF_VECTOR_TARGET V activated(V x, V a, V b, V inverse) noexcept {
  using enum ActivationType;
  using Real = typename V::Real;
  using E = reference::Elementary<Real>;
  static_cast<void>(a);
  static_cast<void>(b);
  static_cast<void>(inverse);
  const V zero = V::of(0);
  const V one = V::of(1);
  if constexpr (type == elu) {
    return elu_of(x, a);
  } else if constexpr (type == parametric_softplus) {
    return product(a, softplus_of(fused(b, x, zero)));
  } else if constexpr (type == scaled_elu) {
    return product(b, elu_of(x, a));
  } else if constexpr (type == scaled_tanh) {
    return product(a, hyperbolic_tangent_of(product(b, x)));
  } else if constexpr (type == sigmoid) {
    const V e = exponential_of(negated(magnitude(x)));
    return quotient(choose(less(x, zero), e, one), sum(one, e));
  } else if constexpr (type == softplus) {
    return product(softplus_of(fused(a, x, zero)), inverse);
  } else if constexpr (type == softsign) {
    const V near = not_above(not_below(x, V::of(-E::far)), V::of(E::far));
    return quotient(near, sum(one, magnitude(near)));
  } else if constexpr (type == ActivationType::tanh) {
    return hyperbolic_tangent_of(x);
  } else if constexpr (type == thresholded_relu) {
    return choose(at_most(x, a), zero, x);
  } else if constexpr (type == shrink) {
    const V inner = choose(at_most(x, x), zero, x);
    const V below = choose(less(x, negated(b)), sum(x, a), inner);
    return choose(less(b, x), difference(x, a), below);
  } else if constexpr (type == celu) {
    const V curve = fused(a, exponential_minus_1_of(product(x, inverse)), zero);
    return sum(choose(less(x, zero), zero, x), choose(less(zero, curve), zero, curve));
  } else if constexpr (type == gelu) {
    x = not_below(x, V::of(-40));
    const V distance = fused(magnitude(x), V::of(static_cast<Real>(0x1.6a09e667f3bcdp-1)), zero);
    const V erfc = complementary_error_function_of(not_above(distance, V::of(E::erfc_limit)));
    const V tail = product(V::of(Real{0.5}), erfc);
    return product(x, choose(less(x, zero), tail, difference(one, tail)));
  } else {
    return x;
  }
}

/// The rest of a row goes by way of a buffer.
template <ActivationType type, class V>
DMLREF_VECTOR_KERNEL void apply_type(const Activation& activation, const typename V::Real* values, std::byte* to,
                                     std::size_t count) noexcept {
  using Real = typename V::Real;
  constexpr std::size_t result_bytes = sizeof(Real) / 2;
  const V a = V::of(activation.parameters[0]);
  const V b = V::of(activation.parameters[1]);
  const V inverse = V::of(reference::inverse_of(Real{activation.parameters[0]}));
  std::size_t i = 0;
  for (; i + V::lanes <= count; i += V::lanes) {
    store_rounded(to + i * result_bytes, activated<type>(V::load(values + i), a, b, inverse));
  }
  if (i < count) {
    Real in[V::lanes]{};
    std::byte out[V::lanes * result_bytes];
    std::memcpy(in, values + i, (count - i) * sizeof(Real));
    store_rounded(out, activated<type>(V::load(in), a, b, inverse));
    std::memcpy(to + i * result_bytes, out, (count - i) * result_bytes);
  }
}

template <class V>
DMLREF_VECTOR_KERNEL void apply(const Activation& activation, const typename V::Real* values, std::byte* to,
                                std::size_t count) noexcept {
  using enum ActivationType;
  switch (activation.type) {
    case elu: return apply_type<elu, V>(activation, values, to, count);
    case parametric_softplus: return apply_type<parametric_softplus, V>(activation, values, to, count);
    case scaled_elu: return apply_type<scaled_elu, V>(activation, values, to, count);
    case scaled_tanh: return apply_type<scaled_tanh, V>(activation, values, to, count);
    case sigmoid: return apply_type<sigmoid, V>(activation, values, to, count);
    case softplus: return apply_type<softplus, V>(activation, values, to, count);
    case softsign: return apply_type<softsign, V>(activation, values, to, count);
    case ActivationType::tanh: return apply_type<ActivationType::tanh, V>(activation, values, to, count);
    case thresholded_relu: return apply_type<thresholded_relu, V>(activation, values, to, count);
    case shrink: return apply_type<shrink, V>(activation, values, to, count);
    case celu: return apply_type<celu, V>(activation, values, to, count);
    case gelu: return apply_type<gelu, V>(activation, values, to, count);
    default: return scalar::apply(activation, values, to, count);  // part of the row kernels' stores
  }
}

template <class V>
DMLREF_VECTOR_KERNEL bool any_doubtful(const Activation& activation, const typename V::Real* values, std::size_t count,
                                       typename V::Real doubt) noexcept {
  using Real = typename V::Real;
  constexpr Real share = reference::near_share<Real>;
  const bool shrinks = activation.type == ActivationType::shrink;
  const Real a = shrinks ? std::fabs(activation.parameters[0]) : activation.parameters[0];
  const Real b = shrinks ? std::fabs(activation.parameters[1]) : a;
  const V at_a = V::of(a);
  const V at_b = V::of(b);
  const V near_a = V::of(std::fabs(a) * share + doubt);
  const V near_b = V::of(std::fabs(b) * share + doubt);
  const V doubts = V::of(doubt);
  auto found = less(doubts, doubts);
  std::size_t i = 0;
  for (; i + V::lanes <= count; i += V::lanes) {
    const V x = V::load(values + i);
    const V size = magnitude(x);
    const V place = shrinks ? size : x;
    found = either(found, not_at_most(doubts, size));
    found = either(found, at_most(magnitude(difference(place, at_a)), near_a));
    found = either(found, at_most(magnitude(difference(place, at_b)), near_b));
  }
  return any(found) || scalar::any_doubtful(activation, values + i, count - i, doubt);
}

inline const ActivationKernels& activation_kernels() noexcept {
  using ManyDoubles = Vectors<Doubles>;
  using ManyFloats = Vectors<Floats>;
  static constexpr ActivationKernels table{apply<ManyDoubles>, apply<ManyFloats>, any_doubtful<Doubles>,
                                           any_doubtful<Floats>};
  return table;
}

#endif  // DMLREF_VECTOR_TARGET
