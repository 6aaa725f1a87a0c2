// element_wise_quantize_linear.hpp: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR alone: their descs,
// validate, compile, run, and calls on views.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/operators/element_wise_quantize_linear/call.hpp"
#include "dmlref/run/named_bindings.hpp"
#include "dmlref/run/one_operator.hpp"

#endif  // DMLREF_SUPPORTED
