// Compiled with DMLREF_IMPLEMENTATION: the kernels of this operator.
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
