// geometry.hpp: the four tensors as kept dimensions (one group each) and reduced ones (the elements of a group).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/view/coalesce.hpp"
#include "dmlref/view/tensor_view.hpp"
#include "dmlref/view/transform.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// An index for each tensor: input, output, scale, bias. Absent tensors stay at 0.
struct Place {
  Index input = 0;
  Index output = 0;
  Index scale = 0;
  Index bias = 0;

  constexpr Place& add(const Place& step, Index times) noexcept {
    input += step.input * times;
    output += step.output * times;
    scale += step.scale * times;
    bias += step.bias * times;
    return *this;
  }
  friend constexpr bool operator==(const Place&, const Place&) noexcept = default;
};

struct Dimension {
  Index extent = 1;
  Place step;
};

/// At most eight dimensions, outermost first.
struct Dimensions {
  std::array<Dimension, max_rank> at{};
  std::size_t rank = 0;

  constexpr Index count() const noexcept {
    Index product = 1;
    for (std::size_t d = 0; d < rank; ++d) product *= at[d].extent;
    return product;
  }
  /// What walks the four layouts: fewer dimensions where they walk several as one.
  static constexpr Dimensions of(const JointLayout<4>& layouts) noexcept {
    const JointLayout<4> merged = coalesce(layouts);
    Dimensions dimensions;
    for (std::size_t d = 0; d < merged.rank(); ++d) {
      if (merged.shape[d] == 1) continue;  // one element
      const auto step = [&](std::size_t tensor) { return merged.strides[tensor][d]; };
      dimensions.at[dimensions.rank++] = {merged.shape[d], {step(0), step(1), step(2), step(3)}};
    }
    return dimensions;
  }
  DMLREF_NOINLINE Place place(Index linear) const noexcept {
    Place sum;
    for (std::size_t d = rank; d-- > 0;) {
      sum.add(at[d].step, linear % at[d].extent);
      linear /= at[d].extent;
    }
    return sum;
  }
};

/// Walks dimensions in row-major order, a stretch of the innermost one at a time.
class Walk {
 public:
  DMLREF_NOINLINE Walk(const Dimensions& dimensions, Place base, Index first) noexcept
      : dimensions_(&dimensions), place_(base) {
    for (std::size_t d = dimensions.rank; d-- > 0;) {
      const Dimension& dimension = dimensions.at[d];
      index_[d] = first % dimension.extent;
      first /= dimension.extent;
      place_.add(dimension.step, index_[d]);
    }
  }

  const Place& place() const noexcept { return place_; }
  /// Elements left in the innermost dimension.
  Index stretch() const noexcept {
    const std::size_t rank = dimensions_->rank;
    return rank == 0 ? 1 : dimensions_->at[rank - 1].extent - index_[rank - 1];
  }
  Place step() const noexcept { return dimensions_->rank == 0 ? Place{} : dimensions_->at[dimensions_->rank - 1].step; }

  /// Steps `count` elements on, at most `stretch()`.
  DMLREF_NOINLINE void advance(Index count) noexcept {
    for (std::size_t d = dimensions_->rank; d-- > 0;) {
      const Dimension& dimension = dimensions_->at[d];
      index_[d] += count;
      place_.add(dimension.step, count);
      if (index_[d] < dimension.extent) return;
      place_.add(dimension.step, -dimension.extent);
      index_[d] = 0;
      count = 1;
    }
  }

 private:
  const Dimensions* dimensions_;
  std::array<Index, max_rank> index_{};
  Place place_;
};

/// What is to be normalized, as the kernels see it.
struct Geometry {
  Dimensions kept;       // in any order: the finest input steps last
  Dimensions reduced;    // in the order of the tensor, which is the order of summation
  bool columns = false;  // the last kept dimension holds neighbours in memory: groups side by side
  bool varying = false;  // scale or bias differ within a group

  static Geometry of(const Layout& input, const Layout& output, const std::optional<Layout>& scale,
                     const std::optional<Layout>& bias, reference::AxisSet axes) noexcept {
    Geometry g;
    const std::size_t rank = input.rank();
    const Layout apart(input.shape, Strides::filled(rank, 0));  // an absent tensor's
    const auto broadcast = [&](const std::optional<Layout>& layout) {
      return layout ? try_broadcast_to(*layout, input.shape).value_or(apart) : apart;
    };
    const Layout layouts[] = {input, output, broadcast(scale), broadcast(bias)};
    JointLayout<4> kept, reduced;
    const auto add = [&](JointLayout<4>& to, std::size_t d) {
      to.shape.push_back(input.shape[d]);
      for (std::size_t k = 0; k < 4; ++k) to.strides[k].push_back(layouts[k].strides[d]);
    };
    std::array<std::size_t, max_rank> order;  // of the kept dimensions
    std::size_t kept_count = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      if (((axes >> d) & 1u) == 0) {
        order[kept_count++] = d;
        continue;
      }
      add(reduced, d);
      g.varying = g.varying || (input.shape[d] > 1 && (layouts[2].strides[d] != 0 || layouts[3].strides[d] != 0));
    }
    // (An insertion sort: it keeps the order of equal steps, and never allocates.)
    for (std::size_t i = 1; i < kept_count; ++i) {
      for (std::size_t j = i; j > 0 && input.strides[order[j - 1]] < input.strides[order[j]]; --j)
        std::swap(order[j - 1], order[j]);
    }
    for (std::size_t i = 0; i < kept_count; ++i) add(kept, order[i]);
    g.kept = Dimensions::of(kept);
    g.reduced = Dimensions::of(reduced);
    if (g.kept.rank > 0) {
      const Dimension& last = g.kept.at[g.kept.rank - 1];
      const bool rows = g.reduced.rank > 0 && g.reduced.at[g.reduced.rank - 1].step.input == 1;
      g.columns = !rows && !g.varying && last.extent >= 4 && last.step.input == 1 && last.step.output == 1 &&
                  g.reduced.rank > 0;
    }
    return g;
  }
};

}  // namespace fast::normalization
DMLREF_END
