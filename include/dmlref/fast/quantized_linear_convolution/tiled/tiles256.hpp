// tiles256.hpp: the tiles on 8 lanes, for every set with 256-bit registers. Included once per set, inside that set's
// namespace, because a target attribute cannot be a template parameter; hence no guard. The includer defines
// DMLREF_QLC_TARGET (the attribute), a function dot(sums, activations, weights), and held_vectors: 3, or 2 where a dot
// product takes a register of its own; without them this is empty.
//
// Twelve of the sixteen registers are sums: 6 pixels x 2 vectors of channels (or 4 x 3, where three vectors are held),
// 4 channels x 3 vectors of pixels. A step of 12 dot products takes 7 or 8 loads (10 where a third vector is not held).
#if defined(DMLREF_QLC_TARGET)

DMLREF_QLC_TARGET inline __m256i load(const void* from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

DMLREF_QLC_TARGET inline __m256i broadcast(const std::uint8_t* group) noexcept {
  std::int32_t value;
  std::memcpy(&value, group, sizeof value);
  return _mm256_set1_epi32(value);
}

/// The same pointer. Three vectors, twelve sums and a group leave clang no register for what it would load before the
/// last step's products are done.
DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE const std::uint8_t* in_order(const std::uint8_t* pointer) noexcept {
#if defined(__clang__)
  __asm__ volatile("" : "+r"(pointer));
#endif
  return pointer;
}

/// Requantizes in fixed point, for up to 32 sums at a time.
class Epilogue {
 public:
  /// Made before a tile's first step, whose products hide how long that takes. Null: not to be used.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE explicit Epilogue(const Requantizer* to) noexcept
      : shift_(_mm256_set1_ps(to != nullptr ? to->fixed_shift() : 0)),
        flip_(_mm256_set1_epi8(static_cast<char>(to != nullptr ? to->packed_flip() : 0))),
        nearest_(_mm256_set1_epi32(-1)) {}

  /// Of eight sums of channels with those scales.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE __m256i fixed(__m256i sums, __m256 scale) const noexcept {
    return requantize::avx2::in_fixed_point(sums, scale, shift_);
  }

  /// The results of Count vectors, 8 bytes of each. The upper halves are the results, the lower ones tell how near a
  /// tie is.
  template <int Count>
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE __m256i pack(__m256i v0, __m256i v1, __m256i v2, __m256i v3) noexcept {
    nearest_ = _mm256_min_epu16(nearest_, v0);
    if constexpr (Count > 1) nearest_ = _mm256_min_epu16(nearest_, v1);
    if constexpr (Count > 2) nearest_ = _mm256_min_epu16(nearest_, v2);
    if constexpr (Count > 3) nearest_ = _mm256_min_epu16(nearest_, v3);
    __m256i q01 = _mm256_srli_epi32(v0, 16);
    if constexpr (Count > 1) q01 = requantize::avx2::join_high_halves(v0, v1);
    __m256i q23 = Count > 2 ? _mm256_srli_epi32(v2, 16) : q01;
    if constexpr (Count > 3) q23 = requantize::avx2::join_high_halves(v2, v3);
    const __m256i quads =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_xor_si256(_mm256_packs_epi16(q01, q23), flip_);
    return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(bytes, quads), order);
  }

  /// Whether a sum among those packed so far has to be settled.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE bool near_tie() const noexcept {
    return requantize::avx2::near_tie(nearest_, _mm256_set1_epi32(static_cast<int>(fixed_band)));
  }

 private:
  __m256 shift_;
  __m256i flip_;
  __m256i nearest_;  // in the lower halves
};

