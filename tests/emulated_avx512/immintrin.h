// immintrin.h: the compiler's own, but AVX-512, AVX-VNNI and AMX emulated on AVX2: for tests (docs/testing.md). Found
// before the compiler's where this folder is among the include paths.
#pragma once
#pragma GCC system_header

#include_next <immintrin.h>

#include "tiles.hpp"
#include "vectors.hpp"
