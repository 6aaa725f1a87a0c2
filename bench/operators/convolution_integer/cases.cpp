#include "operators/convolution_integer/cases.hpp"

#include "support/exact.hpp"

namespace bench {

Outcome ConvolutionIntegerProblem::compare(std::span<const std::byte> output, bool nhwc) const {
  return compare_exactly(nhwc ? expected_nhwc : expected_nchw, output);
}

ConvolutionIntegerProblem make_integer_problem(const Layer& layer, const LayerType& type) {
  ConvolutionIntegerProblem p{make_problem(layer, type), {}, {}};
  p.expected_nchw = sums_of(p.layer);
  p.expected_nhwc.resize(p.expected_nchw.size());
  const std::size_t pixels = std::size_t{p.layer.output_h} * p.layer.output_w, channels = layer.output_channels;
  for (std::size_t i = 0; i < p.expected_nchw.size(); ++i) {
    const std::size_t n = i / (pixels * channels), c = i / pixels % channels;
    p.expected_nhwc[(n * pixels + i % pixels) * channels + c] = p.expected_nchw[i];
  }
  return p;
}

}  // namespace bench
