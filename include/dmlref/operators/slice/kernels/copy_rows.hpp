// copy_rows.hpp: rows that stay as they are. Included as shuffle_rows.hpp is; the includer defines besides: Vector, of
// vector_bytes, load and store of it, and copy_long_rows, for rows of more than eight vectors and other stores than
// cached.
#if defined(DMLREF_SLICE_TARGET)

/// Rows of Vectors vectors or of up to a vector less a byte fewer. One function with the other lengths would keep
/// addresses of its loops on the stack (18 bytes a row: a fifth more time).
template <std::size_t Vectors>
DMLREF_NOINLINE DMLREF_SLICE_TARGET inline void copy_short_rows(const RowStrategy& row, const std::byte* in,
                                                                std::byte* out, const RowPlace* rows,
                                                                std::size_t count) noexcept {
  constexpr std::size_t step = vector_bytes;
  const std::size_t last = row.out_bytes - step;
  const std::size_t ahead = 2 * row.rows_ahead;
  const Index output_prefetch = row.output_prefetch;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    if (streams && output_prefetch != 0) {
      DMLREF_UNROLL
      for (std::size_t k = 0; k < Vectors * step; k += 64) {
        scalar::prefetch(to, output_prefetch + static_cast<Index>(k));
      }
    } else if constexpr (streams && Vectors * step > 64) {
      const std::byte* const later = in + rows[r + ahead < count ? r + ahead : r].in;
      DMLREF_UNROLL
      for (std::size_t k = 0; k < Vectors * step; k += 64) scalar::prefetch(later, static_cast<Index>(k));
    }
    Vector v[Vectors];
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) v[k] = load(from + step * k);
    v[Vectors - 1] = load(from + last);
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) store(to + step * k, v[k]);
    store(to + last, v[Vectors - 1]);
  }
}

DMLREF_SLICE_TARGET inline void copy_rows(const RowStrategy& row, const std::byte* in, std::byte* out,
                                          const RowPlace* rows, std::size_t count, RowAccess access) noexcept {
  const std::size_t bytes = row.out_bytes;
  const bool room = access.read && access.write;
  if (bytes > 8 * vector_bytes || access.stores != Stores::cached) {
    copy_long_rows(row, in, out, rows, count, access);
  } else if (bytes >= vector_bytes) {
    switch ((bytes + vector_bytes - 1) / vector_bytes) {
      case 1: return copy_short_rows<1>(row, in, out, rows, count);
      case 2: return copy_short_rows<2>(row, in, out, rows, count);
      case 3: return copy_short_rows<3>(row, in, out, rows, count);
      case 4: return copy_short_rows<4>(row, in, out, rows, count);
      case 5: return copy_short_rows<5>(row, in, out, rows, count);
      case 6: return copy_short_rows<6>(row, in, out, rows, count);
      case 7: return copy_short_rows<7>(row, in, out, rows, count);
      default: return copy_short_rows<8>(row, in, out, rows, count);
    }
  } else if (bytes > 16 && room) {
    const Index output_prefetch = row.output_prefetch;
    for (std::size_t r = 0; r < count; ++r) {
      if (streams && output_prefetch != 0) scalar::prefetch(out + rows[r].out, output_prefetch);
      store(out + rows[r].out, load(in + rows[r].in));
    }
  } else if (bytes >= 16) {
    for (std::size_t r = 0; r < count; ++r) {
      const std::byte* from = in + rows[r].in;
      std::byte* to = out + rows[r].out;
      const Bytes16 first = load16(from), last = load16(from + bytes - 16);
      store16(to, first);
      store16(to + bytes - 16, last);
    }
  } else if (room) {
    for (std::size_t r = 0; r < count; ++r) store16(out + rows[r].out, load16(in + rows[r].in));
  } else {
    for (std::size_t r = 0; r < count; ++r) scalar::copy_few(out + rows[r].out, in + rows[r].in, bytes);
  }
}

#endif
