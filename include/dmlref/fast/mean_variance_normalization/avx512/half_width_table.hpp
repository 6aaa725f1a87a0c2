// half_width_table.hpp: the kernels of CPUs that take 512 bits in two turns (Zen 4). float16's are those of CPUs with
// two pipes but for the sums: additions and conversions compete for two of four pipes of 256 bits.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/fast/mean_variance_normalization/avx2.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512/half_width.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512/two_pipes.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx512::half_width {

/// Sums of halves as two_pipes::Eights. Elements become doubles from memory, four in an operation: out of a register
/// that takes one and a half. What was just stored is not read before some more is (a third more of the time), and all
/// but `adds` of four sums are added by the pipes that multiply.
template <std::size_t adds>
class Fours {
 public:
  static constexpr bool wants_floats = true;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit Fours(const float* floats) noexcept
      : lanes_(avx2::no_lanes()), one_(_mm256_set1_pd(1.0)), next_(floats), end_(floats) {
    __asm__("" : "+x"(one_));  // (Else compilers make additions of the multiply-adds.)
  }
  template <bool>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add16(const std::byte* halves, float* floats) noexcept {
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      _mm256_storeu_ps(floats + 8 * v,
                       _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + 16 * v))));
    }
    end_ = floats + 16;
    if (end_ - next_ > lag) add_next();
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE SumAndSquare total() noexcept {
    while (next_ != end_) add_next();
    return avx2::total(lanes_);
  }

 private:
  static constexpr std::ptrdiff_t lag = 64;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add_next() noexcept {
    add_fours<adds, false>(lanes_, next_, one_, nullptr);
    next_ += 16;
  }

  avx2::Accumulators lanes_;
  __m256d one_;
  const float* next_;  // what is added next,
  const float* end_;   // and where that ends
};

using SumsAlone = Fours<2>;
using SumsBesideResults = Fours<1>;

template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t row16(const Row16& row) noexcept {
  return two_pipes::row16<finish, SumsBesideResults>(row);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t each_row16(const EachRow16& row) noexcept {
  return two_pipes::each_row16<finish, SumsBesideResults>(row);
}

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{.widen = widen,
                                 .sums = avx2::sums,
                                 .shifted_sums = avx2::shifted_sums,
                                 .piece_sums = avx2::piece_sums,
                                 .row32 = {row32<identity>, row32<relu>, row32<leaky_relu>, row32<unit>, row32<values>},
                                 .each_row32 = {each_row32<identity>, each_row32<relu>, each_row32<leaky_relu>,
                                                each_row32<unit>, each_row32<values>},
                                 .pieces32 = {pieces32<identity>, pieces32<relu>, pieces32<leaky_relu>, pieces32<unit>},
                                 .row16 = {row16<identity>, row16<relu>, row16<leaky_relu>, row16<unit>, row16<values>},
                                 .pieces16 = {two_pipes::pieces16<identity>, two_pipes::pieces16<relu>,
                                              two_pipes::pieces16<leaky_relu>, two_pipes::pieces16<unit>},
                                 .each_row16 = {each_row16<identity>, each_row16<relu>, each_row16<leaky_relu>,
                                                each_row16<unit>, each_row16<values>},
                                 .near = 4096,
                                 .each_from_doubles = true,
                                 .runs = true,
                                 .sums_ahead = true,
                                 .asks_where_kept = true,
                                 .half_sums_ahead = true,
                                 .settles_late = true,
                                 .settles_halves_in_pairs = true,
                                 .asks_for_halves = false,
                                 .half_sums = two_pipes::half_sums<SumsAlone>,
                                 .pieces32_and_sums = {pieces32_and_sums<identity>, pieces32_and_sums<relu>,
                                                       pieces32_and_sums<leaky_relu>, pieces32_and_sums<unit>},
                                 .two_sums = {nullptr, two_pipes::two_half_sums<SumsAlone>}};
  return table;
}

}  // namespace fast::normalization::avx512::half_width
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
