// QLinearConv and ConvInteger against plain loops over all six indices.
#include <cmath>
#include <random>

#include "conformance/onnx_model.hpp"

namespace dmlref::test {
namespace {

class ImportConvolution : public ImportTest {};

struct Conv {
  Extents x, w;  // shapes
  Extents strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};
  std::int64_t groups = 1;
  std::vector<int> x_values, w_values, bias;
  int x_zero = 0, y_zero = 0;
  std::vector<int> w_zeros{0};
  std::vector<float> scales{1};  // x_scale * w_scale[c] / y_scale, powers of two
  Extents y;
};

int random_int(std::mt19937& random, int least, int most) {
  return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
}
std::vector<int> random_ints(std::mt19937& random, std::int64_t count, int least, int most) {
  std::vector<int> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(random_int(random, least, most));
  return values;
}

/// Sets conv.y; rounds half to even, adds the zero point, clamps.
std::vector<int> convolved(Conv& conv, int least, int most) {
  const auto extent = [&](std::size_t a) {
    const std::int64_t reach = (conv.w[2 + a] - 1) * conv.dilations[a] + 1;
    return (conv.x[2 + a] + conv.pads[a] + conv.pads[2 + a] - reach) / conv.strides[a] + 1;
  };
  conv.y = {conv.x[0], conv.w[0], extent(0), extent(1)};
  const std::int64_t per_group = conv.w[0] / conv.groups;
  std::vector<int> result;
  for (std::int64_t n = 0; n < conv.y[0]; ++n) {
    for (std::int64_t m = 0; m < conv.y[1]; ++m) {
      for (std::int64_t i = 0; i < conv.y[2]; ++i) {
        for (std::int64_t j = 0; j < conv.y[3]; ++j) {
          std::int64_t sum = conv.bias.empty() ? 0 : conv.bias[static_cast<std::size_t>(m)];
          for (std::int64_t c = 0; c < conv.w[1]; ++c) {
            for (std::int64_t p = 0; p < conv.w[2]; ++p) {
              for (std::int64_t q = 0; q < conv.w[3]; ++q) {
                const std::int64_t row = i * conv.strides[0] - conv.pads[0] + p * conv.dilations[0];
                const std::int64_t column = j * conv.strides[1] - conv.pads[1] + q * conv.dilations[1];
                if (row < 0 || row >= conv.x[2] || column < 0 || column >= conv.x[3]) continue;
                const std::int64_t channel = m / per_group * conv.w[1] + c;
                const auto at_x = ((n * conv.x[1] + channel) * conv.x[2] + row) * conv.x[3] + column;
                const auto at_w = ((m * conv.w[1] + c) * conv.w[2] + p) * conv.w[3] + q;
                const int zero = conv.w_zeros[conv.w_zeros.size() == 1 ? 0 : static_cast<std::size_t>(m)];
                sum += (conv.x_values[static_cast<std::size_t>(at_x)] - conv.x_zero) *
                       (conv.w_values[static_cast<std::size_t>(at_w)] - zero);
              }
            }
          }
          const float scale = conv.scales[conv.scales.size() == 1 ? 0 : static_cast<std::size_t>(m)];
          const double value = std::nearbyint(static_cast<double>(sum) * static_cast<double>(scale)) + conv.y_zero;
          result.push_back(static_cast<int>(std::clamp<double>(value, least, most)));
        }
      }
    }
  }
  return result;
}

template <class T>
::onnx::TensorProto eight(const Extents& dims, const std::vector<int>& values) {
  std::vector<T> narrow;
  for (const int value : values) narrow.push_back(static_cast<T>(value));
  return tensor(std::is_signed_v<T> ? Type::INT8 : Type::UINT8, dims, narrow);
}

std::int64_t channels(const std::vector<int>& values) { return static_cast<std::int64_t>(values.size()); }

/// Of UINT8 by INT8 to UINT8, all parameters constants; w_scale is `scales`, the others cancel out.
OnnxModel qlinear_conv(const Conv& conv) {
  OnnxModel model(13);
  model.input("x", Type::UINT8, conv.x).output("y", Type::UINT8, conv.y);
  model.initializer("xs", floats({}, {0.5f})).initializer("xz", eight<std::uint8_t>({}, {conv.x_zero}));
  model.initializer("w", eight<std::int8_t>(conv.w, conv.w_values));
  model.initializer("ws", floats({static_cast<std::int64_t>(conv.scales.size())}, conv.scales));
  model.initializer("wz", eight<std::int8_t>({channels(conv.w_zeros)}, conv.w_zeros));
  model.initializer("ys", floats({1}, {0.5f})).initializer("yz", eight<std::uint8_t>({1}, {conv.y_zero}));
  std::vector<std::string> inputs{"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"};
  if (!conv.bias.empty()) {
    std::vector<std::int32_t> bias(conv.bias.begin(), conv.bias.end());
    model.initializer("b", tensor(Type::INT32, {channels(conv.bias)}, bias));
    inputs.emplace_back("b");
  }
  model.node("QLinearConv", inputs, {"y"}).attribute("group", conv.groups);
  return model;
}

Conv random_conv(std::mt19937& random, const Extents& x, const Extents& w, std::int64_t groups = 1) {
  Conv conv;
  conv.x = x;
  conv.w = w;
  conv.groups = groups;
  conv.x_values = random_ints(random, count_of(x), 0, 255);
  conv.w_values = random_ints(random, count_of(w), -128, 127);
  return conv;
}

TEST_F(ImportConvolution, PadsGroupsAndDilatesAsOnnxSays) {
  std::mt19937 random(1);
  Conv conv = random_conv(random, {2, 4, 7, 6}, {6, 2, 3, 2}, 2);
  conv.strides = {2, 1};
  conv.dilations = {1, 2};
  conv.pads = {2, 0, 1, 3};  // starts of both axes, then ends
  conv.x_zero = 131;
  conv.y_zero = 100;
  conv.w_zeros = {0, 1, -1, 100, -128, 127};
  conv.bias = random_ints(random, 6, -30000, 30000);
  conv.scales = {0.03125f, 0.0078125f, 0.015625f, 0.0078125f, 0.00390625f, 0.001953125f};
  const std::vector<int> y = convolved(conv, 0, 255);
  OnnxModel model = qlinear_conv(conv);
  model.list("strides", conv.strides).list("dilations", conv.dilations).list("pads", conv.pads);
  model.list("kernel_shape", {3, 2}).text("auto_pad", "NOTSET");
  expect_output(model, {eight<std::uint8_t>(conv.x, conv.x_values)}, eight<std::uint8_t>(conv.y, y));
}

TEST_F(ImportConvolution, ResolvesAutomaticPadding) {
  // Two more at one side: at the end for SAME_UPPER, at the start for SAME_LOWER.
  const struct {
    const char* name;
    Extents pads;
  } rows[] = {{"SAME_UPPER", {0, 1, 1, 2}}, {"SAME_LOWER", {1, 2, 0, 1}}, {"VALID", {0, 0, 0, 0}}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::mt19937 random(2);
    Conv conv = random_conv(random, {1, 1, 6, 8}, {2, 1, 3, 4});
    conv.strides = {2, 1};
    conv.pads = row.pads;
    conv.x_zero = 7;
    conv.scales = {0.0009765625f};
    conv.y_zero = 128;
    const std::vector<int> y = convolved(conv, 0, 255);
    OnnxModel model = qlinear_conv(conv);
    model.list("strides", conv.strides).text("auto_pad", row.name);
    expect_output(model, {eight<std::uint8_t>(conv.x, conv.x_values)}, eight<std::uint8_t>(conv.y, y));
  }
}

TEST_F(ImportConvolution, OfOneAxisIsOneOfTwo) {
  std::mt19937 random(3);
  Conv conv = random_conv(random, {2, 3, 1, 9}, {4, 3, 1, 3});
  conv.strides = {1, 2};
  conv.dilations = {1, 2};
  conv.pads = {0, 1, 0, 3};
  conv.scales = {0.0009765625f};
  conv.y_zero = 128;
  const std::vector<int> y = convolved(conv, 0, 255);
  const auto narrow = [](Extents extents) { return extents.erase(extents.begin() + 2), extents; };
  conv.x = narrow(conv.x);
  conv.w = narrow(conv.w);
  conv.y = narrow(conv.y);
  OnnxModel model = qlinear_conv(conv);
  model.list("strides", {2}).list("dilations", {2}).list("pads", {1, 3}).list("kernel_shape", {3});
  expect_output(model, {eight<std::uint8_t>(conv.x, conv.x_values)}, eight<std::uint8_t>(conv.y, y));
}

TEST_F(ImportConvolution, ReadsTransposedTensorsInPlace) {
  std::mt19937 random(4);
  Conv conv = random_conv(random, {1, 3, 4, 5}, {2, 3, 2, 2});
  conv.scales = {0.0009765625f};
  conv.y_zero = 128;
  const std::vector<int> y = convolved(conv, 0, 255);
  std::vector<int> nhwc;
  for (int p = 0; p < 20; ++p) {
    for (int c = 0; c < 3; ++c) nhwc.push_back(conv.x_values[static_cast<std::size_t>(c * 20 + p)]);
  }
  OnnxModel model = qlinear_conv(conv);
  *model.graph().mutable_input() = {};
  model.input("nhwc", Type::UINT8, {1, 4, 5, 3});
  model.node("Transpose", {"nhwc"}, {"x"}).list("perm", {0, 3, 1, 2});
  model.graph().mutable_node()->SwapElements(0, 1);
  expect_output(model, {eight<std::uint8_t>({1, 4, 5, 3}, nhwc)}, eight<std::uint8_t>(conv.y, y));
  EXPECT_NE(imported_.out.find("operators: 1,"), std::string::npos) << imported_;
}

TEST_F(ImportConvolution, OfIntegersGivesInt32) {
  std::mt19937 random(5);
  Conv conv = random_conv(random, {2, 4, 5, 6}, {6, 2, 3, 2}, 2);
  conv.pads = {1, 0, 2, 1};
  conv.strides = {2, 1};
  conv.x_zero = 131;
  conv.w_zeros = {0, 1, -1, 100, -128, 127};
  const std::vector<int> y = convolved(conv, INT32_MIN, INT32_MAX);
  OnnxModel model(10);
  model.input("x", Type::UINT8, conv.x).output("y", Type::INT32, conv.y);
  model.initializer("w", eight<std::int8_t>(conv.w, conv.w_values));
  model.initializer("xz", eight<std::uint8_t>({}, {conv.x_zero}));
  model.initializer("wz", eight<std::int8_t>({6}, conv.w_zeros));
  model.node("ConvInteger", {"x", "w", "xz", "wz"}, {"y"}).list("pads", conv.pads).list("strides", conv.strides);
  model.attribute("group", conv.groups);
  expect_output(model, {eight<std::uint8_t>(conv.x, conv.x_values)},
                tensor(Type::INT32, conv.y, std::vector<std::int32_t>(y.begin(), y.end())));
  EXPECT_NE(imported_.out.find("operators: 1,"), std::string::npos) << imported_;
}

/// A ConvInteger of two unsigned tensors, whose zero points are absent, or one each.
OnnxModel conv_integer(const Conv& conv, bool zero_points) {
  OnnxModel model(10);
  model.input("x", Type::UINT8, conv.x).output("y", Type::INT32, conv.y);
  model.initializer("w", eight<std::uint8_t>(conv.w, conv.w_values));
  if (!zero_points) return model.node("ConvInteger", {"x", "w"}, {"y"});
  model.initializer("xz", eight<std::uint8_t>({1}, {conv.x_zero}));
  model.initializer("wz", eight<std::uint8_t>({1}, conv.w_zeros));
  return model.node("ConvInteger", {"x", "w", "xz", "wz"}, {"y"});
}

TEST_F(ImportConvolution, OfIntegersHasEveryAttribute) {
  std::mt19937 random(7);
  const auto expect = [&](Conv conv, bool zero_points, auto with) {
    for (int& w : conv.w_values) w &= 0xFF;
    const std::vector<int> y = convolved(conv, INT32_MIN, INT32_MAX);
    OnnxModel model = conv_integer(conv, zero_points);
    with(model);
    expect_output(model, {eight<std::uint8_t>(conv.x, conv.x_values)},
                  tensor(Type::INT32, conv.y, std::vector<std::int32_t>(y.begin(), y.end())));
  };
  const auto conv_of = [&](Extents x, Extents w, std::int64_t groups = 1) {
    return random_conv(random, std::move(x), std::move(w), groups);
  };
  expect(conv_of({2, 3, 5, 6}, {4, 3, 3, 2}), false, [](OnnxModel&) {});
  Conv conv = conv_of({1, 4, 7, 9}, {6, 2, 3, 2}, 2);
  conv.dilations = {2, 3};
  conv.strides = {1, 2};
  conv.x_zero = 128;
  conv.w_zeros = {200};
  expect(conv, true, [](OnnxModel& m) {
    m.list("dilations", {2, 3}).list("strides", {1, 2}).attribute("group", 2).list("kernel_shape", {3, 2});
  });
  conv = conv_of({1, 3, 5, 6}, {3, 1, 3, 2}, 3);  // depthwise; 5 by 6 again, so that an odd padding lies at one side
  conv.x_zero = 77;
  conv.pads = {1, 0, 1, 1};
  expect(conv, true, [](OnnxModel& m) { m.text("auto_pad", "SAME_UPPER").attribute("group", 3); });
  conv.pads = {1, 1, 1, 0};
  expect(conv, true, [](OnnxModel& m) { m.text("auto_pad", "SAME_LOWER").attribute("group", 3); });
  conv.pads = {0, 0, 0, 0};
  expect(conv, true, [](OnnxModel& m) { m.text("auto_pad", "VALID").attribute("group", 3); });
}

TEST_F(ImportConvolution, OfIntegersInOneDimension) {
  std::mt19937 random(8);
  Conv conv = random_conv(random, {2, 3, 1, 9}, {4, 3, 1, 3});
  conv.strides = {1, 2};
  conv.dilations = {1, 2};
  conv.pads = {0, 1, 0, 2};
  conv.x_zero = 3;
  for (int& w : conv.w_values) w &= 0xFF;
  const std::vector<int> y = convolved(conv, INT32_MIN, INT32_MAX);
  for (Extents* shape : {&conv.x, &conv.w, &conv.y}) shape->erase(shape->begin() + 2);
  OnnxModel model = conv_integer(conv, true);
  model.list("strides", {2}).list("dilations", {2}).list("pads", {1, 2}).list("kernel_shape", {3});
  expect_output(model, {eight<std::uint8_t>(conv.x, conv.x_values)},
                tensor(Type::INT32, conv.y, std::vector<std::int32_t>(y.begin(), y.end())));
}

TEST_F(ImportConvolution, OfIntegersRefusesWhatItCannotSay) {
  std::mt19937 random(9);
  Conv conv = random_conv(random, {1, 2, 4, 4}, {2, 2, 3, 3});
  for (int& w : conv.w_values) w &= 0xFF;
  convolved(conv, INT32_MIN, INT32_MAX);
  const auto expect = [&](const std::vector<std::string>& fragments, auto change) {
    OnnxModel model = conv_integer(conv, true);
    change(model);
    expect_refused(model, fragments);
  };
  const std::string node = "node 0 (ConvInteger): ";
  expect({node + "attribute strides: is [0, 1], expected 2 integers from 1"}, [](OnnxModel& m) {
    m.list("strides", {0, 1});
  });
  expect({node + "attribute pads: is there beside auto_pad \"SAME_LOWER\""}, [](OnnxModel& m) {
    m.list("pads", {1, 0, 0, 0}).text("auto_pad", "SAME_LOWER");
  });
  expect({node + "attribute group: is 0, expected 1 or more"}, [](OnnxModel& m) { m.attribute("group", 0); });
  expect({node, "GroupCount, 2", "[convolution_filter_channels]"}, [](OnnxModel& m) { m.attribute("group", 2); });
  expect({node + "spans 5 elements of axis 2, expected at most the 4 that input and padding have"}, [](OnnxModel& m) {
    m.list("dilations", {2, 1});
  });
  expect({node + "x_zero_point is [2], expected one element"}, [](OnnxModel& m) {
    *m.graph().mutable_initializer(1) = eight<std::uint8_t>({2}, {1, 2});
    m.graph().mutable_initializer(1)->set_name("xz");
  });
  expect({node + "w_zero_point is [3], expected one element or 2"}, [](OnnxModel& m) {
    *m.graph().mutable_initializer(2) = eight<std::uint8_t>({3}, {1, 2, 3});
    m.graph().mutable_initializer(2)->set_name("wz");
  });
  expect({node, "FilterZeroPointTensor.DataType is INT8, expected UINT8 as FilterTensor.DataType"},
         [](OnnxModel& m) { m.graph().mutable_initializer(2)->set_data_type(Type::INT8); });
  expect({node + "x is INT32, expected UINT8 or INT8"}, [](OnnxModel& m) {
    m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(Type::INT32);
  });
}

TEST_F(ImportConvolution, RefusesWhatItCannotSay) {
  std::mt19937 random(6);
  Conv conv = random_conv(random, {1, 2, 4, 4}, {2, 2, 3, 3});
  convolved(conv, 0, 255);
  const auto expect = [&](const std::vector<std::string>& fragments, auto change) {
    OnnxModel model = qlinear_conv(conv);
    change(model);
    expect_refused(model, fragments);
  };
  const std::string node = "node 0 (QLinearConv): ";
  expect({node + "attribute kernel_shape: is [3, 2], expected the filter's [3, 3]"}, [](OnnxModel& m) {
    m.list("kernel_shape", {3, 2});
  });
  expect({node + "attribute pads: is [0, 0, 0], expected 4 integers from 0"}, [](OnnxModel& m) {
    m.list("pads", {0, 0, 0});
  });
  expect({node + "attribute pads: is [0, 0, -1, 0], expected 4 integers from 0"}, [](OnnxModel& m) {
    m.list("pads", {0, 0, -1, 0});
  });
  expect({node + "attribute pads: is there beside auto_pad \"SAME_UPPER\""}, [](OnnxModel& m) {
    m.list("pads", {1, 0, 0, 0}).text("auto_pad", "SAME_UPPER");
  });
  expect({node + "attribute auto_pad: is \"same\""}, [](OnnxModel& m) { m.text("auto_pad", "same"); });
  expect({node + "attribute strides: is [0, 1], expected 2 integers from 1"}, [](OnnxModel& m) {
    m.list("strides", {0, 1});
  });
  expect({node + "attribute dilations: is of another type"}, [](OnnxModel& m) { m.attribute("dilations", 1); });
  expect({node + "attribute output_padding: is not known of QLinearConv in opset 13"}, [](OnnxModel& m) {
    m.list("output_padding", {0, 0});
  });
  expect({node + "attribute group: is 0"},
         [](OnnxModel& m) { m.graph().mutable_node(0)->mutable_attribute(0)->set_i(0); });
  expect({node, "GroupCount, 2", "[convolution_filter_channels]"},
         [](OnnxModel& m) { m.graph().mutable_node(0)->mutable_attribute(0)->set_i(2); });
  expect({node + "spans 9 elements of axis 2, expected at most the 4"}, [](OnnxModel& m) {
    m.list("dilations", {4, 1});
  });
  expect({node + "w_scale is [3], expected one element or 2"}, [](OnnxModel& m) {
    m.initializer("three", floats({3}, {1, 1, 1})).graph().mutable_node(0)->set_input(4, "three");
  });
  expect({node + "lacks input 7 (y_zero_point)"}, [](OnnxModel& m) { m.graph().mutable_node(0)->set_input(7, ""); });
  expect({node, "InputZeroPointTensor.DataType", "INT8"}, [](OnnxModel& m) {
    m.initializer("zi", eight<std::int8_t>({}, {0})).graph().mutable_node(0)->set_input(2, "zi");
  });
  expect({node + "x is FLOAT, expected UINT8 or INT8"}, [](OnnxModel& m) {
    m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(Type::FLOAT);
  });
  expect({node + "has an input [1, 0, 4, 4] and a filter [2, 2, 3, 3], expected extents from 1"}, [](OnnxModel& m) {
    auto* type = m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
    type->mutable_shape()->mutable_dim(1)->set_dim_value(0);
  });
  OnnxModel empty(10);
  empty.input("x", Type::UINT8, {1, 1, 2, 2}).output("y", Type::INT32, {1, 1, 1, 1});
  empty.initializer("w", eight<std::uint8_t>({0, 1, 1, 1}, {})).node("ConvInteger", {"x", "w"}, {"y"});
  expect_refused(empty, {"node 0 (ConvInteger): has an input [1, 1, 2, 2] and a filter [0, 1, 1, 1]"});
  expect({node + "has an input [1, 2, 4, 4, 1] and a filter [2, 2, 3, 3]"}, [](OnnxModel& m) {
    m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(1);
  });
}

}  // namespace
}  // namespace dmlref::test
