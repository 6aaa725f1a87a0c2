// architecture.hpp: the architecture whose intrinsics this compiler has. isa/cpu.hpp says what runs there.
#pragma once

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define DMLREF_ARCH_X86_64 1
#else
#define DMLREF_ARCH_X86_64 0
#endif
#if defined(__aarch64__)
#define DMLREF_ARCH_ARM64 1
#else
#define DMLREF_ARCH_ARM64 0
#endif
