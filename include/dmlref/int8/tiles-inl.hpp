// tiles-inl.hpp: the micro-kernels of x86-64: one source for 256 and 512 bits. Included once per target, inside its
// namespace, because a target attribute cannot be a template parameter; hence no guard. The includer defines
// DMLREF_QLC_TARGET (the attribute), V (simd/x86.hpp), Epilogue, multiply_add, rounding (a namespace of requantize/),
// and how many vectors a step holds in registers (held_weights, held_pixels); without the macro this is empty.
//
// Of 32 registers 28 are accumulators: 14 pixels x 2 vectors of channels, or 24: 6 channels x 4 vectors of pixels. Of
// 16 registers 12: 6 x 2 (or 4 x 3, where products take no register), 4 x 3.
#if defined(DMLREF_QLC_TARGET)
#define DMLREF_QLC_INLINE DMLREF_QLC_TARGET DMLREF_ALWAYS_INLINE

/// Where a tile of a row of tiles begins. Not in TileArgs: a copy of all that, right after it was written field by
/// field, waits for the fields.
struct TilePlace {
  const std::uint8_t* activations;
  const std::int32_t* pixel_sums;
  std::int32_t* sums;
  std::uint8_t* bytes;

  TilePlace(const TileArgs& t, std::ptrdiff_t line) noexcept
      : activations(t.operands.activations + line * t.lines.activations),
        pixel_sums(t.offsets.pixel_sums + line * t.lines.pixel_sums),
        sums(t.sums.at),
        bytes(t.bytes.at + line * t.lines.bytes) {}
};

// Aligned: the speed of the loop over K depends on where it lies in its lines, up to 2 %.
template <class Tile>
[[gnu::aligned(64)]] DMLREF_QLC_TARGET inline void run_tiles(const TileArgs& t) noexcept;

/// Exact results for a pixel, or a channel, some of whose sums are near a tie. No register keeps a tile's sums: `tile`
/// computes those of this row once more. `period`: channels, as rounding::store_in_doubles has it.
DMLREF_NOINLINE DMLREF_QLC_TARGET inline void round_row_exactly(const TileArgs& row,
                                                                void (*tile)(const TileArgs&) noexcept,
                                                                std::ptrdiff_t used, std::ptrdiff_t period) noexcept {
  std::int32_t sums[4 * V::lanes] = {};
  TileArgs t = row;
  t.output = TileOutput::sums;
  t.sums.at = sums;
  t.count = 1;
  t.lines = {};
  tile(t);
  rounding::store_in_doubles<rounding::FixedPointOf::floats>(sums, t.bytes.requantizer, t.bytes.first_channel, period,
                                                             used, t.bytes.at);
}

/// The same of all rows of a tile, which takes less time for many of them. With channels in lanes a row is a pixel.
DMLREF_NOINLINE DMLREF_QLC_TARGET inline void round_tile_exactly(const TileArgs& args, const TilePlace& at,
                                                                 std::ptrdiff_t rows,
                                                                 void (*tile)(const TileArgs&) noexcept,
                                                                 std::ptrdiff_t lanes,
                                                                 bool channels_in_lanes) noexcept {
  constexpr std::ptrdiff_t max_sums = (V::registers + 4) * V::lanes;
  std::int32_t sums[max_sums] = {};
  TileArgs t = args;
  t.operands.activations = at.activations;
  t.offsets.pixel_sums = at.pixel_sums;
  t.output = TileOutput::sums;
  t.sums = {sums, lanes};
  t.bytes.at = at.bytes;
  t.count = 1;
  t.lines = {};
  tile(t);
  const TileBytes& to = t.bytes;
  if (channels_in_lanes) {
    std::uint8_t bytes[max_sums];
    rounding::store_in_doubles<rounding::FixedPointOf::floats>(sums, to.requantizer, to.first_channel, lanes,
                                                               rows * lanes, bytes);
    for (std::ptrdiff_t r = 0; r < rows; ++r) {
      std::memcpy(to.at + r * to.pitch, bytes + r * lanes, static_cast<std::size_t>(lanes));
    }
    return;
  }
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    if (to.requantizer.rounds(to.first_channel + r)) continue;  // no near tie
    rounding::store_in_doubles<rounding::FixedPointOf::floats>(sums + r * lanes, to.requantizer, to.first_channel + r,
                                                               1, to.used_lanes, to.at + r * to.pitch);
  }
}

