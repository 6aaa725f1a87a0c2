// avx512.hpp: what AVX-512 has beyond AVX2's slice kernels: a permutation of bytes (VBMI).
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dmlref/operators/slice/kernels/avx2.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

DMLREF_TARGET_AVX512VBMI inline __m256i permuted(__m512i v, __m256i control) noexcept {
  return _mm512_castsi512_si256(_mm512_permutexvar_epi8(_mm512_castsi256_si512(control), v));
}

/// Rows that have slack around them.
template <std::size_t LoadBytes>
DMLREF_TARGET_AVX512VBMI inline void permute_rows_of(const PermutedRows& strategy, __m256i control, const std::byte* in,
                                                     std::byte* out, const RowPlace* rows, std::size_t count) noexcept {
  const std::optional<Index> output = strategy.prefetch.output_bytes;
  for (std::size_t r = 0; r < count; ++r) {
    __m256i v;
    if constexpr (LoadBytes == 32) {
      v = _mm256_permutexvar_epi8(control, avx2::load(in + rows[r].in));
    } else {
      v = permuted(_mm512_loadu_si512(in + rows[r].in), control);
    }
    std::byte* const to = out + rows[r].out;
    if (output) scalar::prefetch(to, *output);
    avx2::store(to, v);
  }
}

DMLREF_TARGET_AVX512VBMI inline void permute_rows(const RowCopy& strategy, const std::byte* in, std::byte* out,
                                                  const RowPlace* rows, std::size_t count,
                                                  const RowAccess& access) noexcept {
  const auto& permuting = static_cast<const PermutedRows&>(strategy);
  const __m256i control = avx2::load(reinterpret_cast<const std::byte*>(permuting.control.data()));
  in += permuting.lowest;
  if (access.read_slack && access.write_slack) {
    if (permuting.in_bytes <= 32) return permute_rows_of<32>(permuting, control, in, out, rows, count);
    return permute_rows_of<64>(permuting, control, in, out, rows, count);
  }
  const auto read = static_cast<__mmask64>(~std::uint64_t{0} >> (64 - permuting.in_bytes));
  const auto written = static_cast<__mmask32>(~std::uint32_t{0} >> (32 - permuting.out_bytes));
  for (std::size_t r = 0; r < count; ++r) {
    const __m256i v = permuted(_mm512_maskz_loadu_epi8(read, in + rows[r].in), control);
    _mm256_mask_storeu_epi8(out + rows[r].out, written, v);
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
