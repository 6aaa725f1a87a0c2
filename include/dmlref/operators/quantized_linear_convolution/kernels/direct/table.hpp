// table.hpp: the kernels of a target of x86-64.
//
// Included once per target, inside its namespace, behind all its kernels; hence no guard. The includer defines
// DMLREF_QLC_TARGET, `narrower` and `pairs_in_place` (see Kernels).
#if defined(DMLREF_QLC_TARGET)

inline constexpr Kernels kernels{
    .block = block,
    .group = 4,
    .weight_bytes = weight_bytes,
    .pixel_taps = &pixel_taps<1>,
    .pixel_taps_2 = &pixel_taps<2>,
    .pixel_taps_4 = &pixel_taps<4>,
    .channel_taps = &channel_taps,
    .channel_quads = &channel_quads,
    .pixel_planes = &pixel_planes,
    .planes_suit = &planes_suit,
    .channel_columns = &channel_columns,
    .columns_suit = &columns_suit,
    .narrower = narrower,
    .pairs_in_place = pairs_in_place,
    .fold = &direct::avx2::fold,
    .pack = &direct::avx2::pack,
    .rounded_sums = true,
};

#endif
