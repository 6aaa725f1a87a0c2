// cases.hpp: matrix products with data and exact answers, in terms that every peer understands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/case.hpp"
#include "support/memory.hpp"
#include "support/workloads.hpp"

namespace bench {

struct MatrixMultiplyProblem {
  MatrixProduct shape;
  MatrixProductType type;

  std::vector<std::uint8_t> a, b;  ///< bytes; two's complement where signed
  std::int32_t a_zero_point = 0, b_zero_point = 0, output_zero_point = 0;
  std::vector<float> a_scale, b_scale;  ///< one, or one per row of A and per column of B
  float output_scale = 1;

  std::vector<std::int32_t> sums;      ///< the right answers of MATRIX_MULTIPLY_INTEGER
  std::vector<std::uint8_t> expected;  ///< those of QUANTIZED_LINEAR_MATRIX_MULTIPLY; empty where the type has none

  std::size_t count() const { return sums.size(); }
  std::size_t output_bytes() const { return count() * (type.quantized ? 1 : 4); }
  double macs() const { return static_cast<double>(count()) * shape.k; }
  Outcome compare(std::span<const std::byte> output) const;
  /// What one sum of row `m` and column `n` is worth in steps of the output.
  double ratio(std::size_t m, std::size_t n) const;
};

/// Uniform bytes; outputs spread over the whole range. The answers come from sums of exact products and one rounding
/// of a long double, which decides all of these data: a second way, independent of the library.
MatrixMultiplyProblem make_problem(const MatrixProduct& shape, const MatrixProductType& type);

/// `owned`: B may be packed beforehand.
Runners onednn_matrix_multiply(const MatrixMultiplyProblem& problem, bool owned, unsigned threads);
Runners xnnpack_matrix_multiply(const MatrixMultiplyProblem& problem, bool owned, unsigned threads);
Runners eigen_matrix_multiply(const MatrixMultiplyProblem& problem, bool owned, unsigned threads);
Runners plain_matrix_multiply(const MatrixMultiplyProblem& problem, bool owned, unsigned threads);
Runners onnxruntime_matrix_multiply(const MatrixMultiplyProblem& problem, bool owned, unsigned threads);

}  // namespace bench
