// overlap.hpp: do two elements of a layout share an address?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace detail {

/// Looks for steps e, |e[i]| < size[i], with sum of e[i] * stride[i] = target, over dimensions added one by one.
class StepSearch {
 public:
  constexpr void add(Index size, Index stride) noexcept {
    most_[count_] = size - 1;
    stride_[count_] = stride;
    reach_[count_ + 1] = reach_[count_] + most_[count_] * stride_[count_];
    divisor_[count_ + 1] = std::gcd(divisor_[count_], stride_[count_]);
    ++count_;
  }
  /// The furthest that the dimensions so far can step.
  constexpr Index reach() const noexcept { return reach_[count_]; }
  constexpr bool found(Index target) noexcept { return found(target, count_); }
  /// The work is bounded: after this, found() says yes without having looked.
  constexpr bool tired() const noexcept { return work_ == 0; }

 private:
  constexpr bool found(Index target, std::size_t n) noexcept {
    if (work_ == 0) return true;
    --work_;
    const Index distance = target < 0 ? -target : target;
    if (distance > reach_[n] || (n > 0 && target % divisor_[n] != 0)) return false;
    if (n <= 1) return true;  // nothing left to reach, or one dimension that reaches the target exactly
    const Index stride = stride_[n - 1];
    const Index below = reach_[n - 1];  // the smaller dimensions make up for at most this much
    // The first step from which they reach the target, rounded up, and the last, rounded down.
    Index first = target - below >= 0 ? (target - below + stride - 1) / stride : -((below - target) / stride);
    Index last = target + below >= 0 ? (target + below) / stride : -((-below - target + stride - 1) / stride);
    if (first < -most_[n - 1]) first = -most_[n - 1];
    if (last > most_[n - 1]) last = most_[n - 1];
    for (Index step = first; step <= last; ++step) {
      if (found(target - step * stride, n - 1)) return true;
    }
    return false;
  }

  std::array<Index, max_rank> most_{};
  std::array<Index, max_rank> stride_{};
  std::array<Index, max_rank + 1> reach_{};
  std::array<Index, max_rank + 1> divisor_{};
  std::size_t count_ = 0;
  std::uint32_t work_ = 1u << 20;
};

}  // namespace detail

/// A dimension whose stride makes two elements share an address; `certain` is false where the search was given up after
/// a fixed amount of work (no layout met in practice needs it) and the answer is only that they may.
struct Overlap {
  std::size_t dimension;  ///< whose stride it is
  bool certain;           ///< false: the search was given up
};

/// Empty where every element has an address of its own. Exact: dimensions are added from the smallest stride to the
/// largest; one whose stride exceeds all that the smaller ones reach cannot collide, any other is searched. Of equal
/// strides the outer dimension is named. A negative stride counts as its magnitude: it walks the same addresses.
/// Extents of 1 do not matter. As many strides as extents, at most max_rank; no extent is 0.
[[nodiscard]] constexpr std::optional<Overlap> find_overlap(const Shape& shape, const Strides& strides) noexcept {
  if (shape.size() > max_rank) return Overlap{max_rank, false};
  std::array<std::size_t, max_rank> order{};
  std::size_t count = 0;
  const auto stride_of = [&](std::size_t d) { return strides[d] < 0 ? -strides[d] : strides[d]; };
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] <= 1) continue;
    std::size_t at = count++;
    for (; at > 0 && stride_of(order[at - 1]) > stride_of(d); --at) order[at] = order[at - 1];
    order[at] = d;
  }
  detail::StepSearch smaller;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t d = order[i];
    const Index stride = stride_of(d);
    if (stride == 0) return Overlap{d, true};
    for (Index step = 1; step < shape[d] && step * stride <= smaller.reach(); ++step) {
      if (smaller.found(step * stride)) return Overlap{d, !smaller.tired()};
    }
    smaller.add(shape[d], stride);
  }
  return std::nullopt;
}

DMLREF_END
