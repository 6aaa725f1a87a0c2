// planes512-inl.hpp: depthwise kernels of three rows over planes of pixels that are read where they are.
//
// A column panel is made from its first output row to its last, so an input row becomes quads once, for all the output
// rows that it is part of. Within each 128 bits byte shuffles make the quads of eight outputs, even and odd ones apart,
// as they are packed in the end. With a stride of 1 the other eight take a second load, 8 bytes on, unless rows with
// their padding have 16 bytes or less. With a stride of 2 odd outputs have a load of their own, 2 bytes on, which needs
// no shuffle, and vectors hold two output rows.
//
// Included by avx512vnni.hpp inside its namespace, behind x86-inl.hpp; hence no guard.
#if defined(DMLREF_QLC_TARGET)

/// Columns of all rows. Two loads make a vector's quads, `apart` bytes from each other.
struct ColumnPanel {
  std::ptrdiff_t x = 0, used = 0;  // the first output column, and how many there are
  std::ptrdiff_t column = 0;       // the first input column
  std::ptrdiff_t reach = 0;        // bytes from there that the loads read
  std::ptrdiff_t safe = 0;         // rows of the first plane that begin less far into the tensor may be read whole
  /// Overwrite-safe rows: from the first output row on, those whose vectors may be stored whole. What these write
  /// beyond the row is written again, later, by the rows that follow in the same planes, or by panels to the left. So
  /// panels go from right to left, rows from the first to the last, and no store leaves this call's rows.
  std::ptrdiff_t safe_rows = 0;
  __m512i inside[2], outside[2];  // (pixels & inside) ^ outside is what counts
  __m512i patterns[4];            // quads of even outputs, of odd ones, and of those 8 bytes on
  alignas(64) std::uint8_t padding[128];
};

/// `stride`, and `apart`, as the kernel has them.
template <int Planes>
DMLREF_QLC_TARGET inline ColumnPanel make_panel(const PlaneArgs& p, std::ptrdiff_t x, std::ptrdiff_t stride,
                                                std::ptrdiff_t apart) noexcept {
  constexpr std::ptrdiff_t bytes = 64 / Planes;
  const std::ptrdiff_t columns = bytes / stride;
  ColumnPanel s;
  s.x = x;
  s.used = p.out.width - x < columns ? p.out.width - x : columns;
  s.column = x * stride - p.in.pad_x;
  s.reach = bytes + apart;
  s.safe = p.tensor_bytes - s.reach - (Planes - 1) * p.in_plane_step + 1;
  s.safe_rows = p.out.rows;
  if (s.used < columns) {
    const std::ptrdiff_t slack = p.out.rows * p.out.width - x - columns;
    s.safe_rows = p.out.row_step != p.out.width || slack < 0 ? 0 : slack / p.out.width + 1;
  }
  if constexpr (DMLREF_CHECKED) {
    const std::ptrdiff_t end = (s.safe_rows - 1) * p.out.row_step + x + columns;
    dmlref::detail::expect(s.safe_rows == 0 || end <= (p.out.rows - 1) * p.out.row_step + p.out.width,
                           "direct convolution: a store leaves the output's rows");
  }
  const auto within = [](std::ptrdiff_t v) { return v < 0 ? 0 : v > bytes ? bytes : v; };
  const auto first_bits = [](std::ptrdiff_t n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; };
  const __m512i flips = V::all_bytes(p.in.flip), fills = V::all_bytes(p.in.fill);
  V::store(s.padding, V::xor_(fills, flips));
  V::store(s.padding + 64, V::xor_(fills, flips));
  for (std::ptrdiff_t load = 0; load < 2; ++load) {
    const std::ptrdiff_t first = s.column + load * apart;
    std::uint64_t bits = first_bits(within(p.in.width - first)) & ~first_bits(within(-first));
    for (int copies = 1; copies < Planes; copies *= 2) bits |= bits << bytes * copies;
    const auto mask = static_cast<__mmask64>(bits);
    s.inside[load] = _mm512_maskz_mov_epi8(mask, _mm512_set1_epi8(-1));
    s.outside[load] = _mm512_mask_mov_epi8(fills, mask, flips);
  }
  const __m128i columns_of_taps = _mm_set1_epi32(p.dilation == 1 ? 0x03020100 : 0x06040200);
  s.patterns[0] =
      _mm512_broadcast_i32x4(_mm_add_epi8(columns_of_taps, _mm_setr_epi32(0, 0x02020202, 0x04040404, 0x06060606)));
  s.patterns[1] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(1));
  s.patterns[2] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(8));
  s.patterns[3] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(9));
  return s;
}

