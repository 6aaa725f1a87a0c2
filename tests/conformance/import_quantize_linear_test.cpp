// QuantizeLinear and DequantizeLinear: per tensor, per axis and in blocks, against the formulas in double.
#include <algorithm>
#include <cmath>
#include <random>

#include "conformance/onnx_model.hpp"

namespace dmlref::test {
namespace {

class ImportQuantizeLinear : public ImportTest {};

std::vector<float> some_floats(std::size_t count) {
  std::mt19937 random(5);
  std::vector<float> values(count);
  for (float& value : values) value = std::uniform_real_distribution<float>(-40, 40)(random);
  return values;
}

std::uint8_t quantized(float x, float scale, int zero_point) {
  const double quotient = static_cast<double>(x) / static_cast<double>(scale);
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(quotient) + zero_point, 0.0, 255.0));
}

/// Of {2, 4, 3}: which scale an element takes.
struct Form {
  const char* name;
  Extents scale;
  std::int64_t axis;
  std::int64_t block_size;
  std::size_t (*place)(std::size_t n, std::size_t c, std::size_t w);
};
const Form forms[] = {
    {"per tensor", {}, 1, 0, [](std::size_t, std::size_t, std::size_t) { return std::size_t{0}; }},
    {"per channel", {4}, 1, 0, [](std::size_t, std::size_t c, std::size_t) { return c; }},
    {"per column, from the end", {3}, -1, 0, [](std::size_t, std::size_t, std::size_t w) { return w; }},
    {"in blocks of 2 channels",
     {2, 2, 3},
     1,
     2,
     [](std::size_t n, std::size_t c, std::size_t w) { return (n * 2 + c / 2) * 3 + w; }},
};

TEST_F(ImportQuantizeLinear, ThereAndBackInEveryForm) {
  for (const Form& form : forms) {
    SCOPED_TRACE(form.name);
    const std::vector<float> x = some_floats(24);
    std::vector<float> scale;
    std::vector<std::uint8_t> zero_point;
    for (std::int64_t i = 0; i < count_of(form.scale); ++i) {
      scale.push_back(0.25f + 0.125f * static_cast<float>(i));
      zero_point.push_back(static_cast<std::uint8_t>(100 + 7 * i));
    }
    std::vector<std::uint8_t> q;
    std::vector<float> y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t place = form.place(i / 12, i / 3 % 4, i % 3);
      q.push_back(quantized(x[i], scale[place], zero_point[place]));
      y.push_back(static_cast<float>(int{q.back()} - int{zero_point[place]}) * scale[place]);
    }
    const auto with_form = [&](OnnxModel& model) {
      if (form.axis != 1) model.attribute("axis", form.axis);
      if (form.block_size != 0) model.attribute("block_size", form.block_size);
    };
    OnnxModel quantize(form.block_size != 0 ? 21 : 13);
    quantize.input("x", Type::FLOAT, {2, 4, 3}).output("q", Type::UINT8, {2, 4, 3});
    quantize.initializer("s", floats(form.scale, scale));
    quantize.initializer("z", tensor(Type::UINT8, form.scale, zero_point));
    quantize.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    with_form(quantize);
    expect_output(quantize, {floats({2, 4, 3}, x)}, tensor(Type::UINT8, {2, 4, 3}, q), 0);

    OnnxModel both(form.block_size != 0 ? 21 : 13);
    both.input("x", Type::FLOAT, {2, 4, 3}).output("y", Type::FLOAT, {2, 4, 3});
    both.initializer("s", floats(form.scale, scale));
    both.initializer("z", tensor(Type::UINT8, form.scale, zero_point));
    both.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    with_form(both);
    both.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
    with_form(both);
    expect_output(both, {floats({2, 4, 3}, x)}, floats({2, 4, 3}, y), 0);
  }
}

TEST_F(ImportQuantizeLinear, WithoutAZeroPointIsOfUint8) {
  OnnxModel model(13);
  model.input("x", Type::FLOAT, {3}).output("q", Type::UINT8, {3});
  model.initializer("s", floats({}, {2}));
  model.node("QuantizeLinear", {"x", "s"}, {"q"});
  const std::vector<std::uint8_t> q = {0, 2, 255};
  expect_output(model, {floats({3}, {-4, 5, 1000})}, tensor(Type::UINT8, {3}, q), 0);
}

TEST_F(ImportQuantizeLinear, DequantizesABias) {
  OnnxModel model(13);
  model.input("q", Type::INT32, {4}).output("y", Type::FLOAT, {4});
  model.initializer("s", floats({4}, {0.5f, 2, 0.25f, 1}));
  model.node("DequantizeLinear", {"q", "s"}, {"y"}).attribute("axis", 0);
  const std::vector<std::int32_t> q = {3, -2147483647, 5, 16777217};
  expect_output(model, {tensor(Type::INT32, {4}, q)}, floats({4}, {1.5f, -4294967294.0f, 1.25f, 16777216}), 0);
}

