// plane_quads.hpp: an input row of planes to the quads of four vectors of sums.
//
// Within each 128 bits byte shuffles make the quads of eight outputs, even and odd ones apart, as they are packed in
// the end. With a stride of 1 the other eight take a second load, 8 bytes on, unless a row with its padding has no more
// than 16 bytes. With a stride of 2 odd outputs have a load of their own, 2 bytes on, and vectors hold two output rows.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/multiply_add.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/plane_rows.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstddef>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

using qlc::avx512vnni::multiply_add;

/// What kind of strips.
enum class Strips { wide, narrow, stride2 };

template <Strips Kind>
inline constexpr std::ptrdiff_t loads_apart = Kind == Strips::wide     ? 8
                                              : Kind == Strips::narrow ? 0
                                                                       : 2;

/// What two loads bring of an input row, or one.
struct RowVectors {
  __m512i low, high;
};
template <Strips Kind, int Planes, int Masks>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline RowVectors row_vectors(const PlaneArgs& p, const Strip& strip,
                                                                              bool safe,
                                                                              const std::uint8_t* row) noexcept {
  RowVectors vectors;
  vectors.low = row_pixels<0, Planes, (Masks & 1) != 0>(strip, safe, row, p.plane_step);
  vectors.high = vectors.low;
  if constexpr (Kind != Strips::narrow) {
    vectors.high = row_pixels<1, Planes, (Masks & 2) != 0>(strip, safe, row + loads_apart<Kind>, p.plane_step);
  }
  return vectors;
}

/// The quads of sums `v`.
template <Strips Kind>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quads_of(const RowVectors& row, const Strip& strip,
                                                                        int v) noexcept {
  if constexpr (Kind == Strips::stride2) return v % 2 == 0 ? row.low : row.high;
  return _mm512_shuffle_epi8(v < 2 ? row.low : row.high, strip.patterns[Kind == Strips::narrow ? v : v % 2]);
}

/// The quads of 64 outputs for one kernel row.
struct Quads {
  __m512i a, b, c, d;
};

/// What is known of input rows: that they lie in the plane, and all that vectors read of them in the tensor; or
/// nothing.
enum class Rows { inner, any };

/// The quads of input row `y`, which is at `row`: with a stride of 2 only `a` and `b`. `Masks`: the loads in which
/// there are columns beyond the row, or signed ones (Strip::masks), or more.
template <Strips Kind, int Planes, int Masks, Rows Which>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Quads row_quads(const PlaneArgs& p, const Strip& strip,
                                                                       std::ptrdiff_t y,
                                                                       const std::uint8_t* row) noexcept {
  bool safe = true;
  if constexpr (Which == Rows::any) {
    if (y < 0 || y >= p.rows) return {strip.fills, strip.fills, strip.fills, strip.fills};
    const std::ptrdiff_t at = row - p.tensor;
    safe = at >= 0 && at + (Planes - 1) * p.plane_step + strip.reach <= p.tensor_bytes;
  }
  const RowVectors vectors = row_vectors<Kind, Planes, Masks>(p, strip, safe, row);
  return {quads_of<Kind>(vectors, strip, 0), quads_of<Kind>(vectors, strip, 1), quads_of<Kind>(vectors, strip, 2),
          quads_of<Kind>(vectors, strip, 3)};
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
