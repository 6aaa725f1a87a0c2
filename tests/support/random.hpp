// random.hpp: random numbers of tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace dmlref_test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t from(std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(std::uniform_int_distribution<std::uint64_t>(low, high)(engine_));
  }
  bool one_in(std::uint32_t n) { return from(1, n) == 1; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(engine_()); }
  /// The numbers below `count` in any order.
  std::vector<std::size_t> order(std::size_t count) {
    std::vector<std::size_t> list(count);
    std::iota(list.begin(), list.end(), std::size_t{0});
    std::shuffle(list.begin(), list.end(), engine_);
    return list;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dmlref_test
