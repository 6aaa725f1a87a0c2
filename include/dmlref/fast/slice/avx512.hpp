// avx512.hpp: the slice kernels for AVX-512: rows end with masks, so that no byte beyond is touched.
#pragma once

#include "dmlref/fast/slice/avx512/columns.hpp"
#include "dmlref/fast/slice/avx512/groups.hpp"
#include "dmlref/fast/slice/avx512/whole_rows.hpp"
