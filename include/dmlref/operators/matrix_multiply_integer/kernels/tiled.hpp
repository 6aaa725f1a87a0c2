// tiled.hpp: integer matrix products by the 8-bit products of int8/, tile by tile.
//
//   initialize   pack B, where DML owns it
//   execute      for each unit, a block of columns and a range of rows of one product:
//                  pack the block of B, unless it is packed
//                  for each strip of rows: stage the rows of A, unless tiles can read them as they are, multiply their
//                  tiles with each panel of the block, store
//
// With a' and b' as the kernels read them (both perhaps shifted by 128, and zero points with them):
//   sum (a - za)(b - zb) = sum a' b'  -  za' (sum b' - K zb')  -  zb' sum a'
// The lanes start from the second term where the rows share a zero point. Else it is added to the sums, as the third
// one is where B's zero points are not all 0.
//
// Sums are taken modulo 2^32. MATRIX_MULTIPLY_INTEGER asks for no more; what is rounded is exact below 2^31, that is K
// <= 33025 with any zero points. Longer rows are left to the reference.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/matrix_multiply_integer/problem.hpp"
#include "dmlref/operators/matrix_multiply_integer/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/tasks.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::matrix_multiply {

using qlc::ceil_div, qlc::ChannelTensor, qlc::Kernels, qlc::load, qlc::Requantizer, qlc::round_up, qlc::ScratchLayout,
    qlc::smaller, qlc::wrap;

/// How bytes become those of the sign that a kernel wants: their top bit flips, which adds `added` to them.
struct ByteShift {
  std::uint8_t flip;
  std::int32_t added;
  constexpr ByteShift(bool is_signed, bool wanted) noexcept
      : flip(is_signed == wanted ? 0 : 0x80),
        added(is_signed == wanted ? 0
              : is_signed         ? 128
                                  : -128) {}
};

/// How far a byte of that sign may be from a zero point.
constexpr std::int32_t reach_from(std::int32_t zero_point, bool is_signed) noexcept {
  const std::int32_t above_lowest = zero_point + (is_signed ? 128 : 0);
  return above_lowest < 128 ? 255 - above_lowest : above_lowest;
}

/// The matrices of a tensor: element (row, column) of one lies row * row_step + column * column_step from its first.
struct Matrices {
  Layout layout;
  Index row_step, column_step;
  explicit Matrices(const Layout& of) noexcept
      : layout(of),
        row_step(reference::detail::step_of_rows(of)),
        column_step(reference::detail::step_of_columns(of)) {}
  Index first_of(Index product) const noexcept { return reference::detail::first_of_product(layout, product); }
  /// Whether all are one and the same.
  bool repeat() const noexcept {
    for (std::size_t d = 0; d + 2 < layout.rank(); ++d) {
      if (layout.shape[d] > 1 && layout.strides[d] != 0) return false;
    }
    return true;
  }
  /// Elements that have an address of their own, where no two strides meet.
  Index stored() const noexcept {
    Index count = 1;
    for (std::size_t d = 0; d < layout.rank(); ++d) count *= layout.strides[d] == 0 ? 1 : layout.shape[d];
    return count;
  }
};

/// `count` bytes, `step` apart, side by side: where they are, or in `line`.
inline const std::uint8_t* side_by_side(const std::uint8_t* from, Index step, Index count,
                                        std::uint8_t* line) noexcept {
  if (step == 1) return from;
  for (Index i = 0; i < count; ++i) line[i] = from[i * step];
  return line;
}

/// B as the tiles read it: panels of the columns that a tile has in lanes.
///   panel | K-group | column | element
///   panel | column                       sum of b', int32
struct Packing {
  const Kernels& kernels;
  Index depth;
  ByteShift shift;
  Index vectors, width;  // columns of a panel
  Index steps;           // K-groups
  Index panel_bytes;     // sums included

  Packing(const Kernels& set, Index k, bool is_signed) noexcept
      : kernels(set),
        depth(k),
        shift(is_signed, set.group == 4),  // sixteen-bit values are widened without a sign
        vectors(set.channel_tiles.max_rows(2) > 0 ? 2 : 1),
        width(vectors * set.lanes),
        steps(round_up(ceil_div(k, set.group), set.steps)),
        panel_bytes(round_up(4 * width * (steps + 1), 64)) {}

  static constexpr Index line = 1024;  // bytes at a time

