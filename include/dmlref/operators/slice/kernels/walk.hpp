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

enum class Order : std::uint8_t {
  ascending,  ///< of the output
  irregular,  ///< one that no prefetcher follows; rows are written exactly
  columns,    ///< pieces of many rows, then the next piece of each; written exactly
};

/// How a walk goes over its rows. Several tasks have several caches, so they may store in another way than one.
struct RowSchedule {
  Order order = Order::ascending;
  Stores alone = Stores::cached;
  Stores shared = Stores::cached;
};

/// Rows of one strategy, numbered in the order of the output: a table of the places of the inner rows, repeated along
/// the outer dimensions.
class RowWalk {
 public:
  static constexpr std::size_t slack_limit = 4096;  // longer rows end exactly

  /// Rows along all of `dims`; their first lies at `first`.
  RowWalk(std::shared_ptr<const RowCopy> strategy, const CopyDims& dims, RowPlace first, RowSchedule schedule = {})
      : strategy_(std::move(strategy)), first_(first), schedule_(schedule) {
    const bool fills_slack = schedule.order == Order::ascending && rows_joined(strategy_->out_bytes, dims);
    exact_tail_ = fills_slack ? slack_bytes / strategy_->out_bytes + 1 : ~std::size_t{0};
    constexpr Index max_rows = 512;
    Index rows = 1;
    std::size_t inner = dims.rank;
    while (inner > 0 && rows * dims.dim[inner - 1].extent <= max_rows) rows *= dims.dim[--inner].extent;
    for (std::size_t d = 0; d < dims.rank; ++d) rows_ *= static_cast<std::size_t>(dims.dim[d].extent);
    CopyDims tabled = dims;
    last_rows_ = static_cast<std::size_t>(rows);
    if (inner > 0) {  // the table covers a part of the next dimension, too; its last part may be shorter
      const CopyDim split = dims.dim[--inner];
      const Index part = max_rows / rows;
      for (std::size_t d = 0; d < inner; ++d) outer_.push_back(dims.dim[d]);
      outer_.push_back({(split.extent + part - 1) / part, split.in * part, split.out * part});
      last_rows_ = static_cast<std::size_t>(((split.extent - 1) % part + 1) * rows);
      tabled.dim[inner].extent = part;
      rows *= part;
    }
    table_.reserve(static_cast<std::size_t>(rows));
    Index at[max_rank + 1] = {};
    RowPlace place;
    for (Index r = 0; r < rows; ++r) {
      table_.push_back(place);
      if (place.in < lowest_in_) lowest_in_ = place.in;
      if (place.in > highest_in_) highest_in_ = place.in;
      for (std::size_t d = dims.rank; d-- > inner;) {
        place.in += tabled.dim[d].in;
        place.out += tabled.dim[d].out;
        if (++at[d] < tabled.dim[d].extent) break;
        at[d] = 0;
        place.in -= tabled.dim[d].in * tabled.dim[d].extent;
        place.out -= tabled.dim[d].out * tabled.dim[d].extent;
      }
    }
    if (schedule.order == Order::irregular) {
      shuffle(0, last_rows_);  // the last table is the others' beginning
      shuffle(last_rows_, table_.size());
    } else if (schedule.order == Order::columns) {  // the pieces of a row are its innermost dimension
      const auto pieces = static_cast<std::size_t>(dims.back().extent);
      take_columns(0, last_rows_, pieces);
      take_columns(last_rows_, table_.size(), pieces);
    }
  }

  const RowCopy& strategy() const noexcept { return *strategy_; }
  Order order() const noexcept { return schedule_.order; }
  Stores stores(std::size_t tasks) const noexcept { return tasks > 1 ? schedule_.shared : schedule_.alone; }
  std::size_t rows() const noexcept { return rows_; }

