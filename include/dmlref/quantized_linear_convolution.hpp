// quantized_linear_convolution.hpp: QUANTIZED_LINEAR_CONVOLUTION alone: its desc, validate, compile, run, and calls on
// views.
#pragma once

#include "dmlref/call/quantized_linear_convolution.hpp"
#include "dmlref/config.hpp"
#include "dmlref/op/named_bindings.hpp"
#include "dmlref/op/one_operator.hpp"
#include "dmlref/validate/quantized_linear_convolution.hpp"