  std::int32_t* sums_of(std::uint8_t* panel) const noexcept {
    return reinterpret_cast<std::int32_t*>(panel + 4 * width * steps);
  }
  const std::int32_t* sums_of(const std::uint8_t* panel) const noexcept {
    return reinterpret_cast<const std::int32_t*>(panel + 4 * width * steps);
  }
  /// Both in `groups` K-groups: `count` bytes from `from` on, `step` apart, and zeros.
  void put_groups(const std::uint8_t* from, Index step, Index count, std::uint8_t flip, std::uint8_t* to,
                  Index groups) const noexcept {
    const Index bytes = 4 / kernels.group, used = count * bytes;
    std::uint8_t apart[line];
    for (Index at = 0; at < count; at += line) {
      const Index here = smaller(count - at, line);
      kernels.convert(side_by_side(from + at * step, step, here, apart), here, flip, to + at * bytes);
    }
    std::memset(to + used, 0, static_cast<std::size_t>(4 * groups - used));
  }
  /// `count` columns, from the one at `from` on, in as many panels as they take.
  void pack(const Matrices& b, const std::uint8_t* from, Index count, std::uint8_t* panels) const noexcept {
    std::uint8_t* const last = panels + count / width * panel_bytes;
    if (count % width != 0) std::memset(last, 0, static_cast<std::size_t>(4 * width * steps));
    for (Index c = 0; c < count; c += width) {
      std::memset(sums_of(panels + c / width * panel_bytes), 0, static_cast<std::size_t>(4 * width));
    }
    if (b.row_step == 1 && kernels.pack_rows != nullptr) return transpose(from, b.column_step, count, panels);
    const Index summed = kernels.pack_panels == nullptr || b.column_step != 1 ? 0 : count / 64 * 64;
    const Index whole = summed == 0 ? 0 : depth / 4 / at_once * at_once;
    if (b.column_step == 1) {
      pack_panels(from, b.row_step, summed, whole, panels);
      pack_rows(from, b.row_step, count, summed, whole, panels);
    } else {
      pack_columns(b, from, count, panels);
    }
    for (Index c = 0; c < count; c += width) sum(panels + c / width * panel_bytes, c < summed ? whole : 0);
  }

  /// What tiles multiply from step `step` on.
  qlc::TileOperands operands(const std::uint8_t* activations, Index pixel_step, const std::int32_t* offsets,
                             const std::uint8_t* panel, Index step, Index count) const noexcept {
    return {activations, offsets, count, pixel_step, panel + step * 4 * width, 4 * width, 4 * kernels.lanes};
  }
  void multiply(const qlc::Tiles::Equal& tiles, const qlc::TileOperands& operands, const std::int32_t* start,
                std::int32_t* sums, Index pitch) const noexcept {
    const Requantizer none;
    tiles.tile.run({operands,
                    {start, qlc::ZeroPointTerm::none, nullptr, nullptr},
                    qlc::TileOutput::sums,
                    {sums, pitch},
                    {none, 0, nullptr, 0, 0},
                    tiles.count});
  }

 private:
  static constexpr Index at_once = 16;  // K-groups that pack_panels has, a multiple of what tiles take

  /// The first `count` columns and `groups` K-groups, with their sums.
  void pack_panels(const std::uint8_t* from, Index row_step, Index count, Index groups,
                   std::uint8_t* panels) const noexcept {
    for (Index step = 0; step < groups; step += at_once) {
      for (Index c = 0; c < count; c += 64) {
        std::uint8_t *const first = panels + c / width * panel_bytes, *const second = first + panel_bytes;
        kernels.pack_panels({from + step * 4 * row_step + c,
                             row_step,
                             at_once,
                             shift.flip,
                             {first + step * 4 * width, second + step * 4 * width},
                             {sums_of(first), sums_of(second)}});
      }
    }
  }
  /// `count` columns, each contiguous, with their sums.
  void transpose(const std::uint8_t* from, Index column_step, Index count, std::uint8_t* panels) const noexcept {
    constexpr Index together = 16;
    const Index row = 4 * width, groups = ceil_div(depth, 4);
    for (Index c = 0; c < count; c += together) {
      std::uint8_t* const panel = panels + c / width * panel_bytes;
      kernels.pack_rows({from + c * column_step, column_step, smaller(count - c, together), depth, shift.flip,
                         panel + 4 * (c % width), sums_of(panel) + c % width, row});
      std::memset(panel + groups * row, 0, static_cast<std::size_t>((steps - groups) * row));
    }
  }
  /// All but these.
  void pack_rows(const std::uint8_t* from, Index row_step, Index count, Index packed_columns, Index packed_groups,
                 std::uint8_t* panels) const noexcept {
    constexpr Index most = 64;  // columns at a time, of several panels
    std::uint8_t filling[most], groups[4 * most];
    std::memset(filling, shift.flip, sizeof filling);  // flipped, it is 0
    for (Index step = 0; step < steps; ++step, panels += 4 * width) {
      for (Index c = step < packed_groups ? packed_columns : 0; c < count; c += most) {
        const std::uint8_t* rows[4];
        for (Index e = 0; e < kernels.group; ++e) {
          const Index k = step * kernels.group + e;
          rows[e] = k < depth ? from + k * row_step + c : filling;
        }
        const Index here = smaller(count - c, most);
        kernels.interleave(rows, here, shift.flip, groups);
        for (Index w = 0; w < here; w += width) {
          std::memcpy(panels + (c + w) / width * panel_bytes, groups + 4 * w,
                      static_cast<std::size_t>(4 * smaller(here - w, width)));
        }
      }
    }
  }
  void pack_columns(const Matrices& b, const std::uint8_t* from, Index count, std::uint8_t* panels) const noexcept {
    std::uint8_t groups[line];
    const Index most = line / 4;
    for (Index c = 0; c < count; ++c) {
      for (Index step = 0; step < steps; step += most) {
        const Index first = step * kernels.group, here = smaller(steps - step, most);
        put_groups(from + c * b.column_step + first * b.row_step, b.row_step,
                   smaller(depth - first, here * kernels.group), shift.flip, groups, here);
        std::uint8_t* const to = panels + c / width * panel_bytes + 4 * (step * width + c % width);
        for (Index i = 0; i < here; ++i) std::memcpy(to + 4 * i * width, groups + 4 * i, 4);
      }
    }
  }
  /// Products with ones are sums, from K-group `first` on. All rows of a tile are the same ones, and go to the same
  /// place.
  void sum(std::uint8_t* panel, Index first) const noexcept {
    constexpr Index most = 64;
    std::uint8_t ones[4 * most], given[4 * most];
    std::memset(given, 1, sizeof given);
    kernels.convert(given, most * kernels.group, 0, ones);
    std::int32_t offsets[most];
    for (Index i = 0; i < most; ++i) offsets[i] = dmlref::detail::narrow<std::int32_t>(4 * i);
    std::int32_t* const sums = sums_of(panel);
    for (Index step = first; step < steps; step += most) {
      multiply({kernels.channel_tiles.fit(vectors, 1), 1},
               operands(ones, 0, offsets, panel, step, smaller(steps - step, most)), sums, sums, 0);
    }
  }
};

