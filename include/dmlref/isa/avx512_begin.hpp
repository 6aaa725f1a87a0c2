// avx512_begin.hpp: switches off what g++ says of its own AVX-512 intrinsics, until avx512_end.hpp. Included last, by
// each file that uses them; hence no guard.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // their undefined operands (g++ bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored \
    "-Wsign-conversion"  // without optimization intrinsics with immediates or masks are macros
#endif
