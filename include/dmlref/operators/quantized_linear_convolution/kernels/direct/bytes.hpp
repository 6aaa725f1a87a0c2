// bytes.hpp: what lanes.hpp requires of a target whose dot product takes bytes.
//
// Included once per target, inside its namespace, behind epilogue.hpp; hence no guard. The includer defines
// DMLREF_QLC_TARGET, dot(sums, quads, weights) of bytes and multiply_add(sums, pairs, weights) of words.
#if defined(DMLREF_QLC_TARGET)

inline constexpr std::ptrdiff_t weight_bytes = 1;

using Quads = V::Bits;
using Weights = V::Bits;

DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Quads quads_of(V::Bits bytes) noexcept { return bytes; }

template <std::size_t First, std::size_t Count>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void interleave(V::Bits a, V::Bits b, V::Bits c, V::Bits d,
                                                       Quads (&quads)[Count]) noexcept {
  if constexpr (First == 0) {
    const V::Bits ab = V::zip_low_bytes(a, b), cd = V::zip_low_bytes(c, d);
    quads[0] = V::zip_low_words(ab, cd);
    quads[1] = V::zip_high_words(ab, cd);
  }
  if constexpr (First + Count == 4) {
    const V::Bits ab = V::zip_high_bytes(a, b), cd = V::zip_high_bytes(c, d);
    quads[Count - 2] = V::zip_low_words(ab, cd);
    quads[Count - 1] = V::zip_high_words(ab, cd);
  }
}

DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Weights load_weights(const std::byte* at) noexcept { return V::load(at); }
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET Weights broadcast_weights(const std::byte* at) noexcept {
  return V::broadcast(at);
}

#endif
