// Compiled with DMLREF_IMPLEMENTATION: the kernels of this operator.
#include "dmlref/op/mean_variance_normalization.hpp"
