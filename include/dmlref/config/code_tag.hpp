// code_tag.hpp: the name of the library's inline namespace. Translation units whose code may differ get different
// symbol names, so that the linker never merges what one of them compiled into what another one calls: an AVX-512 copy
// of a function into a program that must also run without it, or a container of another layout.
//
// Compilers say in predefined macros for what they compile. A digit of the name has four of them; all that g++ 12 and
// clang 14 define for a feature of their CPU are here, and those of later compilers that are known. tests/odr/tags.sh
// goes through the compiler's own flags.
#pragma once

#include <cstdint>  // the standard library's own macros are there after its first header

// 1 where a macro is defined as 1, else 0.
#define DMLREF_SECOND_IMPL(first, second, ...) second
#define DMLREF_SECOND(...) DMLREF_SECOND_IMPL(__VA_ARGS__)
#define DMLREF_BIT_1 ~, 1
#define DMLREF_BIT_IMPL(value) DMLREF_SECOND(DMLREF_BIT_##value, 0, 0)
#define DMLREF_BIT(macro) DMLREF_BIT_IMPL(macro)

// Four bits as a digit, and up to eight names as one.
#define DMLREF_HEX_0000 0
#define DMLREF_HEX_0001 1
#define DMLREF_HEX_0010 2
#define DMLREF_HEX_0011 3
#define DMLREF_HEX_0100 4
#define DMLREF_HEX_0101 5
#define DMLREF_HEX_0110 6
#define DMLREF_HEX_0111 7
#define DMLREF_HEX_1000 8
#define DMLREF_HEX_1001 9
#define DMLREF_HEX_1010 a
#define DMLREF_HEX_1011 b
#define DMLREF_HEX_1100 c
#define DMLREF_HEX_1101 d
#define DMLREF_HEX_1110 e
#define DMLREF_HEX_1111 f
#define DMLREF_HEX_IMPL(a, b, c, d) DMLREF_HEX_##a##b##c##d
#define DMLREF_HEX(a, b, c, d) DMLREF_HEX_IMPL(a, b, c, d)
#define DMLREF_DIGIT(a, b, c, d) DMLREF_HEX(DMLREF_BIT(a), DMLREF_BIT(b), DMLREF_BIT(c), DMLREF_BIT(d))
#define DMLREF_JOIN_IMPL(a, b, c, d, e, f, g, h) a##b##c##d##e##f##g##h
#define DMLREF_JOIN(a, b, c, d, e, f, g, h) DMLREF_JOIN_IMPL(a, b, c, d, e, f, g, h)

// The standard library: which one it is, and what its containers look like.
#if defined(_GLIBCXX_DEBUG)
#define DMLREF_TAG_STL_DEBUG 1
#else
#define DMLREF_TAG_STL_DEBUG 0
#endif
#if defined(_GLIBCXX_DEBUG_PEDANTIC)
#define DMLREF_TAG_STL_PEDANTIC 1
#else
#define DMLREF_TAG_STL_PEDANTIC 0
#endif
#if defined(_GLIBCXX_ASSERTIONS) || defined(_LIBCPP_ENABLE_ASSERTIONS)
#define DMLREF_TAG_STL_ASSERTIONS 1
#else
#define DMLREF_TAG_STL_ASSERTIONS 0
#endif
#if defined(_GLIBCXX_SANITIZE_VECTOR)
#define DMLREF_TAG_STL_VECTOR 1
#else
#define DMLREF_TAG_STL_VECTOR 0
#endif
#if defined(_LIBCPP_HARDENING_MODE)
#define DMLREF_TAG_STL_MODE _LIBCPP_HARDENING_MODE
#elif defined(_ITERATOR_DEBUG_LEVEL)
#define DMLREF_TAG_STL_MODE _ITERATOR_DEBUG_LEVEL
#else
#define DMLREF_TAG_STL_MODE 0
#endif
#if defined(_LIBCPP_VERSION)
#define DMLREF_TAG_STL_NAME c
#elif defined(__GLIBCXX__)
#define DMLREF_TAG_STL_NAME g
#else
#define DMLREF_TAG_STL_NAME m
#endif
#define DMLREF_TAG_STL                                                                                             \
  DMLREF_JOIN(                                                                                                     \
      DMLREF_TAG_STL_NAME,                                                                                         \
      DMLREF_HEX(DMLREF_TAG_STL_DEBUG, DMLREF_TAG_STL_PEDANTIC, DMLREF_TAG_STL_ASSERTIONS, DMLREF_TAG_STL_VECTOR), \
      DMLREF_BIT(_GLIBCXX_USE_CXX11_ABI), DMLREF_TAG_STL_MODE, , , , )

