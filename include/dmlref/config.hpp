// config.hpp: version and platform. Every macro of the library is defined here, but those in config/.
#pragma once

#define DMLREF_VERSION_MAJOR 0
#define DMLREF_VERSION_MINOR 4
#define DMLREF_VERSION_PATCH 0

// Public headers hold nothing where a compiler cannot compile them, so that this is its only error.
#if defined(_MSVC_LANG)
#define DMLREF_CPLUSPLUS _MSVC_LANG
#else
#define DMLREF_CPLUSPLUS __cplusplus
#endif
// Extended precision would round sums and products twice.
#include <cfloat>
#include <cstdint>
#if DMLREF_CPLUSPLUS < 202002L
#error "dmlref requires C++20: compile with -std=c++20 or newer"
#define DMLREF_SUPPORTED 0
#elif FLT_EVAL_METHOD != 0
#error \
    "dmlref requires FLT_EVAL_METHOD 0: float and double arithmetic in their own types. On 32-bit x86: -msse2 -mfpmath=sse"
#define DMLREF_SUPPORTED 0
#else
#define DMLREF_SUPPORTED 1
#endif

#if DMLREF_SUPPORTED
namespace dmlref {
/// As large as Microsoft's are, and those of the system's headers.
enum OrdinaryEnumeration { ordinary_enumerator };
static_assert(sizeof(OrdinaryEnumeration) == 4,
              "dmlref requires enumerations of four bytes, as Microsoft's are: compile without -fshort-enums");
}  // namespace dmlref
#endif

#include "dmlref/config/architecture.hpp"

// How config/floating_point.hpp reads and sets the floating-point environment: the control words, or as C does.
#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
#define DMLREF_ENVIRONMENT_X86 1
#else
#define DMLREF_ENVIRONMENT_X86 0
#endif
#define DMLREF_ENVIRONMENT_ARM64 DMLREF_ARCH_ARM64
#if DMLREF_ENVIRONMENT_X86 || DMLREF_ENVIRONMENT_ARM64 || defined(__wasm__)
#define DMLREF_ENVIRONMENT_C 0
#else
#define DMLREF_ENVIRONMENT_C 1
#endif

// Whether broken preconditions of views are found and reported (view/expect.hpp).
#ifndef DMLREF_CHECKED
#define DMLREF_CHECKED 0
#endif
#if defined(__GNUC__) || defined(__clang__)
#define DMLREF_TRAP() __builtin_trap()
#else
#define DMLREF_TRAP() (*static_cast<volatile char*>(nullptr) = 0)
#endif

// GCC does not align the stack to more than 16 bytes on Windows (bug 54412), so kernels that put wider vectors there
// fault. Define this as 1 where the assembler is given -muse-unaligned-vector-move, as our CMake targets do.
#ifndef DMLREF_UNALIGNED_VECTORS
#define DMLREF_UNALIGNED_VECTORS 0
#endif

// DMLREF_TARGETS: the most that is compiled in, by its name and in the order of Isa, e.g. -DDMLREF_TARGETS=avx2. A name
// of another architecture leaves out nothing, and so does no definition.
#define DMLREF_RANK_scalar 1
#define DMLREF_RANK_avx2 2
#define DMLREF_RANK_avxvnni 3
#define DMLREF_RANK_avx512vnni 4
#define DMLREF_RANK_amx_int8 5
#define DMLREF_RANK_neon 6
#define DMLREF_RANK_neon_dotprod 7
#define DMLREF_RANK_IMPL(name) DMLREF_RANK_##name
#define DMLREF_RANK_PASTE(name) DMLREF_RANK_IMPL(name)
#if defined(_WIN32) && defined(__GNUC__) && !defined(__clang__) && !DMLREF_UNALIGNED_VECTORS
#define DMLREF_RANK 1
#elif defined(DMLREF_TARGETS)
#define DMLREF_RANK DMLREF_RANK_PASTE(DMLREF_TARGETS)
#else
#define DMLREF_RANK 9
#endif
#if DMLREF_RANK == 0
#error "DMLREF_TARGETS is none of scalar, avx2, avxvnni, avx512vnni, amx_int8, neon, neon_dotprod"
#endif