/// Exact results for the sums of a tile that are near a tie. A row is a channel, or a pixel.
template <bool RowIsChannel>
DMLREF_NOINLINE DMLREF_QLC_TARGET void settle(const Requantizer& to, const std::int32_t* sums, std::ptrdiff_t rows,
                                              std::ptrdiff_t lanes, std::ptrdiff_t used, std::ptrdiff_t first,
                                              std::uint8_t* out, std::ptrdiff_t pitch) noexcept {
  const Epilogue epilogue(&to);
  for (std::ptrdiff_t r = 0; r < rows; ++r, sums += lanes, out += pitch) {
    for (std::ptrdiff_t l = 0; l < used; l += 8) {
      const float* const scales = to.fixed_scale + first;
      const __m256 scale = RowIsChannel ? _mm256_set1_ps(scales[r]) : _mm256_loadu_ps(scales + l);
      unsigned near = requantize::avx2::lanes_near_ties(epilogue.fixed(load(sums + l), scale));
      for (; near != 0; near &= near - 1) {
        const std::ptrdiff_t at = l + std::countr_zero(near);
        if (at < used) out[at] = to.exact(sums[at], first + (RowIsChannel ? r : at));
      }
    }
  }
}

/// Channels in lanes.
template <int V, int R>
struct ChannelTile {
  static constexpr std::size_t rows = R, vectors = V;
  using Registers = __m256i[rows][vectors];

  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void start(const TileArgs& t, Registers& acc) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = load(t.channel_offset + 8 * v);
    }
    if (t.channel_factor != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m256i factor = load(t.channel_factor + 8 * v);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(_mm256_set1_epi32(t.pixel_sums[r]), factor));
        }
      }
    } else if (t.pixel_offset != nullptr) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m256i offset = _mm256_set1_epi32(t.pixel_offset[r]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = _mm256_add_epi32(acc[r][v], offset);
      }
    }
  }

  /// Pixels 0 to 5 are one address each, of a base and three distances; another six start from a base of their own.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void step(Registers& acc, const std::uint8_t* a, std::ptrdiff_t pixel,
                                                          std::ptrdiff_t pixel3, std::ptrdiff_t pixel5,
                                                          const std::uint8_t* w, std::ptrdiff_t block) noexcept {
    constexpr int held = V > held_vectors ? 2 : V;
    constexpr std::size_t loaded = held;
    if constexpr (held > 2) w = in_order(w);
#pragma GCC unroll 2
    for (int h = 0; h < V; h += held) {
      __m256i weights[loaded];
#pragma GCC unroll 3
      for (int v = 0; v < held; ++v) weights[v] = load(w + (h + v) * block);
      const std::uint8_t* six = a;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        if (r == 6) six = hidden(six + 2 * pixel3);
        const int i = r % 6;
        const __m256i group = broadcast(six + (i == 5 ? pixel5 : i == 3 ? pixel3 : i * pixel));
#pragma GCC unroll 3
        for (int v = 0; v < held; ++v) acc[r][h + v] = dot(acc[r][h + v], group, weights[v]);
      }
    }
  }

  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void keep(const Registers& acc, std::int32_t* to,
                                                          std::ptrdiff_t pitch) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + r * pitch + 8 * v), acc[r][v]);
    }
  }

  /// Four vectors at a time, whichever pixels they belong to.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void finish(const TileArgs& t, const Registers& acc,
                                                            Epilogue epilogue) noexcept {
    const float* const scales = t.requantizer->fixed_scale + t.first_channel;
    const auto out = [&](int vector) { return t.out + vector / V * t.out_pitch + vector % V * 8; };
    constexpr int all = V * R;
#pragma GCC unroll 16
    for (int first = 0; first < all; first += 4) {
      __m256i fixed[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const int at = first + i < all ? first + i : all - 1;
        fixed[i] = epilogue.fixed(acc[at / V][at % V], _mm256_loadu_ps(scales + at % V * 8));
      }
      const __m256i bytes = epilogue.pack<4>(fixed[0], fixed[1], fixed[2], fixed[3]);
      const __m128i low = _mm256_castsi256_si128(bytes);
      if constexpr (V == 4) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out(first)), bytes);
      } else {
        const __m128i high = _mm256_extracti128_si256(bytes, 1);
        if constexpr (V == 2) {
          _mm_storeu_si128(reinterpret_cast<__m128i*>(out(first)), low);
          if (first + 2 < all) _mm_storeu_si128(reinterpret_cast<__m128i*>(out(first + 2)), high);
        } else {
          _mm_storel_epi64(reinterpret_cast<__m128i*>(out(first)), low);
          if (first + 1 < all) _mm_storeh_pi(reinterpret_cast<__m64*>(out(first + 1)), _mm_castsi128_ps(low));
          if (first + 2 < all) _mm_storel_epi64(reinterpret_cast<__m128i*>(out(first + 2)), high);
          if (first + 3 < all) _mm_storeh_pi(reinterpret_cast<__m64*>(out(first + 3)), _mm_castsi128_ps(high));
        }
      }
    }
    if (__builtin_expect(epilogue.near_tie(), 0)) {
      std::int32_t kept[rows * vectors * 8];
      keep(acc, kept, 8 * V);
      settle<false>(*t.requantizer, kept, R, 8 * V, 8 * V, t.first_channel, t.out, t.out_pitch);
    }
  }
};

