// avx2.hpp: the slice kernels for AVX2.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <cstddef>

#include "dmlref/operators/slice/kernels/avx2/line_rows.hpp"
#include "dmlref/operators/slice/kernels/avx2/vectors.hpp"
#include "dmlref/operators/slice/kernels/scalar.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

#define DMLREF_SLICE_TARGET DMLREF_TARGET_AVX2
#include "dmlref/operators/slice/kernels/copy_rows.hpp"
#include "dmlref/operators/slice/kernels/shuffle_rows.hpp"
#include "dmlref/operators/slice/kernels/strip_rows.hpp"
#undef DMLREF_SLICE_TARGET

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
