// main.cpp: QUANTIZED_LINEAR_CONVOLUTION against its peers and the int8 peak.
#include "operators/quantized_linear_convolution/cases.hpp"

#include "support/driver.hpp"
#include "support/limits.hpp"

namespace bench {
namespace {

using dmlref::DataType;
using dmlref::Dimensions;
using dmlref::TensorDesc;

class ConvolutionCase final : public OpenCase {
 public:
  ConvolutionCase(ConvolutionProblem problem, bool nhwc, const std::string& variant)
      : problem_(std::move(problem)),
        nhwc_(nhwc),
        weights_owned_(variant != "bound"),
        activations_owned_(variant == "owned") {
    const ConvolutionProblem& p = problem_;
    input_ = copy_of(nhwc ? p.input_nhwc : p.input_nchw);
    filter_ = copy_of(p.filter);
    filter_scale_ = copy_of(p.filter_scale);
    bias_ = copy_of(p.bias);
    input_scale_ = copy_of(std::vector<float>{p.input_scale});
    output_scale_ = copy_of(std::vector<float>{p.output_scale});
    // Two's complement: the low byte is right for INT8 and UINT8.
    input_zero_ = copy_of(std::vector<std::uint8_t>{static_cast<std::uint8_t>(p.input_zero_point)});
    output_zero_ = copy_of(std::vector<std::uint8_t>{static_cast<std::uint8_t>(p.output_zero_point)});
    std::vector<std::uint8_t> zeros;
    for (const std::int32_t z : p.filter_zero_point) zeros.push_back(static_cast<std::uint8_t>(z));
    filter_zero_ = copy_of(zeros);
  }

  dmlref::OperatorDesc desc() const override {
    const ConvolutionProblem& p = problem_;
    const Layer& l = p.layer;
    const DataType in = p.type.input_signed ? DataType::int8 : DataType::uint8;
    const DataType weights = p.type.filter_signed ? DataType::int8 : DataType::uint8;
    const Dimensions output_sizes{p.batch(), l.output_channels, p.output_h, p.output_w};
    const auto strides = [&](const Dimensions& sizes) -> std::optional<Dimensions> {
      if (!nhwc_) return std::nullopt;
      return Dimensions{sizes[1] * sizes[2] * sizes[3], 1, sizes[3] * sizes[1], sizes[1]};
    };
    const auto per_channel = [](std::size_t count) { return Dimensions{1, static_cast<std::uint32_t>(count), 1, 1}; };
    const auto constant = [&](TensorDesc tensor) {
      tensor.owned_by_dml = weights_owned_;
      return tensor;
    };
    const auto of_activations = [&](TensorDesc tensor) {
      tensor.owned_by_dml = activations_owned_;
      return tensor;
    };
    dmlref::QuantizedLinearConvolutionDesc d;
    d.input = TensorDesc(in, l.input, strides(l.input));
    d.input_scale = of_activations(TensorDesc(DataType::float32, {1, 1, 1, 1}));
    d.input_zero_point = of_activations(TensorDesc(in, {1, 1, 1, 1}));
    d.filter = constant(TensorDesc(weights, {l.output_channels, p.channels() / l.groups, l.kernel_h, l.kernel_w}));
    d.filter_scale = constant(TensorDesc(DataType::float32, per_channel(p.filter_scale.size())));
    if (p.has_filter_zero_point()) {
      d.filter_zero_point = constant(TensorDesc(weights, per_channel(p.filter_zero_point.size())));
    }
    d.bias = constant(TensorDesc(DataType::int32, per_channel(l.output_channels)));
    d.output_scale = of_activations(TensorDesc(DataType::float32, {1, 1, 1, 1}));
    d.output_zero_point = of_activations(TensorDesc(in, {1, 1, 1, 1}));
    d.output = TensorDesc(in, output_sizes, strides(output_sizes));
    d.strides = {l.stride, l.stride};
    d.dilations = {l.dilation, l.dilation};
    d.start_padding = d.end_padding = {l.pad_h, l.pad_w};
    d.group_count = l.groups;
    return d;
  }

  std::vector<std::span<const std::byte>> inputs() const override {
    std::vector<std::span<const std::byte>> list;
    for (const Memory* m : {&input_, &input_scale_, &input_zero_, &filter_, &filter_scale_, &filter_zero_, &bias_,
                            &output_scale_, &output_zero_}) {
      list.push_back(m->span());
    }
    if (!problem_.has_filter_zero_point()) list[5] = {};
    return list;
  }

  std::size_t output_bytes() const override { return problem_.output_count(); }
  Outcome compare(std::span<const std::byte> output) const override {
    return problem_.compare({static_cast<const std::uint8_t*>(static_cast<const void*>(output.data())), output.size()},
                            nhwc_);
  }

  std::vector<Peer> peers() const override {
    // Peers take their constants before; what is bound at execute is measured without them.
    if (!activations_owned_) return {};
    std::vector<Peer> list;
#if defined(DMLREF_BENCH_ONEDNN)
    list.push_back({"oneDNN", [this](unsigned t) { return onednn_convolution(problem_, nhwc_, t); }});
#endif
#if defined(DMLREF_BENCH_XNNPACK)
    list.push_back({"XNNPACK", [this](unsigned t) { return xnnpack_convolution(problem_, nhwc_, t); }});
#endif
#if defined(DMLREF_BENCH_ONNXRUNTIME)
    list.push_back({"ONNX Runtime", [this](unsigned t) { return onnxruntime_convolution(problem_, nhwc_, t); }});
#endif
#if defined(DMLREF_BENCH_TORCH)
    list.push_back({"PyTorch", [this](unsigned t) { return torch_convolution(problem_, nhwc_, t); }});
#endif
    return list;
  }

  double limit(dmlref::Isa isa, unsigned threads) const override { return macs() / (int8_peak(isa) * threads); }
  double macs() const override { return problem_.macs(); }
  double bytes() const override {
    return static_cast<double>(problem_.input_nchw.size() + problem_.filter.size() + problem_.output_count());
  }
  double elements() const override { return static_cast<double>(problem_.output_count()); }

 private:
  ConvolutionProblem problem_;
  bool nhwc_;
  bool weights_owned_;      // and the filter's scale and zero point, and the bias
  bool activations_owned_;  // scales and zero points of input and output
  Memory input_, filter_, filter_scale_, filter_zero_, bias_, input_scale_, input_zero_, output_scale_, output_zero_;
};

LayerData data_of(const std::string& regime) {
  if (regime == "ties") return LayerData::ties;
  if (regime == "extremes") return LayerData::extremes;
  if (regime == "all_minimum") return LayerData::all_minimum;
  if (regime == "bias_overflow") return LayerData::bias_overflow;
  return LayerData::random;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const auto workload = bench::QuantizedLinearConvolutionWorkload::load();
  bench::Operator op;
  op.name = "quantized_linear_convolution";
  op.without = {"Eigen", "loops"};
  op.cases = workload.cases;
  op.regimes = workload.regimes;
  op.open = [&](const bench::CaseName& name, const std::string& regime) -> std::unique_ptr<bench::OpenCase> {
    return std::make_unique<bench::ConvolutionCase>(
        make_problem(workload.layers[name.row], workload.type(name.type), bench::data_of(regime)),
        name.layout == "nhwc", name.variant);
  };
  return drive(argc, argv, op);
}