/// `args.count` tiles side by side.
template <int V, int R>
DMLREF_QLC_TARGET inline void channel_tile(const TileArgs& args) noexcept {
  using Shape = ChannelTile<V, R>;
  TileArgs t = args;
  const Epilogue epilogue(t.requantizer);
  const std::ptrdiff_t pixel = t.pixel_step;
  const std::ptrdiff_t pixel3 = hidden(3 * pixel), pixel5 = hidden(5 * pixel);
  for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) {
    typename Shape::Registers acc;
    Shape::start(t, acc);
    const std::int32_t* offset = t.offsets;
    const std::int32_t* const end = offset + t.steps;
    const std::uint8_t* w = t.weights;
    if (t.run > 1) {
      for (; offset != end; offset += t.run) {
        const std::uint8_t* a = t.activations + *offset;
        const std::uint8_t* const run_end = a + 4 * t.run;
#pragma GCC unroll 4
        for (; a != run_end; a += 4, w += 32) Shape::step(acc, a, pixel, pixel3, pixel5, w, t.weight_block);
      }
    }
#pragma GCC unroll 2
    for (; offset != end; ++offset, w += t.weight_step) {
      Shape::step(acc, t.activations + *offset, pixel, pixel3, pixel5, w, t.weight_block);
    }
    if (t.requantizer == nullptr) return Shape::keep(acc, t.sums, t.sums_pitch);
    Shape::finish(t, acc, epilogue);
    t.activations += R * pixel;
    if (t.pixel_offset != nullptr) t.pixel_offset += R;
    t.pixel_sums += R;
    t.out += R * t.out_pitch;
  }
}

