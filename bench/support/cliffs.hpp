// cliffs.hpp: operators on adversarial data: what bench/cliffs runs beside the same operator on random data.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"
#include "support/memory.hpp"

namespace bench {

/// An operator and its tensors, in the order of the desc; absent ones are empty.
struct Subject {
  dmlref::OperatorDesc desc;
  std::vector<Memory> inputs;
  std::size_t output_bytes = 0;
};

/// One data set of one workload. `random` makes the same operator with random data: what `adversarial` is measured
/// against.
struct Cliff {
  std::string op;        ///< short: "MVN1", "QLC", "SLICE1", "QUANTIZE"
  std::string workload;  ///< shape, layout, types and parameters
  std::string data;      ///< "one NaN in each group"
  std::function<Subject()> adversarial;
  std::function<Subject()> random;
  bool tiny = false;  ///< part of the self-test only
};

/// Appends the cases of an operator. To add an operator: write such a function, and call it in cliffs.cpp.
void add_normalization_cliffs(std::vector<Cliff>& cliffs);
void add_convolution_cliffs(std::vector<Cliff>& cliffs);
void add_slice_cliffs(std::vector<Cliff>& cliffs);
void add_quantize_linear_cliffs(std::vector<Cliff>& cliffs);
void add_matrix_multiply_cliffs(std::vector<Cliff>& cliffs);
void add_convolution_integer_cliffs(std::vector<Cliff>& cliffs);

}  // namespace bench
