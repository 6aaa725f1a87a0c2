// shuffles.hpp: rows in steps of a program of byte shuffles, for every target with vectors of 16 bytes. Included once
// per target, inside that target's namespace, because a target attribute cannot be a template parameter; hence no
// guard. The includer defines DMLREF_SLICE_TARGET (the attribute), Bytes16, load16, store16, stream16, load_control,
// shuffle16 (0 where a control is 0x80), or16, and whether stores can be non-temporal, `streams`; without them this is
// empty.
#if defined(DMLREF_SLICE_TARGET)

/// The first `bytes` of v, 1 to 16.
DMLREF_SLICE_TARGET inline void store_part(std::byte* out, Bytes16 v, std::size_t bytes) noexcept {
  if (bytes == 16) return store16(out, v);
  std::byte part[16];
  store16(part, v);
  scalar::copy_few(out, part, bytes);
}

/// A program in registers: the compiler may not keep what lies in memory there, as every store of bytes might change
/// it.
template <std::size_t Vectors, std::size_t Terms>
struct Program {
  Bytes16 control[Vectors * Terms];
  Index load[Vectors * Terms];
};

template <std::size_t Vectors, std::size_t Terms>
DMLREF_SLICE_TARGET inline void load_program(Program<Vectors, Terms>& to, const ShuffleProgram& from) noexcept {
  DMLREF_UNROLL
  for (std::size_t t = 0; t < Vectors * Terms; ++t) {
    to.control[t] = load_control(from.term[t]);
    to.load[t] = from.term[t].load;
  }
}

template <std::size_t Vectors, std::size_t Terms>
DMLREF_SLICE_TARGET inline Bytes16 program_vector(const Program<Vectors, Terms>& program, std::size_t p,
                                                  const std::byte* in) noexcept {
  const std::size_t t = p * Terms;
  Bytes16 v = shuffle16(load16(in + program.load[t]), program.control[t]);
  DMLREF_UNROLL
  for (std::size_t k = 1; k < Terms; ++k) {
    v = or16(v, shuffle16(load16(in + program.load[t + k]), program.control[t + k]));
  }
  return v;
}

/// One step, the last vector whole; all loads before the stores. Streamed: `out` is a multiple of 16.
template <bool Stream, std::size_t Vectors, std::size_t Terms>
DMLREF_SLICE_TARGET DMLREF_ALWAYS_INLINE void program_step(const Program<Vectors, Terms>& program, const std::byte* in,
                                                           std::byte* out) noexcept {
  Bytes16 v[Vectors];
  DMLREF_UNROLL
  for (std::size_t p = 0; p < Vectors; ++p) v[p] = program_vector(program, p, in);
  DMLREF_UNROLL
  for (std::size_t p = 0; p < Vectors; ++p) {
    if constexpr (Stream) {
      stream16(out + 16 * p, v[p]);
    } else {
      store16(out + 16 * p, v[p]);
    }
  }
}

/// The end of a row where nothing beyond it may be written, or even read.
DMLREF_NOINLINE DMLREF_SLICE_TARGET inline void end_row_exactly(const RowJob& job, scalar::ProgramRow row,
                                                                bool may_read) noexcept {
  const ShuffleProgram& program = job.program;
  if (!may_read) return scalar::step_tiles(job.tile, row.from, row.to, row.left);
  while (row.left > 0) {
    if (row.left < program.tiles) {  // does again some tiles that are done
      const std::size_t back = program.tiles - row.left;
      row.from -= static_cast<Index>(back) * job.tile.in_advance;
      row.to -= back * job.tile.bytes();
      row.left = program.tiles;
    }
    for (std::size_t p = 0; p < program.vectors; ++p) {
      const ShuffleTerm* const term = &program.term[p * program.terms];
      Bytes16 v = shuffle16(load16(row.from + term->load), load_control(*term));
      for (std::size_t t = 1; t < program.terms; ++t) {
        v = or16(v, shuffle16(load16(row.from + term[t].load), load_control(term[t])));
      }
      store_part(row.to + 16 * p, v, p + 1 < program.vectors ? 16 : program.last_bytes);
    }
    row.from += program.in_advance;
    row.to += program.out_advance;
    row.left -= program.tiles;
  }
}

