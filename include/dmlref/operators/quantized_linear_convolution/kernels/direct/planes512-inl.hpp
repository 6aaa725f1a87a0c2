// planes512-inl.hpp: depthwise kernels of three or five rows over planes of pixels that are read where they are.
//
// A column panel is made from its first output row to its last, so an input row becomes quads once, for all the output
// rows that it is part of. Within each 128 bits byte shuffles make the quads of eight outputs, even and odd ones apart,
// as they are packed in the end. Of three columns an even output's quad is the next odd one's as well, which has its
// weights a byte on. With a stride of 1 the other eight take a second load, 8 bytes on, unless rows with their padding
// have 16 bytes or less. With a stride of 2 odd outputs have a load of their own, 2 bytes on, which needs no shuffle,
// and vectors hold two output rows. A fifth column has quads of its own, 4 bytes on.
//
// Included by avx512vnni.hpp inside its namespace, behind x86-inl.hpp; hence no guard.
#if defined(DMLREF_QLC_TARGET)

/// Quads of a kernel row.
template <int Kernel>
inline constexpr int row_groups = (Kernel + 3) / 4;

/// What all kernels of a shape share: rows of the kernel, stride, planes side by side in a vector.
template <int KernelRows, int Strides, int PlanesAtOnce>
struct PlaneShape {
  static constexpr int kernel = KernelRows, stride = Strides, planes = PlanesAtOnce, groups = row_groups<kernel>;
  /// Loads of a row, and bytes from one to the next. Four planes of three rows with a stride of 1 have one load: see
  /// planes_at_once.
  static constexpr int loads = stride == 2 ? 2 * groups : 2;
  static constexpr int row_bytes = 64 / stride / planes;  ///< of a vector that are of one row of one plane
  static constexpr std::ptrdiff_t apart = stride == 2 ? 2 : planes == 4 && kernel == 3 ? 0 : 8;
  static constexpr std::size_t sets =
      stride == 1 && kernel == 3 ? 2 : 1;  ///< of weights: even and odd outputs share quads
};

/// Columns of all rows.
struct ColumnPanel {
  std::ptrdiff_t x = 0, used = 0;  // the first output column, and how many there are
  std::ptrdiff_t column = 0;       // the first input column
  std::ptrdiff_t reach = 0;        // bytes from there that the loads read
  std::ptrdiff_t safe = 0;         // rows of the first plane that begin less far into the tensor may be read whole
  /// Overwrite-safe rows: from the first output row on, those whose vectors may be stored whole. What these write
  /// beyond the row is written again, later, by the rows that follow in the same planes, or by panels to the left. So
  /// panels go from right to left, rows from the first to the last, and no store leaves this call's rows.
  std::ptrdiff_t safe_rows = 0;
  __m512i inside[4], outside[4];  // of each load: (pixels & inside) ^ outside is what counts
  bool plain = false;             // with a stride of 2: so are the pixels themselves, but for the first load's
  __m512i patterns[4];            // quads of even outputs; those 4 bytes on, or 8; of odd outputs, the same
  alignas(64) std::uint8_t padding[128];
};

template <class Shape>
DMLREF_QLC_TARGET inline ColumnPanel make_panel(const PlaneArgs& p, std::ptrdiff_t x) noexcept {
  constexpr std::ptrdiff_t bytes = 64 / Shape::planes, columns = bytes / Shape::stride;
  ColumnPanel s;
  s.x = x;
  s.used = p.out.width - x < columns ? p.out.width - x : columns;
  s.column = x * Shape::stride - p.in.pad_x;
  s.reach = bytes + (Shape::loads - 1) * Shape::apart;
  s.safe = p.tensor_bytes - s.reach - (Shape::planes - 1) * p.in_plane_step + 1;
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
  s.plain = Shape::stride == 2 && p.in.flip == 0 && s.column >= -2 &&
            s.column + 2 * (s.used - 1) + p.kernel <= p.in.width;  // what lies in the padding lanes counts 0
  const __m512i flips = V::all_bytes(p.in.flip), fills = V::all_bytes(p.in.fill);
  V::store(s.padding, V::xor_(fills, flips));
  V::store(s.padding + 64, V::xor_(fills, flips));
  for (std::ptrdiff_t load = 0; load < Shape::loads; ++load) {
    const std::ptrdiff_t first = s.column + load * Shape::apart;
    std::uint64_t bits = first_bits(within(p.in.width - first)) & ~first_bits(within(-first));
    for (int copies = 1; copies < Shape::planes; copies *= 2) bits |= bits << bytes * copies;
    const auto mask = static_cast<__mmask64>(bits);
    s.inside[load] = _mm512_maskz_mov_epi8(mask, _mm512_set1_epi8(-1));
    s.outside[load] = _mm512_mask_mov_epi8(fills, mask, flips);
  }
  s.patterns[0] = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9));
  s.patterns[1] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(Shape::groups > 1 ? 4 : 8));
  s.patterns[2] = _mm512_add_epi8(s.patterns[0], _mm512_set1_epi8(1));
  s.patterns[3] = _mm512_add_epi8(s.patterns[1], _mm512_set1_epi8(1));
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