  /// Copies rows begin … end - 1. `in` and `out` are the tensors' first bytes, `in_bytes` the input's size.
  void run(Stores stores, const std::byte* in, std::byte* out, std::size_t in_bytes, std::size_t begin,
           std::size_t end) const noexcept {
    for (std::size_t row = begin; row < end;) {
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

  /// Pieces `begin` … `end` - 1 of the table, `pieces` of each row: the first ones of all rows, then the second ones.
  void take_columns(std::size_t begin, std::size_t end, std::size_t pieces) {
    const std::vector<RowPlace> rows(table_.begin() + static_cast<Index>(begin),
                                     table_.begin() + static_cast<Index>(end));
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      for (std::size_t at = piece; at < rows.size(); at += pieces) table_[begin++] = rows[at];
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
    const auto step = [&at](const CopyDim& dim, std::size_t times) {
      at.base.in += static_cast<Index>(times) * dim.in;
      at.base.out += static_cast<Index>(times) * dim.out;
    };
    const auto tables = static_cast<std::size_t>(outer_.back().extent);
    const std::size_t along = (tables - 1) * table_.size() + last_rows_;
    const std::size_t table = row % along / table_.size();
    at.inside = row % along - table * table_.size();
    if (table + 1 == tables) at.rows = last_rows_;
    step(outer_.back(), table);
    row /= along;
    for (std::size_t d = outer_.rank - 1; d-- > 0;) {
      const auto extent = static_cast<std::size_t>(outer_.dim[d].extent);
      step(outer_.dim[d], row % extent);
      row /= extent;
    }
    return at;
  }

  /// `count` rows of one table; `left` rows are still to be done, these included.
  void run_table(Stores stores, const std::byte* in, std::byte* out, std::size_t in_bytes, const Position& at,
                 std::size_t count, std::size_t left) const noexcept {
    const RowCopy& strategy = *strategy_;
    const RowPlace* rows = table_.data() + at.inside;
    const std::byte* from = in + at.base.in;
    std::byte* to = out + at.base.out;
    if (!strategy.reads || strategy.out_bytes > slack_limit)
      return strategy.kernel(strategy, from, to, rows, count, {false, false, stores});
    // Writing past a row is good where the rows that follow in this call fill it again.
    const std::size_t refilled = left <= exact_tail_ ? 0 : left - exact_tail_ < count ? left - exact_tail_ : count;
    const auto has_slack = [&](Index lowest, Index highest) {
      constexpr auto slack = static_cast<Index>(slack_bytes);
      return at.base.in + lowest + strategy.reads->lowest >= slack &&
             at.base.in + highest + strategy.reads->highest + slack <= static_cast<Index>(in_bytes);
    };
    if (has_slack(lowest_in_, highest_in_)) {
      if (refilled > 0) strategy.kernel(strategy, from, to, rows, refilled, {true, true, stores});
      if (refilled < count)
        strategy.kernel(strategy, from, to, rows + refilled, count - refilled, {true, false, stores});
      return;
    }
    // Near an end of the input: rows that keep away from it and rows that do not, alternately.
    std::size_t begin = 0;
    while (begin < count) {
      const bool read = has_slack(rows[begin].in, rows[begin].in);
      std::size_t end = begin + 1;
      while (end < count && end != refilled && has_slack(rows[end].in, rows[end].in) == read) ++end;
      strategy.kernel(strategy, from, to, rows + begin, end - begin, {read, end <= refilled, stores});
      begin = end;
    }
  }

  std::shared_ptr<const RowCopy> strategy_;
  std::vector<RowPlace> table_;
  CopyDims outer_;  // the last one in steps of whole tables
  RowPlace first_;
  RowSchedule schedule_;
  std::size_t exact_tail_ = 0;  // rows at the end of a run that are written exactly
  std::size_t last_rows_ = 0;   // rows of the last table along the innermost outer dimension
  Index lowest_in_ = 0;
  Index highest_in_ = 0;
  std::size_t rows_ = 1;
};

}  // namespace fast
DMLREF_END
