// kernels.hpp: independent implementations of the operators: plain, slow, and wrong on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kit/case.hpp"
#include "kit/faults.hpp"

namespace dmlref::test::kit {

using tool::kit::Case;
using tool::kit::Json;
using tool::kit::List;

/// A tensor of a case: its buffer, seen through sizes and strides. What a wrong kernel reads beyond the buffer is 0.
class Tensor {
 public:
  /// Absent where the desc has no such member.
  Tensor(const Case& one, const std::string& name);
  static Tensor output(const Case& one, std::vector<std::byte>& bytes);

  bool present() const { return bytes_ != nullptr; }
  const List& sizes() const { return sizes_; }
  std::size_t rank() const { return sizes_.size(); }
  std::int64_t count() const;
  std::size_t element_bytes() const { return element_bytes_; }
  DataType type() const { return type_; }
  bool is_half() const { return type_ == DataType::float16; }

  void ignore_strides();
  /// {N, C, W} as {N, C, 1, W}.
  void insert_height();

  std::int64_t address(const List& at) const;
  std::int64_t integer(const List& at) const;
  /// Of the same size, signed instead of unsigned and the other way round.
  std::int64_t integer_of_other_sign(const List& at) const;
  float real(const List& at) const;
  std::uint64_t bits(const List& at) const;
  void set_bits(const List& at, std::uint64_t bits);

 private:
  Tensor() = default;
  std::uint64_t load(std::int64_t index) const;

  const std::vector<std::byte>* bytes_ = nullptr;
  std::vector<std::byte>* writable_ = nullptr;
  DataType type_ = DataType::unknown;
  std::size_t element_bytes_ = 0;
  List sizes_;
  List strides_;
};

/// The next coordinates in row-major order; false after the last.
bool next(List& at, const List& sizes);

/// The output's buffer.
std::vector<std::byte> run(const Case& one, Fault fault);
std::vector<std::byte> run_slice(const Case& one, Fault fault);
std::vector<std::byte> run_convolution(const Case& one, Fault fault);
std::vector<std::byte> run_matrix_multiply(const Case& one, Fault fault);
std::vector<std::byte> run_normalization(const Case& one, Fault fault);
std::vector<std::byte> run_quantize_linear(const Case& one, Fault fault);

/// Whether a device of that level (an index of feature_levels) must accept the descriptor. A fault is the name of a
/// rule that is not checked, or of a wrong check.
bool accepts(const Case& one, std::size_t level, std::string_view fault);
/// The faults of `accepts`: what each lets through, or refuses though it is good.
struct ValidatorFault {
  std::string_view name;
  unsigned operators;  ///< a case of each must catch it; none: a case of any
  std::string_view text;
};
const std::vector<ValidatorFault>& validator_faults();

}  // namespace dmlref::test::kit