/// The pixels from `at` on of a row of each plane.
template <int Planes>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET __m512i row_pixels(const RowSource& source, std::ptrdiff_t at) noexcept {
  const std::uint8_t* const row = source.row + at;
  const auto half = [&](std::ptrdiff_t l) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(row + l * source.plane_step));
  };
  const auto quarter = [&](std::ptrdiff_t l) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(row + l * source.plane_step));
  };
  if constexpr (Planes == 1) return _mm512_loadu_si512(row);
  if constexpr (Planes == 2) return _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(2)), quarter(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
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

DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void store_halves(std::uint8_t* low, std::uint8_t* high,
                                                         __m256i bytes) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(low), _mm256_castsi256_si128(bytes));
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(high), _mm256_extracti128_si256(bytes, 1));
}

/// The first `used` bytes of a part of `Bytes` that begins with byte `At` of a vector.
template <int Bytes, int At>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void store_part_exactly(std::uint8_t* to, std::ptrdiff_t used,
                                                               __m512i bytes) noexcept {
  const __m128i sixteen = _mm512_extracti32x4_epi32(bytes, At / 16);
  vectors256::store_first<(Bytes < 16 ? Bytes : 16)>(to, At % 16 == 0 ? sixteen : _mm_srli_si128(sixteen, At % 16),
                                                     used);
  if constexpr (Bytes > 16) {
    if (used > 16) store_part_exactly<Bytes - 16, At + 16>(to + 16, used - 16, bytes);
  }
}

/// store_row of `used` bytes and no more.
template <class Shape, int Row>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void store_exactly(std::uint8_t* dst, std::ptrdiff_t plane_step,
                                                          std::ptrdiff_t used, __m512i bytes) noexcept {
  const auto store = [&]<int... L>(std::integer_sequence<int, L...>) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    constexpr int each = Shape::row_bytes;
    (store_part_exactly<each, (Row * Shape::planes + L) * each>(dst + L * plane_step, used, bytes), ...);
  };
  store(std::make_integer_sequence<int, Shape::planes>());
}
/// The same as a function of its own, so that kernels get no larger for a few of many rows.
template <class Shape, int Row>
[[gnu::noinline]] DMLREF_QLC_TARGET inline void store_exactly_apart(std::uint8_t* dst, std::ptrdiff_t plane_step,
                                                                    std::ptrdiff_t used, __m512i bytes) noexcept {
  store_exactly<Shape, Row>(dst, plane_step, used, bytes);
}

/// An output row of each plane, the first one to `dst`: of those in a vector number `Row`, `used` bytes long.
/// `overwrites`: what follows (ColumnPanel::safe_rows).
template <class Shape, int Row>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void store_row(std::uint8_t* dst, std::ptrdiff_t plane_step, bool overwrites,
                                                      std::ptrdiff_t used, __m512i bytes) noexcept {
  constexpr int planes = Shape::planes, each = Shape::row_bytes, first = Row * planes;
  if (__builtin_expect(!overwrites, 0)) {
    // Of small planes many rows end so; and a call would cost kernels of five rows their registers, 2 %.
    if constexpr (planes == 4 || Shape::kernel == 5) return store_exactly<Shape, Row>(dst, plane_step, used, bytes);
    return store_exactly_apart<PlaneShape<3, Shape::stride, planes>, Row>(dst, plane_step, used, bytes);
  }
  if constexpr (planes == 4 && each == 16) {
    __m256i high = _mm512_extracti64x4_epi64(bytes, 1);
    simd::avx2::Vector::pin(high);  // g++ would take its upper part from all 512 bits, on the port that shuffles
    store_halves(dst, dst + plane_step, _mm512_castsi512_si256(bytes));
    store_halves(dst + 2 * plane_step, dst + 3 * plane_step, high);
  } else {
    store_part<each, first>(dst, bytes);
    if constexpr (planes > 1) store_part<each, first + 1>(dst + plane_step, bytes);
    if constexpr (planes > 2) store_part<each, first + 2>(dst + 2 * plane_step, bytes);
    if constexpr (planes > 2) store_part<each, first + 3>(dst + 3 * plane_step, bytes);
  }
}

