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
