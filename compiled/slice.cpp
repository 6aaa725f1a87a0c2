// Compiled with DMLREF_IMPLEMENTATION: the kernels of this operator.
#include "dmlref/operators/slice/plan.hpp"