/// Pixels in lanes.
template <int V, int R>
struct PixelTile {
  static constexpr std::size_t rows = R, vectors = V;
  using Registers = __m256i[rows][vectors];

  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void start(const TileArgs& t, Registers& acc) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = _mm256_set1_epi32(t.channel_offset[r]);
    }
    if (t.channel_factor != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m256i sum = load(t.pixel_sums + 8 * v);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(sum, _mm256_set1_epi32(t.channel_factor[r])));
        }
      }
    } else if (t.pixel_offset != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m256i offset = load(t.pixel_offset + 8 * v);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) acc[r][v] = _mm256_add_epi32(acc[r][v], offset);
      }
    }
  }

  /// A third vector that is not held is an operand in memory, each time.
  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void step(Registers& acc, const std::uint8_t* a,
                                                          const std::uint8_t* w) noexcept {
    constexpr int held = V > held_vectors ? 2 : V;
    constexpr std::size_t loaded = held;
    __m256i pixels[loaded];
#pragma GCC unroll 3
    for (int v = 0; v < held; ++v) pixels[v] = load(a + 32 * v);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const __m256i group = broadcast(w + 4 * r);
#pragma GCC unroll 3
      for (int v = 0; v < held; ++v) acc[r][v] = dot(acc[r][v], pixels[v], group);
      if constexpr (V > held) {
        a = hidden(a);
        acc[r][2] = dot(acc[r][2], load(a + 64), group);
      }
    }
  }

  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void keep(const Registers& acc, std::int32_t* to,
                                                          std::ptrdiff_t pitch) noexcept {
    ChannelTile<V, R>::keep(acc, to, pitch);
  }

  DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE static void finish(const TileArgs& t, const Registers& acc,
                                                            Epilogue epilogue) noexcept {
    const bool whole = t.out_lanes == 8 * V;
    std::uint8_t part[32];
    std::uint8_t* out = t.out;
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r, out += t.out_pitch) {
      const auto sums = [&](int v) DMLREF_QLC_TARGET { return acc[r][v < V ? v : 0]; };
      const __m256 scale = _mm256_set1_ps(t.requantizer->fixed_scale[t.first_channel + r]);
      const __m256i last = epilogue.fixed(sums(2), scale);
      const __m256i bytes =
          epilogue.pack<V>(epilogue.fixed(sums(0), scale), epilogue.fixed(sums(1), scale), last, last);
      const __m128i low = _mm256_castsi256_si128(bytes);
      if (__builtin_expect(!whole, 0)) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(part), bytes);
        std::memcpy(out, part, static_cast<std::size_t>(t.out_lanes));
      } else if constexpr (V == 1) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out), low);
      } else {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), low);
        if constexpr (V == 3) {
          _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 16), _mm256_extracti128_si256(bytes, 1));
        }
      }
    }
    if (__builtin_expect(epilogue.near_tie(), 0)) {
      std::int32_t kept[rows * vectors * 8];
      keep(acc, kept, 8 * V);
      settle<true>(*t.requantizer, kept, R, 8 * V, t.out_lanes, t.first_channel, t.out, t.out_pitch);
    }
  }
};

/// `args.count` tiles side by side.
template <int V, int R>
DMLREF_QLC_TARGET inline void pixel_tile(const TileArgs& args) noexcept {
  using Shape = PixelTile<V, R>;
  TileArgs t = args;
  const Epilogue epilogue(t.requantizer);
  for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) {
    typename Shape::Registers acc;
    Shape::start(t, acc);
    const std::uint8_t* w = t.weights;
    if (t.plane_step != 0) {
      const std::uint8_t* a = t.activations;
      const std::uint8_t* const end = w + 32 * t.steps;
#pragma GCC unroll 4
      for (; w != end; a += t.plane_step, w += 32) Shape::step(acc, a, w);
    } else {
      const std::int32_t* offset = t.offsets;
      const std::int32_t* const end = offset + t.steps;
#pragma GCC unroll 2
      for (; offset != end; ++offset, w += t.weight_step) Shape::step(acc, t.activations + *offset, w);
    }
    t.activations += 32 * V;
    if (t.pixel_offset != nullptr) t.pixel_offset += 8 * V;
    if (t.requantizer == nullptr) {
      Shape::keep(acc, t.sums, t.sums_pitch);
      t.sums += 8 * V;
    } else {
      Shape::finish(t, acc, epilogue);
      t.pixel_sums += 8 * V;
      t.out += 8 * V;
    }
  }
}

template <int V, int... R>
constexpr void set_channel_tiles(Tiles& tiles) noexcept {
  tiles.set(V, Tile{R, &channel_tile<V, R>}...);
}
template <int V, int... R>
constexpr void set_pixel_tiles(Tiles& tiles) noexcept {
  tiles.set(V, Tile{R, &pixel_tile<V, R>}...);
}

constexpr void set_tiles(Kernels& k) noexcept {
  set_channel_tiles<1, 1, 2, 4, 6>(k.channel_tiles);
  set_channel_tiles<2, 1, 2, 4, 6>(k.channel_tiles);
  if constexpr (held_vectors > 2) set_channel_tiles<3, 1, 2, 4>(k.channel_tiles);
  set_channel_tiles<4, 1, 2>(k.channel_tiles);
  set_pixel_tiles<1, 1, 2, 4>(k.pixel_tiles);
  set_pixel_tiles<2, 1, 2, 4>(k.pixel_tiles);
  set_pixel_tiles<3, 1, 2, 4>(k.pixel_tiles);
}
#endif
