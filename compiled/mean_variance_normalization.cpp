// Compiled with DMLREF_IMPLEMENTATION: the kernels of this operator.
#include "dmlref/operators/mean_variance_normalization/plan.hpp"