// The compiler, the language, sanitizers.
#if defined(__clang__)
#define DMLREF_TAG_COMPILER c
#elif defined(__GNUC__)
#define DMLREF_TAG_COMPILER g
#else
#define DMLREF_TAG_COMPILER m
#endif
#if defined(__cpp_exceptions)
#define DMLREF_TAG_EXCEPTIONS 1
#else
#define DMLREF_TAG_EXCEPTIONS 0
#endif
#if defined(__cpp_rtti)
#define DMLREF_TAG_RTTI 1
#else
#define DMLREF_TAG_RTTI 0
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DMLREF_TAG_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define DMLREF_TAG_TSAN 1
#endif
#if __has_feature(memory_sanitizer)
#define DMLREF_TAG_MSAN 1
#endif
#if __has_feature(undefined_behavior_sanitizer)
#define DMLREF_TAG_UBSAN 1
#endif
#if __has_feature(hwaddress_sanitizer)
#define DMLREF_TAG_HWASAN 1
#endif
#endif
#if !defined(DMLREF_TAG_ASAN)
#define DMLREF_TAG_ASAN DMLREF_BIT(__SANITIZE_ADDRESS__)
#endif
#if !defined(DMLREF_TAG_TSAN)
#define DMLREF_TAG_TSAN DMLREF_BIT(__SANITIZE_THREAD__)
#endif
#if !defined(DMLREF_TAG_MSAN)
#define DMLREF_TAG_MSAN 0
#endif
#if !defined(DMLREF_TAG_UBSAN)
#define DMLREF_TAG_UBSAN 0
#endif
#if !defined(DMLREF_TAG_HWASAN)
#define DMLREF_TAG_HWASAN DMLREF_BIT(__SANITIZE_HWADDRESS__)
#endif
#if defined(__CET__)
#define DMLREF_TAG_CET __CET__
#else
#define DMLREF_TAG_CET 0
#endif
#define DMLREF_TAG_LANGUAGE                                                                                    \
  DMLREF_JOIN(DMLREF_TAG_COMPILER, DMLREF_HEX(DMLREF_TAG_EXCEPTIONS, DMLREF_TAG_RTTI, DMLREF_TAG_HWASAN, 0),   \
              DMLREF_HEX(DMLREF_TAG_ASAN, DMLREF_TAG_TSAN, DMLREF_TAG_MSAN, DMLREF_TAG_UBSAN), DMLREF_TAG_CET, \
              DMLREF_DIGIT(__FAST_MATH__, __FINITE_MATH_ONLY__, __ASSOCIATIVE_MATH__, __RECIPROCAL_MATH__),    \
              DMLREF_DIGIT(__NO_MATH_ERRNO__, __NO_SIGNED_ZEROS__, __NO_TRAPPING_MATH__, __ROUNDING_MATH__),   \
              DMLREF_DIGIT(__SUPPORT_SNAN__, __CHAR_UNSIGNED__, 0, 0), )

// Optimization and NDEBUG: such copies of one function do the same, but not as fast, nor with as much of the stack.
// Units that hand one another objects of the library, although one is optimized and the other is not, define
// DMLREF_TAG_OPTIMIZATION as 0.
#ifndef DMLREF_TAG_OPTIMIZATION
#define DMLREF_TAG_OPTIMIZATION 1
#endif
#if defined(NDEBUG)
#define DMLREF_TAG_NDEBUG 1
#else
#define DMLREF_TAG_NDEBUG 0
#endif
#if DMLREF_TAG_OPTIMIZATION
#define DMLREF_TAG_EFFORT \
  DMLREF_HEX(DMLREF_TAG_NDEBUG, DMLREF_BIT(__OPTIMIZE__), DMLREF_BIT(__OPTIMIZE_SIZE__), DMLREF_BIT(__NO_INLINE__))
#else
#define DMLREF_TAG_EFFORT x
#endif

