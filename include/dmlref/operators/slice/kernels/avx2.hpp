// avx2.hpp: the slice kernels for AVX2.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <cstddef>

#include "dmlref/fast/slice/avx2/line_rows.hpp"
#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/scalar.hpp"
#include "dmlref/fast/slice/strategy.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

#define DMLREF_SLICE_TARGET DMLREF_TARGET_AVX2
#include "dmlref/fast/slice/copy_rows.hpp"
#include "dmlref/fast/slice/shuffle_rows.hpp"
#include "dmlref/fast/slice/strip_rows.hpp"
#undef DMLREF_SLICE_TARGET

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
