// dmlref.hpp: everything but the interop headers.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/convolution_integer.hpp"
#include "dmlref/directml.hpp"
#include "dmlref/element_wise_quantize_linear.hpp"
#include "dmlref/matrix_multiply_integer.hpp"
#include "dmlref/mean_variance_normalization.hpp"
#include "dmlref/quantized_linear_convolution.hpp"
#include "dmlref/reference.hpp"
#include "dmlref/slice.hpp"
#include "dmlref/tensor_view.hpp"
#include "dmlref/thread_pool.hpp"
#include "dmlref/validate.hpp"
#include "dmlref/view/bind.hpp"

#endif  // DMLREF_SUPPORTED