// The CPU's features.
#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64) || defined(_M_IX86)
#define DMLREF_TAG_FEATURES_0                                                                                         \
  DMLREF_JOIN(                                                                                                        \
      DMLREF_DIGIT(__MMX__, __SSE__, __SSE2__, __SSE3__), DMLREF_DIGIT(__SSSE3__, __SSE4_1__, __SSE4_2__, __SSE4A__), \
      DMLREF_DIGIT(__POPCNT__, __ABM__, __LZCNT__, __BMI__), DMLREF_DIGIT(__BMI2__, __TBM__, __MOVBE__, __CRC32__),   \
      DMLREF_DIGIT(__AVX__, __AVX2__, __FMA__, __F16C__), DMLREF_DIGIT(__FMA4__, __XOP__, __3dNOW__, __3dNOW_A__),    \
      DMLREF_DIGIT(__AVX512F__, __AVX512CD__, __AVX512BW__, __AVX512DQ__),                                            \
      DMLREF_DIGIT(__AVX512VL__, __AVX512IFMA__, __AVX512VBMI__, __AVX512VBMI2__))
#define DMLREF_TAG_FEATURES_1                                                                              \
  DMLREF_JOIN(DMLREF_DIGIT(__AVX512VNNI__, __AVX512BITALG__, __AVX512VPOPCNTDQ__, __AVX512VP2INTERSECT__), \
              DMLREF_DIGIT(__AVX512BF16__, __AVX512FP16__, __AVX512ER__, __AVX512PF__),                    \
              DMLREF_DIGIT(__AVX5124FMAPS__, __AVX5124VNNIW__, __EVEX512__, __AVX10_1__),                  \
              DMLREF_DIGIT(__AVX10_1_256__, __AVX10_1_512__, __AVX10_2__, __AVX10_2_256__),                \
              DMLREF_DIGIT(__AVX10_2_512__, __AVX512BMM__, __AVXVNNI__, __AVXVNNIINT8__),                  \
              DMLREF_DIGIT(__AVXVNNIINT16__, __AVXIFMA__, __AVXNECONVERT__, __APX_F__),                    \
              DMLREF_DIGIT(__AMXTILE__, __AMXINT8__, __AMXBF16__, __AMX_TILE__),                           \
              DMLREF_DIGIT(__AMX_INT8__, __AMX_BF16__, __AMX_FP16__, __AMX_COMPLEX__))
#define DMLREF_TAG_FEATURES_2                                                         \
  DMLREF_JOIN(DMLREF_DIGIT(__AMX_FP8__, __AMX_TF32__, __AMX_AVX512__, __AMX_MOVRS__), \
              DMLREF_DIGIT(__AMX_TRANSPOSE__, __MOVRS__, __GFNI__, __PKU__),          \
              DMLREF_DIGIT(__AES__, __PCLMUL__, __VAES__, __VPCLMULQDQ__),            \
              DMLREF_DIGIT(__SHA__, __SHA512__, __SM3__, __SM4__),                    \
              DMLREF_DIGIT(__ADX__, __FSGSBASE__, __RDRND__, __RDSEED__),             \
              DMLREF_DIGIT(__RDPID__, __PRFCHW__, __PREFETCHWT1__, __PREFETCHI__),    \
              DMLREF_DIGIT(__CLFLUSHOPT__, __CLWB__, __CLZERO__, __CLDEMOTE__),       \
              DMLREF_DIGIT(__MOVDIRI__, __MOVDIR64B__, __ENQCMD__, __MWAITX__))
#define DMLREF_TAG_FEATURES_3                                                       \
  DMLREF_JOIN(DMLREF_DIGIT(__FXSR__, __XSAVE__, __XSAVEC__, __XSAVEOPT__),          \
              DMLREF_DIGIT(__XSAVES__, __RTM__, __TSXLDTRK__, __SGX__),             \
              DMLREF_DIGIT(__LWP__, __KL__, __WIDEKL__, __UINTR__),                 \
              DMLREF_DIGIT(__HRESET__, __PTWRITE__, __WAITPKG__, __WBNOINVD__),     \
              DMLREF_DIGIT(__SERIALIZE__, __INVPCID__, __PCONFIG__, __CMPCCXADD__), \
              DMLREF_DIGIT(__RAOINT__, __USERMSR__, __LAHF_SAHF__, __SHSTK__),      \
              DMLREF_DIGIT(__SSE_MATH__, __SSE2_MATH__, __MMX_WITH_SSE__, __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16), )