/// 16 bytes, `at` bytes from where each plane's channel begins, in every 128 bits of its part of the vector.
template <int Planes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET __m512i in_parts(const std::byte* channel, std::ptrdiff_t step,
                                                        std::size_t at) noexcept {
  const auto load = [&](int l) DMLREF_QLC_TARGET {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(channel + l * step + at));
  };
  if constexpr (Planes == 1) return _mm512_broadcast_i32x4(load(0));
  if constexpr (Planes == 2) {
    const __m256i high = _mm256_broadcastsi128_si256(load(1));
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_broadcastsi128_si256(load(0))), high, 1);
  }
  constexpr int last = Planes - 1;
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(last & 1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(last & 2)), load(last), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// Where to read an input row of each plane.
struct RowSource {
  const std::uint8_t* row = nullptr;  // of the first plane
  std::ptrdiff_t plane_step = 0;
};

/// Copies a row of each plane from which vectors would read beyond the tensor.
template <int Planes>
[[gnu::noinline]] inline RowSource copy_edge(const PlaneArgs& p, const ColumnPanel& panel, std::ptrdiff_t row,
                                             std::uint8_t* copy) noexcept {
  const std::ptrdiff_t begin = panel.column < 0 ? -panel.column : 0;
  const std::ptrdiff_t left = p.in.width - panel.column, end = left < panel.reach ? left : panel.reach;
  constexpr std::ptrdiff_t step = 128 / Planes;
  for (int l = 0; l < Planes; ++l, row += p.in_plane_step) {
    for (std::ptrdiff_t i = begin; i < end; ++i) copy[l * step + i] = p.tensor[row + i];
  }
  return {copy, step};
}

/// Input row `y`, which begins `row` bytes into the tensor and may lie above or below the plane.
template <int Planes>
DMLREF_ALWAYS_INLINE RowSource source_of(const PlaneArgs& p, const ColumnPanel& panel, std::ptrdiff_t y,
                                         std::ptrdiff_t row, std::uint8_t* copy) noexcept {
  if (y < 0 || y >= p.in.rows) return {panel.padding, 0};
  if (__builtin_expect(row < 0 || row >= panel.safe, 0)) return copy_edge<Planes>(p, panel, row, copy);
  return {p.tensor + row, p.in_plane_step};
}

/// Load `Load` of a row of each plane.
template <int Load, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET __m512i row_pixels(const ColumnPanel& panel, const RowSource& source,
                                                          std::ptrdiff_t at) noexcept {
  const std::uint8_t* const row = source.row + at;
  const auto half = [&](std::ptrdiff_t l) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(row + l * source.plane_step));
  };
  const auto quarter = [&](std::ptrdiff_t l) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(row + l * source.plane_step));
  };
  __m512i pixels;
  if constexpr (Planes == 1) {
    pixels = _mm512_loadu_si512(row);
  } else if constexpr (Planes == 2) {
    pixels = _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
  } else {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(2)), quarter(3), 1);
    pixels = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  constexpr int and_xor = (0xF0 & 0xCC) ^ 0xAA;
  return _mm512_ternarylogic_epi64(pixels, panel.inside[Load], panel.outside[Load], and_xor);
}

