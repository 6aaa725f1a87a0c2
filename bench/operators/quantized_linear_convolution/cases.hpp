// cases.hpp: one layer with data and exact answers, in terms that every peer understands.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/case.hpp"
#include "support/memory.hpp"
#include "support/workloads.hpp"

namespace bench {

/// What the data look like. Outputs spread over the whole range without saturating except where said.
enum class LayerData {
  random,         ///< full-range values
  ties,           ///< every scaled accumulator is a multiple of one half; odd output zero point
  extremes,       ///< inputs and filters at the ends of their ranges
  all_minimum,    ///< every input and filter element the least value of its type
  bias_overflow,  ///< accumulator plus bias does not fit 32 bits
};

struct ConvolutionProblem {
  Layer layer;
  LayerType type;
  std::uint32_t output_h = 0, output_w = 0;

  std::vector<std::uint8_t> input_nchw, input_nhwc;  ///< bytes; two's complement where signed
  std::vector<std::uint8_t> filter;                  ///< {OutC, InC / groups, KH, KW}
  std::vector<std::int32_t> bias;                    ///< one per output channel
  float input_scale = 1, output_scale = 1;
  std::vector<float> filter_scale;              ///< one, or one per output channel
  std::vector<std::int32_t> filter_zero_point;  ///< as many as filter_scale; all 0 where the type says "zero"
  std::int32_t input_zero_point = 0, output_zero_point = 0;

  std::vector<std::uint8_t> expected_nchw, expected_nhwc;

  std::uint32_t batch() const { return layer.input[0]; }
  std::uint32_t channels() const { return layer.input[1]; }
  std::uint32_t height() const { return layer.input[2]; }
  std::uint32_t width() const { return layer.input[3]; }
  std::size_t output_count() const { return expected_nchw.size(); }
  double macs() const;  ///< nominal: taps in the padding count
  bool has_filter_zero_point() const { return type.filter_zero_point != "zero"; }

  /// Compares `bytes`, laid out NCHW or NHWC, with the right answers.
  Outcome compare(std::span<const std::uint8_t> bytes, bool nhwc) const;
};

/// The answers come from 32-bit sums of exact products and one exact rational rounding, half to even: a second way,
/// independent of the library.
ConvolutionProblem make_problem(const Layer& layer, const LayerType& type, LayerData data = LayerData::random);

/// The sums of (x - zx) * (w - zw), NCHW.
std::vector<std::int32_t> sums_of(const ConvolutionProblem& problem);

/// dmlref's peers. Each gives one runner per layout that it takes; `rival` says whether it is the case's own.
Runners onednn_convolution(const ConvolutionProblem& problem, bool nhwc, unsigned threads);
Runners xnnpack_convolution(const ConvolutionProblem& problem, bool nhwc, unsigned threads);
Runners onnxruntime_convolution(const ConvolutionProblem& problem, bool nhwc, unsigned threads);
Runners torch_convolution(const ConvolutionProblem& problem, bool nhwc, unsigned threads);

}  // namespace bench
