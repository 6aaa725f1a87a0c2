// tiles-inl.hpp: the micro-kernels of NEON: one source for both products. Included once per target, inside its
// namespace, because a target attribute cannot be a template parameter; hence no guard. The includer defines
// DMLREF_QLC_TARGET (the attribute, or nothing), Accumulators of four lanes, begin, multiply_add and total; without the
// macro this is empty.
#if defined(DMLREF_QLC_TARGET)

/// Which side is which makes no difference to the arithmetic, only to the addresses.
template <bool PixelsInLanes, int N, int R>
DMLREF_QLC_TARGET inline void tile(const TileArgs& t) noexcept {
  constexpr std::size_t rows = R, vectors = N;
  const TileOperands& o = t.operands;
  Accumulators acc[rows][vectors];
  DMLREF_UNROLL
  for (int r = 0; r < R; ++r) {
    DMLREF_UNROLL
    for (int v = 0; v < N; ++v) {
      acc[r][v] = begin(PixelsInLanes ? vdupq_n_s32(t.offsets.channel[r]) : vld1q_s32(t.offsets.channel + 4 * v));
    }
  }
  const std::uint8_t* w = o.weights;
  for (std::ptrdiff_t k = 0; k < o.steps; ++k, w += o.weight_step) {
    const std::uint8_t* a = o.activations + o.offsets[k];
    int8x16_t lanes[vectors];
    DMLREF_UNROLL
    for (int v = 0; v < N; ++v) lanes[v] = neon::load(PixelsInLanes ? a + 16 * v : w + v * o.weight_block);
    DMLREF_UNROLL
    for (int r = 0; r < R; ++r) {
      const int8x16_t group = neon::broadcast(PixelsInLanes ? w + 4 * r : a + r * o.pixel_step);
      DMLREF_UNROLL
      for (int v = 0; v < N; ++v) multiply_add(acc[r][v], group, lanes[v]);
    }
  }
  DMLREF_UNROLL
  for (int r = 0; r < R; ++r) {
    DMLREF_UNROLL
    for (int v = 0; v < N; ++v) vst1q_s32(t.sums.at + r * t.sums.pitch + 4 * v, total(acc[r][v]));
  }
}

/// Of N vectors, of so many rows each.
template <bool PixelsInLanes, int N, int... R>
constexpr void set_tiles(Tiles& tiles) noexcept {
  tiles.set(N, Tile{R, &tile<PixelsInLanes, N, R>}...);
}
#endif