template <std::size_t Vectors, std::size_t Terms>
DMLREF_SLICE_TARGET inline void shuffle_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                                const RowPlace* rows, std::size_t count, Room room) noexcept {
  Program<Vectors, Terms> held;
  load_program(held, job.program);
  const std::size_t tiles = job.program.tiles, out_advance = job.program.out_advance, row_tiles = job.count;
  const Index in_advance = job.program.in_advance;
  const bool may_read = room.read || job.program.over_read == 0;
  const bool exact = !may_read || !(room.write || job.program.last_bytes == 16);
  if (row_tiles == tiles && !exact) {  // (the loops below take short rows twice the time)
    const Index output_prefetch = job.output_prefetch;
    for (std::size_t r = 0; r < count; ++r) {
      if (output_prefetch != 0) scalar::prefetch(out + rows[r].out + output_prefetch);
      program_step<false>(held, in + rows[r].in, out + rows[r].out);
    }
    return;
  }
  const Index ahead = job.program_prefetch, step = job.tile.in_advance;
  const Index row_bytes = static_cast<Index>(row_tiles) * step;
  const std::size_t ahead_tiles = step == 0 ? 0 : static_cast<std::size_t>(ahead / step);
  const std::size_t last = exact && job.program.spill > 1 ? job.program.spill : 1;  // tiles that must follow a step
  for (std::size_t r = 0; r < count; ++r) {
    scalar::ProgramRow row{in + rows[r].in, out + rows[r].out, row_tiles};
    if (streams && job.stream) {
      row = scalar::begin_stream(job, last, row);
      const Index next_row = r + 1 < count ? rows[r + 1].in - rows[r].in - row_bytes : 0;  // from the end of this one
      for (; row.streamed > 0; --row.streamed, row.left -= tiles) {
        if (ahead != 0) scalar::prefetch(row.from + (row.left > ahead_tiles ? ahead : ahead + next_row));
        program_step<true>(held, row.from, row.to);
        row.from += in_advance;
        row.to += out_advance;
      }
    }
    for (; row.left >= tiles + last; row.left -= tiles) {
      program_step<false>(held, row.from, row.to);
      row.from += in_advance;
      row.to += out_advance;
    }
    if (exact) {
      end_row_exactly(job, row, may_read);
      continue;
    }
    // The row's last step does again some tiles that are done, if it must.
    const std::size_t back = tiles - row.left;
    program_step<false>(held, row.from - static_cast<Index>(back) * step, row.to - back * job.tile.bytes());
  }
}

template <std::size_t Vectors>
DMLREF_SLICE_TARGET inline void shuffle_rows_with(const RowJob& job, const std::byte* in, std::byte* out,
                                                  const RowPlace* rows, std::size_t count, Room room) noexcept {
  switch (job.program.terms) {
    case 1: return shuffle_rows_of<Vectors, 1>(job, in, out, rows, count, room);
    case 2: return shuffle_rows_of<Vectors, 2>(job, in, out, rows, count, room);
    case 3: return shuffle_rows_of<Vectors, 3>(job, in, out, rows, count, room);
    default: return shuffle_rows_of<Vectors, 4>(job, in, out, rows, count, room);
  }
}

DMLREF_SLICE_TARGET inline void shuffle_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                             const RowPlace* rows, std::size_t count, Room room) noexcept {
  switch (job.program.vectors) {
    case 1: return shuffle_rows_with<1>(job, in, out, rows, count, room);
    case 2: return shuffle_rows_with<2>(job, in, out, rows, count, room);
    case 3: return shuffle_rows_with<3>(job, in, out, rows, count, room);
    default: return shuffle_rows_with<4>(job, in, out, rows, count, room);
  }
}

#endif