/// A row's loads.
template <class Shape>
struct RowPixels {
  __m512i load[static_cast<std::size_t>(Shape::loads)];
};

/// Loads `First` and on of a row, as the kernel sees them.
template <class Shape, int First, int Count>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void take_inside(const ColumnPanel& panel, RowPixels<Shape>& row) noexcept {
  constexpr int and_xor = (0xF0 & 0xCC) ^ 0xAA;
  DMLREF_UNROLL
  for (int l = First; l < First + Count; ++l) {
    row.load[l] = _mm512_ternarylogic_epi64(row.load[l], panel.inside[l], panel.outside[l], and_xor);
  }
}

/// A row; with a stride of 2 only the first load as the kernel sees it.
template <class Shape>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET RowPixels<Shape> load_row(const ColumnPanel& panel,
                                                                 const RowSource& row) noexcept {
  constexpr int loads = Shape::apart == 0 ? 1 : Shape::loads;
  RowPixels<Shape> pixels;
  DMLREF_UNROLL
  for (int l = 0; l < loads; ++l) pixels.load[l] = row_pixels<Shape::planes>(row, l * Shape::apart);
  take_inside<Shape, 0, Shape::stride == 2 ? 1 : loads>(panel, pixels);
  return pixels;
}

/// Quads of 64 outputs, for one kernel row.
struct RowQuads {
  __m512i of[4];
};

/// Quads `group` of a row; with a stride of 2 of two output rows, of which the second sees input row `second`.
template <class Shape>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET RowQuads row_quads(const ColumnPanel& panel, const RowPixels<Shape>& row,
                                                          const RowPixels<Shape>& second, int group) noexcept {
  const int at = 2 * group;
  if constexpr (Shape::stride == 2) return {row.load[at], row.load[at + 1], second.load[at], second.load[at + 1]};
  const __m512i first = _mm512_shuffle_epi8(row.load[0], panel.patterns[group]);
  constexpr bool one_load = Shape::apart == 0;
  const __m512i eight_on = _mm512_shuffle_epi8(row.load[one_load ? 0 : 1], panel.patterns[one_load ? 1 : group]);
  if constexpr (Shape::sets == 2) return {first, first, eight_on, eight_on};
  return {first, _mm512_shuffle_epi8(row.load[0], panel.patterns[group + 2]), eight_on,
          _mm512_shuffle_epi8(row.load[1], panel.patterns[group + 2])};
}

/// What the channels of some planes need; `weights` and `high` are quads of kernel rows.
template <class Shape>
struct PlaneConstants {
  static constexpr std::size_t quads = static_cast<std::size_t>(Shape::kernel * Shape::groups);
  __m512i weights[quads][Shape::sets], high[quads][Shape::sets], start;
  Epilogue epilogue;
  unsigned high_parts;  // a bit for each quad that has anything in `high`
};
/// Of each quarter of a vector. Apart from the others, to which no function that is called has a pointer: so these stay
/// in registers whatever is stored.
struct PlaneFactors {
  double factor[4], offset[4];
};

