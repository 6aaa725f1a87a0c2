// targets.hpp, in place of the library's: AVX-512, AVX-VNNI and AMX are functions of AVX2.
#pragma once

#define DMLREF_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define DMLREF_TARGET_AVXVNNI DMLREF_TARGET_AVX2
#define DMLREF_TARGET_AVX512VNNI DMLREF_TARGET_AVX2
#define DMLREF_TARGET_AVX512VBMI DMLREF_TARGET_AVX2
#define DMLREF_TARGET_AMX_INT8 DMLREF_TARGET_AVX2

// A vector of 512 bits is in memory, a mask in an ordinary register.
#define DMLREF_IN_ZMM "+m"
#define DMLREF_IN_MASK "+r"
