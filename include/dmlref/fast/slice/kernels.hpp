// kernels.hpp: which slice kernels an instruction set has: all choices on one screen.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/fast/slice/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/fast/slice/avx512.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/fast/slice/neon.hpp"
#endif

DMLREF_BEGIN
namespace fast {

/// What a row of the table leaves out stays as SliceKernels says.
inline SliceKernels slice_kernels(Isa isa, const Tuning::Slice& tuning) noexcept {
  static_cast<void>(tuning);  // has a choice between kernels on x86-64 alone
  switch (isa) {
    case Isa::amx_int8:
    case Isa::avx512vnni:
#if DMLREF_HAS_AVX512VNNI
      return {
          .copy = &avx512::copy_rows,
          .stream_joined = &avx2::stream_joined_rows,
          .joined_from = 128,
          .fill = &scalar::fill_rows,
          .shuffle = &avx2::shuffle_rows,
          .program_prefetch = 2048,
          .tiles = &avx2::tile_rows,
          .tile_cycles = 1.5,
          .groups = tuning.byte_permutations && supports_byte_permutations() ? &avx512::group_rows : nullptr,
          .steps = &scalar::step_rows,
          .strip = &avx2::strip_rows,
          .wide_from = 48,
          .reverse = {&avx512::wide_rows<1, -1>, &avx512::wide_rows<2, -1>, &avx512::wide_rows<4, -1>,
                      &avx512::wide_rows<8, -1>},
          .every_second = {&avx512::wide_rows<1, 2>, &avx512::wide_rows<2, 2>, &avx512::wide_rows<4, 2>,
                           &avx512::wide_rows<8, 2>},
          .fence = &avx2::fence,
      };
#endif
    case Isa::avxvnni:
    case Isa::avx2:
#if DMLREF_HAS_AVX2
      return {
          .copy = &avx2::copy_rows,
          .stream_joined = &avx2::stream_joined_rows,
          .joined_from = 128,
          .fill = &scalar::fill_rows,
          .shuffle = &avx2::shuffle_rows,
          .tiles = &avx2::tile_rows,
          .tile_cycles = 1.2,
          .steps = &scalar::step_rows,
          .strip = &avx2::strip_rows,
          .wide_from = 48,
          .reverse = {&avx2::wide_rows<1, -1>, &avx2::wide_rows<2, -1>, &avx2::wide_rows<4, -1>,
                      &avx2::wide_rows<8, -1>},
          .every_second = {&avx2::wide_rows<1, 2>, &avx2::wide_rows<2, 2>, &avx2::wide_rows<4, 2>,
                           &avx2::wide_rows<8, 2>},
          .fence = &avx2::fence,
      };
#endif
    case Isa::neon_dotprod:
    case Isa::neon:
#if DMLREF_HAS_NEON
      return {
          .copy = &neon::copy_rows,
          .fill = &scalar::fill_rows,
          .shuffle = &neon::shuffle_rows,
          .steps = &scalar::step_rows,
          .strip = &neon::strip_rows,
          .fence = &scalar::fence,
      };
#endif
    default:
      return {
          .copy = &scalar::copy_rows,
          .fill = &scalar::fill_rows,
          .shuffle = &scalar::shuffle_rows,
          .steps = &scalar::step_rows,
          .strip = &scalar::strip_rows,
          .fence = &scalar::fence,
      };
  }
}

}  // namespace fast
DMLREF_END