template <class Shape>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void make_constants(const PlaneArgs& p, const std::byte* channel,
                                                           PlaneConstants<Shape>& c, PlaneFactors& f) noexcept {
  const auto parts = [&](std::size_t at) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    return in_parts<Shape::planes>(channel, p.channel_step, at);
  };
  const auto take_quads = [&](std::size_t at, __m512i(*quads)[Shape::sets]) __attribute__((always_inline))
  DMLREF_QLC_TARGET {
    DMLREF_UNROLL
    for (std::size_t i = 0; i < c.quads; i += 4) {
      __m512i four = parts(at + 4 * i);
      DMLREF_UNROLL
      for (std::size_t set = 0; set < Shape::sets; ++set) {
        if (set == 1) four = _mm512_slli_epi32(four, 8);
        quads[i][set] = _mm512_shuffle_epi32(four, _MM_PERM_AAAA);
        quads[i + 1][set] = _mm512_shuffle_epi32(four, _MM_PERM_BBBB);
        if (i + 2 < c.quads) quads[i + 2][set] = _mm512_shuffle_epi32(four, _MM_PERM_CCCC);
        if (i + 3 < c.quads) quads[i + 3][set] = _mm512_shuffle_epi32(four, _MM_PERM_DDDD);
      }
    }
  };
  take_quads(sizeof(ChannelData), c.weights);
  c.high_parts = 0;
  for (int l = 0; l < Shape::planes; ++l) {
    std::uint32_t of_plane;
    std::memcpy(&of_plane, channel + l * p.channel_step + offsetof(ChannelData, high_parts), sizeof of_plane);
    c.high_parts |= of_plane;
  }
  if (c.high_parts != 0) take_quads(sizeof(ChannelData) + 4 * c.quads, c.high);
  __m512i numbers = parts(offsetof(ChannelData, floats));
  const __m512i sums = _mm512_shuffle_epi32(numbers, _MM_PERM_AAAA);
  c.epilogue.floats = _mm512_test_epi32_mask(sums, sums) == 0xFFFF;
  if (!c.epilogue.floats) {
    numbers = parts(offsetof(ChannelData, integers));
    DMLREF_UNROLL
    for (int part = 0; part < 4; ++part) {
      const std::byte* const data = channel + part * Shape::planes / 4 * p.channel_step;
      std::memcpy(&f.factor[part], data + offsetof(ChannelData, factor), sizeof(double));
      std::memcpy(&f.offset[part], data + offsetof(ChannelData, offset), sizeof(double));
    }
  }
  static_assert(offsetof(SumConstants, sum) == 0 && offsetof(SumConstants, scale) == 4 &&
                offsetof(SumConstants, shift) == 8 && offsetof(SumConstants, tie_tolerance) == 12);
  c.start = _mm512_shuffle_epi32(numbers, _MM_PERM_AAAA);
  c.epilogue.scale[0] = _mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_BBBB));
  c.epilogue.shift[0] = _mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_CCCC));
  c.epilogue.tie_tolerance = _mm512_shuffle_epi32(numbers, _MM_PERM_DDDD);
  c.epilogue.flip = V::all_bytes(p.rounding.to.flip);
  c.epilogue.stores_sums = p.rounding.stores_sums;
}

/// Adds the products of a row's quads with those of the kernel numbered `quad`.
template <class Shape>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void add_quads(const PlaneConstants<Shape>& c, const RowQuads& quads, int quad,
                                                      __m512i (&sums)[4]) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) sums[v] = dot(sums[v], quads.of[v], c.weights[quad][v % Shape::sets]);
  if (__builtin_expect((c.high_parts >> quad & 1) == 0, 1)) return;
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) sums[v] = dot(sums[v], quads.of[v], c.high[quad][v % Shape::sets]);
}

/// Writes an output row of each plane, with a stride of 2 that and the next, the first plane's to `dst`. There are
/// `left` rows until the last one, and `safe_rows` that are overwrite-safe.
template <class Shape>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void store_rows(const PlaneArgs& p, std::ptrdiff_t used,
                                                       std::ptrdiff_t safe_rows, std::ptrdiff_t left, std::uint8_t* dst,
                                                       __m512i bytes) noexcept {
  if constexpr (Shape::stride == 1) {
    store_row<Shape, 0>(dst, p.out_plane_step, safe_rows > 0, used, bytes);
  } else {
    // Each row has 8 bytes of every 16.
    bytes = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
    store_row<Shape, 0>(dst, p.out_plane_step, safe_rows > 0, used, bytes);
    if (left > 1) store_row<Shape, 1>(dst + p.out.row_step, p.out_plane_step, safe_rows > 1, used, bytes);
  }
}

