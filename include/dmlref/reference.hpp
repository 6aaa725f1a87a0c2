// reference.hpp: the operators on views, plainly written: slices and convolution also in constant expressions,
// normalization at run time. Nothing is validated.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/operators/convolution_integer/reference.hpp"
#include "dmlref/operators/element_wise_quantize_linear/reference.hpp"
#include "dmlref/operators/matrix_multiply_integer/reference.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/operators/slice/reference.hpp"
#include "dmlref/tensor_view.hpp"

#endif  // DMLREF_SUPPORTED
