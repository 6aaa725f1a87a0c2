// avx512.hpp: what AVX-512 has beyond AVX2's slice kernels: a permutation of bytes (VBMI).
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/fast/slice/avx2.hpp"
#include "dmlref/fast/slice/strategy.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// Four rows are loaded before they are stored: one by one, they took a tenth longer on Zen 4.
DMLREF_TARGET_AVX512VBMI inline void permute_rows(const RowStrategy& strategy, const std::byte* in, std::byte* out,
                                                  const RowPlace* rows, std::size_t count, RowAccess access) noexcept {
  if (!access.read || !access.write) return avx2::shuffle_rows(strategy, in, out, rows, count, access);
  const auto& permuted = static_cast<const PermutedRows&>(strategy);
  const __m256i control = avx2::load(reinterpret_cast<const std::byte*>(permuted.control.data()));
  const Index output_prefetch = permuted.output_prefetch;
  in += permuted.load;
  std::size_t r = 0;
  for (; r + 4 <= count; r += 4) {
    __m256i v[4];
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 4; ++k) v[k] = _mm256_permutexvar_epi8(control, avx2::load(in + rows[r + k].in));
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 4; ++k) {
      std::byte* const to = out + rows[r + k].out;
      if (output_prefetch != 0) scalar::prefetch(to + output_prefetch);
      avx2::store(to, v[k]);
    }
  }
  for (; r < count; ++r) {
    std::byte* const to = out + rows[r].out;
    if (output_prefetch != 0) scalar::prefetch(to + output_prefetch);
    avx2::store(to, _mm256_permutexvar_epi8(control, avx2::load(in + rows[r].in)));
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
