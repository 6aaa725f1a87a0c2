// calls.hpp: the calls of all operators, with their kernels where these are compiled: beside list.hpp, which validation
// alone needs, too.
#pragma once

#include "dmlref/operators/convolution_integer/call.hpp"
#include "dmlref/operators/element_wise_quantize_linear/call.hpp"
#include "dmlref/operators/matrix_multiply_integer/call.hpp"
#include "dmlref/operators/mean_variance_normalization/call.hpp"
#include "dmlref/operators/quantized_linear_convolution/call.hpp"
#include "dmlref/operators/slice/call.hpp"
