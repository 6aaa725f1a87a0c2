// Normalizations against long double arithmetic, within one unit in the last place.
#include <algorithm>

#include "conformance/onnx_model.hpp"
#include "conformance/plain_normalization.hpp"

namespace dmlref::test {
namespace {

constexpr float epsilon = 1e-5f;

class ImportNormalization : public ImportTest {
 protected:
  Normalization random_input(const Extents& shape, std::vector<std::size_t> axes) {
    Normalization n;
    n.shape = shape;
    n.x = random_floats(random_, count_of(shape), 3);
    n.axes = std::move(axes);
    n.epsilon = static_cast<long double>(epsilon);
    return n;
  }
  Broadcast random_parameter(const Extents& shape) { return {shape, random_floats(random_, count_of(shape), 1)}; }

  /// Input "x", output "y", and the parameters as constants of these shapes.
  OnnxModel model_of(const Normalization& n, std::int64_t opset, const Extents& scale = {}, const Extents& bias = {}) {
    OnnxModel model(opset);
    model.input("x", Type::FLOAT, n.shape).output("y", Type::FLOAT, n.shape);
    if (n.scale) model.initializer("s", floats(scale, n.scale->values));
    if (n.bias) model.initializer("b", floats(bias, n.bias->values));
    return model;
  }
  void expect_normalized(const OnnxModel& model, const Normalization& n) {
    expect_output(model, {floats(n.shape, n.x)}, floats(n.shape, normalized(n)), 1);
  }

