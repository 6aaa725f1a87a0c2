// Compiled with DMLREF_IMPLEMENTATION: the rules of all operators.
#include "dmlref/validate/validate.hpp"