/// Whether at least every third of `units` has a near tie: a row alone takes several times as long as in a tile.
DMLREF_ALWAYS_INLINE bool many_rows(std::uint32_t near_ties, int units) noexcept {
  const std::uint32_t all = (std::uint32_t{2} << (units - 1)) - 1;
  return 3 * std::popcount(near_ties & all) >= units;
}

/// Channels in lanes: N vectors of weights meet R broadcast pixels. Of more vectors than are held the pixels are
/// broadcast twice.
template <int N, int R>
struct ChannelTile {
  static constexpr std::size_t rows = R, vectors = N;
  static constexpr std::size_t units = (R * N + 3) / 4;  // of four vectors, whichever pixels they belong to
  using Registers = V::Bits[rows][vectors];

  DMLREF_QLC_INLINE static void start(const TileArgs& t, const TilePlace& at, Registers& acc) noexcept {
    DMLREF_UNROLL
    for (int r = 0; r < R; ++r) {
      DMLREF_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = V::load(t.offsets.channel + V::lanes * v);
    }
    if (t.offsets.term == ZeroPointTerm::none) return;
    DMLREF_UNROLL
    for (int v = 0; v < N; ++v) {
      const V::Bits factor = V::load(t.offsets.channel_factor + V::lanes * v);
      DMLREF_UNROLL
      for (int r = 0; r < R; ++r) {
        acc[r][v] = V::plus_word_products(acc[r][v], V::broadcast(at.pixel_sums + r), factor);
      }
    }
  }

  DMLREF_QLC_INLINE static void step(const TileOperands& o, const std::uint8_t* a, const std::uint8_t* w,
                                     Registers& acc) noexcept {
    constexpr int held = N > held_weights ? 2 : N;
    constexpr std::size_t loaded = held;
    if constexpr (held > 2) w = in_order(w);
    const std::ptrdiff_t step = o.pixel_step, step3 = 3 * step;
    DMLREF_UNROLL
    for (int h = 0; h < N; h += held) {
      V::Bits weights[loaded];
      DMLREF_UNROLL
      for (int v = 0; v < held; ++v) weights[v] = V::load(w + (h + v) * o.weight_block);
      const std::uint8_t* quad = a;  // pixels quad[0], quad[step], quad[2 * step], quad[step3]
      DMLREF_UNROLL
      for (int r = 0; r < R; ++r) {
        if (r != 0 && r % 4 == 0) quad = hidden(quad + 4 * step);
        const V::Bits group = V::broadcast(quad + (r % 4 == 3 ? step3 : (r % 4) * step));
        DMLREF_UNROLL
        for (int v = 0; v < held; ++v) multiply_add(acc[r][h + v], group, weights[v]);
      }
    }
  }

  /// All out of the registers; which units have near ties, unit 0 in bit 0. All is read before the first byte is
  /// written, which for all that compilers know may change anything.
  template <bool Rounds>
  DMLREF_QLC_INLINE static std::uint32_t write_units(const TileBytes& to, const Epilogue& epilogue,
                                                     const Registers& acc, std::uint8_t* out) noexcept {
    const Epilogue* own = &epilogue;  // of this kind of sums: nothing is to be kept for whichever kind follows
    __asm__("" : "+r"(own));
    const auto channels = own->template channels<N, Rounds>(to.first_channel);
    const std::ptrdiff_t pitch = hidden(to.pitch);
    V::Bits bytes[units];
    Epilogue::NearTies ties;
    DMLREF_UNROLL
    for (std::size_t u = 0; u < units; ++u) {
      V::Bits sums[4];
      DMLREF_UNROLL
      for (std::size_t i = 0; i < 4; ++i) {  // beyond the last pixel, its own once more
        const std::size_t row = (4 * u + i) / vectors;
        sums[i] = acc[row < rows ? row : rows - 1][(4 * u + i) % vectors];
      }
      const auto result = own->template of_pixels<N, Rounds, SumsBegin::as_floats>(sums, channels, 4 * u);
      bytes[u] = result.bytes;
      if constexpr (!Rounds) ties.add(u, result.has_near_tie);
    }
    DMLREF_UNROLL
    for (std::size_t u = 0; u < units; ++u) {
      write_unit(bytes[u], 4 * static_cast<std::ptrdiff_t>(u), out, pitch);
    }
    return Rounds ? 0 : ties.units(*own);
  }
  DMLREF_QLC_INLINE static void write_unit(V::Bits bytes, std::ptrdiff_t first, std::uint8_t* out,
                                           std::ptrdiff_t pitch) noexcept {
    constexpr std::ptrdiff_t all = R * N;
    const auto to = [&](std::ptrdiff_t i) { return out + (first + i) / N * pitch + (first + i) % N * V::lanes; };
    if constexpr (N == 4) {
      V::store(to(0), bytes);
    } else if constexpr (N == 2) {
      Epilogue::store_half<0>(to(0), bytes);
      if (first + 2 < all) Epilogue::store_half<1>(to(2), bytes);
    } else {
      Epilogue::store_quarter<0>(to(0), bytes);
      if (first + 1 < all) Epilogue::store_quarter<1>(to(1), bytes);
      if (first + 2 < all) Epilogue::store_quarter<2>(to(2), bytes);
      if (first + 3 < all) Epilogue::store_quarter<3>(to(3), bytes);
    }
  }
  DMLREF_QLC_INLINE static std::uint32_t write(const TileBytes& to, const Epilogue& epilogue, const Registers& acc,
                                               std::uint8_t* out) noexcept {
    if (to.requantizer.rounds(to.first_channel)) return write_units<true>(to, epilogue, acc, out);
    return write_units<false>(to, epilogue, acc, out);
  }