/// Part `Part` of a vector, of `Bytes`.
template <int Bytes, int Part>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void store_part(std::uint8_t* to, __m512i bytes) noexcept {
  if constexpr (Bytes == 64) {
    _mm512_storeu_si512(to, bytes);
  } else if constexpr (Bytes == 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to), _mm512_extracti64x4_epi64(bytes, Part));
  } else if constexpr (Bytes == 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to), _mm512_extracti32x4_epi32(bytes, Part));
  } else {
    const __m128i two = _mm512_extracti32x4_epi32(bytes, Part / 2);
    const std::int64_t one = Part % 2 == 0 ? _mm_cvtsi128_si64(two) : _mm_extract_epi64(two, 1);
    std::memcpy(to, &one, sizeof one);
  }
}

/// An output row of each plane, the first one to `dst`: of the `Rows` in a vector number `Row`, `used` bytes long.
/// `overwrites`: what follows (ColumnPanel::safe_rows).
template <int Rows, int Row, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void store_row(std::uint8_t* dst, std::ptrdiff_t plane_step, bool overwrites,
                                                      std::ptrdiff_t used, __m512i bytes) noexcept {
  constexpr int each = 64 / Rows / Planes, first = Row * Planes;
  if (__builtin_expect(overwrites, 1)) {
    store_part<each, first>(dst, bytes);
    if constexpr (Planes > 1) store_part<each, first + 1>(dst + plane_step, bytes);
    if constexpr (Planes > 2) store_part<each, first + 2>(dst + 2 * plane_step, bytes);
    if constexpr (Planes > 2) store_part<each, first + 3>(dst + 3 * plane_step, bytes);
  } else {
    alignas(64) std::uint8_t parts[64];
    _mm512_store_si512(parts, bytes);
    DMLREF_UNROLL
    for (int l = 0; l < Planes; ++l) copy_some<each>(dst + l * plane_step, parts + (first + l) * each, used);
  }
}

/// Bytes from the first load of a row to the second. Four planes with a stride of 1 have one load: see planes_at_once.
template <int Stride, int Planes>
inline constexpr std::ptrdiff_t loads_apart = Stride == 2   ? 2
                                              : Planes == 4 ? 0
                                                            : 8;

/// The quads of 64 outputs for one kernel row. With a stride of 2 an input row makes only `a` and `b`.
struct RowQuads {
  __m512i a, b, c, d;
};

template <int Stride, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET RowQuads row_quads(const ColumnPanel& panel, const RowSource& row) noexcept {
  constexpr std::ptrdiff_t apart = loads_apart<Stride, Planes>;
  constexpr int second = apart == 0 ? 2 : 0;  // pattern of the second eight
  const __m512i low = row_pixels<0, Planes>(panel, row, 0);
  const __m512i high = apart == 0 ? low : row_pixels<1, Planes>(panel, row, apart);
  if constexpr (Stride == 2) return {low, high, low, high};
  return {_mm512_shuffle_epi8(low, panel.patterns[0]), _mm512_shuffle_epi8(low, panel.patterns[1]),
          _mm512_shuffle_epi8(high, panel.patterns[second]), _mm512_shuffle_epi8(high, panel.patterns[second + 1])};
}

/// What the channels of some planes need; `weights` and `high` are quads of kernel rows.
struct PlaneConstants {
  __m512i weights[3], high[3], start;
  Epilogue epilogue;
  double factor[4], offset[4];  // of each quarter of a vector
  unsigned high_parts;          // a bit for each kernel row that has anything in `high`
};

