// geometry.hpp: the four tensors as kept dimensions (one group each) and reduced ones (the elements of a group).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"
#include "dmlref/view/tensor_view.hpp"

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
  /// Adds an inner dimension; merges it with the one before where all tensors walk both as one.
  constexpr void push(const Dimension& inner) noexcept {
    if (inner.extent == 1) return;
    if (rank > 0) {
      Place whole;
      whole.add(inner.step, inner.extent);
      if (at[rank - 1].step == whole) {
        at[rank - 1] = {at[rank - 1].extent * inner.extent, inner.step};
        return;
      }
    }
    at[rank++] = inner;
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
    std::array<Dimension, max_rank> kept;
    std::size_t kept_count = 0;
    const std::size_t rank = input.rank();
    const auto step_of = [rank](const std::optional<Layout>& layout, std::size_t d) -> Index {
      if (!layout) return 0;
      const std::size_t lead = rank - layout->rank();
      return d < lead || layout->shape[d - lead] == 1 ? 0 : layout->strides[d - lead];
    };
    for (std::size_t d = 0; d < rank; ++d) {
      const Dimension dimension{input.shape[d],
                                {input.strides[d], output.strides[d], step_of(scale, d), step_of(bias, d)}};
      if (((axes >> d) & 1u) != 0) {
        g.reduced.push(dimension);
        g.varying = g.varying || (dimension.extent > 1 && (dimension.step.scale != 0 || dimension.step.bias != 0));
      } else if (dimension.extent > 1) {
        kept[kept_count++] = dimension;
      }
    }
    // (An insertion sort: it keeps the order of equal steps, and never allocates.)
    for (std::size_t i = 1; i < kept_count; ++i) {
      for (std::size_t j = i; j > 0 && kept[j - 1].step.input < kept[j].step.input; --j)
        std::swap(kept[j - 1], kept[j]);
    }
    for (std::size_t d = 0; d < kept_count; ++d) g.kept.push(kept[d]);
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
