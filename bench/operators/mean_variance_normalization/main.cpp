// main.cpp: MEAN_VARIANCE_NORMALIZATION1, and 2 without the mean, against its peers and the copy bandwidth.
#include "operators/mean_variance_normalization/cases.hpp"

#include "support/driver.hpp"
#include "support/limits.hpp"

namespace bench {
namespace {

using dmlref::TensorDesc;

std::span<const std::byte> padded(const Memory& memory) {
  return {memory.data(), (memory.size() + 3) / 4 * 4};  // Memory has slack behind its end
}

class NormalizationCase final : public OpenCase {
 public:
  explicit NormalizationCase(NormalizationProblem problem) : problem_(std::move(problem)) {}

  dmlref::OperatorDesc desc() const override {
    const NormalizationProblem& p = problem_;
    const dmlref::DataType type = p.half ? dmlref::DataType::float16 : dmlref::DataType::float32;
    if (p.tensor.use_mean) return with_tensors(dmlref::MeanVarianceNormalization1Desc{}, type);
    dmlref::MeanVarianceNormalization2Desc d;
    d.use_mean = false;
    return with_tensors(d, type);
  }
  template <class Desc>
  Desc with_tensors(Desc d, dmlref::DataType type) const {
    const NormalizationProblem& p = problem_;
    d.input = TensorDesc(type, p.tensor.sizes);
    d.output = TensorDesc(type, p.tensor.sizes);
    if (p.scale_bias) {
      d.scale = TensorDesc(type, *p.tensor.scale_bias);
      d.bias = TensorDesc(type, *p.tensor.scale_bias);
    }
    d.axes = p.tensor.axes;
    d.epsilon = p.epsilon;
    if (p.activation == "relu") d.fused_activation = dmlref::Activation{dmlref::ActivationType::relu, {}};
    if (p.activation == "tanh") d.fused_activation = dmlref::Activation{dmlref::ActivationType::tanh, {}};
    return d;
  }

  std::vector<std::span<const std::byte>> inputs() const override {
    if (!problem_.scale_bias) return {padded(problem_.input), {}, {}};
    return {padded(problem_.input), padded(problem_.scale), padded(problem_.bias)};
  }

  std::size_t output_bytes() const override { return problem_.bytes(); }
  Outcome compare(std::span<const std::byte> output) const override { return problem_.compare(output); }

  std::vector<Peer> peers() const override {
    std::vector<Peer> list;
#if defined(DMLREF_BENCH_ONEDNN)
    list.push_back({"oneDNN", [this](unsigned t) { return onednn_normalization(problem_, t); }});
#endif
#if defined(DMLREF_BENCH_EIGEN)
    list.push_back({"Eigen", [this](unsigned t) { return eigen_normalization(problem_, t); }});
#endif
    list.push_back({"loops", [this](unsigned t) { return plain_normalization(problem_, t); }});
#if defined(DMLREF_BENCH_ONNXRUNTIME)
    list.push_back({"ONNX Runtime", [this](unsigned t) { return onnxruntime_normalization(problem_, t); }});
#endif
#if defined(DMLREF_BENCH_TORCH)
    list.push_back({"PyTorch", [this](unsigned t) { return torch_normalization(problem_, t); }});
#endif
    return list;
  }

  /// One read and one write of the tensor.
  double limit(dmlref::Isa, unsigned threads) const override {
    const std::size_t traffic = 2 * problem_.bytes();
    return static_cast<double>(traffic) / copy_bandwidth(traffic, threads).best();
  }
  double bytes() const override { return 2.0 * static_cast<double>(problem_.bytes()); }
  double elements() const override { return static_cast<double>(problem_.count()); }

 private:
  NormalizationProblem problem_;
};

// "mean1e4sd1": mean and standard deviation of the data.
void parse_regime(const std::string& regime, double& mean, double& deviation) {
  const std::size_t split = regime.find("sd");
  if (regime.rfind("mean", 0) != 0 || split == std::string::npos) return;
  mean = std::stod(regime.substr(4, split - 4));
  deviation = std::stod(regime.substr(split + 2));
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const auto workload = bench::MeanVarianceNormalizationWorkload::load();
  bench::Operator op;
  op.name = "mean_variance_normalization";
  op.without = {"XNNPACK"};
  op.cases = workload.cases;
  op.regimes = workload.regimes;
  op.open = [&](const bench::CaseName& name, const std::string& regime) -> std::unique_ptr<bench::OpenCase> {
    double mean = 0, deviation = 1;
    bench::parse_regime(regime, mean, deviation);
    const std::string activation = name.variant.substr(name.variant.find('/') + 1);
    return std::make_unique<bench::NormalizationCase>(make_problem(
        workload.tensors[name.row], name.type == "f16", name.variant.rfind("sb", 0) == 0, activation, mean, deviation));
  };
  return drive(argc, argv, op);
}