std::vector<half> halves(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// A tensor of integers of any width.
template <class T>
::onnx::TensorProto whole(std::int32_t type, const std::vector<int>& values) {
  return tensor(type, {static_cast<std::int64_t>(values.size())}, std::vector<T>(values.begin(), values.end()));
}

// DirectML quantizes FLOAT, FLOAT16 and INT32 to 8 bits. Opset 10 has no axis; 23 and 25 have no more to say of these.
TEST_F(ImportQuantizeLinear, QuantizesEveryTypeThatDirectmlHas) {
  const std::vector<float> x = {-4, 5, 3, 1000};
  const auto expect = [&](std::int64_t opset, const ::onnx::TensorProto& in, const ::onnx::TensorProto& scale,
                          std::int32_t to, const ::onnx::TensorProto& zero, const ::onnx::TensorProto& expected) {
    OnnxModel model(opset);
    model.input("x", in.data_type(), {4}).output("q", to, {4});
    model.initializer("s", scale).initializer("z", zero).node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    if (opset >= 23) model.attribute("precision", 0).attribute("output_dtype", to);
    SCOPED_TRACE("opset " + std::to_string(opset) + ", from " + std::to_string(in.data_type()));
    expect_output(model, {in}, expected, 0);
  };
  const auto two = floats({}, {2});
  for (const std::int64_t opset : {10, 13, 19, 21, 23, 24, 25}) {
    expect(opset, floats({4}, x), two, Type::UINT8, whole<std::uint8_t>(Type::UINT8, {7}),
           whole<std::uint8_t>(Type::UINT8, {5, 9, 9, 255}));
    expect(opset, floats({4}, x), two, Type::INT8, whole<std::int8_t>(Type::INT8, {-7}),
           whole<std::int8_t>(Type::INT8, {-9, -5, -5, 127}));
    const std::vector<int> integers = {-4, 5, 3, 1000};
    expect(opset, whole<std::int32_t>(Type::INT32, integers), two, Type::INT8, whole<std::int8_t>(Type::INT8, {1}),
           whole<std::int8_t>(Type::INT8, {-1, 3, 3, 127}));
    if (opset < 19) continue;
    expect(opset, tensor(Type::FLOAT16, {4}, halves(x)), tensor(Type::FLOAT16, {}, halves({2})), Type::UINT8,
           whole<std::uint8_t>(Type::UINT8, {7}), whole<std::uint8_t>(Type::UINT8, {5, 9, 9, 255}));
  }
}

TEST_F(ImportQuantizeLinear, DequantizesEveryTypeThatDirectmlHas) {
  const auto expect = [&](const ::onnx::TensorProto& q, const ::onnx::TensorProto& zero, std::int32_t to) {
    OnnxModel model(21);
    model.input("q", q.data_type(), {3}).output("y", to, {3});
    const bool is_half = to == Type::FLOAT16;
    model.initializer("s", is_half ? tensor(to, {}, halves({0.5f})) : floats({}, {0.5f})).initializer("z", zero);
    model.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
    const std::vector<float> y = {-1, 0, 61};
    SCOPED_TRACE("from " + std::to_string(q.data_type()));
    expect_output(model, {q}, is_half ? tensor(to, {3}, halves(y)) : floats({3}, y), 0);
  };
  const std::vector<int> q = {1, 3, 125};
  for (const std::int32_t to : {Type::FLOAT, Type::FLOAT16}) {
    expect(whole<std::uint8_t>(Type::UINT8, q), whole<std::uint8_t>(Type::UINT8, {3}), to);
    expect(whole<std::int8_t>(Type::INT8, q), whole<std::int8_t>(Type::INT8, {3}), to);
    expect(whole<std::uint16_t>(Type::UINT16, q), whole<std::uint16_t>(Type::UINT16, {3}), to);
    expect(whole<std::int16_t>(Type::INT16, q), whole<std::int16_t>(Type::INT16, {3}), to);
    expect(whole<std::int32_t>(Type::INT32, q), whole<std::int32_t>(Type::INT32, {3}), to);
  }
}

// What ONNX has and DirectML has not. (Debian's ONNX names no FLOAT8, UINT4 and INT4.)
TEST_F(ImportQuantizeLinear, RefusesTypesThatDirectmlLacks) {
  const auto quantize = [](std::int32_t x, std::int32_t scale, std::int32_t to) {
    OnnxModel model(23);
    model.input("x", x, {4}).input("s", scale, {}).input("z", to, {}).output("q", to, {4});
    model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    return model;
  };
  const std::string node = "node 0 (QuantizeLinear): ";
  for (const std::int32_t type : {Type::INT16, Type::UINT16}) {
    expect_refused(quantize(Type::FLOAT, Type::FLOAT, type),
                   {node + "ZeroPointTensor.DataType is ", "INT16, expected one of UINT8, INT8 [tensor_data_type]"});
  }
  expect_refused(quantize(Type::FLOAT, Type::FLOAT16, Type::UINT8),
                 {node + "ScaleTensor.DataType is FLOAT16, expected FLOAT32 as InputTensor.DataType"});
  expect_refused(quantize(Type::INT32, Type::FLOAT16, Type::UINT8),
                 {node + "ScaleTensor.DataType is FLOAT16, expected FLOAT32 where InputTensor.DataType is INT32"});
  expect_refused(quantize(Type::BFLOAT16, Type::BFLOAT16, Type::UINT8),
                 {node + "x is BFLOAT16, expected a type of DirectML's numbers"});
  expect_refused(quantize(Type::FLOAT, Type::BFLOAT16, Type::UINT8),
                 {node + "y_scale is BFLOAT16, expected a type of DirectML's numbers"});
  expect_refused(quantize(Type::FLOAT, Type::FLOAT, Type::BOOL),
                 {node + "y_zero_point is BOOL, expected a type of DirectML's numbers"});
  const std::pair<std::int32_t, std::string> lacking[] = {
      {17, "FLOAT8E4M3FN"}, {19, "FLOAT8E5M2"}, {21, "UINT4"}, {22, "INT4"}, {23, "FLOAT4E2M1"}};
  for (const auto& [type, name] : lacking) {
    expect_refused(quantize(Type::FLOAT, Type::FLOAT, type),
                   {node, "is " + name + ", expected an element type of DirectML"});
    OnnxModel named(21);
    named.input("x", Type::FLOAT, {4}).output("q", type, {4}).initializer("s", floats({}, {1}));
    named.node("QuantizeLinear", {"x", "s"}, {"q"}).attribute("output_dtype", type);
    expect_refused(named, {node + "attribute output_dtype: is " + std::to_string(type) + " (" + name +
                           "), expected a type of DirectML's numbers"});
  }
  const auto dequantize = [](std::int32_t q, std::int32_t scale) {
    OnnxModel model(23);
    model.input("q", q, {4}).input("s", scale, {}).output("y", scale, {4});
    model.node("DequantizeLinear", {"q", "s"}, {"y"});
    return model;
  };
  const std::string back = "node 0 (DequantizeLinear): ";
  expect_refused(dequantize(22, Type::FLOAT), {back, "is INT4, expected an element type of DirectML"});
  expect_refused(dequantize(Type::BFLOAT16, Type::FLOAT), {back + "x is BFLOAT16, expected a type of"});
  expect_refused(dequantize(Type::UINT8, Type::BFLOAT16), {back + "x_scale is BFLOAT16, expected a type of"});
  expect_refused(dequantize(Type::FLOAT, Type::FLOAT), {back + "InputTensor.DataType is FLOAT32, expected one of"});
  expect_refused(dequantize(Type::UINT8, Type::FLOAT).attribute("output_dtype", Type::FLOAT16),
                 {back + "attribute output_dtype: is 10, expected 0 or that of FLOAT"});
}

TEST_F(ImportQuantizeLinear, RefusesWhatDoesNotFit) {
  const auto model = [](const Extents& scale, const char* attribute, std::int64_t value) {
    OnnxModel made(21);
    made.input("x", Type::FLOAT, {2, 4, 3}).output("q", Type::UINT8, {2, 4, 3});
    made.initializer("s", floats(scale, std::vector<float>(static_cast<std::size_t>(count_of(scale)), 1)));
    made.node("QuantizeLinear", {"x", "s"}, {"q"});
    if (attribute != nullptr) made.attribute(attribute, value);
    return made;
  };
  expect_refused(model({3}, nullptr, 0), {"y_scale is [3], expected one element or 4, one for each place of axis 1"});
  expect_refused(model({4}, "axis", 3), {"axis is 3, expected -3 to 2 for rank 3"});
  expect_refused(model({2, 2, 3}, "block_size", 3), {"block_size: is 3, expected a divisor of the 4 elements"});
  expect_refused(model({2, 1, 3}, "block_size", 2), {"y_scale is [2, 1, 3], expected [2, 2, 3]: one for each block"});
  expect_refused(model({}, "output_dtype", 5), {"[tensor_data_type]"});
}

}  // namespace
}  // namespace dmlref::test
