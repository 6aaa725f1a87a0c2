// avx512.hpp: what AVX-512 has beyond AVX2's slice kernels: short rows of any pattern, up to 64 bytes by one
// permutation (VBMI).
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/strategy.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// The lowest `count` of 64 bits, 0 to 64.
inline std::uint64_t lowest(std::size_t count) noexcept { return count >= 64 ? ~0ull : (1ull << count) - 1; }

/// Groups of up to 32 bytes of input and output, loaded and stored as vectors of `OutBytes`, of which 16 may lie
/// beyond: masks would take back what a permutation gains.
template <std::size_t OutBytes>
struct HalfGroup {
  __m256i control;
  DMLREF_TARGET_AVX512VBMI explicit HalfGroup(const PeriodGroup& group) noexcept
      : control(avx2::load(reinterpret_cast<const std::byte*>(group.control.data()))) {}
  DMLREF_TARGET_AVX512VBMI void move(const std::byte* in, std::byte* out) const noexcept {
    const __m256i v = _mm256_permutexvar_epi8(control, avx2::load(in));
    if constexpr (OutBytes == 16) {
      avx2::store16(out, _mm256_castsi256_si128(v));
    } else {
      avx2::store(out, v);
    }
  }
};

/// Groups of any size, exactly.
struct ExactGroup {
  __m512i control;
  __mmask64 read, written;
  DMLREF_TARGET_AVX512VBMI explicit ExactGroup(const PeriodGroup& group) noexcept
      : control(_mm512_loadu_si512(group.control.data())),
        read(static_cast<__mmask64>(lowest(group.span))),
        written(static_cast<__mmask64>(lowest(group.out_bytes))) {}
  DMLREF_TARGET_AVX512VBMI void move(const std::byte* in, std::byte* out) const noexcept {
    _mm512_mask_storeu_epi8(out, written, _mm512_permutexvar_epi8(control, _mm512_maskz_loadu_epi8(read, in)));
  }
};

/// The groups of every row, the last as near its end as it must be.
template <class Group>
DMLREF_TARGET_AVX512VBMI inline void group_rows_by(const GroupRows& groups, const std::byte* in, std::byte* out,
                                                   const RowPlace* rows, std::size_t count) noexcept {
  const Group group(groups.group);
  const auto periods = static_cast<Index>(groups.group.periods), last = static_cast<Index>(groups.count) - periods;
  const Index period_out = static_cast<Index>(groups.period.bytes()), period_in = groups.period.in_advance;
  const Index output_prefetch = groups.output_prefetch;
  in += groups.group.load;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    if (output_prefetch != 0) scalar::prefetch(to + output_prefetch);
    for (Index at = 0; at < last; at += periods) group.move(from + at * period_in, to + at * period_out);
    group.move(from + last * period_in, to + last * period_out);
  }
}

/// Rows of up to four groups.
DMLREF_TARGET_AVX512VBMI inline void group_rows(const RowStrategy& strategy, const std::byte* in, std::byte* out,
                                                const RowPlace* rows, std::size_t count, RowAccess access) noexcept {
  const auto& groups = static_cast<const GroupRows&>(strategy);
  const PeriodGroup& group = groups.group;
  if (!access.read || !access.write || group.span <= 16 || group.span > 32 || group.out_bytes > 32) {
    group_rows_by<ExactGroup>(groups, in, out, rows, count);
  } else if (group.out_bytes <= 16) {
    group_rows_by<HalfGroup<16>>(groups, in, out, rows, count);
  } else {
    group_rows_by<HalfGroup<32>>(groups, in, out, rows, count);
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