  DMLREF_QLC_INLINE static void advance(const TileArgs& t, TilePlace& at) noexcept {
    at.activations += R * t.operands.pixel_step;
    if (t.offsets.term != ZeroPointTerm::none) at.pixel_sums += R;
    at.sums += R * t.sums.pitch;
    if (t.output == TileOutput::bytes) at.bytes += R * t.bytes.pitch;
  }

  DMLREF_NOINLINE static void round_rows_exactly(const TileArgs& t, const TilePlace& at,
                                                 std::uint32_t near_ties) noexcept {
    if (many_rows(near_ties, static_cast<int>(units))) {
      return round_tile_exactly(t, at, R, &run_tiles<ChannelTile>, V::lanes * N, true);
    }
    for (int r = 0; r < R; ++r) {
      const std::uint32_t units_of_row = (2u << ((N * r + N - 1) / 4)) - (1u << (N * r / 4));
      if ((near_ties & units_of_row) == 0) continue;
      TileArgs row = t;
      row.operands.activations = at.activations + r * t.operands.pixel_step;
      if (t.offsets.term != ZeroPointTerm::none) row.offsets.pixel_sums = at.pixel_sums + r;
      row.bytes.at = at.bytes + r * t.bytes.pitch;
      round_row_exactly(row, &run_tiles<ChannelTile<N, 1>>, V::lanes * N, 4 * V::lanes);
    }
  }
};

/// Pixels in lanes: N vectors of pixels meet R broadcast channels. A vector that is not held is an operand in memory,
/// each time.
template <int N, int R>
struct PixelTile {
  static constexpr std::size_t rows = R, vectors = N;
  using Registers = V::Bits[rows][vectors];

  DMLREF_QLC_INLINE static void start(const TileArgs& t, const TilePlace& at, Registers& acc) noexcept {
    DMLREF_UNROLL
    for (int r = 0; r < R; ++r) {
      DMLREF_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = V::broadcast(t.offsets.channel + r);
    }
    if (t.offsets.term == ZeroPointTerm::none) return;
    DMLREF_UNROLL
    for (int v = 0; v < N; ++v) {
      const V::Bits sums = V::load(at.pixel_sums + V::lanes * v);
      DMLREF_UNROLL
      for (int r = 0; r < R; ++r) {
        acc[r][v] = V::plus_word_products(acc[r][v], sums, V::broadcast(t.offsets.channel_factor + r));
      }
    }
  }

  DMLREF_QLC_INLINE static void step(const TileOperands&, const std::uint8_t* a, const std::uint8_t* w,
                                     Registers& acc) noexcept {
    constexpr int held = N > held_pixels ? 2 : N;
    constexpr std::size_t loaded = held;
    V::Bits pixels[loaded];
    DMLREF_UNROLL
    for (int v = 0; v < held; ++v) pixels[v] = V::load(a + 4 * V::lanes * v);
    DMLREF_UNROLL
    for (int r = 0; r < R; ++r) {
      const V::Bits group = V::broadcast(w + 4 * r);
      DMLREF_UNROLL
      for (int v = 0; v < held; ++v) multiply_add(acc[r][v], pixels[v], group);
      if constexpr (N > held) {
        a = hidden(a);
        multiply_add(acc[r][held], V::load(a + 4 * V::lanes * held), group);
      }
    }
  }