template <int Planes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void make_constants(const PlaneArgs& p, const std::byte* channel,
                                                           PlaneConstants& c) noexcept {
  constexpr std::size_t quads = sizeof(ChannelData);
  const auto parts = [&](std::size_t at) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    return in_parts<Planes>(channel, p.channel_step, at);
  };
  const __m512i first = parts(quads), second = parts(quads + 8);
  c.weights[0] = _mm512_shuffle_epi32(first, _MM_PERM_AAAA);
  c.weights[1] = _mm512_shuffle_epi32(first, _MM_PERM_BBBB);
  c.weights[2] = _mm512_shuffle_epi32(first, _MM_PERM_CCCC);
  c.high[0] = _mm512_shuffle_epi32(second, _MM_PERM_BBBB);
  c.high[1] = _mm512_shuffle_epi32(second, _MM_PERM_CCCC);
  c.high[2] = _mm512_shuffle_epi32(second, _MM_PERM_DDDD);
  c.high_parts = 0;
  c.epilogue.floats = true;
  DMLREF_UNROLL
  for (int part = 0; part < 4; ++part) {
    std::int32_t sum;
    std::uint32_t high_parts;
    const std::byte* const data = channel + part * Planes / 4 * p.channel_step;
    std::memcpy(&sum, data + offsetof(ChannelData, floats) + offsetof(SumConstants, sum), sizeof sum);
    std::memcpy(&high_parts, data + offsetof(ChannelData, high_parts), sizeof high_parts);
    std::memcpy(&c.factor[part], data + offsetof(ChannelData, factor), sizeof(double));
    std::memcpy(&c.offset[part], data + offsetof(ChannelData, offset), sizeof(double));
    c.epilogue.floats = c.epilogue.floats && sum != 0;
    c.high_parts |= high_parts;
  }
  const __m512i numbers = parts(c.epilogue.floats ? offsetof(ChannelData, floats) : offsetof(ChannelData, integers));
  static_assert(offsetof(SumConstants, sum) == 0 && offsetof(SumConstants, scale) == 4 &&
                offsetof(SumConstants, shift) == 8 && offsetof(SumConstants, tie_tolerance) == 12);
  c.start = _mm512_shuffle_epi32(numbers, _MM_PERM_AAAA);
  c.epilogue.scale[0] = _mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_BBBB));
  c.epilogue.shift[0] = _mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_CCCC));
  c.epilogue.tie_tolerance = _mm512_shuffle_epi32(numbers, _MM_PERM_DDDD);
  c.epilogue.flip = V::all_bytes(p.rounding.to.flip);
}

/// Adds a kernel row's products to `from`.
template <bool HighParts>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void add(const __m512i (&from)[4], const RowQuads& quads,
                                                const PlaneConstants& c, int kernel_row, __m512i (&to)[4]) noexcept {
  const auto add_products = [&](const __m512i(&sums)[4], __m512i weights) __attribute__((always_inline))
  DMLREF_QLC_TARGET {
    to[0] = dot(sums[0], quads.a, weights);
    to[1] = dot(sums[1], quads.b, weights);
    to[2] = dot(sums[2], quads.c, weights);
    to[3] = dot(sums[3], quads.d, weights);
  };
  add_products(from, c.weights[kernel_row]);
  if constexpr (HighParts) {
    if ((c.high_parts >> kernel_row & 1) != 0) add_products(to, c.high[kernel_row]);
  }
}

/// Writes an output row of each plane, with a stride of 2 that and the next, the first plane's to `dst`. There are
/// `left` rows until the last one, and `safe_rows` that are overwrite-safe.
template <int Stride, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void store_rows(const PlaneArgs& p, std::ptrdiff_t used,
                                                       std::ptrdiff_t safe_rows, std::ptrdiff_t left, std::uint8_t* dst,
                                                       __m512i bytes) noexcept {
  if constexpr (Stride == 1) {
    store_row<1, 0, Planes>(dst, p.out_plane_step, safe_rows > 0, used, bytes);
  } else {
    // Each row has 8 bytes of every 16.
    bytes = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
    store_row<2, 0, Planes>(dst, p.out_plane_step, safe_rows > 0, used, bytes);
    if (left > 1) store_row<2, 1, Planes>(dst + p.out.row_step, p.out_plane_step, safe_rows > 1, used, bytes);
  }
}

