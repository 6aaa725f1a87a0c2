// walk.hpp: two layouts of one shape as rows in bytes: dimensions ordered, merged and widened, and rows numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast {

/// A dimension of a copy: both steps in bytes.
struct CopyDim {
  Index extent = 1;
  Index in = 0;
  Index out = 0;
};

/// Up to eight of them, the outermost first; elements are runs of `unit` bytes.
struct CopyDims {
  std::size_t unit = 1;
  std::size_t rank = 0;
  CopyDim dim[max_rank + 1];

  constexpr CopyDim& back() noexcept { return dim[rank - 1]; }
  constexpr const CopyDim& back() const noexcept { return dim[rank - 1]; }
  constexpr void push_back(const CopyDim& d) noexcept { dim[rank++] = d; }
  constexpr void erase(std::size_t at) noexcept {
    for (; at + 1 < rank; ++at) dim[at] = dim[at + 1];
    --rank;
  }
};

/// Begins a dimension at its other end: its steps change their signs, and rows start from another `first`.
constexpr void turn(CopyDim& dim, RowPlace& first) noexcept {
  first.in += dim.in * (dim.extent - 1);
  first.out += dim.out * (dim.extent - 1);
  dim.in = -dim.in;
  dim.out = -dim.out;
}

/// The dimensions of a copy in the order of the output's memory (the order of a copy is free), each with the output
/// upwards, neighbours merged, runs that both sides have contiguous taken as units. `first`: where they begin.
constexpr CopyDims copy_dims(const Layout& from, const Layout& to, std::size_t element_size, RowPlace& first) noexcept {
  const Index size = static_cast<Index>(element_size);
  first = {from.offset * size, to.offset * size};
  CopyDims sorted;
  for (std::size_t d = 0; d < to.rank(); ++d) {  // insertion sort by the output's step, the largest first
    if (to.shape[d] == 1) continue;
    CopyDim dim{to.shape[d], from.strides[d] * size, to.strides[d] * size};
    if (dim.out < 0) turn(dim, first);
    std::size_t at = sorted.rank++;
    for (; at > 0 && sorted.dim[at - 1].out < dim.out; --at) sorted.dim[at] = sorted.dim[at - 1];
    sorted.dim[at] = dim;
  }
  CopyDims dims;
  dims.unit = element_size;
  for (std::size_t d = 0; d < sorted.rank; ++d) {
    const CopyDim& dim = sorted.dim[d];
    if (dims.rank > 0 && dims.back().in == dim.in * dim.extent && dims.back().out == dim.out * dim.extent) {
      dims.back() = {dims.back().extent * dim.extent, dim.in, dim.out};
    } else {
      dims.push_back(dim);
    }
  }
  while (dims.rank > 0 && dims.back().in == static_cast<Index>(dims.unit) && dims.back().out == dims.back().in) {
    dims.unit *= static_cast<std::size_t>(dims.back().extent);
    --dims.rank;
  }
  return dims;
}

/// Whether rows along `dims` each start where the one before it ends.
constexpr bool rows_joined(std::size_t row_bytes, const CopyDims& dims) noexcept {
  auto next = static_cast<Index>(row_bytes);
  for (std::size_t d = dims.rank; d-- > 0;) {
    if (dims.dim[d].out != next) return false;
    next *= dims.dim[d].extent;
  }
  return true;
}

/// Rows of one form, numbered in the order of the output: a table of the places of the inner rows, repeated along the
/// outer dimensions.
class RowWalk {
 public:
  static constexpr std::size_t room_limit = 4096;  // longer rows end exactly

  RowJob job;

  RowWalk() = default;
  /// Rows along all of `dims`; their first lies at `first`.
  RowWalk(const RowJob& row, const CopyDims& dims, RowPlace first) : job(row), first_(first) {
    set_reach();
    constexpr Index most = 512;
    Index rows = 1;
    std::size_t inner = dims.rank;
    while (inner > 0 && rows * dims.dim[inner - 1].extent <= most) rows *= dims.dim[--inner].extent;
    CopyDims tabled = dims;
    if (inner > 0 && most / rows >= 2) {  // part of the next dimension, too
      piece_ = most / rows;
      tabled.dim[--inner].extent = piece_;
      last_rows_ = static_cast<std::size_t>(((dims.dim[inner].extent - 1) % piece_ + 1) * rows);
      rows *= piece_;
    }
    table_.reserve(static_cast<std::size_t>(rows));
    Index at[max_rank + 1] = {};
    RowPlace place;
    for (Index r = 0; r < rows; ++r) {
      table_.push_back(place);
      for (std::size_t d = dims.rank; d-- > inner;) {
        place.in += tabled.dim[d].in;
        place.out += tabled.dim[d].out;
        if (++at[d] < tabled.dim[d].extent) break;
        at[d] = 0;
        place.in -= tabled.dim[d].in * tabled.dim[d].extent;
        place.out -= tabled.dim[d].out * tabled.dim[d].extent;
      }
    }
    if (job.irregular) {
      const std::size_t whole = last_rows_ > 0 ? last_rows_ : table_.size();  // the last table is the others' beginning
      shuffle(0, whole);
      shuffle(whole, table_.size());
    }
    for (std::size_t d = 0; d < inner; ++d) outer_.push_back(dims.dim[d]);
    if (piece_ > 0) {
      const CopyDim& split = dims.dim[inner];
      outer_.push_back({(split.extent + piece_ - 1) / piece_, split.in * piece_, split.out * piece_});
    }
    rows_ = 1;
    for (std::size_t d = 0; d < dims.rank; ++d) rows_ *= static_cast<std::size_t>(dims.dim[d].extent);
    for (const RowPlace& row_place : table_) {
      if (row_place.in < lowest_in_) lowest_in_ = row_place.in;
      if (row_place.in > highest_in_) highest_in_ = row_place.in;
    }
  }

