#include "support/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/element.hpp"

namespace dmlref::tool {
namespace {

/// Real numbers counted in units of the last place, in their order; both zeros are 0.
template <class T>
std::int64_t place(T value) noexcept {
  constexpr Bits<T> sign = static_cast<Bits<T>>(Bits<T>{1} << (sizeof(T) * 8 - 1));
  const auto bits = std::bit_cast<Bits<T>>(value);
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<Bits<T>>(~sign));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

/// |a - b| modulo 2^64, which is exact for the difference of 64-bit numbers.
template <class T>
std::uint64_t difference(T a, T b) noexcept {
  const auto i = static_cast<std::uint64_t>(a);
  const auto j = static_cast<std::uint64_t>(b);
  return a < b ? j - i : i - j;
}

template <class T>
std::optional<std::uint64_t> ulp_distance(T a, T b) noexcept {
  if constexpr (is_real<T>) {
    const auto x = widen(a);
    const auto y = widen(b);
    if (std::isnan(x) && std::isnan(y)) return 0;
    if (std::isinf(x) && x == y) return 0;
    if (!std::isfinite(x) || !std::isfinite(y)) return std::nullopt;
    return difference(place(a), place(b));
  } else {
    return difference(a, b);
  }
}

template <class T>
Distance distance(T actual, T expected) noexcept {
  Distance result{ulp_distance(actual, expected)};
  if (result.ulp == std::uint64_t{0}) return result;
  if (!result.ulp) {
    result.absolute = result.relative = std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  if constexpr (is_real<T>) {
    result.absolute = std::abs(static_cast<double>(widen(actual)) - static_cast<double>(widen(expected)));
    result.relative = result.absolute / std::abs(static_cast<double>(widen(expected)));
  } else {
    result.absolute = static_cast<double>(*result.ulp);
    result.relative = result.absolute / std::abs(static_cast<double>(expected));
  }
  return result;
}

bool within(const Distance& distance, const Tolerance& tolerance) noexcept {
  return distance.ulp && (*distance.ulp <= tolerance.ulp || distance.absolute <= tolerance.absolute ||
                          distance.relative <= tolerance.relative);
}

/// Of which row of the histogram a distance is: 0, 1, 2, 3 to 4, 5 to 8, ...
std::size_t row_of(std::uint64_t ulp) noexcept {
  return ulp == 0 ? 0 : 1 + static_cast<std::size_t>(std::bit_width(ulp - 1));
}

std::vector<DistanceCount> empty_histogram() {
  std::vector<DistanceCount> rows{{0, 0, 0}, {1, 1, 0}};
  while (rows.back().most != (std::numeric_limits<std::uint64_t>::max)()) {
    const std::uint64_t before = rows.back().most;
    const bool last = before > (std::numeric_limits<std::uint64_t>::max)() / 2;
    rows.push_back({before + 1, last ? (std::numeric_limits<std::uint64_t>::max)() : before * 2, 0});
  }
  return rows;
}

template <class T>
void compare_elements(const TensorBytes& actual, const TensorBytes& expected, const Tolerance& tolerance,
                      std::size_t keep, Comparison& result) {
  const auto pair = [&](std::size_t index, const Distance& apart) {
    return ElementPair{coordinates_of(index, actual.shape),
                       element_text(actual.type, actual.bytes, index),
                       element_text(actual.type, expected.bytes, index),
                       bits_text(actual.type, actual.bytes, index),
                       bits_text(actual.type, expected.bytes, index),
                       apart};
  };
  result.histogram = empty_histogram();
  std::size_t worst = 0;
  Distance furthest{0};
  for (std::size_t i = 0; i < result.count; ++i) {
    const Distance apart = distance(load_element<T>(actual.bytes, i), load_element<T>(expected.bytes, i));
    ++(apart.ulp ? result.histogram[row_of(*apart.ulp)].elements : result.not_comparable);
    const bool mismatch = !within(apart, tolerance);
    const bool first = mismatch && result.mismatches == 0;  // worse than all that is within the tolerance
    const bool further = furthest.ulp && (!apart.ulp || *apart.ulp > *furthest.ulp);
    if (first || (further && mismatch == (result.mismatches != 0))) {
      furthest = apart;
      worst = i;
    }
    if (!mismatch) continue;
    ++result.mismatches;
    if (result.first.size() < keep) result.first.push_back(pair(i, apart));
  }
  std::erase_if(result.histogram, [](const DistanceCount& row) { return row.elements == 0; });
  if (result.count != 0) result.worst = pair(worst, furthest);
}

}  // namespace

std::string Tolerance::to_string() const {
  std::vector<std::string> parts;
  if (ulp != 0 || (absolute == 0 && relative == 0)) parts.push_back(fmt::format("{} ulp", ulp));
  if (absolute != 0) parts.push_back(fmt::format("{} absolute", absolute));
  if (relative != 0) parts.push_back(fmt::format("{} relative", relative));
  if (parts.size() == 1) return parts.front();
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("{} or {}", fmt::join(parts, ", "), last);
}

Comparison compare_tensors(const TensorBytes& actual, const TensorBytes& expected, const Tolerance& tolerance,
                           std::size_t keep) {
  Comparison result;
  if (actual.type != expected.type) {
    result.unlike = fmt::format("{} against {}", to_string(actual.type), to_string(expected.type));
  } else if (!std::equal(actual.shape.begin(), actual.shape.end(), expected.shape.begin(), expected.shape.end())) {
    result.unlike =
        fmt::format("shape ({}) against ({})", fmt::join(actual.shape, ", "), fmt::join(expected.shape, ", "));
  } else {
    result.count = actual.bytes.size() / size_of(actual.type);
    visit_type(actual.type, [&](auto tag) {
      compare_elements<typename decltype(tag)::type>(actual, expected, tolerance, keep, result);
    });
  }
  return result;
}

}  // namespace dmlref::tool
