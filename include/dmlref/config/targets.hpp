// targets.hpp: how functions of an instruction set are marked, and operands in its registers.
#pragma once

#include "dmlref/config/architecture.hpp"

// Attributes: features, never "arch=" (which stops inlining), see docs/dispatch.md.
#if DMLREF_ARCH_X86_64
#define DMLREF_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define DMLREF_TARGET_AVXVNNI __attribute__((target("avx2,fma,f16c,avxvnni")))
#define DMLREF_TARGET_AVX512VNNI __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define DMLREF_TARGET_AVX512VBMI \
  __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi")))
#define DMLREF_TARGET_AMX_INT8 \
  __attribute__((              \
      target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2,amx-tile,amx-int8")))
#endif
#if DMLREF_ARCH_ARM64
#if defined(__clang__)
#define DMLREF_TARGET_NEON_DOTPROD
#else
#define DMLREF_TARGET_NEON_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#endif

// What assembler says of an operand that it leaves in a 512-bit register, or in a register of a mask.
#define DMLREF_IN_ZMM "+v"
#define DMLREF_IN_MASK "+Yk"
