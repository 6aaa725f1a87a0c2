// vnni256.hpp: the direct convolution's kernels with dot products on 8 lanes; a block is 32 lanes.
//
// Included once per encoding of the dot products, inside its namespace; hence no guard. The includer defines
// DMLREF_QLC_TARGET (the attribute) and functions dot(sums, quads, weights) of bytes and multiply_add(sums, pairs,
// weights) of words; without them this is empty.
#if defined(DMLREF_QLC_TARGET)

using namespace vectors256;

#include "dmlref/fast/quantized_linear_convolution/direct/bytes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/columns256.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/lanes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/planes256.hpp"

inline constexpr Kernels kernels{
    .block = block,
    .group = 4,
    .weight_bytes = 1,
    .pixel_taps = &pixel_taps<1>,
    .pixel_taps_2 = &pixel_taps<2>,
    .pixel_taps_4 = &pixel_taps<4>,
    .channel_taps = &channel_taps,
    .channel_quads = &channel_quads,
    .pixel_planes = &pixel_planes,
    .planes_suit = &planes_suit,
    .channel_columns = &channel_columns,
    .columns_suit = &columns_suit,
    .pairs_in_place = true,
    .fold = &direct::avx2::fold,
    .pack = &direct::avx2::pack,
    .rounded_sums = true,
};

#endif
