// main.cpp: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR against their peers and the copy bandwidth.
#include "dmlref/desc/half.hpp"
#include "operators/element_wise_quantize_linear/cases.hpp"
#include "support/driver.hpp"
#include "support/limits.hpp"

namespace bench {
namespace {

using dmlref::DataType;
using dmlref::Dimensions;
using dmlref::TensorDesc;

class QuantizeLinearCase final : public OpenCase {
 public:
  explicit QuantizeLinearCase(QuantizeLinearProblem problem) : problem_(std::move(problem)) {
    const QuantizeLinearProblem& p = problem_;
    if (p.scale_type() == DataType::float16) {
      std::vector<dmlref::half> halves;
      for (const float s : p.scale) halves.emplace_back(s);
      scale_ = copy_of(halves);
    } else {
      scale_ = copy_of(p.scale);
    }
    zero_point_ = copy_of(std::vector<std::int32_t>{p.zero_point});  // its low bytes are those of the type
  }

  dmlref::OperatorDesc desc() const override {
    const QuantizeLinearProblem& p = problem_;
    const Dimensions sizes{p.matrix.rows, p.matrix.columns};
    const auto set_tensors = [&](auto d) {
      d.input = TensorDesc(p.from, sizes);
      d.scale =
          TensorDesc(p.scale_type(), sizes, Dimensions{p.scales == "rows" ? 1u : 0u, p.scales == "columns" ? 1u : 0u});
      if (has_zero_point()) d.zero_point = TensorDesc(p.zero_point_type(), sizes, Dimensions{0, 0});
      d.output = TensorDesc(p.to, sizes);
      return d;
    };
    if (p.quantizes()) return set_tensors(dmlref::ElementWiseQuantizeLinearDesc{});
    return set_tensors(dmlref::ElementWiseDequantizeLinearDesc{});
  }
  std::vector<std::span<const std::byte>> inputs() const override {
    const std::span<const std::byte> input{problem_.input.data(), (problem_.input.size() + 3) / 4 * 4};  // has slack
    if (!has_zero_point()) return {input, scale_.span(), {}};
    return {input, scale_.span(), zero_point_.span()};
  }
  std::size_t output_bytes() const override { return problem_.expected.size(); }
  Outcome compare(std::span<const std::byte> output) const override { return problem_.compare(output); }

  std::vector<Peer> peers() const override {
    std::vector<Peer> list;
#if defined(DMLREF_BENCH_ONEDNN)
    list.push_back({"oneDNN", [this](unsigned t) { return onednn_quantize_linear(problem_, t); }});
#endif
#if defined(DMLREF_BENCH_XNNPACK)
    list.push_back({"XNNPACK", [this](unsigned t) { return xnnpack_quantize_linear(problem_, t); }});
#endif
#if defined(DMLREF_BENCH_EIGEN)
    list.push_back({"Eigen", [this](unsigned t) { return eigen_quantize_linear(problem_, t); }});
#endif
    list.push_back({"loops", [this](unsigned t) { return plain_quantize_linear(problem_, t); }});
#if defined(DMLREF_BENCH_ONNXRUNTIME)
    list.push_back({"ONNX Runtime", [this](unsigned t) { return onnxruntime_quantize_linear(problem_, t); }});
#endif
    return list;
  }

  double limit(dmlref::Isa, unsigned threads) const override {
    return bytes() / copy_bandwidth(problem_.traffic(), threads).best();
  }
  double bytes() const override { return static_cast<double>(problem_.traffic()); }
  double elements() const override { return static_cast<double>(problem_.count()); }

 private:
  bool has_zero_point() const { return problem_.scales == "tensor"; }

  QuantizeLinearProblem problem_;
  Memory scale_, zero_point_;
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const auto workload = bench::QuantizeLinearWorkload::load();
  bench::Operator op;
  op.name = "element_wise_quantize_linear";
  op.without = {"PyTorch"};
  op.cases = workload.cases;
  op.open = [&](const bench::CaseName& name, const std::string&) -> std::unique_ptr<bench::OpenCase> {
    return std::make_unique<bench::QuantizeLinearCase>(
        make_problem(workload.matrices[name.row], name.type, name.variant));
  };
  return drive(argc, argv, op);
}
