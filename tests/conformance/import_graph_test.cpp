// Whole graphs: what import writes, where outputs go, inputs without data, several operators.
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "conformance/onnx_model.hpp"
#include "conformance/plain_normalization.hpp"
#include "support/seed.hpp"

namespace dmlref::test {
namespace {

class ImportGraph : public ImportTest {};

/// One operator after another, under equal names.
OnnxModel long_graph(int nodes) {
  OnnxModel model(13);
  model.input("x0", Type::FLOAT, {2}).output("x" + std::to_string(nodes), Type::FLOAT, {2});
  model.initializer("starts", integers({0})).initializer("ends", integers({2}));
  for (int i = 0; i < nodes; ++i) {
    const std::string from = "x" + std::to_string(i);
    model.node("Slice", {from, "starts", "ends"}, {"x" + std::to_string(i + 1)});
  }
  return model;
}

TEST_F(ImportGraph, OfManyNodesTakesTimeInProportion) {
  const auto seconds = [&](int nodes) {
    write("model.onnx", long_graph(nodes).bytes());
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = dmlref({"import", "model.onnx", "--out", "out"});
    EXPECT_EQ(outcome.status, 0) << outcome;
    EXPECT_NE(outcome.out.find("operators: " + std::to_string(nodes) + ","), std::string::npos) << outcome;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // Ten times the nodes; quadratic time would be a hundred times as long, and minutes.
  const double few = seconds(dmlref_test::rounds(10'000));
  const double many = seconds(10 * dmlref_test::rounds(10'000));
  EXPECT_LT(many, 30 * few + 1);
}

OnnxModel normalization(const Extents& shape) {
  OnnxModel model(13);
  model.input("x", Type::FLOAT, shape).output("y", Type::FLOAT, shape);
  model.node("MeanVarianceNormalization", {"x"}, {"y"}).list("axes", {1});
  return model;
}

TEST_F(ImportGraph, RunsItsOperatorsInOrder) {
  // Normalized over the first axis, transposed, the last row, flattened.
  std::mt19937 random(11);
  Normalization n;
  n.shape = {4, 3};
  n.axes = {0};
  n.x = random_floats(random, 12);
  n.epsilon = 1e-9L;
  n.epsilon_outside = true;
  const std::vector<float> all = normalized(n);
  OnnxModel model(13);
  model.input("x", Type::FLOAT, {4, 3}).output("y", Type::FLOAT, {2, 2});
  model.initializer("from", integers({2})).initializer("to", integers({3})).initializer("shape", integers({2, 2}));
  model.node("MeanVarianceNormalization", {"x"}, {"n"}).list("axes", {0});
  model.node("Transpose", {"n"}, {"t"}).node("Slice", {"t", "from", "to"}, {"s"});
  model.node("Reshape", {"s", "shape"}, {"y"});
  expect_output(model, {floats({4, 3}, n.x)}, floats({2, 2}, {all[2], all[5], all[8], all[11]}), 1);
  // The reshaped slice is copied to the output.
  EXPECT_NE(imported_.out.find("operators: 3,"), std::string::npos) << imported_;
}

TEST_F(ImportGraph, OfTheNewestOpsetsMeansTheSame) {
  // Opsets 24 and 25 give more types to Constant, Identity, Reshape and Transpose, and leave the rest as it is.
  // Debian's ONNX has no tests of them.
  const std::vector<float> x{1, -2, 3, -4, 5, 6};
  const auto text_of = [&](std::int64_t opset) {
    OnnxModel model(opset);
    model.input("x", Type::FLOAT, {2, 3}).output("y", Type::FLOAT, {3}).output("n", Type::FLOAT, {3, 2});
    model.output("q", Type::UINT8, {1, 1, 1, 1});
    model.constant("from", integers({0})).constant("to", integers({1})).constant("shape", integers({3, 2}));
    model.node("Identity", {"x"}, {"i"}).node("Slice", {"i", "from", "to"}, {"s"});
    model.initializer("flat", integers({3})).node("Reshape", {"s", "flat"}, {"y"});
    model.initializer("scale", floats({2}, {1, 2})).initializer("bias", floats({2}, {0, 1}));
    model.node("Reshape", {"x", "shape"}, {"r"}).node("LayerNormalization", {"r", "scale", "bias"}, {"l"});
    model.node("Gelu", {"l"}, {"n"});
    model.initializer("one", floats({}, {1})).initializer("zero", tensor<std::uint8_t>(Type::UINT8, {}, {0}));
    model.initializer("pixel", tensor<std::uint8_t>(Type::UINT8, {1, 1, 1, 1}, {7}));
    model.node("QLinearConv", {"pixel", "one", "zero", "pixel", "one", "zero", "one", "zero"}, {"q"});
    model.node("Transpose", {"r"}, {"t"}).list("perm", {1, 0}).output("t", Type::FLOAT, {2, 3});
    model.node("ConvInteger", {"pixel", "pixel"}, {"c"}).output("c", Type::INT32, {1, 1, 1, 1});
    model.node("MatMulInteger", {"pixel", "pixel"}, {"m"}).output("m", Type::INT32, {1, 1, 1, 1});
    model.node("QLinearMatMul", {"pixel", "one", "zero", "pixel", "one", "zero", "one", "zero"}, {"k"});
    model.output("k", Type::UINT8, {1, 1, 1, 1});
    model.input("p", Type::FLOAT, {1, 2, 3, 4});
    model.initializer("mean", floats({2}, {0, 1})).initializer("variance", floats({2}, {1, 2}));
    std::string from = "p";
    int step = 0;
    const auto next = [&](const char* type, std::vector<std::string> inputs = {}) -> OnnxModel& {
      inputs.insert(inputs.begin(), from);
      from = "p" + std::to_string(step++);
      return model.node(type, inputs, {from});
    };
    next("MeanVarianceNormalization");
    next("InstanceNormalization", {"scale", "bias"});
    next("GroupNormalization", {"scale", "bias"}).attribute("num_groups", 2);
    next("BatchNormalization", {"scale", "bias", "mean", "variance"}).attribute("training_mode", 1);
    for (const char* activation : {"Relu", "LeakyRelu", "Elu", "Sigmoid", "HardSigmoid", "Tanh", "Softplus", "Softsign",
                                   "Selu", "Celu", "ThresholdedRelu", "Shrink"}) {
      next("InstanceNormalization", {"scale", "bias"});
      next(activation);
    }
    model.output(from, Type::FLOAT, {1, 2, 3, 4});
    write("model.onnx", model.bytes());
    const Outcome outcome = dmlref({"import", "model.onnx", "--out", "out", "--relative"});
    EXPECT_EQ(outcome.status, 0) << opset << outcome;
    return read_text(file("out/model.json"));
  };
  const std::string of_22 = text_of(22);
  EXPECT_NE(of_22.find("QUANTIZED_LINEAR_CONVOLUTION"), std::string::npos) << of_22;
  for (const std::int64_t opset : {23, 24, 25}) EXPECT_EQ(text_of(opset), of_22) << opset;
}

TEST_F(ImportGraph, HasOpset1WhereTheFormatIsOlderThanOpsets) {
  OnnxModel model(1);
  model.input("x", Type::FLOAT, {3}).output("y", Type::FLOAT, {2});
  model.node("Slice", {"x"}, {"y"}).list("starts", {1}).list("ends", {3});
  model.proto().clear_opset_import();
  model.proto().set_ir_version(2);
  expect_output(model, {floats({3}, {1, 2, 3})}, floats({2}, {2, 3}));
}

TEST_F(ImportGraph, KeepsAttributesThatAreNotFinite) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::pair<float, std::string> epsilons[] = {{infinity, "\"inf\""},
                                                    {-infinity, "\"-inf\""},
                                                    {std::numeric_limits<float>::quiet_NaN(), "\"nan\""},
                                                    {-std::numeric_limits<float>::quiet_NaN(), "\"nan\""},
                                                    {-1.0f, "-1.0"}};
  for (const auto& [epsilon, text] : epsilons) {
    OnnxModel model(17);
    model.input("x", Type::FLOAT, {1, 2}).output("y", Type::FLOAT, {1, 2});
    model.initializer("s", floats({2}, {1, 1})).node("LayerNormalization", {"x", "s"}, {"n"});
    model.real("epsilon", epsilon).node("LeakyRelu", {"n"}, {"y"}).real("alpha", -epsilon);
    write("model.onnx", model.bytes());
    ASSERT_EQ(dmlref({"import", "model.onnx", "--out", "out"}).status, 0);
    const std::string json = read_text(file("out/model.json"));
    EXPECT_NE(json.find("\"Epsilon\": " + text), std::string::npos) << json;
    EXPECT_EQ(json.find("null"), std::string::npos) << json;
    EXPECT_EQ(dmlref({"validate", "out/model.json"}).status, 0);
    // 1 and 2 lie half of the deviation from their mean. A variance of infinity makes 0 of them, none of the others has
    // a root.
    write("out/input_0.npy", npy("<f4", "(1, 2)", bytes_of<float>({1, 2})));
    const Outcome run = dmlref({"run", "out/model.json"});
    EXPECT_EQ(run.status, 0) << run << json;
    const std::string output = read_text(file("out/output_0.npy"));
    ASSERT_GE(output.size(), 8u);
    float results[2];
    std::memcpy(results, output.data() + output.size() - sizeof results, sizeof results);
    for (const float result : results) {
      EXPECT_TRUE(epsilon == infinity ? result == 0 : std::isnan(result)) << result << " of epsilon " << epsilon;
    }
  }
}

TEST_F(ImportGraph, HasZerosWithoutData) {
  write("model.onnx", normalization({1, 3}).bytes());
  const Outcome imported = dmlref({"import", "model.onnx", "--out", "a/b"});
  ASSERT_EQ(imported.status, 0) << imported;
  EXPECT_EQ(imported.out, "a/b/model.json: operators: 1, outputs: 1\n");
  EXPECT_EQ(imported.err, "");
  EXPECT_FALSE(fs::exists(file("a/b/expected_0.npy")));
  ASSERT_EQ(dmlref({"run", "a/b/model.json"}).status, 0);
  const std::string output = read_text(file("a/b/output_0.npy"));
  EXPECT_EQ(output.substr(output.size() - 12), std::string(12, '\0'));
  // A file of the user's own takes their place: 1, 2, 3 are -1, 0, 1 over their deviation.
  write("a/b/input_0.npy", npy("<f4", "(1, 3)", bytes_of<float>({1, 2, 3})));
  ASSERT_EQ(dmlref({"run", "a/b/model.json"}).status, 0);
  write("expected.npy", npy("<f4", "(1, 3)", bytes_of<float>({-1.2247449f, 0, 1.2247449f})));
  EXPECT_EQ(dmlref({"compare", "a/b/output_0.npy", "expected.npy"}).status, 0);
}

TEST_F(ImportGraph, WritesOutputsBesideTheModelOrWhereItRuns) {
  write("model.onnx", normalization({1, 3}).bytes());
  fs::create_directory(file("elsewhere"));
  ASSERT_EQ(dmlref({"import", "model.onnx", "--out", "elsewhere/../out"}).status, 0);
  ASSERT_EQ(dmlref({"run", "out/model.json"}).status, 0);
  EXPECT_TRUE(fs::exists(file("out/output_0.npy")));
  fs::remove(file("out/output_0.npy"));
  ASSERT_EQ(dmlref({"import", "model.onnx", "--out", "out", "--relative"}).status, 0);
  ASSERT_EQ(dmlref({"run", "out/model.json"}).status, 0);
  EXPECT_TRUE(fs::exists(file("output_0.npy")));
  EXPECT_FALSE(fs::exists(file("out/output_0.npy")));
}

TEST_F(ImportGraph, TakesUnknownExtentsFromData) {
  OnnxModel model = normalization({1, 3});
  for (auto* value : {model.graph().mutable_input(0), model.graph().mutable_output(0)}) {
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  }
  expect_output(model, {floats({2, 3}, {1, 2, 3, 4, 4, 4})}, floats({2, 3}, {-1.2247449f, 0, 1.2247449f, 0, 0, 0}));
  expect_refused(model,
                 {"node 0 (MeanVarianceNormalization): takes \"x\", which has an extent \"batch\", expected a number"});
}

TEST_F(ImportGraph, KeepsNamesApartThatAreOneInJson) {
  // Names that differ only in what a resource's name cannot have.
  OnnxModel model(17);
  model.input("a b", Type::FLOAT, {2}).input("a\"b", Type::FLOAT, {2}).output("\xFF", Type::FLOAT, {2});
  model.node("LayerNormalization", {"a b", "a\"b"}, {"\xFF"}).real("epsilon", 0);
  expect_output(model, {floats({2}, {1, 2}), floats({2}, {3, 5})}, floats({2}, {-3, 5}));
}

}  // namespace
}  // namespace dmlref::test