  /// As ChannelTile's; a unit is a row, and row_of(sums, channel) rounds it.
  template <class RowOf>
  DMLREF_QLC_INLINE static Epilogue::NearTies write_rows(const TileBytes& to, const Registers& acc, std::uint8_t* out,
                                                         const RowOf& row_of) noexcept {
    const Epilogue::Used used(to.used_lanes);
    const std::ptrdiff_t pitch = to.pitch;
    V::Bits bytes[rows];
    Epilogue::NearTies ties;
    DMLREF_UNROLL
    for (int r = 0; r < R; ++r) {
      const V::Bits sums[4] = {acc[r][0], acc[r][N > 1 ? 1 : 0], acc[r][N > 2 ? 2 : N - 1], acc[r][N - 1]};
      const auto result = row_of(sums, to.first_channel + r);
      ties.add(static_cast<std::size_t>(r), result.has_near_tie);
      bytes[r] = result.bytes;
    }
    DMLREF_UNROLL
    for (int r = 0; r < R; ++r, out += pitch) Epilogue::template store_row<N>(out, bytes[r], used);
    return ties;
  }
  DMLREF_QLC_INLINE static std::uint32_t write(const TileBytes& to, const Epilogue& epilogue, const Registers& acc,
                                               std::uint8_t* out) noexcept {
    using Sums = const V::Bits(&)[4];
    if constexpr (Epilogue::rows_alike == 1) {
      const auto row_of = [&](Sums sums, std::ptrdiff_t channel) __attribute__((always_inline)) DMLREF_QLC_TARGET {
        return to.requantizer.rounds(channel) ? epilogue.template of_row<true>(sums, channel)
                                              : epilogue.template of_row<false>(sums, channel);
      };
      return write_rows(to, acc, out, row_of).units(epilogue);
    } else {
      if (to.requantizer.rounds(to.first_channel)) {
        const auto row_of = [&](Sums sums, std::ptrdiff_t channel) __attribute__((always_inline)) DMLREF_QLC_TARGET {
          return epilogue.template of_row<true>(sums, channel);
        };
        write_rows(to, acc, out, row_of);
        return 0;
      }
      const auto row_of = [&](Sums sums, std::ptrdiff_t channel) __attribute__((always_inline)) DMLREF_QLC_TARGET {
        return epilogue.template of_row<false>(sums, channel);
      };
      return write_rows(to, acc, out, row_of).units(epilogue);
    }
  }

  DMLREF_QLC_INLINE static void advance(const TileArgs& t, TilePlace& at) noexcept {
    at.activations += 4 * V::lanes * N;
    if (t.offsets.term != ZeroPointTerm::none) at.pixel_sums += V::lanes * N;
    at.sums += V::lanes * N;
    if (t.output == TileOutput::bytes) at.bytes += V::lanes * N;
  }

  DMLREF_NOINLINE static void round_rows_exactly(const TileArgs& t, const TilePlace& at,
                                                 std::uint32_t near_ties) noexcept {
    if (many_rows(near_ties, R)) {
      return round_tile_exactly(t, at, R, &run_tiles<PixelTile>, V::lanes * N, false);
    }
    for (int r = 0; r < R; ++r) {
      if ((near_ties >> r & 1) == 0 || t.bytes.requantizer.rounds(t.bytes.first_channel + r)) continue;
      TileArgs row = t;
      row.operands.activations = at.activations;
      row.operands.weights += 4 * r;
      row.offsets.channel += r;
      if (t.offsets.term == ZeroPointTerm::product) row.offsets.channel_factor += r;
      row.offsets.pixel_sums = at.pixel_sums;
      row.bytes.first_channel += r;
      row.bytes.at = at.bytes + r * t.bytes.pitch;
      round_row_exactly(row, &run_tiles<PixelTile<N, 1>>, t.bytes.used_lanes, 1);
    }
  }
};

