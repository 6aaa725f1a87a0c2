// kernels.cpp: the one file that compiles the kernels, where all others have DMLREF_SEPARATE.
#define DMLREF_IMPLEMENTATION
#include <dmlref/dmlref.hpp>
