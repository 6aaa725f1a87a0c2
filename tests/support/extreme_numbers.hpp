// extreme_numbers.hpp: random numbers that like the ends of their range, and sizes and strides made of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace dmlref_test {

constexpr std::uint32_t largest_number = 0xFFFFFFFF;

class ExtremeRandom {
 public:
  explicit ExtremeRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t from(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(engine_);
  }
  std::uint32_t number(std::uint64_t low, std::uint64_t high) { return static_cast<std::uint32_t>(from(low, high)); }
  bool one_in(std::uint32_t n) { return from(1, n) == 1; }
  /// Of low to high: one of the ends, near the high one, a power of two, or any of some size.
  std::uint32_t extreme(std::uint64_t low, std::uint64_t high) {
    high = std::min<std::uint64_t>(high, largest_number);
    std::uint64_t value = low;
    switch (from(0, 5)) {
      case 0: break;
      case 1: value = high; break;
      case 2: value = high - from(0, std::min<std::uint64_t>(high, 3)); break;
      case 3: value = std::uint64_t{1} << from(0, 31); break;
      default: value = from(low, std::min(high, std::uint64_t{1} << from(1, 32))); break;
    }
    return static_cast<std::uint32_t>(std::clamp(value, low, high));
  }
  std::vector<std::size_t> order(std::size_t count) {
    std::vector<std::size_t> list(count);
    std::iota(list.begin(), list.end(), std::size_t{0});
    std::shuffle(list.begin(), list.end(), engine_);
    return list;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(engine_()); }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

/// Sizes with a product of at most `product`.
inline std::vector<std::uint32_t> small_sizes(ExtremeRandom& random, std::size_t rank, std::uint64_t product) {
  std::vector<std::uint32_t> sizes(rank);
  for (const std::size_t d : random.order(rank)) {
    sizes[d] = random.number(1, std::min<std::uint64_t>(product, random.one_in(3) ? 40 : 5));
    product /= sizes[d];
  }
  return sizes;
}

/// Sizes up to 2^32 - 1, with a product of at most that.
inline std::vector<std::uint32_t> large_sizes(ExtremeRandom& random, std::size_t rank) {
  std::vector<std::uint32_t> sizes(rank);
  std::uint64_t product = largest_number;
  for (const std::size_t d : random.order(rank)) {
    sizes[d] = random.extreme(1, product);
    product /= sizes[d];
  }
  return sizes;
}

/// Strides that span at most 2^32 - 1 elements, which may share addresses. Of an extent of 1 any number.
inline std::vector<std::uint32_t> input_strides(ExtremeRandom& random, const std::vector<std::uint32_t>& sizes) {
  std::vector<std::uint32_t> strides(sizes.size());
  std::uint64_t left = largest_number - 1;
  for (const std::size_t d : random.order(sizes.size())) {
    strides[d] = random.extreme(0, sizes[d] == 1 ? largest_number : left / (sizes[d] - 1));
    if (sizes[d] > 1) left -= std::uint64_t{sizes[d] - 1} * strides[d];
  }
  return strides;
}

/// Strides under which each element has an address of its own: dimensions from the innermost (last of `order`) to the
/// outermost, each a multiple of all that is reached or, where `stretch` says so, farther; within 2^32 - 1 elements.
template <class Stretch>
std::vector<std::uint32_t> nested_strides(ExtremeRandom& random, const std::vector<std::uint32_t>& sizes,
                                          const std::vector<std::size_t>& order, Stretch stretch) {
  std::vector<std::uint32_t> strides(sizes.size());
  std::uint64_t outside = 1, reach = 0;  // elements of the dimensions to come; index of the last element so far
  for (const std::uint32_t size : sizes) {
    outside *= size;
    if (outside > largest_number) return strides;  // more elements than any layout may have
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t d = order[i];
    if (sizes[d] == 1) {
      strides[d] = random.one_in(4) ? random.extreme(0, largest_number) : static_cast<std::uint32_t>(reach + 1);
      continue;
    }
    outside /= sizes[d];
    const std::uint64_t room = (largest_number / outside - 1 - reach) / (sizes[d] - 1);
    const std::uint64_t step = room <= reach + 1 ? reach + 1 : stretch(reach + 1, room);
    strides[d] = static_cast<std::uint32_t>(step);
    reach += std::uint64_t{sizes[d] - 1} * step;
  }
  return strides;
}

/// Nested strides of any order and any steps.
inline std::vector<std::uint32_t> output_strides(ExtremeRandom& random, const std::vector<std::uint32_t>& sizes) {
  return nested_strides(random, sizes, random.order(sizes.size()),
                        [&](std::uint64_t low, std::uint64_t high) { return random.extreme(low, high); });
}

}  // namespace dmlref_test
