// overlap.hpp: do two elements of a layout share an address?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

#include "dmlref/config.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace rules {

/// Looks for steps e, |e[i]| < size[i], with sum of e[i] * stride[i] = target, over dimensions added one by one.
class StepSearch {
 public:
  constexpr void add(std::uint32_t size, std::uint32_t stride) noexcept {
    most_[count_] = std::int64_t{size} - 1;
    stride_[count_] = stride;
    reach_[count_ + 1] = reach_[count_] + most_[count_] * stride_[count_];
    divisor_[count_ + 1] = std::gcd(divisor_[count_], stride_[count_]);
    ++count_;
  }
  /// The furthest that the dimensions so far can step.
  constexpr std::int64_t reach() const noexcept { return reach_[count_]; }
  constexpr bool found(std::int64_t target) noexcept { return found(target, count_); }
  /// The work is bounded: after this, found() says yes without having looked.
  constexpr bool tired() const noexcept { return work_ == 0; }

 private:
  constexpr bool found(std::int64_t target, std::size_t n) noexcept {
    if (work_ == 0) return true;
    --work_;
    const std::int64_t distance = target < 0 ? -target : target;
    if (distance > reach_[n] || (n > 0 && target % divisor_[n] != 0)) return false;
    if (n <= 1) return true;  // nothing left to reach, or one dimension that reaches the target exactly
    const std::int64_t stride = stride_[n - 1];
    const std::int64_t below = reach_[n - 1];  // the smaller dimensions make up for at most this much
    // The first step from which they reach the target, rounded up, and the last, rounded down.
    std::int64_t first = target - below >= 0 ? (target - below + stride - 1) / stride : -((below - target) / stride);
    std::int64_t last = target + below >= 0 ? (target + below) / stride : -((-below - target + stride - 1) / stride);
    if (first < -most_[n - 1]) first = -most_[n - 1];
    if (last > most_[n - 1]) last = most_[n - 1];
    for (std::int64_t step = first; step <= last; ++step) {
      if (found(target - step * stride, n - 1)) return true;
    }
    return false;
  }

  std::array<std::int64_t, max_rank> most_{};
  std::array<std::int64_t, max_rank> stride_{};
  std::array<std::int64_t, max_rank + 1> reach_{};
  std::array<std::int64_t, max_rank + 1> divisor_{};
  std::size_t count_ = 0;
  std::uint32_t work_ = 1u << 20;
};

}  // namespace rules

/// A dimension whose stride makes two elements share an address; `certain` is false where the search was given up after
/// a fixed amount of work (no layout met in practice needs it) and the answer is only that they may.
struct Overlap {
  std::size_t dimension;
  bool certain;
};

/// Empty where every element has an address of its own. Exact: dimensions are added from the smallest stride to the
/// largest; one whose stride exceeds all that the smaller ones reach cannot collide, any other is searched. Of equal
/// strides the outer dimension is named. Sizes of 1 do not matter. The layout spans at most 2^32 - 1 elements.
constexpr std::optional<Overlap> find_overlap(std::span<const std::uint32_t> sizes,
                                              std::span<const std::uint32_t> strides) noexcept {
  std::array<std::size_t, max_rank> order{};
  std::size_t count = 0;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] <= 1) continue;
    std::size_t at = count++;
    for (; at > 0 && strides[order[at - 1]] > strides[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  rules::StepSearch smaller;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t d = order[i];
    if (strides[d] == 0) return Overlap{d, true};
    const std::int64_t stride = strides[d];
    for (std::int64_t step = 1; step < std::int64_t{sizes[d]} && step * stride <= smaller.reach(); ++step) {
      if (smaller.found(step * stride)) return Overlap{d, !smaller.tired()};
    }
    smaller.add(sizes[d], strides[d]);
  }
  return std::nullopt;
}

DMLREF_END