/// While it lives, this thread runs tiles.
class TileScope {
 public:
  explicit TileScope(const Kernels& kernels) noexcept : kernels_(kernels) {
    if (kernels_.begin_tiles != nullptr) kernels_.begin_tiles();
  }
  ~TileScope() {
    if (kernels_.end_tiles != nullptr) kernels_.end_tiles();
  }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  const Kernels& kernels_;
};

/// Where everything lies in the memory of one task.
struct TaskScratch {
  Index panels = 0, rows = 0, row_sums = 0, minus_a = 0, start = 0, column_term = 0, minus_b = 0, sums = 0, bytes = 0;
  Index scale = 0, fixed_scale = 0, tie_tolerance = 0, factor = 0, offset = 0;  // as Requantizer's
  Index row_scale = 0, row_factor = 0;                                          // as RowScales'
};

/// One for both operators: Problem says what becomes of the sums.
template <class Problem>
class TiledPlan final : public dmlref::detail::PlanOf<TiledPlan<Problem>> {
  using Bindings = dmlref::detail::Bindings;
  static constexpr bool quantizes = std::is_same_v<Problem, QuantizedProblem>;

 public:
  static constexpr bool computes = quantizes;
  const bool uses_tiles;  ///< of AMX

  static bool suits(const Problem& problem) noexcept {
    return problem.inputs[Problem::a].layout.shape.back() <= (quantizes ? 33025 : 65536);
  }

