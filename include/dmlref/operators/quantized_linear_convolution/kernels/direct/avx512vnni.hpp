// avx512vnni.hpp: all of the direct convolution's kernels with vpdpbusd on 16 lanes.
#pragma once

#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/columns.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/planes.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/vectors.hpp"
