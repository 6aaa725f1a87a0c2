// rows.hpp: a tensor as rows: an odometer over the outer dimensions, a start and a step for the inner one.
#pragma once

#include <cstddef>

#include "dmlref/config.hpp"
#include "dmlref/view/coalesce.hpp"

DMLREF_BEGIN

/// Walks N layouts of one shape row by row, in row-major order:
///   for (RowIterator<2> row(joint, {in.offset, out.offset}); row; ++row) copy(row.start(0), row.step(0), row.count());
template <std::size_t N>
class RowIterator {
 public:
  constexpr RowIterator(const JointLayout<N>& joint, const Index (&offsets)[N]) noexcept : joint_(joint) {
    for (std::size_t k = 0; k < N; ++k) start_[k] = offsets[k];
    at_ = Coordinates(joint.rank() > 0 ? joint.rank() - 1 : 0, 0);
  }

  constexpr explicit operator bool() const noexcept { return more_; }
  /// Index of the row's first element in layout k.
  constexpr Index start(std::size_t k) const noexcept { return start_[k]; }
  /// Distance between neighbours of the row in layout k.
  constexpr Index step(std::size_t k) const noexcept { return joint_.rank() > 0 ? joint_.strides[k].back() : 1; }
  constexpr Index count() const noexcept { return joint_.rank() > 0 ? joint_.shape.back() : 1; }

  constexpr RowIterator& operator++() noexcept {
    for (std::size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < joint_.shape[d]) {
        for (std::size_t k = 0; k < N; ++k) start_[k] += joint_.strides[k][d];
        return *this;
      }
      for (std::size_t k = 0; k < N; ++k) start_[k] -= joint_.strides[k][d] * (joint_.shape[d] - 1);
      at_[d] = 0;
    }
    more_ = false;
    return *this;
  }

 private:
  JointLayout<N> joint_;
  Index start_[N]{};
  Coordinates at_;
  bool more_ = true;
};

DMLREF_END
