// avx512_end.hpp: ends what avx512_begin.hpp began.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