#define DMLREF_TAG_FEATURES \
  DMLREF_JOIN(DMLREF_TAG_FEATURES_0, DMLREF_TAG_FEATURES_1, DMLREF_TAG_FEATURES_2, DMLREF_TAG_FEATURES_3, , , , )
#elif defined(__aarch64__) || defined(__arm__)
#if defined(__ARM_FEATURE_SVE_BITS)
#define DMLREF_TAG_SVE_BITS __ARM_FEATURE_SVE_BITS
#else
#define DMLREF_TAG_SVE_BITS 0
#endif
#if defined(__ARM_FEATURE_PAC_DEFAULT)
#define DMLREF_TAG_PAC __ARM_FEATURE_PAC_DEFAULT
#else
#define DMLREF_TAG_PAC 0
#endif
#if defined(__ARM_FEATURE_RCPC)
#define DMLREF_TAG_RCPC __ARM_FEATURE_RCPC
#else
#define DMLREF_TAG_RCPC 0
#endif
#define DMLREF_TAG_FEATURES_0                                                                                         \
  DMLREF_JOIN(                                                                                                        \
      DMLREF_DIGIT(__ARM_FEATURE_CRC32, __ARM_FEATURE_CRYPTO, __ARM_FEATURE_AES, __ARM_FEATURE_SHA2),                 \
      DMLREF_DIGIT(__ARM_FEATURE_SHA3, __ARM_FEATURE_SHA512, __ARM_FEATURE_SM3, __ARM_FEATURE_SM4),                   \
      DMLREF_DIGIT(__ARM_FEATURE_ATOMICS, __ARM_FEATURE_QRDMX, __ARM_FEATURE_DOTPROD, __ARM_FEATURE_MATMUL_INT8),     \
      DMLREF_DIGIT(__ARM_FEATURE_BF16, __ARM_FEATURE_BF16_VECTOR_ARITHMETIC, __ARM_FEATURE_BF16_SCALAR_ARITHMETIC,    \
                   __ARM_FEATURE_FP16_FML),                                                                           \
      DMLREF_DIGIT(__ARM_FEATURE_FP16_SCALAR_ARITHMETIC, __ARM_FEATURE_FP16_VECTOR_ARITHMETIC, __ARM_FEATURE_COMPLEX, \
                   __ARM_FEATURE_JCVT),                                                                               \
      DMLREF_DIGIT(__ARM_FEATURE_FRINT, __ARM_FEATURE_FMA, __ARM_FEATURE_RCPC3, __ARM_FEATURE_LS64),                  \
      DMLREF_DIGIT(__ARM_FEATURE_SVE, __ARM_FEATURE_SVE2, __ARM_FEATURE_SVE2_AES, __ARM_FEATURE_SVE2_BITPERM),        \
      DMLREF_DIGIT(__ARM_FEATURE_SVE2_SHA3, __ARM_FEATURE_SVE2_SM4, __ARM_FEATURE_SVE_BF16,                           \
                   __ARM_FEATURE_SVE_MATMUL_INT8))
#define DMLREF_TAG_FEATURES_1                                                                                   \
  DMLREF_JOIN(                                                                                                  \
      DMLREF_DIGIT(__ARM_FEATURE_SVE_MATMUL_FP32, __ARM_FEATURE_SVE_MATMUL_FP64, __ARM_FEATURE_SVE2p1,          \
                   __ARM_FEATURE_SVE_B16B16),                                                                   \
      DMLREF_DIGIT(__ARM_FEATURE_SME, __ARM_FEATURE_SME2, __ARM_FEATURE_SME_I16I64, __ARM_FEATURE_SME_F64F64),  \
      DMLREF_DIGIT(__ARM_FEATURE_SME_LOCALLY_STREAMING, __ARM_FEATURE_MTE, __ARM_FEATURE_MEMORY_TAGGING,        \
                   __ARM_FEATURE_RNG),                                                                          \
      DMLREF_DIGIT(__ARM_FEATURE_TME, __ARM_FEATURE_PAUTH, __ARM_FEATURE_BTI, __ARM_FEATURE_BTI_DEFAULT),       \
      DMLREF_DIGIT(__ARM_FEATURE_MOPS, __ARM_FEATURE_LSE128, __ARM_FEATURE_SYSREG128, __ARM_FEATURE_GCS),       \
      DMLREF_DIGIT(__ARM_FEATURE_GCS_DEFAULT, __ARM_FEATURE_FP8, __ARM_FEATURE_FP8DOT2, __ARM_FEATURE_FP8DOT4), \
      DMLREF_DIGIT(__ARM_FEATURE_FP8FMA, __ARM_FEATURE_LUT, __ARM_FEATURE_FAMINMAX, __ARM_FEATURE_CSSC),        \
      DMLREF_DIGIT(__ARM_FEATURE_FP8FMA, __ARM_FEATURE_UNALIGNED, __ARM_FEATURE_IDIV, __ARM_FEATURE_NUMERIC_MAXMIN))
