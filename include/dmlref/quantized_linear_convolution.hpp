// quantized_linear_convolution.hpp: QUANTIZED_LINEAR_CONVOLUTION alone: its desc, validate, compile, run, and calls on
// views.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/call/quantized_linear_convolution.hpp"
#include "dmlref/op/named_bindings.hpp"
#include "dmlref/op/one_operator.hpp"

#endif  // DMLREF_SUPPORTED
