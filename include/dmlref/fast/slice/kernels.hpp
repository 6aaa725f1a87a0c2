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

/// What a row of the table leaves out stays as SliceKernels says.
inline SliceKernels slice_kernels(Isa isa) noexcept {
  [[maybe_unused]] constexpr std::size_t kib = 1024;
#if DMLREF_ARCH_X86_64
  const bool zen5 = amd_family() >= 26;
  const bool zen4 = amd_family() == 25;  // with AVX-512, else Zen 3
  const bool narrow = zen4 || zen5;
  const bool xeon = two_pipes_of_512();
  const bool vast_cache = last_level_cache_is_hashed() && last_level_cache_bytes() >= 384 * 1024 * kib;
  const std::uint64_t stream_eighths = zen4 ? 4 : vast_cache ? 10 : 5, shared_sixths = zen4 ? 9 : zen5 ? 8 : 0;
#endif
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::amx_int8:
    case Isa::avx512vnni:
      return {
          .copy = &avx512::copy_rows,
          .stream_joined = &avx512::stream_joined_rows,
          .joined_from = 64,
          .stream_eighths = stream_eighths,
          .shared_stream_eighths = vast_cache ? 5u : 0u,
          .shared_sixths = shared_sixths,
          .shared_backwards_sixths = narrow ? 8u : 0u,
          .turns_from = zen4 ? 32 * kib : 0,
          .in_ahead = zen5 ? 4 * kib : 0,
          .copies_ahead = zen4 || zen5 ? 4 * kib : 0,
          .copies_ahead_to = zen4 ? 8 * kib : ~std::size_t{0},
          .out_ahead = 256,
          .scatters = zen5,
          .columns = xeon,
          .staged = &avx512::staged_rows,
          .fill = &scalar::fill_rows,
          .shuffle = &avx2::shuffle_rows,
          .stream_shuffle = last_level_cache_is_hashed() ? &avx512::stream_shuffle_rows : nullptr,
          .program_ahead = 2048,
          .tiles = &avx512::tile_rows,
          .tile_cycles = 1.5,
          .groups = (zen4 || xeon) && permutes_bytes() ? &avx512::group_rows : nullptr,
          .masked_group_cycles = xeon ? 1.0 : 0.0,
          .steps = &scalar::step_rows,
          .strip = &avx512::strip_rows,
          .wide_from = 48,
          .reverse = {&avx512::wide_rows<1, -1>, &avx512::wide_rows<2, -1>, &avx512::wide_rows<4, -1>,
                      &avx512::wide_rows<8, -1>},
          .every_second = {&avx512::wide_rows<1, 2>, &avx512::wide_rows<2, 2>, &avx512::wide_rows<4, 2>,
                           &avx512::wide_rows<8, 2>},
          .every_second_back = {&avx512::wide_rows<1, -2>, &avx512::wide_rows<2, -2>, &avx512::wide_rows<4, -2>,
                                &avx512::wide_rows<8, -2>},
          .reverse_narrow = {narrow ? &avx512::narrow_reversed_rows<1> : nullptr,
                             narrow ? &avx512::narrow_reversed_rows<2> : nullptr,
                             narrow ? &avx512::narrow_reversed_rows<4> : nullptr,
                             narrow ? &avx512::narrow_reversed_rows<8> : nullptr},
          .every_second_narrow = {narrow ? &avx512::narrow_second_rows<1> : nullptr,
                                  narrow ? &avx512::narrow_second_rows<2> : nullptr,
                                  narrow ? &avx512::narrow_second_rows<4> : nullptr,
                                  narrow ? &avx512::narrow_second_rows<8> : nullptr},
          .fence = &avx2::fence,
      };
    case Isa::avxvnni:
    case Isa::avx2:
      return {
          .copy = &avx2::copy_rows,
          .stream_joined = &avx2::stream_joined_rows,
          .joined_from = 128,
          .stream_eighths = 3,
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
          .every_second_back = {&avx2::wide_rows<1, -2>, &avx2::wide_rows<2, -2>, &avx2::wide_rows<4, -2>,
                                &avx2::wide_rows<8, -2>},
          .fence = &avx2::fence,
      };
#endif
#if DMLREF_ARCH_ARM64
    case Isa::neon_dotprod:
    case Isa::neon:
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