/// The same of sums that are stored, of rows of which `used` columns are left and `left` rows, the first plane's to
/// `to`. A function of its own, so that kernels that round get no larger.
template <int Stride, int Planes>
[[gnu::noinline]] DMLREF_QLC_TARGET inline void store_sums(const PlaneArgs& p, const Epilogue& epilogue,
                                                           std::ptrdiff_t used, std::ptrdiff_t left, std::uint8_t* to,
                                                           const __m512i (&given)[4]) noexcept {
  // `at`: columns of a row, from that one on, of plane `plane`.
  const auto store = [&](std::ptrdiff_t at, int plane, __m512i sums, std::ptrdiff_t count) DMLREF_QLC_TARGET {
    const std::ptrdiff_t columns = used - at < count ? used - at : count;
    const auto there = static_cast<__mmask16>(columns < 1 ? 0u : (1u << columns) - 1u);
    _mm512_mask_storeu_epi32(to + 4 * (plane * p.out_plane_step + at), there, sums);
  };
  __m512i v[4];
  epilogue.take_sums<Factors::parts>(given, v);
  __m512i row[4] = {V::zip_low_dwords(v[0], v[1]), V::zip_high_dwords(v[0], v[1]), V::zip_low_dwords(v[2], v[3]),
                    V::zip_high_dwords(v[2], v[3])};
  if constexpr (Stride == 1) {
    constexpr int vectors = 4 / Planes;  // of a plane's row
    V::transpose_parts(row);
    DMLREF_UNROLL
    for (int i = 0; i < 4; ++i) store(16 * (i % vectors), i / vectors, row[i], 16);
  } else {
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                  high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    DMLREF_UNROLL
    for (int r = 0; r < 2; ++r, to += 4 * p.out.row_step) {
      if (r >= left) break;
      const __m512i first = _mm512_permutex2var_epi64(row[2 * r], low, row[2 * r + 1]);
      const __m512i second = _mm512_permutex2var_epi64(row[2 * r], high, row[2 * r + 1]);
      if constexpr (Planes == 1) {
        store(0, 0, first, 16);
        store(16, 0, second, 16);
      } else if constexpr (Planes == 2) {
        store(0, 0, first, 16);
        store(0, 1, second, 16);
      } else {
        store(0, 0, first, 8);
        store(0, 1, _mm512_castsi256_si512(_mm512_extracti64x4_epi64(first, 1)), 8);
        store(0, 2, second, 8);
        store(0, 3, _mm512_castsi256_si512(_mm512_extracti64x4_epi64(second, 1)), 8);
      }
    }
  }
}

