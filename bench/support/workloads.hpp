// workloads.hpp: the named cases of bench/workloads/*.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

using Sizes = std::vector<std::uint32_t>;

/// What the driver needs to know of a case before it is opened.
struct CaseName {
  std::string name;     ///< the row of the workload file
  std::string type;     ///< "u8s8pc", "f32", …
  std::string layout;   ///< "nchw", "nhwc", "packed"
  std::string variant;  ///< QLC: "owned", "io_bound", "bound"; MVN: "plain/none", "sb/relu", …; slices: empty
  bool quick = false;   ///< part of the quick report
  bool tiny = false;    ///< part of the self-test only
  std::size_t row = 0;  ///< index into the workload's rows
  std::string id() const;
};

/// A case under one kind of data, for the error table.
struct Regime {
  CaseName name;
  std::string regime;
};

struct Layer {
  std::string name;
  Sizes input;  ///< {N, C, H, W}
  std::uint32_t output_channels, kernel_h, kernel_w, stride, pad_h, pad_w, dilation, groups;
  bool scales_over_decades = false;  ///< of channels, with a few outliers; else within a factor of two
};
struct LayerType {
  std::string name;
  bool input_signed, filter_signed, scale_per_channel;
  std::string filter_zero_point;  ///< "zero", "tensor", "channel"
};
struct QuantizedLinearConvolutionWorkload {
  std::vector<Layer> layers;
  std::vector<LayerType> types;
  std::vector<CaseName> cases;
  std::vector<Regime> regimes;
  /// QUANTIZED_LINEAR_CONVOLUTION's; CONVOLUTION_INTEGER's file has the same form.
  static QuantizedLinearConvolutionWorkload load(const char* file = "quantized_linear_convolution.json");
  const LayerType& type(const std::string& name) const;
};

struct NormalizedTensor {
  std::string name;
  Sizes sizes, axes;
  std::optional<Sizes> scale_bias;
  bool use_mean = true;  ///< else MEAN_VARIANCE_NORMALIZATION2 without it
};
struct MeanVarianceNormalizationWorkload {
  std::vector<NormalizedTensor> tensors;
  std::vector<CaseName> cases;
  std::vector<Regime> regimes;
  static MeanVarianceNormalizationWorkload load();
};

/// Products of {M, K} and {K, N}.
struct MatrixProduct {
  std::string name;
  std::uint32_t products, m, k, n;
};
struct MatrixProductType {
  std::string name;
  bool quantized;  ///< the output is of A's type, else INT32
  bool a_signed, b_signed;
  bool has_b_zero_point;
  bool row_scales, column_scales;  ///< of A and of B; else one
};
struct MatrixMultiplyWorkload {
  std::vector<MatrixProduct> products;
  std::vector<MatrixProductType> types;
  std::vector<CaseName> cases;
  static MatrixMultiplyWorkload load();
  const MatrixProductType& type(const std::string& name) const;
};

/// A matrix whose elements are quantized or dequantized.
struct QuantizedMatrix {
  std::string name;
  std::uint32_t rows, columns;
};
struct QuantizeLinearWorkload {
  std::vector<QuantizedMatrix> matrices;
  std::vector<CaseName> cases;
  static QuantizeLinearWorkload load();
};

struct Window {
  std::string name;
  Sizes sizes, offsets, window;
  std::vector<std::int32_t> strides;
};
struct SliceWorkload {
  std::vector<Window> windows;
  std::vector<CaseName> cases;
  static SliceWorkload load();
};

}  // namespace bench
