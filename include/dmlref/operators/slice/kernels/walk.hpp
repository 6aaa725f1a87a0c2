// walk.hpp: rows of one strategy, numbered: where each lies, and what a kernel may do around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/slice/kernels/dims.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"

DMLREF_BEGIN
namespace fast {

/// How a walk goes over its rows. Several tasks have several caches, so they may store in another way than one.
struct RowOrder {
  Stores alone = Stores::cached;
  Stores shared = Stores::cached;
  bool irregular = false;  // in an order that no prefetcher follows, written exactly
};

/// Rows of one strategy, numbered in the order of the output: a table of the places of the inner rows, repeated along
/// the outer dimensions.
class RowWalk {
 public:
  static constexpr std::size_t room_limit = 4096;  // longer rows end exactly

  /// Rows along all of `dims`; their first lies at `first`.
  RowWalk(std::shared_ptr<const RowStrategy> strategy, const CopyDims& dims, RowPlace first, RowOrder order = {})
      : strategy_(std::move(strategy)), first_(first), order_(order) {
    keep_ = order.irregular || !strategy_->joined ? ~std::size_t{0} : room_bytes / strategy_->out_bytes + 1;
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
    if (order_.irregular) {
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

  const RowStrategy& strategy() const noexcept { return *strategy_; }
  bool irregular() const noexcept { return order_.irregular; }
  Stores stores(std::size_t tasks) const noexcept { return tasks > 1 ? order_.shared : order_.alone; }
  std::size_t rows() const noexcept { return rows_; }

  /// Copies rows begin … end - 1. `in` and `out` are the tensors' first bytes, `in_bytes` the input's size.
  void run(Stores stores, const std::byte* in, std::byte* out, std::size_t in_bytes, std::size_t begin,
           std::size_t end) const noexcept {
    // Counted in tables: the last piece of a split dimension is shorter.
    std::size_t row = begin;
    while (row < end) {
      const Position at = position(row);
      std::size_t count = at.rows - at.inside;
      if (count > end - row) count = end - row;
      run_table(stores, in, out, in_bytes, at, count, end - row);
      row += count;
    }
  }

 private:
  /// Rows `begin` … `end` - 1 of the table in an irregular order; those that share lines stay near each other.
  void shuffle(std::size_t begin, std::size_t end) noexcept {
    const std::size_t block = strategy_->out_bytes < 64 ? 64 : table_.size();
    std::uint32_t random = 1;
    for (; begin < end; begin += block) {
      for (std::size_t left = end - begin < block ? end - begin : block; left > 1; --left) {
        random = random * 1664525u + 1013904223u;
        std::swap(table_[begin + left - 1], table_[begin + (random >> 8) % left]);
      }
    }
  }

  struct Position {
    RowPlace base;
    std::size_t inside;  // row of the table
    std::size_t rows;    // rows that this table has here
  };

  Position position(std::size_t row) const noexcept {
    Position at{first_, row, table_.size()};
    if (outer_.rank == 0) return at;
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
  void run_table(Stores stores, const std::byte* in, std::byte* out, std::size_t in_bytes, const Position& at,
                 std::size_t count, std::size_t left) const noexcept {
    const RowStrategy& strategy = *strategy_;
    const RowPlace* rows = table_.data() + at.inside;
    const std::byte* from = in + at.base.in;
    std::byte* to = out + at.base.out;
    if (strategy.exact || strategy.out_bytes > room_limit)
      return strategy.kernel(strategy, from, to, rows, count, {false, false, stores});
    // Writing past a row is good where the rows that follow in this call fill it again.
    const std::size_t loose = left <= keep_ ? 0 : left - keep_ < count ? left - keep_ : count;
    if (room_to_read(at.base.in + lowest_in_, at.base.in + highest_in_, in_bytes)) {
      if (loose > 0) strategy.kernel(strategy, from, to, rows, loose, {true, true, stores});
      if (loose < count) strategy.kernel(strategy, from, to, rows + loose, count - loose, {true, false, stores});
      return;
    }
    // Near an end of the input: rows that keep away from it and rows that do not, alternately.
    const auto row_reads = [&](std::size_t r) {
      return room_to_read(at.base.in + rows[r].in, at.base.in + rows[r].in, in_bytes);
    };
    std::size_t begin = 0;
    while (begin < count) {
      const bool read = row_reads(begin);
      std::size_t end = begin + 1;
      while (end < count && end != loose && row_reads(end) == read) ++end;
      strategy.kernel(strategy, from, to, rows + begin, end - begin, {read, end <= loose, stores});
      begin = end;
    }
  }

  /// Around rows from the lowest to the highest of these places.
  bool room_to_read(Index lowest, Index highest, std::size_t in_bytes) const noexcept {
    const Index reach = static_cast<Index>(room_bytes);
    return lowest + strategy_->lowest >= reach && highest + strategy_->highest + reach <= static_cast<Index>(in_bytes);
  }

  std::shared_ptr<const RowStrategy> strategy_;
  std::vector<RowPlace> table_;
  CopyDims outer_;
  RowPlace first_;
  RowOrder order_;
  Index piece_ = 0;            // of the innermost outer dimension that the table covers at once; 0: none is split
  std::size_t keep_ = 0;       // rows at the end of a run that are written exactly
  std::size_t last_rows_ = 0;  // rows of that dimension's last table
  Index lowest_in_ = 0;
  Index highest_in_ = 0;
  std::size_t rows_ = 1;
};

}  // namespace fast
DMLREF_END
