// plain_normalization.hpp: a normalization in long double, element by element, with any axes and parameters.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace dmlref::test {

using Extents = std::vector<std::int64_t>;

/// Values of a tensor that broadcasts to another: extents of 1 repeat.
struct Broadcast {
  Extents shape;
  std::vector<float> values;
};

struct Normalization {
  Extents shape;
  std::vector<float> x;
  std::vector<std::size_t> axes;
  std::optional<Broadcast> scale;
  std::optional<Broadcast> bias;
  long double epsilon = 1e-5L;
  bool epsilon_outside = false;  ///< added to the deviation, not to the variance
  bool use_mean = true;
  std::function<long double(long double)> activation = [](long double value) { return value; };
};

inline std::vector<Extents> coordinates_of(const Extents& shape) {
  std::vector<Extents> all;
  Extents at(shape.size(), 0);
  for (;;) {
    all.push_back(at);
    std::size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return all;
  }
}

inline long double at(const Broadcast& tensor, const Extents& where) {
  std::int64_t index = 0;
  for (std::size_t d = 0; d < where.size(); ++d) {
    index = index * tensor.shape[d] + (tensor.shape[d] == 1 ? 0 : where[d]);
  }
  return static_cast<long double>(tensor.values[static_cast<std::size_t>(index)]);
}

inline std::vector<float> normalized(const Normalization& n) {
  const std::vector<Extents> all = coordinates_of(n.shape);
  const auto same_group = [&](const Extents& a, const Extents& b) {
    for (std::size_t d = 0; d < a.size(); ++d) {
      bool reduced = false;
      for (const std::size_t axis : n.axes) reduced = reduced || axis == d;
      if (!reduced && a[d] != b[d]) return false;
    }
    return true;
  };
  std::vector<float> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    long double sum = 0;
    long double count = 0;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (!same_group(all[i], all[j])) continue;
      sum += static_cast<long double>(n.x[j]);
      ++count;
    }
    const long double mean = n.use_mean ? sum / count : 0;
    long double squares = 0;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (same_group(all[i], all[j])) squares += std::pow(static_cast<long double>(n.x[j]) - mean, 2.0L);
    }
    const long double variance = squares / count;
    const long double divisor = n.epsilon_outside ? std::sqrt(variance) + n.epsilon : std::sqrt(variance + n.epsilon);
    long double value = (static_cast<long double>(n.x[i]) - mean) / divisor;
    if (n.scale) value *= at(*n.scale, all[i]);
    if (n.bias) value += at(*n.bias, all[i]);
    result.push_back(static_cast<float>(n.activation(value)));
  }
  return result;
}

inline std::vector<float> random_floats(std::mt19937& random, std::int64_t count, float middle = 0) {
  std::uniform_real_distribution<float> values(-2, 2);
  std::vector<float> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(values(random) + middle);
  return result;
}

}  // namespace dmlref::test
