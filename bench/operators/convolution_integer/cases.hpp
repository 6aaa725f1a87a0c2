// cases.hpp: one layer with data and exact sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "operators/quantized_linear_convolution/cases.hpp"
#include "support/case.hpp"

namespace bench {

struct ConvolutionIntegerProblem {
  ConvolutionProblem layer;  ///< without its scales, bias and output zero point
  std::vector<std::int32_t> expected_nchw, expected_nhwc;

  std::size_t output_bytes() const { return expected_nchw.size() * sizeof(std::int32_t); }
  /// INT32, laid out NCHW or NHWC.
  Outcome compare(std::span<const std::byte> output, bool nhwc) const;
};

ConvolutionIntegerProblem make_integer_problem(const Layer& layer, const LayerType& type);

/// One runner per layout; `rival` says whether it is the case's own.
Runners onednn_convolution_integer(const ConvolutionIntegerProblem& problem, bool nhwc, unsigned threads);
Runners onnxruntime_convolution_integer(const ConvolutionIntegerProblem& problem, bool nhwc, unsigned threads);

}  // namespace bench
