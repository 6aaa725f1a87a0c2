// main.cpp: MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY against their peers and the int8 peak.
#include "operators/matrix_multiply_integer/cases.hpp"
#include "support/driver.hpp"
#include "support/limits.hpp"

namespace bench {
namespace {

using dmlref::DataType;
using dmlref::Dimensions;
using dmlref::TensorDesc;

class MatrixMultiplyCase final : public OpenCase {
 public:
  MatrixMultiplyCase(MatrixMultiplyProblem problem, bool owned) : problem_(std::move(problem)), owned_(owned) {
    const MatrixMultiplyProblem& p = problem_;
    // Two's complement: the low byte is right for INT8 and UINT8.
    const auto byte = [](std::int32_t value) {
      return copy_of(std::vector<std::uint8_t>{static_cast<std::uint8_t>(value)});
    };
    inputs_.push_back(copy_of(p.a));
    if (p.type.quantized) inputs_.push_back(copy_of(p.a_scale));
    inputs_.push_back(byte(p.a_zero_point));
    inputs_.push_back(copy_of(p.b));
    if (p.type.quantized) inputs_.push_back(copy_of(p.b_scale));
    inputs_.push_back(p.type.has_b_zero_point ? byte(p.b_zero_point) : Memory());
    if (!p.type.quantized) return;
    inputs_.push_back(copy_of(std::vector<float>{p.output_scale}));
    inputs_.push_back(byte(p.output_zero_point));
  }

  dmlref::OperatorDesc desc() const override {
    const MatrixMultiplyProblem& p = problem_;
    const DataType a = p.type.a_signed ? DataType::int8 : DataType::uint8;
    const DataType b = p.type.b_signed ? DataType::int8 : DataType::uint8;
    const auto sizes = [&](std::uint32_t rows, std::uint32_t columns) {
      return p.shape.products == 1 ? Dimensions{rows, columns} : Dimensions{1, p.shape.products, rows, columns};
    };
    const auto constant = [&](DataType type, const Dimensions& of) {
      TensorDesc tensor(type, of);
      tensor.owned_by_dml = owned_;
      return tensor;
    };
    const auto set_operands = [&](auto& d) {
      d.a = TensorDesc(a, sizes(p.shape.m, p.shape.k));
      d.a_zero_point = constant(a, {1, 1});
      d.b = constant(b, sizes(p.shape.k, p.shape.n));
      if (p.type.has_b_zero_point) d.b_zero_point = constant(b, {1, 1});
    };
    if (!p.type.quantized) {
      dmlref::MatrixMultiplyIntegerDesc d;
      set_operands(d);
      d.output = TensorDesc(DataType::int32, sizes(p.shape.m, p.shape.n));
      return d;
    }
    dmlref::QuantizedLinearMatrixMultiplyDesc d;
    set_operands(d);
    d.a_scale = constant(DataType::float32, {static_cast<std::uint32_t>(p.a_scale.size()), 1});
    d.b_scale = constant(DataType::float32, {1, static_cast<std::uint32_t>(p.b_scale.size())});
    d.output_scale = constant(DataType::float32, {1, 1});
    d.output_zero_point = constant(a, {1, 1});
    d.output = TensorDesc(a, sizes(p.shape.m, p.shape.n));
    return d;
  }
  std::vector<std::span<const std::byte>> inputs() const override {
    std::vector<std::span<const std::byte>> list;
    for (const Memory& memory : inputs_) list.push_back(memory.span());
    return list;
  }
  std::size_t output_bytes() const override { return problem_.output_bytes(); }
  Outcome compare(std::span<const std::byte> output) const override { return problem_.compare(output); }

  std::vector<Peer> peers() const override {
    std::vector<Peer> list;
#if defined(DMLREF_BENCH_ONEDNN)
    list.push_back({"oneDNN", [this](unsigned t) { return onednn_matrix_multiply(problem_, owned_, t); }});
#endif
#if defined(DMLREF_BENCH_XNNPACK)
    list.push_back({"XNNPACK", [this](unsigned t) { return xnnpack_matrix_multiply(problem_, owned_, t); }});
#endif
#if defined(DMLREF_BENCH_EIGEN)
    list.push_back({"Eigen", [this](unsigned t) { return eigen_matrix_multiply(problem_, owned_, t); }});
#endif
    list.push_back({"loops", [this](unsigned t) { return plain_matrix_multiply(problem_, owned_, t); }});
#if defined(DMLREF_BENCH_ONNXRUNTIME)
    list.push_back({"ONNX Runtime", [this](unsigned t) { return onnxruntime_matrix_multiply(problem_, owned_, t); }});
#endif
    return list;
  }

  double limit(dmlref::Isa isa, unsigned threads) const override { return macs() / (int8_peak(isa) * threads); }
  double macs() const override { return problem_.macs(); }
  double bytes() const override {
    return static_cast<double>(problem_.a.size() + problem_.b.size() + problem_.output_bytes());
  }
  double elements() const override { return static_cast<double>(problem_.count()); }

 private:
  MatrixMultiplyProblem problem_;
  bool owned_;  // B and all parameters
  std::vector<Memory> inputs_;
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const auto workload = bench::MatrixMultiplyWorkload::load();
  bench::Operator op;
  op.name = "matrix_multiply_integer";
  op.without = {"PyTorch"};
  op.cases = workload.cases;
  op.open = [&](const bench::CaseName& name, const std::string&) -> std::unique_ptr<bench::OpenCase> {
    return std::make_unique<bench::MatrixMultiplyCase>(
        make_problem(workload.products[name.row], workload.type(name.type)), name.variant == "owned");
  };
  return drive(argc, argv, op);
}
