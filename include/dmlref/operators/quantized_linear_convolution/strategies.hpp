// strategies.hpp: the fast convolutions: direct for depthwise layers and small groups, after Winograd
// for 3x3 where products are of 16 bits, in tile registers where there are any, tiled for everything else.
#pragma once

#include "dmlref/operators/quantized_linear_convolution/kernels/direct.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/select.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd.hpp"
#if DMLREF_HAS_AMX_INT8
#include "dmlref/operators/quantized_linear_convolution/kernels/amx.hpp"
#endif
