// full_width_table.hpp: the kernels of CPUs whose pipes take 512 bits at once: float32's are their own, some of
// float16's those of CPUs with two pipes.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <cstddef>

#include "dmlref/fast/mean_variance_normalization/avx512/full_width.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512/two_pipes.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx512::full_width {

// (Without a row ahead a list of masks is faster than branches.)
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t row16(const Row16& row) noexcept {
  return row.ahead.elements != nullptr ? two_pipes::row16<finish>(row) : avx512::row16<finish>(row);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t each_row16(const EachRow16& row) noexcept {
  return row.ahead.elements != nullptr ? two_pipes::each_row16<finish>(row) : avx512::each_row16<finish>(row);
}

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{.widen = widen,
                                 .sums = sums,
                                 .shifted_sums = avx2::shifted_sums,
                                 .piece_sums = piece_sums,
                                 .row32 = {row32<identity>, row32<relu>, row32<leaky_relu>, row32<unit>, row32<values>},
                                 .each_row32 = {each_row32<identity>, each_row32<relu>, each_row32<leaky_relu>,
                                                each_row32<unit>, each_row32<values>},
                                 .pieces32 = {pieces32<identity>, pieces32<relu>, pieces32<leaky_relu>, pieces32<unit>},
                                 .row16 = {row16<identity>, row16<relu>, row16<leaky_relu>, row16<unit>, row16<values>},
                                 .pieces16 = {two_pipes::pieces16<identity>, two_pipes::pieces16<relu>,
                                              two_pipes::pieces16<leaky_relu>, two_pipes::pieces16<unit>},
                                 .each_row16 = {each_row16<identity>, each_row16<relu>, each_row16<leaky_relu>,
                                                each_row16<unit>, each_row16<values>},
                                 .near = 16384,
                                 .each_from_doubles = true,
                                 .runs = true,
                                 .sums_ahead = true,
                                 .streamed_sums_ahead = true,
                                 .half_sums_ahead = true,
                                 .settles_late = true,
                                 .asks_for_halves = false,
                                 .half_sums = half_sums,
                                 .row16_and_sums = row16_and_sums,
                                 .pieces32_and_sums = {pieces32_and_sums<identity>, pieces32_and_sums<relu>,
                                                       pieces32_and_sums<leaky_relu>, pieces32_and_sums<unit>},
                                 .two_sums = {two_sums<float>, two_sums<half>}};
  return table;
}

}  // namespace fast::normalization::avx512::full_width
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
