// cases.hpp: one matrix with data and exact answers, in terms that every peer understands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "support/case.hpp"
#include "support/memory.hpp"
#include "support/workloads.hpp"

namespace bench {

struct QuantizeLinearProblem {
  QuantizedMatrix matrix;
  dmlref::DataType from, to;
  std::string scales;  ///< "tensor", "rows", "columns"

  Memory input;
  std::vector<float> scale;     ///< one, or one per row or column
  std::int32_t zero_point = 0;  ///< other than 0 only where there is one scale
  Memory expected;

  std::size_t count() const { return std::size_t{matrix.rows} * matrix.columns; }
  bool quantizes() const { return dmlref::size_of(to) == 1; }
  dmlref::DataType scale_type() const;
  dmlref::DataType zero_point_type() const { return quantizes() ? to : from; }
  std::size_t scale_index(std::size_t element) const {
    return scales == "tensor" ? 0 : scales == "rows" ? element / matrix.columns : element % matrix.columns;
  }
  /// Reads and writes.
  std::size_t traffic() const { return input.size() + expected.size(); }
  Outcome compare(std::span<const std::byte> output) const;
};

/// `types`: "f32_u8". The answers come from a quotient or a product in double, which decides all of these data.
QuantizeLinearProblem make_problem(const QuantizedMatrix& matrix, const std::string& types, const std::string& scales);

Runners onednn_quantize_linear(const QuantizeLinearProblem& problem, unsigned threads);
Runners xnnpack_quantize_linear(const QuantizeLinearProblem& problem, unsigned threads);
Runners eigen_quantize_linear(const QuantizeLinearProblem& problem, unsigned threads);
Runners plain_quantize_linear(const QuantizeLinearProblem& problem, unsigned threads);
Runners onnxruntime_quantize_linear(const QuantizeLinearProblem& problem, unsigned threads);

}  // namespace bench
