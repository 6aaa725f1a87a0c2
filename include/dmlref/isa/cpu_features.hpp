// cpu_features.hpp: what of a CPU kernels may use.
#pragma once

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace detail {

struct CpuFeatures {
  bool avx2 = false;
  bool avxvnni = false;
  bool avx512vnni = false;
  bool avx512vbmi = false;  // beside avx512vnni: permutations of bytes
  bool amx_int8 = false;
  bool neon = false;
  bool neon_dotprod = false;
};

}  // namespace detail
DMLREF_END
