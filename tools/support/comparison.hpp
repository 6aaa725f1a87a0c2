// comparison.hpp: how far apart the elements of two tensors are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dmlref/desc/data_type.hpp"

namespace dmlref::tool {

/// The elements of a shape in C order.
struct TensorBytes {
  DataType type = DataType::unknown;
  std::span<const std::uint64_t> shape;
  std::span<const std::byte> bytes;
};

/// An element is equal to the expected one where it is within any of the three.
struct Tolerance {
  std::uint64_t ulp = 0;
  double absolute = 0;
  double relative = 0;  ///< of the expected value's magnitude

  /// "1 ulp", "2 ulp, 1e-06 absolute or 0.001 relative".
  std::string to_string() const;
};

struct Distance {
  /// Steps from one representable value to the next; the difference of integers. Both zeros are one value. Empty: not
  /// comparable, which is a NaN or an infinity against anything but itself.
  std::optional<std::uint64_t> ulp;
  double absolute = 0;  ///< NaN where not comparable
  double relative = 0;  ///< absolute / |expected|; infinite where only the expected value is 0
};

struct ElementPair {
  std::vector<std::uint64_t> coordinates;
  std::string actual;  ///< the fewest digits that read back
  std::string expected;
  std::string actual_bits;  ///< "0x3F800000"
  std::string expected_bits;
  Distance distance;
};

/// How many elements are `least` to `most` ulp apart.
struct DistanceCount {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t elements = 0;
};

struct Comparison {
  std::string unlike;  ///< why nothing was compared: "FLOAT32 against INT32"; else empty
  std::uint64_t count = 0;
  std::uint64_t mismatches = 0;
  std::vector<ElementPair> first;  ///< the first mismatches
  /// The largest distance in ulp, of the mismatches where there are any; empty where nothing was compared.
  std::optional<ElementPair> worst;
  std::vector<DistanceCount> histogram;  ///< of 0, 1, 2, 3 to 4, 5 to 8, ...: those that have elements
  std::uint64_t not_comparable = 0;      ///< elements without a distance

  bool equal() const noexcept { return unlike.empty() && mismatches == 0; }
};

/// Keeps the first `keep` mismatches. `bytes` hold all elements of `shape`.
Comparison compare_tensors(const TensorBytes& actual, const TensorBytes& expected, const Tolerance& tolerance,
                           std::size_t keep = 10);

}  // namespace dmlref::tool
