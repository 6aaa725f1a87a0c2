// matrix_multiply_integer.hpp: MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY alone: their descs,
// validate, compile, run, and calls on views.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/operators/matrix_multiply_integer/call.hpp"
#include "dmlref/run/named_bindings.hpp"
#include "dmlref/run/one_operator.hpp"

#endif  // DMLREF_SUPPORTED