/// Goes down a panel of the planes that begin at `src` and `dst`. Sums take what an input row adds to them when that
/// row is made into quads: with a stride of 1, the rows of three output rows at once. `safe`: no load of the planes'
/// rows reads beyond the tensor.
template <int Stride, int Planes, bool HighParts>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void plane_panel(const PlaneArgs& p, const ColumnPanel& panel,
                                                        const PlaneConstants& c, const std::uint8_t* src,
                                                        std::uint8_t* dst, bool safe) noexcept {
  std::ptrdiff_t next = -p.in.pad_y;                                                 // input row, at `from`
  std::ptrdiff_t from = src - p.tensor + panel.column - p.in.pad_y * p.in.row_step;  // bytes into the tensor
  alignas(64) std::uint8_t edge[128];
  const auto row = [&](auto inner) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    const RowSource source =
        inner ? RowSource{p.tensor + from, p.in_plane_step} : source_of<Planes>(p, panel, next, from, edge);
    const RowQuads quads = row_quads<Stride, Planes>(panel, source);
    ++next;
    from += p.in.row_step;
    return quads;
  };
  const __m512i none[4] = {c.start, c.start, c.start, c.start};
  __m512i second[4], third[4];   // of the output rows that follow, without the input rows that are not yet read
  std::ptrdiff_t out = panel.x;  // where in the planes of the output the next rows begin
  RowQuads last;                 // with a stride of 2, of the row that two output rows share with the next ones
  last = row(std::false_type{});
  if constexpr (Stride == 1) {
    add<HighParts>(none, last, c, 0, second);
    const RowQuads quads = row(std::false_type{});
    add<HighParts>(second, quads, c, 1, second);
    add<HighParts>(none, quads, c, 0, third);
  }
  // Sums and writes the next output rows.
  const auto next_rows = [&](auto inner, std::ptrdiff_t safe_rows, std::ptrdiff_t left) __attribute__((always_inline))
  DMLREF_QLC_TARGET {
    __m512i sums[4];
    if constexpr (Stride == 2) {
      RowQuads rows[5];
      rows[0] = last;
      DMLREF_UNROLL
      for (int r = 1; r < 5; ++r) rows[r] = row(inner);
      DMLREF_UNROLL
      for (int r = 0; r < 3; ++r) {
        add<HighParts>(r == 0 ? none : sums, {rows[r].a, rows[r].b, rows[r + 2].a, rows[r + 2].b}, c, r, sums);
      }
      last = rows[4];
    } else {
      const RowQuads quads = row(inner);
      add<HighParts>(second, quads, c, 2, sums);
      add<HighParts>(third, quads, c, 1, second);
      add<HighParts>(none, quads, c, 0, third);
    }
    const __m512i bytes = c.epilogue.template packed<Factors::parts>(sums, p.rounding, {c.factor, c.offset});
    store_rows<Stride, Planes>(p, panel.used, safe_rows, left, dst + out, bytes);
    out += Stride * p.out.row_step;
  };
  constexpr std::ptrdiff_t rows_in = Stride == 2 ? 4 : 1;  // that an output row, or two, complete
  for (std::ptrdiff_t y = 0; y < p.out.rows; y += Stride) {
    // Rows that need no checks: the plane has their input, and vectors may be read and written whole.
    std::ptrdiff_t inner = smaller((panel.safe_rows - y) / Stride, (p.in.rows - next) / rows_in);
    if (!safe || next < 0) inner = 0;
    for (; inner > 0; --inner, y += Stride) next_rows(std::true_type{}, Stride, Stride);
    if (y < p.out.rows) next_rows(std::false_type{}, panel.safe_rows - y, p.out.rows - y);
  }
}

/// Makes the panel of the planes from `first` on, until some whose weights have `HighParts` or not; says where these
/// begin.
template <int Stride, int Planes, bool HighParts>
[[gnu::noinline]] DMLREF_QLC_TARGET inline std::ptrdiff_t plane_panels(const PlaneArgs& planes,
                                                                       const ColumnPanel& columns,
                                                                       std::ptrdiff_t first) noexcept {
  // What arguments refer to might change with each byte that is stored, and would be read again.
  const PlaneArgs p = planes;
  const ColumnPanel panel = columns;
  for (; first < p.planes; first += Planes) {
    const std::ptrdiff_t i = smaller(first, p.planes - Planes);  // the last ones may be made twice
    PlaneConstants c;
    make_constants<Planes>(p, p.channel + i * p.channel_step, c);
    if ((c.high_parts != 0) != HighParts) break;
    const std::uint8_t* const src = p.in.src + i * p.in_plane_step;
    const std::ptrdiff_t begin = src + panel.column - p.tensor;
    const bool safe = begin >= 0 && begin + (p.in.rows - 1) * p.in.row_step < panel.safe;
    plane_panel<Stride, Planes, HighParts>(p, panel, c, src, p.out.dst + i * p.out_plane_step, safe);
  }
  return first;
}