  std::size_t rows() const noexcept { return rows_; }

  /// Copies rows begin … end - 1. `in` and `out` are the tensors' first bytes, `in_bytes` the input's size.
  void run(RowKernel kernel, const std::byte* in, std::byte* out, std::size_t in_bytes, std::size_t begin,
           std::size_t end) const noexcept {
    // Counted in tables: the last piece of a split dimension is shorter.
    std::size_t row = begin;
    while (row < end) {
      const Position at = position(row);
      std::size_t count = at.rows - at.inside;
      if (count > end - row) count = end - row;
      run_table(kernel, in, out, in_bytes, at, count, end - row);
      row += count;
    }
  }

 private:
  /// Rows `begin` … `end` - 1 of the table in an irregular order; those that share lines stay near each other.
  void shuffle(std::size_t begin, std::size_t end) noexcept {
    const std::size_t near = job.out_bytes < 64 ? 64 : table_.size();
    std::uint32_t random = 1;
    for (; begin < end; begin += near) {
      for (std::size_t left = end - begin < near ? end - begin : near; left > 1; --left) {
        random = random * 1664525u + 1013904223u;
        std::swap(table_[begin + left - 1], table_[begin + (random >> 8) % left]);
      }
    }
  }

  /// The lowest and one past the highest byte of a row, relative to its place.
  void set_reach() noexcept {
    const auto extend = [this](Index reach) { (reach < 0 ? job_lowest_ : job_highest_) += reach; };
    job_highest_ = static_cast<Index>(job.unit_bytes);
    if (job.kind == RowKind::shuffle) {
      job_highest_ = static_cast<Index>(job.tile.unit_bytes);
      extend(static_cast<Index>(job.tile.units - 1) * job.tile.in_step);
      extend(static_cast<Index>(job.count - 1) * job.tile.in_advance);
    }
  }

  struct Position {
    RowPlace base;
    std::size_t inside;  // row of the table
    std::size_t rows;    // rows that this table has here
  };

  Position position(std::size_t row) const noexcept {
    Position at{first_, 0, table_.size()};
    std::size_t d = outer_.rank;
    if (piece_ > 0) {
      const CopyDim& split = outer_.dim[--d];
      const auto pieces = static_cast<std::size_t>(split.extent);
      const std::size_t along = (pieces - 1) * table_.size() + last_rows_;
      const std::size_t rest = row % along;
      row /= along;
      const std::size_t piece = rest / table_.size();
      at.inside = rest % table_.size();
      if (piece + 1 == pieces) at.rows = last_rows_;
      at.base.in += static_cast<Index>(piece) * split.in;
      at.base.out += static_cast<Index>(piece) * split.out;
    } else {
      at.inside = row % table_.size();
      row /= table_.size();
    }
    while (d-- > 0) {
      const auto extent = static_cast<std::size_t>(outer_.dim[d].extent);
      at.base.in += static_cast<Index>(row % extent) * outer_.dim[d].in;
      at.base.out += static_cast<Index>(row % extent) * outer_.dim[d].out;
      row /= extent;
    }
    return at;
  }

  /// `count` rows of one table; `left` rows are still to be done, these included.
  void run_table(RowKernel kernel, const std::byte* in, std::byte* out, std::size_t in_bytes, const Position& at,
                 std::size_t count, std::size_t left) const noexcept {
    const RowPlace* rows = table_.data() + at.inside;
    const std::byte* from = in + at.base.in;
    std::byte* to = out + at.base.out;
    if (job.out_bytes > room_limit) return kernel(job, from, to, rows, count, {});
    // Writing past a row is good where the rows that follow in this call fill it again.
    const std::size_t keep = job.joined ? room_bytes / job.out_bytes + 1 : left;
    const std::size_t loose = job.irregular || left <= keep ? 0 : left - keep < count ? left - keep : count;
    const Index reach = static_cast<Index>(room_bytes);
    const bool read = at.base.in + lowest_in_ + job_lowest_ >= reach &&
                      at.base.in + highest_in_ + job_highest_ + reach <= static_cast<Index>(in_bytes);
    if (read) {
      if (loose > 0) kernel(job, from, to, rows, loose, {true, true});
      if (loose < count) kernel(job, from, to, rows + loose, count - loose, {true, false});
      return;
    }
    // Near an end of the input: rows that keep away from it, and rows that do not, in turns.
    std::size_t begin = 0;
    while (begin < count) {
      const bool row_read = room_to_read(at.base.in + rows[begin].in, in_bytes);
      std::size_t end = begin + 1;
      while (end < count && end != loose && room_to_read(at.base.in + rows[end].in, in_bytes) == row_read) ++end;
      kernel(job, from, to, rows + begin, end - begin, {row_read, end <= loose});
      begin = end;
    }
  }

  bool room_to_read(Index start, std::size_t in_bytes) const noexcept {
    const Index reach = static_cast<Index>(room_bytes);
    return start + job_lowest_ >= reach && start + job_highest_ + reach <= static_cast<Index>(in_bytes);
  }

  std::vector<RowPlace> table_;
  CopyDims outer_;
  RowPlace first_;
  Index piece_ = 0;            // of the innermost outer dimension that the table covers at once; 0: none is split
  std::size_t last_rows_ = 0;  // rows of that dimension's last table
  Index lowest_in_ = 0;
  Index highest_in_ = 0;
  Index job_lowest_ = 0;
  Index job_highest_ = 0;
  std::size_t rows_ = 1;
};

}  // namespace fast
DMLREF_END
