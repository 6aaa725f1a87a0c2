// kernels.hpp: which slice kernels an instruction set has: all choices on one screen.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/slice/kernels/scalar.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/operators/slice/kernels/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/operators/slice/kernels/avx512.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/operators/slice/kernels/neon.hpp"
#endif

DMLREF_BEGIN
namespace fast {

inline SliceKernels slice_kernels(Isa isa, const Tuning::Slice& tuning) noexcept {
  static_cast<void>(tuning);  // has a choice between kernels on x86-64 alone
  SliceKernels kernels{.copy = &scalar::copy_rows,
                       .fill = &scalar::fill_rows,
                       .steps = &scalar::step_rows,
                       .panels = &scalar::transpose_panels};
  if (isa == Isa::scalar) return kernels;
#if DMLREF_HAS_AVX2
  kernels.copy = &avx2::copy_rows;
  kernels.shuffle = &avx2::shuffle_rows;
  kernels.lines = {.reverse = &avx2::line_rows<avx2::Reversal>, .every_second = &avx2::every_second_rows};
  kernels.panels = &avx2::transpose_panels;
#if DMLREF_HAS_AVX512VNNI
  const bool has_512 = isa == Isa::avx512vnni || isa == Isa::amx_int8;
  if (has_512 && tuning.byte_permutations && supports_byte_permutations()) kernels.permute = &avx512::permute_rows;
#endif
#elif DMLREF_HAS_NEON
  kernels.copy = &neon::copy_rows;
  kernels.shuffle = &neon::shuffle_rows;
  kernels.panels = &neon::transpose_panels;
#endif
  return kernels;
}

}  // namespace fast
DMLREF_END
