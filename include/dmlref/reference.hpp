// reference.hpp: the operators on views, plainly written: slices and convolution also in constant expressions,
// normalization at run time. Nothing is validated.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/reference/mean_variance_normalization.hpp"
#include "dmlref/reference/quantized_linear_convolution.hpp"
#include "dmlref/reference/slice.hpp"
#include "dmlref/tensor_view.hpp"

#endif  // DMLREF_SUPPORTED