/// Tiles side by side, requantized out of the registers: processors see the next tile's products behind
/// that. No register keeps a tile's sums: those near a tie are computed once more.
template <class Tile>
DMLREF_QLC_TARGET inline void run_tiles(const TileArgs& t) noexcept {
  const Epilogue constants(t.bytes.requantizer);
  const Epilogue* epilogue = &constants;
  __asm__("" : "+r"(epilogue) : : "memory");  // read from memory each time: all registers are taken
  for (std::ptrdiff_t line = 0; line < t.lines.count; ++line) {
    TilePlace at(t, line);
    for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) {
      typename Tile::Registers acc;
      Tile::start(t, at, acc);
      const std::uint8_t* w = t.operands.weights;
      std::ptrdiff_t k = 0;
      if constexpr (Tile::rows * Tile::vectors <= 2) {  // few chains of sums, which wait for themselves: twice as many
        typename Tile::Registers others;
        DMLREF_UNROLL
        for (std::size_t r = 0; r < Tile::rows; ++r) {
          DMLREF_UNROLL
          for (std::size_t v = 0; v < Tile::vectors; ++v) others[r][v] = V::all(0);
        }
        for (; k + 1 < t.operands.steps; k += 2, w += 2 * t.operands.weight_step) {
          Tile::step(t.operands, at.activations + t.operands.offsets[k], w, acc);
          Tile::step(t.operands, at.activations + t.operands.offsets[k + 1], w + t.operands.weight_step, others);
        }
        DMLREF_UNROLL
        for (std::size_t r = 0; r < Tile::rows; ++r) {
          DMLREF_UNROLL
          for (std::size_t v = 0; v < Tile::vectors; ++v) acc[r][v] = V::sum(acc[r][v], others[r][v]);
        }
      }
#pragma GCC unroll 2
      for (; k < t.operands.steps; ++k, w += t.operands.weight_step) {
        Tile::step(t.operands, at.activations + t.operands.offsets[k], w, acc);
      }
      if (t.output == TileOutput::sums) {
        DMLREF_UNROLL
        for (std::size_t r = 0; r < Tile::rows; ++r) {
          std::int32_t* const row = at.sums + static_cast<std::ptrdiff_t>(r) * t.sums.pitch;
          DMLREF_UNROLL
          for (std::size_t v = 0; v < Tile::vectors; ++v) V::store(row + V::lanes * v, acc[r][v]);
        }
      } else {
        const std::uint32_t near_ties = Tile::write(t.bytes, *epilogue, acc, at.bytes);
        if (__builtin_expect(near_ties != 0, 0)) Tile::round_rows_exactly(t, at, near_ties);
      }
      if (tile + 1 < t.count) Tile::advance(t, at);  // a pitch may be longer than all addresses that follow
    }
  }
}

/// Of N vectors, of so many rows each.
template <template <int, int> class Shape, int N, int... R>
constexpr void set_tiles(Tiles& tiles) noexcept {
  tiles.set(N, Tile{R, &run_tiles<Shape<N, R>>}...);
}
constexpr void set_tiles(Kernels& k) noexcept {
  if constexpr (V::registers == 32) {  // feature maps are 7, 14, 28, 56, … wide
    set_tiles<ChannelTile, 1, 1, 2, 4, 7, 10, 14>(k.channel_tiles);
    set_tiles<ChannelTile, 2, 1, 2, 4, 7, 10, 14>(k.channel_tiles);
    set_tiles<ChannelTile, 4, 1, 2>(k.channel_tiles);
    set_tiles<PixelTile, 1, 1, 2, 4, 6>(k.pixel_tiles);
    set_tiles<PixelTile, 2, 1, 2, 4, 6>(k.pixel_tiles);
    set_tiles<PixelTile, 3, 1, 2, 4, 6>(k.pixel_tiles);
    set_tiles<PixelTile, 4, 1, 2, 4, 6>(k.pixel_tiles);
  } else {
    set_tiles<ChannelTile, 1, 1, 2, 4, 6>(k.channel_tiles);
    set_tiles<ChannelTile, 2, 1, 2, 4, 6>(k.channel_tiles);
    if constexpr (held_weights > 2) set_tiles<ChannelTile, 3, 1, 2, 4>(k.channel_tiles);
    set_tiles<ChannelTile, 4, 1, 2>(k.channel_tiles);
    set_tiles<PixelTile, 1, 1, 2, 4>(k.pixel_tiles);
    set_tiles<PixelTile, 2, 1, 2, 4>(k.pixel_tiles);
    set_tiles<PixelTile, 3, 1, 2, 4>(k.pixel_tiles);
  }
}

#undef DMLREF_QLC_INLINE
#endif
