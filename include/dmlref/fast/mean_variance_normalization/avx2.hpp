// avx2.hpp: the normalization kernels for AVX2, FMA and F16C.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include "dmlref/fast/mean_variance_normalization/avx2/float16.hpp"
#include "dmlref/fast/mean_variance_normalization/avx2/float32.hpp"
#include "dmlref/fast/mean_variance_normalization/avx2/sums.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx2 {

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{
      widen,
      sums,
      shifted_sums,
      piece_sums,
      {row32<identity>, row32<relu>, row32<leaky_relu>, row32<unit>, row32<values>},
      {each_row32<identity>, each_row32<relu>, each_row32<leaky_relu>, each_row32<unit>, each_row32<values>},
      {pieces32<identity>, pieces32<relu>, pieces32<leaky_relu>, pieces32<unit>},
      {row16<identity>, row16<relu>, row16<leaky_relu>, row16<unit>, row16<values>},
      {pieces16<identity>, pieces16<relu>, pieces16<leaky_relu>, pieces16<unit>},
      {each_row16<identity>, each_row16<relu>, each_row16<leaky_relu>, each_row16<unit>, each_row16<values>},
      1024};
  return table;
}

}  // namespace fast::normalization::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
