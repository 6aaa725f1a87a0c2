// Activations fused into the normalization before them, against their formulas in long double.
#include <cmath>

#include "conformance/onnx_model.hpp"
#include "conformance/plain_normalization.hpp"

namespace dmlref::test {
namespace {

class ImportActivation : public ImportTest {};

using Real = long double;

struct Row {
  const char* type;
  std::vector<std::pair<const char*, float>> attributes;
  Real (*formula)(Real);
};

Real selu(Real x) {
  constexpr Real alpha = 1.67326319217681884765625L;
  constexpr Real gamma = 1.05070102214813232421875L;
  return x > 0 ? gamma * x : gamma * (alpha * std::exp(x) - alpha);
}
Real clamp01(Real x) { return std::min(1.0L, std::max(0.0L, x)); }

const Row rows[] = {
    {"Relu", {}, [](Real x) { return std::max(0.0L, x); }},
    {"LeakyRelu", {}, [](Real x) { return x < 0 ? static_cast<Real>(0.01f) * x : x; }},
    {"LeakyRelu", {{"alpha", 0.25f}}, [](Real x) { return x < 0 ? 0.25L * x : x; }},
    {"Elu", {{"alpha", 0.5f}}, [](Real x) { return x < 0 ? 0.5L * std::expm1(x) : x; }},
    {"Selu", {}, selu},
    {"Celu", {{"alpha", 0.5f}}, [](Real x) { return std::max(0.0L, x) + std::min(0.0L, 0.5L * std::expm1(x / 0.5L)); }},
    {"Sigmoid", {}, [](Real x) { return 1 / (1 + std::exp(-x)); }},
    {"HardSigmoid", {}, [](Real x) { return clamp01(static_cast<Real>(0.2f) * x + 0.5L); }},
    {"HardSigmoid", {{"alpha", 0.5f}, {"beta", 0.25f}}, [](Real x) { return clamp01(0.5L * x + 0.25L); }},
    {"Tanh", {}, [](Real x) { return std::tanh(x); }},
    {"Softplus", {}, [](Real x) { return std::log1p(std::exp(x)); }},
    {"Softsign", {}, [](Real x) { return x / (1 + std::abs(x)); }},
    {"ThresholdedRelu", {{"alpha", 0.5f}}, [](Real x) { return x > 0.5L ? x : 0.0L; }},
    {"Shrink", {}, [](Real x) { return std::abs(x) > 0.5L ? x : 0.0L; }},
    {"Shrink",
     {{"lambd", 0.25f}, {"bias", 0.125f}},
     [](Real x) { return x > 0.25L    ? x - 0.125L
                         : x < -0.25L ? x + 0.125L
                                      : 0.0L; }},
    {"Gelu", {}, [](Real x) { return 0.5L * x * (1 + std::erf(x / std::sqrt(2.0L))); }},
};

OnnxModel normalization_then(const Row& row) {
  OnnxModel model(20);
  model.input("x", Type::FLOAT, {3, 8}).output("y", Type::FLOAT, {3, 8});
  model.initializer("s", floats({8}, std::vector<float>(8, 1.5f)));
  model.node("LayerNormalization", {"x", "s"}, {"n"}).node(row.type, {"n"}, {"y"});
  for (const auto& [name, value] : row.attributes) model.real(name, value);
  return model;
}

TEST_F(ImportActivation, IsFusedWithItsOwnDefaults) {
  std::mt19937 random(9);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.type);
    Normalization n;
    n.shape = {3, 8};
    n.axes = {1};
    n.x = random_floats(random, 24);
    n.scale = Broadcast{{1, 1}, {1.5f}};
    n.epsilon = static_cast<Real>(1e-5f);
    n.activation = row.formula;
    expect_output(normalization_then(row), {floats(n.shape, n.x)}, floats(n.shape, normalized(n)), 1);
    EXPECT_NE(imported_.out.find("operators: 1,"), std::string::npos) << imported_;
  }
}

TEST_F(ImportActivation, IsRefusedWhereItCannotBeFused) {
  OnnxModel alone(13);
  alone.input("x", Type::FLOAT, {3}).output("y", Type::FLOAT, {3}).node("Relu", {"x"}, {"y"});
  expect_refused(alone, {"node 0 (Relu): takes \"x\", expected the output of a normalization that nothing else takes"});

  OnnxModel shared = normalization_then(rows[0]);
  shared.output("n", Type::FLOAT, {3, 8});
  expect_refused(shared, {"node 1 (Relu): takes \"n\", expected the output of a normalization that nothing else"});

  OnnxModel twice = normalization_then(rows[0]);
  twice.graph().mutable_output(0)->set_name("z");
  twice.node("Tanh", {"y"}, {"z"});
  expect_refused(twice, {"node 2 (Tanh): takes \"y\""});

  OnnxModel approximate = normalization_then(rows[std::size(rows) - 1]);
  approximate.text("approximate", "tanh");
  expect_refused(approximate, {"node 1 (Gelu): attribute approximate: is \"tanh\", expected \"none\""});
}

}  // namespace
}  // namespace dmlref::test