template <int Stride, int Planes>
DMLREF_QLC_TARGET inline void all_panels(const PlaneArgs& p) noexcept {
  constexpr std::ptrdiff_t columns = 64 / Planes / Stride;
  for (std::ptrdiff_t x = (p.out.width - 1) / columns * columns; x >= 0; x -= columns) {
    const ColumnPanel panel = make_panel<Planes>(p, x, Stride, loads_apart<Stride, Planes>);
    for (std::ptrdiff_t i = 0; i < p.planes;) {
      i = plane_panels<Stride, Planes, false>(p, panel, i);
      i = plane_panels<Stride, Planes, true>(p, panel, i);
    }
  }
}

/// How many planes to make at once: 1, 2 or 4.
constexpr int planes_at_once(const PlaneArgs& p) noexcept {
  // Cycles for 64 bytes of output, measured on Sapphire Rapids.
  constexpr std::ptrdiff_t costs[2][3] = {{25, 31, 38}, {32, 38, 48}};
  int best = 1;
  std::ptrdiff_t min_cost = 0;
  for (int i = 0; i < 3; ++i) {
    const std::ptrdiff_t planes = std::ptrdiff_t{1} << i;
    const std::ptrdiff_t columns = 64 / planes / p.stride;
    // Of four planes with a stride of 1 one load of 16 bytes makes all quads.
    if (planes == 4 && p.stride == 1 && p.out.width + (p.kernel - 1) * p.dilation > 16) break;
    const std::ptrdiff_t cost =
        (p.planes + planes - 1) / planes * ((p.out.width + columns - 1) / columns) * costs[p.stride - 1][i];
    if (i == 0 || (cost < min_cost && planes <= p.planes)) {
      min_cost = cost;
      best = dmlref::detail::narrow<int>(planes);  // at most 4
    }
  }
  return best;
}

DMLREF_QLC_TARGET inline void one_output_of_each(const PlaneArgs& p) noexcept {
  const int at_once = planes_at_once(p);
  if (p.stride == 2) {
    at_once == 4 ? all_panels<2, 4>(p) : at_once == 2 ? all_panels<2, 2>(p) : all_panels<2, 1>(p);
  } else {
    at_once == 4 ? all_panels<1, 4>(p) : at_once == 2 ? all_panels<1, 2>(p) : all_panels<1, 1>(p);
  }
}

DMLREF_QLC_TARGET inline void pixel_planes(const PlaneArgs& planes) noexcept {
  PlaneArgs p = planes;
  p.planes /= p.outputs;
  p.out_plane_step *= p.outputs;
  p.channel_step *= p.outputs;
  for (std::ptrdiff_t m = 0; m < p.outputs; ++m) {
    p.out.dst = planes.out.dst + m * planes.out_plane_step;
    p.channel = planes.channel + m * planes.channel_step;
    one_output_of_each(p);
  }
}

/// Three kernel rows, a quad for each.
inline bool planes_suit(const Geometry& g) noexcept {
  const bool columns_suit = g.stride_x == 2 ? g.dilation_x == 1 : g.stride_x == 1 && g.dilation_x <= 2;
  return g.in_channels == 1 && g.kernel_w > 1 && g.kernel_w <= 4 && g.kernel_h == 3 && g.stride_y == g.stride_x &&
         columns_suit && g.dilation_y == 1 && g.out_width >= 4 && g.in.x == 1 && g.in.y >= g.width && g.out.x == 1 &&
         g.out.y >= g.out_width;
}

#endif
