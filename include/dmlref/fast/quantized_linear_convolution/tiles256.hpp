// tiles256.hpp: the tiles on 8 lanes, for every set with 256-bit registers. Included once per set, inside that set's
// namespace, because a target attribute cannot be a template parameter; hence no guard. The includer defines
// DMLREF_QLC_TARGET (the attribute) and a function dot(sums, activations, weights); without them this is empty.
#if defined(DMLREF_QLC_TARGET)

DMLREF_QLC_TARGET inline __m256i load(const void* from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

DMLREF_QLC_TARGET inline __m256i broadcast(const std::uint8_t* group) noexcept {
  std::int32_t value;
  std::memcpy(&value, group, sizeof value);
  return _mm256_set1_epi32(value);
}

template <int V, int R>
DMLREF_QLC_TARGET inline void channel_tile(const TileArgs& t) noexcept {
  constexpr std::size_t rows = R, vectors = V;
  __m256i acc[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      acc[r][v] = _mm256_add_epi32(load(t.channel_offset + 8 * v), _mm256_set1_epi32(t.pixel_offset[r]));
    }
  }
  const std::ptrdiff_t step = t.pixel_step;
  const std::ptrdiff_t step3 = 3 * step;
  const std::uint8_t* w = t.weights;
  for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step) {
    const std::uint8_t* a = t.activations + t.offsets[k];
    __m256i weights[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) weights[v] = load(w + v * t.weight_block);
    const std::uint8_t* quad = a;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      if (r != 0 && r % 4 == 0) quad = hidden(quad + 4 * step);
      const __m256i group = broadcast(quad + (r % 4 == 3 ? step3 : (r % 4) * step));
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = dot(acc[r][v], group, weights[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.sums + r * t.sums_pitch + 8 * v), acc[r][v]);
    }
  }
}

template <int V, int R>
DMLREF_QLC_TARGET inline void pixel_tile(const TileArgs& t) noexcept {
  constexpr std::size_t rows = R, vectors = V;
  __m256i acc[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      acc[r][v] = _mm256_add_epi32(load(t.pixel_offset + 8 * v), _mm256_set1_epi32(t.channel_offset[r]));
    }
  }
  const std::uint8_t* w = t.weights;
  for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step) {
    const std::uint8_t* a = t.activations + t.offsets[k];
    __m256i pixels[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) pixels[v] = load(a + 32 * v);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const __m256i group = broadcast(w + 4 * r);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = dot(acc[r][v], pixels[v], group);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.sums + r * t.sums_pitch + 8 * v), acc[r][v]);
    }
  }
}

template <int V, std::size_t... R>
constexpr void set_channel_tiles(Kernels::Tiles& tiles, std::index_sequence<R...>) noexcept {
  ((tiles[V - 1][R] = &channel_tile<V, static_cast<int>(R) + 1>), ...);
}
template <int V, std::size_t... R>
constexpr void set_pixel_tiles(Kernels::Tiles& tiles, std::index_sequence<R...>) noexcept {
  ((tiles[V - 1][R] = &pixel_tile<V, static_cast<int>(R) + 1>), ...);
}

constexpr void set_tiles(Kernels& k) noexcept {
  set_channel_tiles<1>(k.channel_tiles, std::make_index_sequence<12>());
  set_channel_tiles<2>(k.channel_tiles, std::make_index_sequence<6>());
  set_channel_tiles<4>(k.channel_tiles, std::make_index_sequence<2>());
  set_pixel_tiles<1>(k.pixel_tiles, std::make_index_sequence<4>());
  set_pixel_tiles<2>(k.pixel_tiles, std::make_index_sequence<4>());
}
#endif
