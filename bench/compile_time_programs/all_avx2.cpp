// Every operator, with kernels up to avx2.
#define DMLREF_TARGETS avx2
#include "all.cpp"
