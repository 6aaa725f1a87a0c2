// kernels.hpp: which slice kernels an instruction set has: all choices on one screen.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/slice/avx2.hpp"
#include "dmlref/fast/slice/avx512.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/neon.hpp"
#include "dmlref/fast/slice/scalar.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast {

/// Wide rows stand for units of 1, 2, 4 and 8 bytes; null where the shuffle program alone is as good.
inline SliceKernels slice_kernels(Isa isa) noexcept {
  constexpr std::size_t kib = 1024;
  const std::uint64_t task_bytes = (amd_family() >= 26 ? 64 : 128) * kib;
#if DMLREF_ARCH_X86_64
  const bool zen5 = amd_family() >= 26;
  const bool zen4 = amd_family() == 25;  // with AVX-512, else Zen 3
  const bool narrow = zen4 || zen5;
  const std::uint64_t stream_eighths = zen4 ? 4 : 5, shared_sixths = zen4 ? 9 : zen5 ? 8 : 0;
#endif
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::amx_int8:
    case Isa::avx512vnni:
      return {
          &avx512::copy_rows,
          &avx512::stream_joined_rows,
          64,
          stream_eighths,
          shared_sixths,
          zen4 ? 64 * kib : task_bytes,
          zen4 ? 32 * kib : 0,
          zen5 ? 4 * kib : 0,
          zen4 || zen5 ? 4 * kib : 0,
          zen4 ? 8 * kib : ~std::size_t{0},
          256,
          zen5,
          &avx512::staged_rows,
          &scalar::fill_rows,
          &avx2::shuffle_rows,
          last_level_cache_is_hashed() ? &avx512::stream_shuffle_rows : nullptr,
          2048,
          &avx512::tile_rows,
          1.5,
          zen4 && permutes_bytes() ? &avx512::group_rows : nullptr,
          &scalar::step_rows,
          &avx512::strip_rows,
          48,
          {&avx512::wide_rows<1, -1>, &avx512::wide_rows<2, -1>, &avx512::wide_rows<4, -1>, &avx512::wide_rows<8, -1>},
          {&avx512::wide_rows<1, 2>, &avx512::wide_rows<2, 2>, &avx512::wide_rows<4, 2>, &avx512::wide_rows<8, 2>},
          {&avx512::wide_rows<1, -2>, &avx512::wide_rows<2, -2>, &avx512::wide_rows<4, -2>, &avx512::wide_rows<8, -2>},
          {narrow ? &avx512::narrow_reversed_rows<1> : nullptr, narrow ? &avx512::narrow_reversed_rows<2> : nullptr,
           narrow ? &avx512::narrow_reversed_rows<4> : nullptr, narrow ? &avx512::narrow_reversed_rows<8> : nullptr},
          {narrow ? &avx512::narrow_second_rows<1> : nullptr, narrow ? &avx512::narrow_second_rows<2> : nullptr,
           narrow ? &avx512::narrow_second_rows<4> : nullptr, narrow ? &avx512::narrow_second_rows<8> : nullptr},
          &avx2::fence};
    case Isa::avxvnni:
    case Isa::avx2:
      return {&avx2::copy_rows,
              &avx2::stream_joined_rows,
              128,
              3,
              0,
              task_bytes,
              0,
              0,
              0,
              0,
              0,
              false,
              nullptr,
              &scalar::fill_rows,
              &avx2::shuffle_rows,
              nullptr,
              0,
              &avx2::tile_rows,
              1.2,
              nullptr,
              &scalar::step_rows,
              &avx2::strip_rows,
              48,
              {&avx2::wide_rows<1, -1>, &avx2::wide_rows<2, -1>, &avx2::wide_rows<4, -1>, &avx2::wide_rows<8, -1>},
              {&avx2::wide_rows<1, 2>, &avx2::wide_rows<2, 2>, &avx2::wide_rows<4, 2>, &avx2::wide_rows<8, 2>},
              {&avx2::wide_rows<1, -2>, &avx2::wide_rows<2, -2>, &avx2::wide_rows<4, -2>, &avx2::wide_rows<8, -2>},
              {},
              {},
              &avx2::fence};
#endif
#if DMLREF_ARCH_ARM64
    case Isa::neon_dotprod:
    case Isa::neon:
      return {&neon::copy_rows,
              nullptr,
              0,
              5,
              0,
              task_bytes,
              0,
              0,
              0,
              0,
              0,
              false,
              nullptr,
              &scalar::fill_rows,
              &neon::shuffle_rows,
              nullptr,
              0,
              nullptr,
              0,
              nullptr,
              &scalar::step_rows,
              &neon::strip_rows,
              0,
              {},
              {},
              {},
              {},
              {},
              &scalar::fence};
#endif
    default:
      return {&scalar::copy_rows,
              nullptr,
              0,
              5,
              0,
              task_bytes,
              0,
              0,
              0,
              0,
              0,
              false,
              nullptr,
              &scalar::fill_rows,
              &scalar::shuffle_rows,
              nullptr,
              0,
              nullptr,
              0,
              nullptr,
              &scalar::step_rows,
              &scalar::strip_rows,
              0,
              {},
              {},
              {},
              {},
              {},
              &scalar::fence};
  }
}

}  // namespace fast
DMLREF_END