/// Goes down a panel of the planes that begin at `src` and `dst`. Sums take what an input row adds to them when that
/// row is made into quads: with a stride of 1, those of all output rows that it is part of at once. `safe`: no load of
/// the planes' rows reads beyond the tensor.
template <class Shape>
DMLREF_ALWAYS_INLINE DMLREF_QLC_TARGET void plane_panel(const PlaneArgs& p, const ColumnPanel& panel,
                                                        const PlaneConstants<Shape>& c, const ExactFactors& by,
                                                        const std::uint8_t* src, std::uint8_t* dst,
                                                        bool safe) noexcept {
  constexpr int kernel = Shape::kernel, stride = Shape::stride;
  // With five rows constants are read where they are used: in registers they would displace sums.
  if constexpr (kernel == 5) __asm__("" : : "r"(&c) : "memory");
  std::ptrdiff_t next = -p.in.pad_y;                                                 // input row, at `from`
  std::ptrdiff_t from = src - p.tensor + panel.column - p.in.pad_y * p.in.row_step;  // bytes into the tensor
  alignas(64) std::uint8_t edge[128];
  const auto row = [&](auto inner) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    const RowSource source =
        inner ? RowSource{p.tensor + from, p.in_plane_step} : source_of<Shape::planes>(p, panel, next, from, edge);
    ++next;
    from += p.in.row_step;
    return load_row<Shape>(panel, source);
  };
  // Of three kernel rows the sums that are complete begin anew where they are, when they have been written. With five,
  // the quads would have to wait for that, and there are too many of them.
  constexpr bool in_place = stride == 1 && kernel == 3;
  constexpr int begun = stride == 2 ? 1 : in_place ? kernel - 1 : kernel, groups = Shape::groups;
  __m512i sums[begun][4];             // of the output rows from the next one on, as far as they begin; stride 2: of two
  RowPixels<Shape> rows[kernel + 2];  // stride 2: of two output rows; the last ones are shared with the next two
  const auto load_rows = [&](auto inner, int first, int end) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    DMLREF_UNROLL
    for (int r = first; r < end; ++r) rows[r] = row(inner);
    if (stride == 1 || panel.plain) return;
    DMLREF_UNROLL
    for (int r = first; r < end; ++r) take_inside<Shape, 1, Shape::loads - 1>(panel, rows[r]);
  };
  const auto begin = [&](__m512i(&of)[4]) __attribute__((always_inline)) DMLREF_QLC_TARGET {
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) of[v] = c.start;
  };
  RowQuads quads;
  // Adds input row `a`, of which `b` is as for row_quads, to the sums of `count` output rows: the first of them are at
  // `at` and see it by kernel row `last`, each other one by the one before.
  const auto add_row = [&](const RowPixels<Shape>& a, const RowPixels<Shape>& b, int last, int count, int at)
      __attribute__((always_inline)) DMLREF_QLC_TARGET {
    DMLREF_UNROLL
    for (int g = 0; g < groups; ++g) {
      quads = row_quads<Shape>(panel, a, b, g);
      DMLREF_UNROLL
      for (int i = 0; i < count; ++i) add_quads(c, quads, (last - i) * groups + g, sums[(at + i) % begun]);
    }
  };
  DMLREF_UNROLL
  for (int r = 0; r < kernel - stride; ++r) {
    load_rows(std::false_type{}, r, r + 1);
    if constexpr (stride == 1) {
      begin(sums[r]);
      add_row(rows[r], rows[r], r, r + 1, 0);
    }
  }
  std::ptrdiff_t y = 0, out = panel.x;  // the next output row, and where in the planes it begins
  // Sums and writes the next output rows, whose sums are at `at`.
  const auto next_rows = [&](auto inner, int at, std::ptrdiff_t safe_rows, std::ptrdiff_t left)
      __attribute__((always_inline)) DMLREF_QLC_TARGET {
    if constexpr (stride == 1) {
      if constexpr (!in_place) begin(sums[kernel - 1]);
      rows[0] = row(inner);
      add_row(rows[0], rows[0], kernel - 1, begun, at);
    } else {
      load_rows(inner, kernel - 2, kernel + 2);
      begin(sums[0]);
      DMLREF_UNROLL
      for (int r = 0; r < kernel; ++r) add_row(rows[r], rows[r + 2], r, 1, 0);
      DMLREF_UNROLL
      for (int r = 0; r < kernel - 2; ++r) rows[r] = rows[r + 4];
    }
    if (!inner && __builtin_expect(c.epilogue.stores_sums, 0)) {
      const __m512i given[4] = {sums[at][0], sums[at][1], sums[at][2], sums[at][3]};  // sums stay in registers
      const Epilogue epilogue = c.epilogue;                                           // its vectors as well
      store_sums<stride, Shape::planes>(p, epilogue, panel.used, left, dst + 4 * out, given);
    } else {
      const __m512i bytes = c.epilogue.template packed<Factors::parts>(sums[at], p.rounding, by);
      store_rows<Shape>(p, panel.used, safe_rows, left, dst + out, bytes);
    }
    if constexpr (in_place) {
      begin(sums[at]);
      add_quads(c, quads, 0, sums[at]);
    }
    out += stride * p.out.row_step;
    y += stride;
  };
  // The sums of the row after the next one become those of the next one, and so on; the first ones become the last.
  const auto move_up = [&]() __attribute__((always_inline)) DMLREF_QLC_TARGET {
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) {
      const __m512i first = sums[0][v];
      DMLREF_UNROLL
      for (int r = 1; r < begun; ++r) sums[r - 1][v] = sums[r][v];
      sums[begun - 1][v] = first;
    }
  };
  constexpr std::ptrdiff_t rows_in = stride == 2 ? 4 : 1;  // that an output row, or two, complete
  constexpr int turns = in_place ? 2 : 1;                  // at once, so that sums need not move
  while (y < p.out.rows) {
    // Rows that need no checks: the plane has their input, and vectors of bytes may be read and written whole.
    std::ptrdiff_t inner = smaller((panel.safe_rows - y) / stride, (p.in.rows - next) / rows_in);
    if (!safe || next < 0 || c.epilogue.stores_sums) inner = 0;
    const std::ptrdiff_t end = y + inner * stride;
    bool second = turns == 2 && inner % 2 == 1;  // an odd row is the first one, rather than one with checks
    if (second) move_up();
    for (; y < end; second = false) {
      if (__builtin_expect(!second, 1)) next_rows(std::true_type{}, 0, stride, stride);
      if constexpr (turns == 2) next_rows(std::true_type{}, 1, stride, stride);
      if constexpr (turns < begun) move_up();
    }
    if (y < p.out.rows) {
      next_rows(std::false_type{}, 0, panel.safe_rows - y, p.out.rows - y);
      move_up();
    }
  }
}