  TiledPlan(const Problem& problem, const Kernels& kernels)
      : uses_tiles(kernels.begin_tiles != nullptr),
        problem_(problem),
        a_(problem.inputs[Problem::a].layout),
        b_(problem.inputs[Problem::b].layout),
        output_(problem.output.layout),
        packing_(kernels, a_.layout.shape.back(), problem.inputs[Problem::b].is_signed),
        a_shift_(problem.inputs[Problem::a].is_signed, kernels.signed_activations),
        products_(reference::detail::product_count(output_.layout.shape)),
        rows_(output_.layout.shape[output_.layout.rank() - 2]),
        columns_(output_.layout.shape.back()),
        panels_(ceil_div(columns_, packing_.width)),
        tile_rows_(kernels.channel_tiles.max_rows(packing_.vectors)) {
    for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i] = ChannelTensor(problem.inputs[i]).step;
    constexpr Index block_bytes = Index{256} << 10;  // of packed columns, which every tile of rows reads
    block_panels_ = smaller(panels_, block_bytes < packing_.panel_bytes ? 1 : block_bytes / packing_.panel_bytes);
    reads_a_ = kernels.group == 4 && a_shift_.flip == 0 && a_.column_step == 1 && packing_.depth == 4 * packing_.steps;
    staged_step_ = reads_a_ ? 0 : round_up(4 * packing_.steps, 64) | 64;  // rows meet in no set of the cache
    constexpr Index strip_bytes = Index{256} << 10, strip_most = 128;     // of A, which every panel of a block reads
    const Index in_bytes = strip_bytes / (4 * packing_.steps * tile_rows_), in_rows = strip_most / tile_rows_;
    strip_rows_ = tile_rows_ * (in_bytes < 1 ? 1 : smaller(in_bytes, in_rows));
    packed_products_ = b_.repeat() ? 1 : products_;
    const Index packed = packed_products_ * panels_ * packing_.panel_bytes;
    kept_ = problem.inputs[Problem::b].owned && packed <= (Index{1} << 20) + 8 * b_.stored();
    for (Index step = 0; step < packing_.steps; ++step) {
      offsets_.push_back(dmlref::detail::narrow<std::int32_t>(4 * step));  // suits(): few
    }
    const Index most = max_tasks_here();
    task_count_ = smaller(most, units(cut(most)));
    place_memory();
  }

  BindingProperties properties() const noexcept {
    return {static_cast<std::uint64_t>(task_count_ * scratch_bytes_),
            kept_ ? static_cast<std::uint64_t>(packed_products_ * panels_ * packing_.panel_bytes) : 0};
  }
  bool keeps_owned(std::size_t index) const noexcept { return !kept_ || index != Problem::b; }
  std::string_view strategy_name() const noexcept { return "tiled"; }

  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    if (!kept_) return;
    const TileScope tiles(packing_.kernels);
    for (Index product = 0; product < packed_products_; ++product) {
      for (Index first = 0; first < panels_; first += block_panels_) {
        pack(owned, product, first, smaller(block_panels_, panels_ - first),
             reinterpret_cast<std::uint8_t*>(persistent) + (product * panels_ + first) * packing_.panel_bytes);
      }
    }
  }
  void execute(const Bindings& bindings, Executor& executor) const {
    const Index tasks = tasks_for(dmlref::detail::concurrency_of(executor), task_count_);
    const Cut cut = this->cut(tasks);
    const auto first_of = [&](Index task) { return units(cut) * task / tasks; };
    std::array<std::atomic<Index>, max_tasks> next;
    for (Index t = 0; t < tasks; ++t) next[static_cast<std::size_t>(t)] = first_of(t);
    dmlref::detail::parallel_for(executor, static_cast<std::size_t>(tasks), [&](std::size_t index) {
      const auto own = static_cast<Index>(index);
      Task task(*this, cut, bindings, bindings.temporary + own * scratch_bytes_);
      const TileScope tiles(packing_.kernels);
      for (Index i = 0; i < tasks; ++i) {  // its own units, then what others have not begun
        const Index of = (own + i) % tasks, end = first_of(of + 1);
        std::atomic<Index>& at = next[static_cast<std::size_t>(of)];
        for (Index unit = at.fetch_add(1); unit < end; unit = at.fetch_add(1)) task.run(unit);
      }
    });
  }

 private:
  /// Of each product: a unit is a block of columns and a range of rows.
  struct Cut {
    Index blocks, ranges;
  };

  /// The columns of one task's block, and the rows that it multiplies with them.
  class Task {
   public:
    Task(const TiledPlan& plan, const Cut& cut, const Bindings& bindings, std::byte* memory) noexcept
        : p_(plan),
          cut_(cut),
          bindings_(bindings),
          memory_(memory),
          a_zero_point_(plan.problem_.inputs[Problem::a_zero_point]) {
      // Also where a zero point is absent: 0, as the kernels read A.
      const std::int32_t a_zero_point = zero_point(Problem::a_zero_point, a_zero_point_, 0);
      minus_a_ = -(a_zero_point + p_.a_shift_.added);
      if (a_zero_point_.step == 0) a_reach_ = reach_from(a_zero_point, p_.problem_.inputs[Problem::a].is_signed);
      if constexpr (quantizes) {
        std::memset(at<double>(p_.at_.offset), 0, static_cast<std::size_t>(8 * p_.block_panels_ * p_.packing_.width));
        to_.fixed_scale = at<float>(p_.at_.fixed_scale);
        to_.scale = at<float>(p_.at_.scale);
        to_.tie_tolerance = at<float>(p_.at_.tie_tolerance);
        to_.factor = at<double>(p_.at_.factor);
        to_.offset = at<double>(p_.at_.offset);
        to_.output_signed = p_.problem_.output.is_signed;
      }
    }

    /// Units are counted by product, block and range of rows, the last one fastest.
    void run(Index unit) noexcept {
      const Index ranges = cut_.ranges, range = unit % ranges, block = unit / ranges;
      if (block != block_) take_block(block);
      const Index tiles = p_.rows_ / p_.tile_rows_;
      const Index first = tiles * range / ranges * p_.tile_rows_;
      const Index last = range + 1 == ranges ? p_.rows_ : tiles * (range + 1) / ranges * p_.tile_rows_;
      for (Index row = first; row < last;) {
        const Index end = last - row < p_.strip_rows_ + p_.tile_rows_ ? last : row + p_.strip_rows_;
        multiply(row, end - row);
        row = end;
      }
    }

   private:
    template <class T>
    T* at(Index place) const noexcept {
      return reinterpret_cast<T*>(memory_ + place);
    }
    const std::byte* input(std::size_t which) const noexcept {
      return bindings_.inputs[which] + p_.problem_.inputs[which].layout.offset * Problem::element_bytes(which);
    }
    std::int32_t zero_point(std::size_t which, const ChannelTensor& tensor, Index index) const noexcept {
      return tensor.present ? qlc::zero_point_of(tensor, input(which), index) : 0;
    }
    const std::uint8_t* panel(Index i) const noexcept { return packed_ + i * p_.packing_.panel_bytes; }

    /// Its packed columns, and what their sums start from.
    void take_block(Index block) noexcept {
      block_ = block;
      product_ = block / cut_.blocks;
      const Index of_product = block % cut_.blocks, width = p_.packing_.width;
      const Index first = p_.panels_ * of_product / cut_.blocks;
      first_column_ = first * width;
      panels_ = p_.panels_ * (of_product + 1) / cut_.blocks - first;
      columns_ = smaller(panels_ * width, p_.columns_ - first_column_);
      if (p_.kept_) {
        const Index product = p_.packed_products_ == 1 ? 0 : product_;
        packed_ = reinterpret_cast<const std::uint8_t*>(bindings_.persistent) +
                  (product * p_.panels_ + first) * p_.packing_.panel_bytes;
      } else {
        auto* const to = at<std::uint8_t>(p_.at_.panels);
        p_.pack(bindings_, product_, first, panels_, to);
        packed_ = to;
      }
      const ChannelTensor b_zero_point(p_.problem_.inputs[Problem::b_zero_point]);
      auto* const minus_b = at<std::int32_t>(p_.at_.minus_b);
      const Index own = b_zero_point.step == 0 ? 1 : columns_;  // the others have the last one's
      has_row_term_ = false;
      std::int32_t b_reach = 0;
      for (Index c = 0; c < own; ++c) {
        const std::int32_t zero = zero_point(Problem::b_zero_point, b_zero_point, first_column_ + c);
        minus_b[c] = -(zero + p_.packing_.shift.added);
        has_row_term_ = has_row_term_ || minus_b[c] != 0;
        const std::int32_t reach = reach_from(zero, p_.problem_.inputs[Problem::b].is_signed);
        b_reach = reach > b_reach ? reach : b_reach;
      }
      bound_ = static_cast<double>(p_.packing_.depth) * a_reach_ * b_reach;
      std::fill(minus_b + own, minus_b + panels_ * width, minus_b[own - 1]);
      const std::int32_t minus_a = a_zero_point_.step != 0 ? 0 : minus_a_;
      for (Index i = 0; i < panels_; ++i) {
        take_panel(p_.packing_.sums_of(panel(i)), minus_a, i * width);
      }
      if constexpr (quantizes) {
        if (first_column_ == scaled_column_) return;  // the block of another product
        scaled_column_ = first_column_;
        rows_share_scales_ = p_.rows_share({quantized_a_scale, quantized_output_scale, quantized_output_zero_point});
        if (rows_share_scales_) take_scales(0, 0, panels_ * width);
        tiles_round_ = tiles_round();
        if (rows_share_scales_) take_tolerances(tiles_round_ ? columns_ / width * width : 0, panels_ * width);
      }
    }

    /// What the sums of a panel's columns start from, modulo 2^32.
    void take_panel(const std::int32_t* sums, std::int32_t minus_a, Index first) noexcept {
      using Dwords = std::uint32_t __attribute__((vector_size(16)));
      const auto depth = static_cast<std::uint32_t>(p_.packing_.depth), by = static_cast<std::uint32_t>(minus_a);
      for (Index lane = 0; lane < p_.packing_.width; lane += 4) {
        Dwords sum, minus_b;
        std::memcpy(&sum, sums + lane, sizeof sum);
        std::memcpy(&minus_b, at<std::int32_t>(p_.at_.minus_b) + first + lane, sizeof minus_b);
        const Dwords term = sum + depth * minus_b, start = by * term;
        std::memcpy(at<std::int32_t>(p_.at_.column_term) + first + lane, &term, sizeof term);
        std::memcpy(at<std::int32_t>(p_.at_.start) + first + lane, &start, sizeof start);
      }
    }

    /// `count` rows of A, from `row` on, times the block.
    void multiply(Index row, Index count) noexcept {
      const Packing& packing = p_.packing_;
      const auto* const a = reinterpret_cast<const std::uint8_t*>(bindings_.inputs[Problem::a]) +
                            p_.a_.first_of(product_) + row * p_.a_.row_step;
      rows_ = a;
      row_bytes_ = p_.a_.row_step;
      if (!p_.reads_a_) {
        auto* const staged = at<std::uint8_t>(p_.at_.rows);
        row_bytes_ = p_.staged_step_;
        for (Index r = 0; r < count; ++r) {
          packing.put_groups(a + r * p_.a_.row_step, p_.a_.column_step, packing.depth, p_.a_shift_.flip,
                             staged + r * row_bytes_, packing.steps);
        }
        rows_ = staged;
      }
      auto* const minus_a = at<std::int32_t>(p_.at_.minus_a);
      for (Index r = 0; r < count && a_zero_point_.step != 0; ++r) {
        minus_a[r] = -(zero_point(Problem::a_zero_point, a_zero_point_, row + r) + p_.a_shift_.added);
      }
      auto* const row_sums = at<std::int32_t>(p_.at_.row_sums);
      if constexpr (quantizes) has_row_scales_ = !rows_share_scales_ && take_row_scales(row, count);
      if (has_row_term_) packing.kernels.sum_runs(rows_, packing.depth, row_bytes_, count, row_sums);
      for (Index i = 0; i < panels_; ++i) {
        const Index first = i * packing.width;
        if constexpr (quantizes) {
          if (tiles_round_ && first + packing.width <= columns_) {
            for_each_tile(count, [&](const auto& tiles, Index begin) {
              round_in_tiles(tiles, operands(begin, i), row + begin, first);
            });
            continue;
          }
        }
        const Place to = place(row, first);
        for_each_tile(count, [&](const auto& tiles, Index begin) {
          packing.multiply(tiles, operands(begin, i), at<std::int32_t>(p_.at_.start) + first,
                           to.sums + begin * to.pitch, to.pitch);
        });
        const auto add = [&](const std::int32_t* per_row, Index per_column) {
          packing.kernels.add_outer(to.sums, to.pitch, count, packing.width, per_row,
                                    at<std::int32_t>(per_column) + first);
        };
        if (has_row_term_) add(row_sums, p_.at_.minus_b);
        if (a_zero_point_.step != 0) add(minus_a, p_.at_.column_term);
        if constexpr (quantizes) {
          store_rounded(row, count, first);
        } else if (!to.direct) {
          store(row, count, first, reinterpret_cast<const std::byte*>(to.sums));
        }
      }
    }
    /// Calls run(tiles, row) for tiles that cover `count` rows. They may begin with rows that are done.
    template <class Run>
    void for_each_tile(Index count, const Run& run) const noexcept {
      const Packing& packing = p_.packing_;
      for (Index row = 0; row < count;) {
        const auto [tile, equal] = packing.kernels.channel_tiles.share(packing.vectors, count - row, row);
        const qlc::Tiles::Equal tiles{tile, packing.kernels.requantize ? equal : 1};
        run(tiles, smaller(row, count - tile.rows));
        row += tiles.count * tile.rows;
      }
    }
    /// Rows of the strip from `row` on, and a panel of the block.
    qlc::TileOperands operands(Index row, Index of) const noexcept {
      return p_.packing_.operands(rows_ + row * row_bytes_, row_bytes_, p_.offsets_.data(), panel(of), 0,
                                  p_.packing_.steps);
    }

    struct Place {
      std::int32_t* sums;
      Index pitch;
      bool direct;  // in the output
    };
    std::byte* element(Index row, Index column) const noexcept {
      const Index index =
          p_.output_.first_of(product_) + row * p_.output_.row_step + (first_column_ + column) * p_.output_.column_step;
      return bindings_.outputs[0] + index * (quantizes ? 1 : 4);
    }
    /// Where the sums of a panel go, from column `first` of the block on.
    Place place(Index row, Index first) const noexcept {
      if constexpr (!quantizes) {
        std::byte* const to = element(row, first);
        if (p_.output_.column_step == 1 && first + p_.packing_.width <= columns_ &&
            reinterpret_cast<std::uintptr_t>(to) % alignof(std::int32_t) == 0) {
          return {reinterpret_cast<std::int32_t*>(to), p_.output_.row_step, true};
        }
      }
      return {at<std::int32_t>(p_.at_.sums), p_.packing_.width, false};
    }
    /// The tile's results: rows of a panel, of elements as the output has them.
    void store(Index row, Index count, Index first, const std::byte* results) const noexcept {
      constexpr Index bytes = quantizes ? 1 : 4;
      const Index columns = smaller(columns_ - first, p_.packing_.width), step = p_.output_.column_step * bytes;
      for (Index r = 0; r < count; ++r, results += p_.packing_.width * bytes) {
        std::byte* const to = element(row + r, first);
        if (step == bytes) {
          std::memcpy(to, results, static_cast<std::size_t>(columns * bytes));
        } else {
          for (Index c = 0; c < columns; ++c) std::memcpy(to + c * step, results + c * bytes, bytes);
        }
      }
    }

    float scale_of(std::size_t which, Index index) const noexcept {
      return load<float>(input(which), index * p_.steps_[which]);
    }
    /// What all sums of a row are rounded by. Returns A's scale as factors have it.
    double take_row(Index row) noexcept {
      const ChannelTensor zero(p_.problem_.inputs[quantized_output_zero_point]);
      to_.input_scale = scale_of(quantized_a_scale, row);
      to_.output_scale = scale_of(quantized_output_scale, row);
      to_.zero_point = zero_point(quantized_output_zero_point, zero, row);
      return qlc::signed_input_scale(to_.input_scale, to_.output_scale, to_.packed().negated);
    }
    /// The scales of a strip's rows, and of the block's columns. False where one is odd.
    bool take_row_scales(Index row, Index count) noexcept {
      bool moderate = true;
      for (Index r = 0; r < count; ++r) {
        const double by = take_row(row + r), ratio = by / to_.divisor();
        moderate = moderate && qlc::is_usual(to_.output_scale) && qlc::is_moderate(ratio);
        at<float>(p_.at_.row_scale)[r] = moderate ? static_cast<float>(ratio) : 0;
        at<double>(p_.at_.row_factor)[r] = by;
      }
      for (Index r = count; r < count + 64 / p_.packing_.width; ++r) {  // blocks of 64 sums may go beyond the last row
        at<float>(p_.at_.row_scale)[r] = 0;
        at<double>(p_.at_.row_factor)[r] = 0;
      }
      for (Index c = 0; c < panels_ * p_.packing_.width && moderate; ++c) {
        const float b_scale = scale_of(quantized_b_scale, smaller(first_column_ + c, p_.columns_ - 1));
        moderate = qlc::is_moderate(static_cast<double>(b_scale));
        at<float>(p_.at_.scale)[c] = b_scale;
        at<double>(p_.at_.factor)[c] = static_cast<double>(b_scale);
        at<float>(p_.at_.tie_tolerance)[c] = qlc::row_tie_tolerance;
      }
      return moderate;
    }
    /// What sums of a row are rounded by, in `count` columns of the block from `first` on: whole vectors.
    void take_scales(Index row, Index first, Index count) noexcept {
      using V = qlc::Vectors16;
      const double by = take_row(row), divisor = to_.divisor();
      V::Doubles factor{};
      V::Floats scale{}, fixed_scale{}, largest{};
      for (Index c = 0; c < count; c += V::count) {
        if (c == 0 || p_.steps_[quantized_b_scale] != 0) {
          V::Floats b_scale{};
          for (Index i = 0; i < V::count; ++i) {  // beyond the last column, its own
            b_scale[i] = scale_of(quantized_b_scale, smaller(first_column_ + first + c + i, p_.columns_ - 1));
          }
          factor = by * __builtin_convertvector(b_scale, V::Doubles);
          for (Index i = 0; i < V::count; ++i) {
            if (!scales_are_usual(b_scale[i])) factor[i] = odd_factor(b_scale[i]);
          }
          scale = qlc::float_scales<V>(factor / divisor);
          fixed_scale = scale * 65536.0f;
          const V::Floats size = scale < 0 ? -scale : scale;
          largest = size > largest ? size : largest;
        }
        std::memcpy(at<double>(p_.at_.factor) + c, &factor, sizeof factor);
        std::memcpy(at<float>(p_.at_.scale) + c, &scale, sizeof scale);
        std::memcpy(at<float>(p_.at_.fixed_scale) + c, &fixed_scale, sizeof fixed_scale);
      }
      largest_scale_ = largest[0] > largest[1] ? largest[0] : largest[1];
    }
    bool scales_are_usual(float b_scale) const noexcept {
      return qlc::is_usual(to_.input_scale) && qlc::is_usual(to_.output_scale) && qlc::is_usual(b_scale);
    }
    double odd_factor(float b_scale) const noexcept {
      const double odd = qlc::odd_factor(to_.input_scale, b_scale, to_.output_scale);
      return to_.packed().negated ? -odd : odd;
    }
    /// Of these columns, for the clamped mode.
    void take_tolerances(Index first, Index last) noexcept {
      const double divisor = to_.divisor();
      for (Index c = first; c < last; ++c) {
        const float scale = to_.scale[c];
        const bool exact = static_cast<double>(scale) * divisor == to_.factor[c];
        at<float>(p_.at_.tie_tolerance)[c] =
            exact && qlc::products_are_exact(scale, bound_) ? qlc::exact_tie_tolerance : qlc::clamped_tie_tolerance;
      }
    }
    /// Whether tiles can round the sums that they hold: no term is left to add, and all suit fixed point.
    bool tiles_round() const noexcept {
      return p_.packing_.kernels.requantize && rows_share_scales_ && !has_row_term_ && a_zero_point_.step == 0 &&
             p_.output_.column_step == 1 && bound_ * static_cast<double>(largest_scale_) < qlc::fixed_point_limit;
    }
    void round_in_tiles(const qlc::Tiles::Equal& tiles, const qlc::TileOperands& operands, Index row,
                        Index first) noexcept {
      const Index width = p_.packing_.width;
      auto* const to = reinterpret_cast<std::uint8_t*>(element(row, first));
      tiles.tile.run({operands,
                      {at<std::int32_t>(p_.at_.start) + first, qlc::ZeroPointTerm::none, nullptr, nullptr},
                      qlc::TileOutput::bytes,
                      {at<std::int32_t>(p_.at_.sums), width},
                      {to_, first, to, p_.output_.row_step, width},
                      tiles.count});
    }
    void store_rounded(Index row, Index count, Index first) noexcept {
      const Index width = p_.packing_.width;
      const auto* const sums = at<std::int32_t>(p_.at_.sums);
      auto* const bytes = at<std::uint8_t>(p_.at_.bytes);
      const auto quantize = [&](Index r, Index rows, Index channel) {
        if (has_row_scales_) {
          to_.rows = {at<float>(p_.at_.row_scale) + r, at<double>(p_.at_.row_factor) + r,
                      std::countr_zero(static_cast<std::uint64_t>(width))};
        }
        p_.packing_.kernels.quantize(sums + r * width, ceil_div(rows * width, 64), to_, channel, width,
                                     bytes + r * width);
      };
      if (rows_share_scales_ ||
          (has_row_scales_ && p_.rows_share({quantized_output_scale, quantized_output_zero_point}))) {
        quantize(0, count, first);
      } else {
        to_.rows = {};
        for (Index r = 0; r < count; ++r) {
          if (has_row_scales_) {
            take_row(row + r);
          } else {
            take_scales(row + r, first, width);
            take_tolerances(0, width);
          }
          quantize(r, 1, has_row_scales_ ? first : 0);
        }
      }
      store(row, count, first, reinterpret_cast<const std::byte*>(bytes));
    }

    const TiledPlan& p_;
    const Cut& cut_;
    const Bindings& bindings_;
    std::byte* memory_;
    ChannelTensor a_zero_point_;
    std::int32_t minus_a_ = 0;  // of all rows, if they share it
    std::int32_t a_reach_ = 255;
    double bound_ = 0;  // no sum's magnitude exceeds it
    bool has_row_term_ = false, rows_share_scales_ = true, has_row_scales_ = false, tiles_round_ = false;
    float largest_scale_ = 0;  // its magnitude
    Index block_ = -1, scaled_column_ = -1, product_ = 0, first_column_ = 0, panels_ = 0, columns_ = 0;
    const std::uint8_t* packed_ = nullptr;
    const std::uint8_t* rows_ = nullptr;  // of a strip, as tiles read them
    Index row_bytes_ = 0;
    Requantizer to_;
  };

  /// `count` panels from `panel` on.
  void pack(const Bindings& bindings, Index product, Index panel, Index count, std::uint8_t* to) const noexcept {
    const Index first = panel * packing_.width;
    packing_.pack(b_,
                  reinterpret_cast<const std::uint8_t*>(bindings.inputs[Problem::b]) + b_.first_of(product) +
                      first * b_.column_step,
                  smaller(count * packing_.width, columns_ - first), to);
  }
  /// Columns are cut first, the same number of blocks for each task: cores then read B once between them, and the same
  /// part at every call. Where that leaves tasks without equal work, rows are cut too; a block of B that is not kept is
  /// packed for each range of them.
  Cut cut(Index tasks) const noexcept {
    const Index least = ceil_div(panels_, block_panels_);
    if (tasks == 1) return {least, 1};
    const Index blocks = products_ % tasks == 0 ? least : smaller(panels_, round_up(least, tasks));
    const Index count = products_ * blocks;
    const bool equal = products_ % tasks == 0 || panels_ % tasks == 0 || panels_ >= 8 * tasks;
    if (equal || count >= 4 * tasks) return {blocks, 1};
    const Index most = rows_ / (kept_ ? tile_rows_ : 4 * tile_rows_);
    return {blocks, smaller(most < 1 ? 1 : most, ceil_div(4 * tasks, count))};
  }
  Index units(const Cut& cut) const noexcept { return products_ * cut.blocks * cut.ranges; }
  bool rows_share(std::initializer_list<QuantizedInput> parameters) const noexcept {
    for (const QuantizedInput which : parameters) {
      if (steps_[which] != 0) return false;
    }
    return true;
  }
  void place_memory() {
    ScratchLayout task;
    if (!kept_) at_.panels = task.take(block_panels_ * packing_.panel_bytes);
    const Index rows = smaller(strip_rows_ + tile_rows_, round_up(rows_, tile_rows_));  // of a strip
    at_.rows = task.take(rows * staged_step_ + 64);
    at_.row_sums = task.take(4 * rows + 64);
    at_.minus_a = task.take(4 * rows + 64);
    const Index columns = block_panels_ * packing_.width;
    at_.start = task.take(4 * columns);
    at_.column_term = task.take(4 * columns);
    at_.minus_b = task.take(4 * columns);
    at_.sums = task.take(4 * (rows * packing_.width + 64));
    if (quantizes) {
      at_.bytes = task.take(rows * packing_.width + 64);
      at_.scale = task.take(4 * columns);
      at_.fixed_scale = task.take(4 * columns);
      at_.tie_tolerance = task.take(4 * columns);
      at_.factor = task.take(8 * columns);
      at_.offset = task.take(8 * columns);
      at_.row_scale = task.take(4 * rows + 64);
      at_.row_factor = task.take(8 * rows + 64);
    }
    scratch_bytes_ = task.size();
  }

  Problem problem_;
  std::array<Index, std::tuple_size_v<decltype(Problem::inputs)>>
      steps_;  // of parameters, from row or column to the next
  Matrices a_, b_, output_;
  Packing packing_;
  ByteShift a_shift_;
  Index products_, rows_, columns_, panels_, tile_rows_;
  Index strip_rows_ = 1;
  Index block_panels_ = 1;  // of a block, at most
  Index packed_products_ = 1;
  bool kept_ = false;      // packed at initialize
  bool reads_a_ = false;   // tiles read A as it is
  Index staged_step_ = 0;  // else: bytes from row to row
  std::vector<std::int32_t> offsets_;
  Index task_count_ = 1, scratch_bytes_ = 0;
  TaskScratch at_;
};

}  // namespace fast::matrix_multiply
DMLREF_END
