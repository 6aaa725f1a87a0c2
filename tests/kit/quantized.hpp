// quantized.hpp: what quantized convolutions and matrix products share: sums of products, and their way to 8 bits.
#pragma once

#include <cstdint>

#include "kernels.hpp"

namespace dmlref::test::kit {

/// An element of 8 bits and its zero point.
struct Quantized {
  std::int64_t value;
  std::int64_t zero_point;
  bool is_signed;

  std::int64_t difference() const { return value - zero_point; }
};

/// The sum of products as the accumulator of that fault holds it.
class Accumulator {
 public:
  explicit Accumulator(Fault fault) : fault_(fault) {}

  void add(const Quantized& x, const Quantized& w);
  void add(std::int64_t addend);
  std::int64_t sum();

 private:
  /// As vpmaddubsw: raw unsigned input times signed weight; two by two, each sum clamped to 16 bits.
  void add_pairwise(std::int64_t product);
  void flush();

  Fault fault_;
  std::int64_t sum_ = 0;
  std::int64_t compensation_ = 0;  // of what add_pairwise leaves out
  std::int64_t pair_ = 0;
  int pairs_ = 0;
};

struct Scales {
  float in;
  float filter;
  float out;
};

/// The output's byte: sum * in * filter / out, rounded once, and the zero point. `bias` is a part of the sum.
std::uint64_t requantized(std::int64_t sum, std::int64_t bias, const Scales& scales, std::int64_t zero_point,
                          DataType type, Fault fault);

}  // namespace dmlref::test::kit