// The instruction sets whose kernels this translation unit compiles.
#define DMLREF_HAS_AVX2 (DMLREF_ARCH_X86_64 && DMLREF_RANK >= 2)
#define DMLREF_HAS_AVXVNNI (DMLREF_ARCH_X86_64 && DMLREF_RANK >= 3)
#define DMLREF_HAS_AVX512VNNI (DMLREF_ARCH_X86_64 && DMLREF_RANK >= 4)
// Permission for tiles is Linux's to give, and g++'s intrinsics for them do not assemble on Windows.
#if defined(__linux__)
#define DMLREF_HAS_AMX_INT8 (DMLREF_ARCH_X86_64 && DMLREF_RANK >= 5)
#else
#define DMLREF_HAS_AMX_INT8 0
#endif
#define DMLREF_HAS_NEON (DMLREF_ARCH_ARM64 && DMLREF_RANK >= 2)
// The dot product needs a compiler that offers the intrinsics: g++ by attribute, clang 14 only by command-line flag.
#if defined(__ARM_FEATURE_DOTPROD) || (defined(__GNUC__) && !defined(__clang__))
#define DMLREF_HAS_NEON_DOTPROD (DMLREF_ARCH_ARM64 && DMLREF_RANK >= 2 && DMLREF_RANK != 6)
#else
#define DMLREF_HAS_NEON_DOTPROD 0
#endif

#include "dmlref/config/targets.hpp"

// A function that is rarely called and better kept out of its callers.
#if defined(__GNUC__) || defined(__clang__)
#define DMLREF_NOINLINE __attribute__((noinline))
#else
#define DMLREF_NOINLINE
#endif

// Whether a sanitizer checks each access. Kernels that are inlined and unrolled would then take minutes to compile.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DMLREF_SANITIZED 1
#elif defined(__has_feature)
#define DMLREF_SANITIZED \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer))
#else
#define DMLREF_SANITIZED 0
#endif

// A piece of a kernel: called, it would put its caller's vector registers on the stack.
#if (defined(__GNUC__) || defined(__clang__)) && !DMLREF_SANITIZED
#define DMLREF_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define DMLREF_ALWAYS_INLINE inline
#endif

// Where kernels and rules are compiled: in every translation unit that needs them, or, as they are large, in one.
// DMLREF_SEPARATE (in all units of a program): none holds them but the one that defines DMLREF_IMPLEMENTATION besides.
#if defined(DMLREF_IMPLEMENTATION) && !defined(DMLREF_SEPARATE)
#define DMLREF_SEPARATE
#endif
#if defined(DMLREF_SEPARATE) && !defined(DMLREF_IMPLEMENTATION)
#define DMLREF_HAS_KERNELS 0
#else
#define DMLREF_HAS_KERNELS 1
#endif
// Before a function that has its body where the kernels are.
#if defined(DMLREF_SEPARATE)
#define DMLREF_SEPARABLE
#else
#define DMLREF_SEPARABLE inline
#endif

// Before a loop of few, known turns over registers: unrolled, or its array would live in memory at -O2.
#if (defined(__GNUC__) || defined(__clang__)) && !DMLREF_SANITIZED
#define DMLREF_UNROLL _Pragma("GCC unroll 16")
#else
#define DMLREF_UNROLL
#endif

#if defined(DMLREF_SEPARATE)
#define DMLREF_TAG_SEPARATE 1
#else
#define DMLREF_TAG_SEPARATE 0
#endif
#include "dmlref/config/code_tag.hpp"

// Names of the functions by which a separate program calls its kernels: C's, with no code tag, so that units compiled
// for this very CPU find the kernels of a library that was not (docs/dispatch.md). Each side declares their arguments
// with its own types, which have one layout under all flags.
#define DMLREF_SEAM_IMPL(major, minor, name) dmlref_##major##_##minor##_##name
#define DMLREF_SEAM_PASTE(major, minor, name) DMLREF_SEAM_IMPL(major, minor, name)
#define DMLREF_SEAM(name) DMLREF_SEAM_PASTE(DMLREF_VERSION_MAJOR, DMLREF_VERSION_MINOR, name)

// Index has 64 bits, addresses and distances in memory may have 32. Plans count in the former, and what a kernel gets
// is in memory, so that it fits the latter.
#if (defined(__GNUC__) || defined(__clang__)) && PTRDIFF_MAX < INT64_MAX
#define DMLREF_NARROWING_BEGIN                                                     \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wnarrowing\"") \
      _Pragma("GCC diagnostic ignored \"-Wconversion\"") _Pragma("GCC diagnostic ignored \"-Wsign-conversion\"")
#define DMLREF_NARROWING_END _Pragma("GCC diagnostic pop")
#else
#define DMLREF_NARROWING_BEGIN
#define DMLREF_NARROWING_END
#endif

#define DMLREF_BEGIN     \
  DMLREF_NARROWING_BEGIN \
  namespace dmlref {     \
  inline namespace DMLREF_ABI {
#define DMLREF_END \
  }                \
  }                \
  DMLREF_NARROWING_END
