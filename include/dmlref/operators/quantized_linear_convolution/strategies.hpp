// quantized_linear_convolution.hpp: the fast convolutions: direct for depthwise layers and small groups, after Winograd
// for 3x3 where products are of 16 bits, in tile registers where there are any, tiled for everything else.
#pragma once

#include "dmlref/fast/quantized_linear_convolution/direct.hpp"
#include "dmlref/fast/quantized_linear_convolution/select.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd.hpp"
#if DMLREF_HAS_AMX_INT8
#include "dmlref/fast/quantized_linear_convolution/amx.hpp"
#endif
