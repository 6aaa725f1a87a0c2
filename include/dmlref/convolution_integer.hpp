// convolution_integer.hpp: CONVOLUTION_INTEGER alone: its desc, validate, compile, run, and calls on views.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/operators/convolution_integer/call.hpp"
#include "dmlref/run/named_bindings.hpp"
#include "dmlref/run/one_operator.hpp"

#endif  // DMLREF_SUPPORTED
