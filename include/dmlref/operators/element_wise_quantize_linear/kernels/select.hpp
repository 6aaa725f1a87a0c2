// select.hpp: the kernels of each instruction set, and which of them an operator runs (kernels_of).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/operators/element_wise_quantize_linear/kernels/kernels.hpp"

#define DMLREF_VECTOR_SOURCE "dmlref/operators/element_wise_quantize_linear/kernels/blocks-inl.hpp"
#define DMLREF_VECTOR_NAMESPACE fast::quantize_linear
#include "dmlref/simd/reals/foreach_target-inl.hpp"
