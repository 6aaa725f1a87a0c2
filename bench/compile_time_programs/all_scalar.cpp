// Every operator, with kernels up to scalar.
#define DMLREF_TARGETS scalar
#include "all.cpp"