  std::mt19937 random_{7};
};

TEST_F(ImportNormalization, OfMeanAndVarianceHasAxesOfTheBatchAndATinyEpsilon) {
  Normalization n = random_input({2, 3, 2, 2}, {0, 2, 3});
  n.epsilon = 1e-9L;
  n.epsilon_outside = true;
  OnnxModel model = model_of(n, 13);
  model.node("MeanVarianceNormalization", {"x"}, {"y"});
  expect_normalized(model, n);

  n.axes = {1, 2};
  OnnxModel axes = model_of(n, 9);
  axes.node("MeanVarianceNormalization", {"x"}, {"y"}).list("axes", {-2, 1});
  expect_normalized(axes, n);

  // No variance: 0, not NaN.
  std::fill(n.x.begin(), n.x.end(), 0.1f);
  expect_output(axes, {floats(n.shape, n.x)}, floats(n.shape, std::vector<float>(24, 0)));
  OnnxModel twice = model_of(n, 13);
  twice.node("MeanVarianceNormalization", {"x"}, {"y"}).list("axes", {1, -3});
  expect_refused(twice, {"node 0 (MeanVarianceNormalization): ", "Axes[1]"});
}

// ONNX's reductions take an empty list for all axes, DirectML's normalization for none.
TEST_F(ImportNormalization, OfNoAxesIsRefused) {
  const Normalization n = random_input({2, 3}, {});
  OnnxModel empty = model_of(n, 13);
  empty.node("MeanVarianceNormalization", {"x"}, {"y"}).list("axes", {});
  expect_refused(empty, {"node 0 (MeanVarianceNormalization): attribute axes: is empty, expected at least one axis"});
}

TEST_F(ImportNormalization, OfInstancesHasParametersPerChannel) {
  for (const Extents& shape : {Extents{2, 3, 4}, Extents{2, 3, 2, 2}, Extents{1, 3, 2, 1, 3}}) {
    std::vector<std::size_t> axes{2};
    while (axes.size() + 2 < shape.size()) axes.push_back(axes.back() + 1);
    Normalization n = random_input(shape, axes);
    n.epsilon = 0.0625L;
    Extents parameter(shape.size(), 1);
    parameter[1] = 3;
    n.scale = random_parameter(parameter);
    n.bias = random_parameter(parameter);
    OnnxModel model = model_of(n, 6, {3}, {3});
    model.node("InstanceNormalization", {"x", "s", "b"}, {"y"}).real("epsilon", 0.0625f);
    expect_normalized(model, n);
  }
}

TEST_F(ImportNormalization, OfLayersBeginsAtItsAxis) {
  for (const std::int64_t axis : {-3, -2, -1, 0, 1, 2}) {
    std::vector<std::size_t> axes;
    for (std::int64_t d = axis < 0 ? axis + 3 : axis; d < 3; ++d) axes.push_back(static_cast<std::size_t>(d));
    Normalization n = random_input({2, 3, 4}, axes);
    // Of fewer dimensions, and broadcast within.
    n.scale = random_parameter({1, 3, 4});
    n.bias = random_parameter({1, 3, 1});
    OnnxModel model = model_of(n, 17, {3, 4}, {3, 1});
    model.node("LayerNormalization", {"x", "s", "b"}, {"y", "mean"}).attribute("axis", axis);
    expect_normalized(model, n);
    EXPECT_NE(imported_.out.find("node 0 (LayerNormalization): output 1 (\"mean\") is not computed"),
              std::string::npos);
  }
  Normalization n = random_input({2, 4}, {1});
  n.scale = random_parameter({1, 4});
  OnnxModel no_bias = model_of(n, 17, {4});
  no_bias.node("LayerNormalization", {"x", "s"}, {"y"}).attribute("stash_type", 1);
  expect_normalized(no_bias, n);
}

TEST_F(ImportNormalization, ByTheRootOfTheMeanSquareBeginsAtItsAxis) {
  for (const std::int64_t axis : {-3, -2, -1, 0, 1, 2}) {
    std::vector<std::size_t> axes;
    for (std::int64_t d = axis < 0 ? axis + 3 : axis; d < 3; ++d) axes.push_back(static_cast<std::size_t>(d));
    Normalization n = random_input({2, 3, 4}, axes);
    n.use_mean = false;
    n.epsilon = 0.0625L;
    n.scale = random_parameter({1, 3, 4});
    OnnxModel model = model_of(n, 23, {3, 4});
    model.node("RMSNormalization", {"x", "s"}, {"y"}).attribute("axis", axis).real("epsilon", 0.0625f);
    expect_normalized(model, n);
  }
  Normalization n = random_input({2, 4}, {1});
  n.use_mean = false;
  n.scale = random_parameter({1, 4});
  for (const char* domain : {"", "ai.onnx", "com.microsoft"}) {  // ONNX Runtime's own
    OnnxModel model = model_of(n, 17, {4});
    model.node("SimplifiedLayerNormalization", {"x", "s"}, {"y", "inv_std_var"}).attribute("stash_type", 1);
    model.graph().mutable_node(0)->set_domain(domain);
    expect_normalized(model, n);
    EXPECT_NE(imported_.out.find("node 0 (SimplifiedLayerNormalization): output 1 (\"inv_std_var\") is not computed"),
              std::string::npos);
  }
  n.activation = [](long double value) { return value > 0 ? value : 0; };
  OnnxModel fused = model_of(n, 23, {4});
  fused.node("RMSNormalization", {"x", "s"}, {"r"}).node("Relu", {"r"}, {"y"});
  expect_normalized(fused, n);

  const auto rms = [](std::int64_t opset, std::int32_t type, const Extents& scale) {
    OnnxModel model(opset);
    model.input("x", type, {2, 4}).output("y", type, {2, 4});
    model.initializer("s", floats(scale, std::vector<float>(static_cast<std::size_t>(count_of(scale)))));
    model.node("RMSNormalization", {"x", "s"}, {"y"});
    return model;
  };
  const std::string node = "node 0 (RMSNormalization): ";
  expect_refused(rms(22, Type::FLOAT, {4}), {node + "is RMSNormalization of opset 22, expected 23 or newer"});
  expect_refused(rms(23, Type::FLOAT, {3}), {node + "scale is [3], expected what broadcasts to [2, 4]"});
  expect_refused(rms(23, Type::FLOAT16, {4}), {node, "ScaleTensor.DataType"});
  expect_refused(rms(23, Type::FLOAT, {4}).attribute("axis", 2), {node + "attribute axis: is 2, expected -2 to 1"});
  expect_refused(rms(23, Type::FLOAT, {4}).attribute("stash_type", 10), {node + "attribute stash_type: is 10"});
  OnnxModel foreign = rms(23, Type::FLOAT, {4});
  foreign.graph().mutable_node(0)->set_domain("com.microsoft");
  expect_refused(foreign, {node + "is com.microsoft.RMSNormalization, expected one of"});
  // It adds a second input first, which no single operator here does.
  for (const char* type : {"SkipSimplifiedLayerNormalization", "SkipLayerNormalization"}) {
    OnnxModel skip(17);
    skip.input("x", Type::FLOAT, {2, 4}).input("skip", Type::FLOAT, {2, 4}).output("y", Type::FLOAT, {2, 4});
    skip.initializer("s", floats({4}, {1, 2, 3, 4})).node(type, {"x", "skip", "s"}, {"y"});
    skip.graph().mutable_node(0)->set_domain("com.microsoft");
    expect_refused(skip, {std::string("node 0 (") + type + "): is com.microsoft." + type + ", expected one of",
                          "SimplifiedLayerNormalization"});
  }
}

TEST_F(ImportNormalization, OfGroupsHasParametersPerGroupAndSinceOpset21PerChannel) {
  Normalization n = random_input({2, 6, 2, 2}, {2, 3});
  n.shape = {2, 3, 2, 4};
  n.scale = random_parameter({1, 3, 1, 1});
  n.bias = random_parameter({1, 3, 1, 1});
  Normalization declared = n;
  declared.shape = {2, 6, 2, 2};
  OnnxModel model = model_of(declared, 18, {3}, {3});
  model.node("GroupNormalization", {"x", "s", "b"}, {"y"}).attribute("num_groups", 3);
  expect_output(model, {floats(declared.shape, n.x)}, floats(declared.shape, normalized(n)), 1);

  declared.scale = n.scale = random_parameter({1, 3, 2, 1});
  declared.bias = n.bias = random_parameter({1, 3, 2, 1});
  OnnxModel newer = model_of(declared, 21, {6}, {6});
  newer.node("GroupNormalization", {"x", "s", "b"}, {"y"}).attribute("num_groups", 3);
  expect_output(newer, {floats(declared.shape, n.x)}, floats(declared.shape, normalized(n)), 1);
}

TEST_F(ImportNormalization, OfBatchesInTrainingHasItsOwnStatistics) {
  Normalization n = random_input({3, 2, 4}, {0, 2});
  n.scale = random_parameter({1, 2, 1});
  n.bias = random_parameter({1, 2, 1});
  OnnxModel model = model_of(n, 15, {2}, {2});
  model.initializer("m", floats({2}, {100, 100})).initializer("v", floats({2}, {9, 9}));
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "running_mean", "running_variance"});
  model.attribute("training_mode", 1).real("momentum", 0.5f);
  expect_normalized(model, n);
  EXPECT_NE(imported_.out.find("output 2 (\"running_variance\") is not computed"), std::string::npos) << imported_;

