// main.cpp: SLICE1 against its peers and the copy bandwidth.
#include "operators/slice/cases.hpp"

#include "support/driver.hpp"
#include "support/limits.hpp"

namespace bench {
namespace {

using dmlref::DataType;
using dmlref::TensorDesc;

class SliceCase final : public OpenCase {
 public:
  explicit SliceCase(SliceProblem problem) : problem_(std::move(problem)) {}

  dmlref::OperatorDesc desc() const override {
    const SliceProblem& p = problem_;
    const DataType type = p.element_size == 1   ? DataType::uint8
                          : p.element_size == 2 ? DataType::float16
                          : p.element_size == 4 ? DataType::float32
                                                : DataType::float64;
    dmlref::Slice1Desc d;
    d.input = TensorDesc(type, p.window.sizes);
    d.output = TensorDesc(type, p.output_sizes);
    d.window_offsets = p.window.offsets;
    d.window_sizes = p.window.window;
    d.window_strides = p.window.strides;
    return d;
  }

  std::vector<std::span<const std::byte>> inputs() const override {
    return {{problem_.input.data(), (problem_.input.size() + 3) / 4 * 4}};
  }
  std::size_t output_bytes() const override { return problem_.expected.size(); }
  Outcome compare(std::span<const std::byte> output) const override { return problem_.compare(output); }

  std::vector<Peer> peers() const override {
    std::vector<Peer> list;
#if defined(DMLREF_BENCH_ONEDNN)
    list.push_back({"oneDNN", [this](unsigned t) { return onednn_slice(problem_, t); }});
#endif
#if defined(DMLREF_BENCH_XNNPACK)
    list.push_back({"XNNPACK", [this](unsigned t) { return xnnpack_slice(problem_, t); }});
#endif
#if defined(DMLREF_BENCH_EIGEN)
    list.push_back({"Eigen", [this](unsigned t) { return eigen_slice(problem_, t); }});
#endif
    list.push_back({"loops", [this](unsigned t) { return plain_slice(problem_, t); }});
#if defined(DMLREF_BENCH_ONNXRUNTIME)
    list.push_back({"ONNX Runtime", [this](unsigned t) { return onnxruntime_slice(problem_, t); }});
#endif
#if defined(DMLREF_BENCH_TORCH)
    list.push_back({"PyTorch", [this](unsigned t) { return torch_slice(problem_, t); }});
#endif
    return list;
  }

  double limit(dmlref::Isa, unsigned threads) const override {
    return static_cast<double>(problem_.traffic()) / copy_bandwidth(problem_.traffic(), threads).best();
  }
  double bytes() const override { return static_cast<double>(problem_.traffic()); }
  double elements() const override { return static_cast<double>(problem_.count()); }

 private:
  SliceProblem problem_;
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const auto workload = bench::SliceWorkload::load();
  bench::Operator op;
  op.name = "slice";
  op.cases = workload.cases;
  op.open = [&](const bench::CaseName& name, const std::string&) -> std::unique_ptr<bench::OpenCase> {
    return std::make_unique<bench::SliceCase>(make_problem(workload.windows[name.row], name.type));
  };
  return drive(argc, argv, op);
}
