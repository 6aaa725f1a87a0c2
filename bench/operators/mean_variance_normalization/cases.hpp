// cases.hpp: one tensor with data and answers in double, in terms that every peer understands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/case.hpp"
#include "support/memory.hpp"
#include "support/workloads.hpp"

namespace bench {

struct NormalizationProblem {
  NormalizedTensor tensor;
  bool half = false;        ///< elements are FLOAT16, else FLOAT32
  bool scale_bias = false;  ///< both, of sizes tensor.scale_bias
  std::string activation;   ///< "none", "relu", "tanh"
  float epsilon = 1e-5f;

  Memory input;        ///< elements of the type
  Memory scale, bias;  ///< of the type; empty without scale_bias
  std::vector<double> expected;

  std::size_t count() const { return expected.size(); }
  std::size_t element_size() const { return half ? 2 : 4; }
  std::size_t bytes() const { return count() * element_size(); }
  std::size_t scale_count() const;
  /// Packed output of the type. Wrong: further than one ulp of the type at max(|right|, 1).
  Outcome compare(std::span<const std::byte> output) const;
};

/// Normal data of that mean and standard deviation; `deviation` 0: constant. The answers come from a two-pass
/// computation in long double over the rounded inputs: a second way, independent of the library.
NormalizationProblem make_problem(const NormalizedTensor& tensor, bool half, bool scale_bias,
                                  const std::string& activation, double mean = 0, double deviation = 1);

/// The tensor as {outer, reduced} rows: the axes are the last ones. Empty otherwise.
struct Rows {
  std::size_t rows = 0, columns = 0;
};
Rows trailing_rows(const NormalizedTensor& tensor);
/// The tensor as {N, C, spatial} with statistics per channel (over N and spatial). channels == 0 where it is not one;
/// channels_last: the channel is the last dimension.
struct Channels {
  std::size_t batch = 0, channels = 0, spatial = 0;
  bool channels_last = false;
  bool per_item = false;  ///< the statistics are of one (n, c) plane
};
Channels as_channels(const NormalizedTensor& tensor);

Runners onednn_normalization(const NormalizationProblem& problem, unsigned threads);
Runners eigen_normalization(const NormalizationProblem& problem, unsigned threads);
Runners plain_normalization(const NormalizationProblem& problem, unsigned threads);
Runners onnxruntime_normalization(const NormalizationProblem& problem, unsigned threads);
Runners torch_normalization(const NormalizationProblem& problem, unsigned threads);

}  // namespace bench
