// main.cpp: CONVOLUTION_INTEGER against its peers and the int8 peak.
#include "operators/convolution_integer/cases.hpp"
#include "support/driver.hpp"
#include "support/limits.hpp"

namespace bench {
namespace {

using dmlref::DataType;
using dmlref::Dimensions;
using dmlref::TensorDesc;

class ConvolutionIntegerCase final : public OpenCase {
 public:
  ConvolutionIntegerCase(ConvolutionIntegerProblem problem, bool nhwc, bool owned)
      : problem_(std::move(problem)), nhwc_(nhwc), owned_(owned) {
    const ConvolutionProblem& p = problem_.layer;
    input_ = copy_of(nhwc ? p.input_nhwc : p.input_nchw);
    filter_ = copy_of(p.filter);
    // Two's complement: the low byte is right for INT8 and UINT8.
    input_zero_ = copy_of(std::vector<std::uint8_t>{static_cast<std::uint8_t>(p.input_zero_point)});
    filter_zero_ = copy_of(std::vector<std::uint8_t>{static_cast<std::uint8_t>(p.filter_zero_point[0])});
  }

  dmlref::OperatorDesc desc() const override {
    const ConvolutionProblem& p = problem_.layer;
    const Layer& l = p.layer;
    const DataType in = p.type.input_signed ? DataType::int8 : DataType::uint8;
    const DataType weights = p.type.filter_signed ? DataType::int8 : DataType::uint8;
    const auto tensor = [&](DataType type, const Dimensions& sizes) {
      if (!nhwc_) return TensorDesc(type, sizes);
      return TensorDesc(type, sizes, Dimensions{sizes[1] * sizes[2] * sizes[3], 1, sizes[3] * sizes[1], sizes[1]});
    };
    const auto constant = [&](DataType type, const Dimensions& sizes) {
      TensorDesc desc(type, sizes);
      desc.owned_by_dml = owned_;
      return desc;
    };
    dmlref::ConvolutionIntegerDesc d;
    d.input = tensor(in, l.input);
    d.input_zero_point = constant(in, {1, 1, 1, 1});
    d.filter = constant(weights, {l.output_channels, p.channels() / l.groups, l.kernel_h, l.kernel_w});
    if (p.has_filter_zero_point()) d.filter_zero_point = constant(weights, {1, 1, 1, 1});
    d.output = tensor(DataType::int32, {p.batch(), l.output_channels, p.output_h, p.output_w});
    d.strides = {l.stride, l.stride};
    d.dilations = {l.dilation, l.dilation};
    d.start_padding = d.end_padding = {l.pad_h, l.pad_w};
    d.group_count = l.groups;
    return d;
  }
  std::vector<std::span<const std::byte>> inputs() const override {
    std::vector<std::span<const std::byte>> list{input_.span(), input_zero_.span(), filter_.span(),
                                                 filter_zero_.span()};
    if (!problem_.layer.has_filter_zero_point()) list[3] = {};
    return list;
  }
  std::size_t output_bytes() const override { return problem_.output_bytes(); }
  Outcome compare(std::span<const std::byte> output) const override { return problem_.compare(output, nhwc_); }

  std::vector<Peer> peers() const override {
    std::vector<Peer> list;
#if defined(DMLREF_BENCH_ONEDNN)
    if (owned_)
      list.push_back({"oneDNN", [this](unsigned t) { return onednn_convolution_integer(problem_, nhwc_, t); }});
#endif
#if defined(DMLREF_BENCH_ONNXRUNTIME)
    if (owned_) {
      list.push_back(
          {"ONNX Runtime", [this](unsigned t) { return onnxruntime_convolution_integer(problem_, nhwc_, t); }});
    }
#endif
    return list;
  }

  double limit(dmlref::Isa isa, unsigned threads) const override { return macs() / (int8_peak(isa) * threads); }
  double macs() const override { return problem_.layer.macs(); }
  double bytes() const override {
    return static_cast<double>(problem_.layer.input_nchw.size() + problem_.layer.filter.size() + output_bytes());
  }
  double elements() const override { return static_cast<double>(problem_.expected_nchw.size()); }

 private:
  ConvolutionIntegerProblem problem_;
  bool nhwc_;
  bool owned_;  // filter and zero points
  Memory input_, input_zero_, filter_, filter_zero_;
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const auto workload = bench::QuantizedLinearConvolutionWorkload::load("convolution_integer.json");
  bench::Operator op;
  op.name = "convolution_integer";
  op.without = {"XNNPACK", "Eigen", "loops", "PyTorch"};
  op.cases = workload.cases;
  op.open = [&](const bench::CaseName& name, const std::string&) -> std::unique_ptr<bench::OpenCase> {
    return std::make_unique<bench::ConvolutionIntegerCase>(
        make_integer_problem(workload.layers[name.row], workload.type(name.type)), name.layout == "nhwc",
        name.variant == "owned");
  };
  return drive(argc, argv, op);
}
