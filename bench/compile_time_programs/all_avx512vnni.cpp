// Every operator, with kernels up to avx512vnni.
#define DMLREF_TARGETS avx512vnni
#include "all.cpp"