template <class Shape>
[[gnu::noinline]] DMLREF_QLC_TARGET inline void all_panels(const PlaneArgs& planes) noexcept {
  const PlaneArgs p = planes;  // what arguments refer to might change with each byte that is stored
  constexpr std::ptrdiff_t columns = 64 / Shape::planes / Shape::stride;
  for (std::ptrdiff_t x = (p.out.width - 1) / columns * columns; x >= 0; x -= columns) {
    const ColumnPanel panel = make_panel<Shape>(p, x);
    for (std::ptrdiff_t first = 0; first < p.planes; first += Shape::planes) {
      const std::ptrdiff_t i = smaller(first, p.planes - Shape::planes);  // the last ones may be made twice
      PlaneConstants<Shape> c;
      PlaneFactors f;
      make_constants<Shape>(p, p.channel + i * p.channel_step, c, f);
      const std::uint8_t* const src = p.in.src + i * p.in_plane_step;
      const std::ptrdiff_t begin = src + panel.column - p.tensor;
      const bool safe = begin >= 0 && begin + (p.in.rows - 1) * p.in.row_step < panel.safe;
      plane_panel<Shape>(p, panel, c, {f.factor, f.offset}, src, output_at(p, i), safe);
    }
  }
}

/// How many planes to make at once: 1, 2 or 4.
constexpr int planes_at_once(const PlaneArgs& p) noexcept {
  const auto& costs = p.costs[p.stride == 2 ? 1 : 0];
  int best = 1;
  std::ptrdiff_t min_cost = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::ptrdiff_t planes = std::ptrdiff_t{1} << i;
    const std::ptrdiff_t columns = 64 / planes / p.stride;
    // Of four planes with a stride of 1 one load of 16 bytes makes all quads of three rows.
    if (planes == 4 && p.stride == 1 && p.kernel < 5 && p.out.width + p.kernel > 17) break;
    const std::ptrdiff_t cost = (p.planes + planes - 1) / planes * ((p.out.width + columns - 1) / columns) * costs[i];
    if (i == 0 || (cost < min_cost && planes <= p.planes)) {
      min_cost = cost;
      best = dmlref::detail::narrow<int>(planes);  // at most 4
    }
  }
  return best;
}

DMLREF_QLC_TARGET inline void one_output_of_each(const PlaneArgs& p) noexcept {
  const auto with = [&]<int Kernel, int Stride>(std::integer_sequence<int, Kernel, Stride>) DMLREF_QLC_TARGET {
    const int at_once = planes_at_once(p);
    at_once == 4   ? all_panels<PlaneShape<Kernel, Stride, 4>>(p)
    : at_once == 2 ? all_panels<PlaneShape<Kernel, Stride, 2>>(p)
                   : all_panels<PlaneShape<Kernel, Stride, 1>>(p);
  };
  if (p.kernel == 5) {
    p.stride == 2 ? with(std::integer_sequence<int, 5, 2>()) : with(std::integer_sequence<int, 5, 1>());
  } else {
    p.stride == 2 ? with(std::integer_sequence<int, 3, 2>()) : with(std::integer_sequence<int, 3, 1>());
  }
}

DMLREF_QLC_TARGET inline void pixel_planes(const PlaneArgs& planes) noexcept {
  PlaneArgs p = planes;
  p.planes /= p.outputs;
  p.out_plane_step *= p.outputs;
  p.channel_step *= p.outputs;
  for (std::ptrdiff_t m = 0; m < p.outputs; ++m) {
    p.out.dst = output_at(planes, m);
    p.channel = planes.channel + m * planes.channel_step;
    one_output_of_each(p);
  }
}

/// Three kernel rows, a quad for each, which with a stride of 1 two outputs share; or five rows of five columns.
inline bool planes_suit(const Geometry& g) noexcept {
  const bool three = g.kernel_h == 3 && g.kernel_w > 1 && g.kernel_w <= (g.stride_x == 2 ? 4 : 3);
  return g.in_channels == 1 && (three || (g.kernel_h == 5 && g.kernel_w == 5)) && g.stride_y == g.stride_x &&
         g.stride_x <= 2 && g.dilation_x == 1 && g.dilation_y == 1 && g.out_width >= 4 && g.in.x == 1 &&
         g.in.y >= g.width && g.out.x == 1 && g.out.y >= g.out_width;
}

#endif
