// pairs-inl.hpp: pairs of vectors: one source for all instruction sets.
//
// It is included once in the namespace of each, after the macro DMLREF_VECTOR_TARGET names the attribute and the types
// Doubles and Floats stand for a vector of either; without the macro it is empty. Their operations: of, load,
// from_floats (of Doubles), store_rounded (to the type that the results have), sum, difference, product, quotient,
// fma(a, b, c) = a * b + c, less_product(c, a, b) = c - a * b, magnitude, with_sign(of a positive number or +0,
// sign), not_above(x, limit), not_below(x, limit) (both hand NaN on), power_of_2 (of a shifted integer), and with masks
// less, at_most, not_at_most, choose(mask, yes, no), or_, any. For lesser_magnitude(so far, x) NaN may be any
// number.
#ifdef DMLREF_VECTOR_TARGET

/// Two vectors (or pairs of them) that take each step together, so that their long chains of operations overlap; and
/// two masks.
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
  DMLREF_VECTOR_TARGET static Vectors from_floats(const std::byte* from) noexcept {
    return {V::from_floats(from), V::from_floats(from + V::lanes * sizeof(float))};
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
DMLREF_VECTOR_TARGET Vectors<V> fma(Vectors<V> a, Vectors<V> b, Vectors<V> c) noexcept {
  return {fma(a.first, b.first, c.first), fma(a.second, b.second, c.second)};
}
template <class V>
DMLREF_VECTOR_TARGET Vectors<V> less_product(Vectors<V> c, Vectors<V> a, Vectors<V> b) noexcept {
  return {less_product(c.first, a.first, b.first), less_product(c.second, a.second, b.second)};
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
DMLREF_VECTOR_TARGET Vectors<V> lesser_magnitude(Vectors<V> a, Vectors<V> b) noexcept {
  return {lesser_magnitude(a.first, b.first), lesser_magnitude(a.second, b.second)};
}
template <class V>
DMLREF_VECTOR_TARGET void store(std::byte* to, Vectors<V> x) noexcept {
  store(to, x.first);
  store(to + V::lanes * sizeof(typename V::Real), x.second);
}
template <class V>
DMLREF_VECTOR_TARGET void store_rounded(std::byte* to, Vectors<V> x) noexcept {
  store_rounded(to, x.first);
  store_rounded(to + V::lanes * sizeof(typename V::Real) / 2, x.second);
}

#endif  // DMLREF_VECTOR_TARGET