  OnnxModel older = model_of(n, 9, {2}, {2});
  older.node("BatchNormalization", {"x", "s", "b", "s", "s"}, {"y", "rm", "rv", "m", "v"});
  expect_normalized(older, n);
}

TEST_F(ImportNormalization, OfFloat16IsRoundedOnce) {
  OnnxModel model(13);
  model.input("x", Type::FLOAT16, {1, 1, 1, 4}).output("y", Type::FLOAT16, {1, 1, 1, 4});
  model.node("MeanVarianceNormalization", {"x"}, {"y"});
  // (-1.5, -0.5, 0.5, 1.5) / sqrt(1.25), to float16
  const ::onnx::TensorProto x = tensor<std::uint16_t>(Type::FLOAT16, {1, 1, 1, 4}, {0x3C00, 0x4000, 0x4200, 0x4400});
  const ::onnx::TensorProto y = tensor<std::uint16_t>(Type::FLOAT16, {1, 1, 1, 4}, {0xBD5E, 0xB728, 0x3728, 0x3D5E});
  expect_output(model, {x}, y);
}

TEST_F(ImportNormalization, RefusesWhatItCannotSay) {
  const auto layer = [](std::int64_t opset, std::int32_t type, const Extents& scale) {
    OnnxModel model(opset);
    model.input("x", type, {2, 4})
        .output("y", type, {2, 4})
        .initializer("s", floats(scale, std::vector<float>(static_cast<std::size_t>(count_of(scale)))));
    model.node("LayerNormalization", {"x", "s"}, {"y"});
    return model;
  };
  const std::string node = "node 0 (LayerNormalization): ";
  expect_refused(layer(16, Type::FLOAT, {4}), {node + "is LayerNormalization of opset 16, expected 17 or newer"});
  expect_refused(layer(17, Type::FLOAT, {3}), {node + "Scale is [3], expected what broadcasts to [2, 4]"});
  expect_refused(layer(17, Type::BFLOAT16, {4}), {node + "has an input of BFLOAT16, expected FLOAT or FLOAT16"});
  expect_refused(layer(17, Type::DOUBLE, {4}), {node, "InputTensor.DataType", "FLOAT64"});
  expect_refused(layer(17, Type::FLOAT16, {4}), {node, "ScaleTensor.DataType"});
  expect_refused(layer(17, Type::FLOAT, {4}).attribute("axis", 2), {node + "attribute axis: is 2, expected -2 to 1"});
  expect_refused(layer(17, Type::FLOAT, {4}).attribute("stash_type", 10), {node + "attribute stash_type: is 10"});

  OnnxModel taken = layer(17, Type::FLOAT, {4});
  taken.graph().mutable_node(0)->add_output("mean");
  taken.node("Identity", {"mean"}, {"m"});
  expect_refused(taken,
                 {"node 1 (Identity): takes \"mean\", which is an output of node 0 (LayerNormalization) that is not"});

  OnnxModel inference(15);
  inference.input("x", Type::FLOAT, {2, 4})
      .output("y", Type::FLOAT, {2, 4})
      .initializer("s", floats({4}, {1, 1, 1, 1}));
  inference.node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"});
  expect_refused(inference, {"node 0 (BatchNormalization): attribute training_mode: is 0, expected 1"});
  inference.proto().mutable_opset_import(0)->set_version(9);
  expect_refused(inference, {"node 0 (BatchNormalization): has one output, which is not training"});

  OnnxModel groups(18);
  groups.input("x", Type::FLOAT, {2, 4, 2}).output("y", Type::FLOAT, {2, 4, 2}).initializer("s", floats({2}, {1, 1}));
  groups.node("GroupNormalization", {"x", "s", "s"}, {"y"}).attribute("num_groups", 3);
  expect_refused(groups, {"node 0 (GroupNormalization): attribute num_groups: is 3, expected a divisor of 4 channels"});
  groups.graph().mutable_node(0)->mutable_attribute(0)->set_i(4);
  expect_refused(groups, {"node 0 (GroupNormalization): scale is [2], expected [4]"});
}

}  // namespace
}  // namespace dmlref::test
