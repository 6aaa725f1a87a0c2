// foreach_target-inl.hpp: one source of kernels for every instruction set that has vectors of reals, and the choice
// among them. The includer defines
//
//   DMLREF_VECTOR_SOURCE     the source: it is included once per target, in a namespace of its own in which the types
//                            and functions of simd/reals/ have no prefix, and defines target_kernels()
//   DMLREF_VECTOR_NAMESPACE  where these namespaces go; it has scalar::target_kernels(), and gets kernels_of(isa)
//
// For the source DMLREF_VECTOR_TARGET marks functions that are inlined, DMLREF_VECTOR_KERNEL those that are not: an
// attribute cannot be a template parameter. Without DMLREF_VECTOR_SOURCE this is empty; hence no guard.
#ifdef DMLREF_VECTOR_SOURCE

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"

#if DMLREF_HAS_AVX2
#include "dmlref/simd/reals/avx2.hpp"
#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX2 inline
DMLREF_BEGIN
namespace DMLREF_VECTOR_NAMESPACE::avx2 {
using namespace simd::avx2;
#include DMLREF_VECTOR_SOURCE
}  // namespace DMLREF_VECTOR_NAMESPACE::avx2
DMLREF_END
#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#endif

#if DMLREF_HAS_AVX512VNNI
#include "dmlref/simd/reals/avx512.hpp"

#include "dmlref/isa/avx512_begin.hpp"
#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX512VNNI inline
DMLREF_BEGIN
namespace DMLREF_VECTOR_NAMESPACE::avx512 {
using namespace simd::avx512;
#include DMLREF_VECTOR_SOURCE
}  // namespace DMLREF_VECTOR_NAMESPACE::avx512
DMLREF_END
#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#include "dmlref/isa/avx512_end.hpp"
#endif

#if DMLREF_HAS_NEON
#include "dmlref/simd/reals/neon.hpp"
#define DMLREF_VECTOR_TARGET DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL inline
DMLREF_BEGIN
namespace DMLREF_VECTOR_NAMESPACE::neon {
using namespace simd::neon;
#include DMLREF_VECTOR_SOURCE
}  // namespace DMLREF_VECTOR_NAMESPACE::neon
DMLREF_END
#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#endif

DMLREF_BEGIN
namespace DMLREF_VECTOR_NAMESPACE {

/// The kernels of the best vectors that `isa` has and that are compiled.
inline decltype(auto) kernels_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::amx_int8:
    case Isa::avx512vnni:
#if DMLREF_HAS_AVX512VNNI
      return avx512::target_kernels();
#endif
    case Isa::avxvnni:
    case Isa::avx2:
#if DMLREF_HAS_AVX2
      return avx2::target_kernels();
#endif
    case Isa::neon_dotprod:
    case Isa::neon:
#if DMLREF_HAS_NEON
      return neon::target_kernels();
#endif
    default: return scalar::target_kernels();
  }
}

}  // namespace DMLREF_VECTOR_NAMESPACE
DMLREF_END

#undef DMLREF_VECTOR_SOURCE
#undef DMLREF_VECTOR_NAMESPACE
#endif