#define DMLREF_TAG_FEATURES_2 DMLREF_JOIN(DMLREF_DIGIT(__ARM_NEON, __ARM_BIG_ENDIAN, 0, 0), , , , , , , )
#define DMLREF_TAG_VALUES DMLREF_JOIN(__ARM_ARCH, _, DMLREF_TAG_SVE_BITS, _, DMLREF_TAG_PAC, _, DMLREF_TAG_RCPC, _)
#define DMLREF_TAG_FEATURES \
  DMLREF_JOIN(DMLREF_TAG_VALUES, DMLREF_TAG_FEATURES_0, DMLREF_TAG_FEATURES_1, DMLREF_TAG_FEATURES_2, , , , )
#elif defined(__wasm__)
#define DMLREF_TAG_FEATURES_0                                                                                       \
  DMLREF_JOIN(                                                                                                      \
      DMLREF_DIGIT(__wasm_simd128__, __wasm_relaxed_simd__, __wasm_atomics__, __wasm_bulk_memory__),                \
      DMLREF_DIGIT(__wasm_nontrapping_fptoint__, __wasm_sign_ext__, __wasm_mutable_globals__, __wasm_multivalue__), \
      DMLREF_DIGIT(__wasm_reference_types__, __wasm_tail_call__, __wasm_extended_const__,                           \
                   __wasm_exception_handling__),                                                                    \
      , , , , )
#define DMLREF_TAG_FEATURES DMLREF_JOIN(DMLREF_TAG_FEATURES_0, , , , , , , )
#elif defined(__s390x__)
#define DMLREF_TAG_FEATURES DMLREF_JOIN(__ARCH__, _, DMLREF_DIGIT(__VX__, __HTM__, 0, 0), , , , , )
#elif defined(__powerpc__)
#define DMLREF_TAG_FEATURES                                                  \
  DMLREF_JOIN(DMLREF_DIGIT(_ARCH_PWR7, _ARCH_PWR8, _ARCH_PWR9, _ARCH_PWR10), \
              DMLREF_DIGIT(_ARCH_PWR11, __ALTIVEC__, __VSX__, __MMA__),      \
              DMLREF_DIGIT(__POWER8_VECTOR__, __POWER9_VECTOR__, __PCREL__, __HTM__), , , , , )
#elif defined(__loongarch__)
#define DMLREF_TAG_FEATURES DMLREF_DIGIT(__loongarch_sx, __loongarch_asx, __loongarch_div32, __loongarch_lam_bh)
#else
#define DMLREF_TAG_FEATURES 0
#endif

#define DMLREF_TAG_OURS                                                                                               \
  DMLREF_JOIN(DMLREF_RANK,                                                                                            \
              DMLREF_HEX(DMLREF_TAG_SEPARATE, DMLREF_BIT(DMLREF_CHECKED), DMLREF_BIT(DMLREF_UNALIGNED_VECTORS), 0), , \
              , , , , )
#define DMLREF_TAG \
  DMLREF_JOIN(DMLREF_TAG_OURS, _, DMLREF_TAG_STL, DMLREF_TAG_LANGUAGE, DMLREF_TAG_EFFORT, _, DMLREF_TAG_FEATURES, )
#define DMLREF_ABI_IMPL(major, minor, tag) v##major##_##minor##_##tag
#define DMLREF_ABI_PASTE(major, minor, tag) DMLREF_ABI_IMPL(major, minor, tag)
#define DMLREF_ABI DMLREF_ABI_PASTE(DMLREF_VERSION_MAJOR, DMLREF_VERSION_MINOR, DMLREF_TAG)
