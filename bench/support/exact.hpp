// exact.hpp: outputs that must equal the right answers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "support/case.hpp"

namespace bench {

/// Every output that differs is wrong. The distance is one of numbers.
template <class T>
Outcome compare_exactly(const std::vector<T>& right, std::span<const std::byte> output) {
  Outcome outcome;
  outcome.outputs = right.size();
  for (std::size_t i = 0; i < right.size(); ++i) {
    T got;
    std::memcpy(&got, output.data() + i * sizeof(T), sizeof(T));
    if (std::memcmp(&got, &right[i], sizeof(T)) == 0) continue;
    ++outcome.wrong;
    const double distance = std::fabs(static_cast<double>(got) - static_cast<double>(right[i]));
    if (std::isfinite(distance)) {
      outcome.worst = std::max(outcome.worst, distance);
    } else {
      ++outcome.not_finite;
    }
  }
  return outcome;
}

}  // namespace bench
