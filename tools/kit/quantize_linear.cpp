// quantize_linear.cpp: the cases of ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR.
#include <limits>
#include <optional>

#include "kit/build.hpp"
#include "support/element.hpp"

namespace dmlref::tool::kit {
namespace quantize_linear {  // one source with the other tables
namespace {

constexpr auto f32 = DataType::float32;
constexpr auto f16 = DataType::float16;
constexpr auto u8 = DataType::uint8;
constexpr auto i8 = DataType::int8;
constexpr auto i32 = DataType::int32;
constexpr const char* quantize_page = "DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC";
constexpr const char* dequantize_page = "DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC";
constexpr const char* half_even = "reading: the exact quotient is rounded half to even";
constexpr const char* exact = "reading: the exact real number is rounded once";

using Values = std::vector<double>;

/// A scale or zero point: its values, and the strides that repeat them.
struct Parameter {
  Values values;
  List strides;  // none: packed
};

struct Row {
  const char* name;
  const char* kind;
  const char* property;
  bool quantizes;
  DataType input;
  DataType output;
  List sizes;
  Values values;  // of the input; none: drawn
  Parameter scale;
  std::optional<Parameter> zero_point;
  const char* source;
  List in_strides = {};
  List out_strides = {};
};

Parameter one(double value, std::size_t rank = 4) { return {{value}, List(rank, 0)}; }

std::vector<Row> rows() {
  const double infinity = std::numeric_limits<double>::infinity();
  const Values ties = {-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5};
  const Values near = {-3.25, -2.75, -1.25, -0.75, 0.75, 1.25, 2.75, 3.25};
  const Values large = {1e30, -1e30, infinity, -infinity, 300, -300, 127.5, -128.5};
  const Parameter channels{{0.5, 0.25, 2}, {0, 1, 0, 0}};
  const Parameter channel_zeros{{3, 130, 255}, {0, 1, 0, 0}};
  std::vector<Row> list = {
      {"onnx_example",
       "plain",
       "rounds, adds the zero point, saturates",
       true,
       f32,
       u8,
       {1, 1, 2, 3},
       {0, 2, 3, 1000, -254, -1000},
       one(2),
       one(128),
       half_even},
      {"ties", "rounding", "halves are rounded to even", true, f32, i8, {1, 1, 1, 8}, ties, one(1), one(0), half_even},
      {"ties_uint8",
       "rounding",
       "halves are rounded to even before the zero point is added",
       true,
       f32,
       u8,
       {1, 1, 1, 8},
       ties,
       one(1),
       one(101),
       half_even},
      {"ties_float16",
       "rounding",
       "halves of FLOAT16 are rounded to even",
       true,
       f16,
       i8,
       {1, 1, 1, 8},
       ties,
       one(1),
       one(1),
       half_even},
      {"between_ties",
       "rounding",
       "quotients are rounded to the nearest, not truncated",
       true,
       f32,
       i8,
       {1, 1, 1, 8},
       near,
       one(1),
       one(0),
       quantize_page},
      {"quotient_next_to_tie",
       "rounding",
       "25.4999991 is below the tie that a float32 quotient makes of it",
       true,
       f32,
       u8,
       {1, 1, 1, 2},
       {0.5, -0.5},
       one(0x1.414142p-6),
       one(153),
       exact},
      {"saturates_uint8",
       "saturation",
       "what lies beyond 0 and 255 is clamped",
       true,
       f32,
       u8,
       {1, 1, 2, 4},
       large,
       one(1),
       one(7),
       quantize_page},
      {"saturates_int8",
       "saturation",
       "what lies beyond -128 and 127 is clamped",
       true,
       f32,
       i8,
       {1, 1, 2, 4},
       large,
       one(1),
       one(-7),
       quantize_page},
      {"per_channel",
       "parameters",
       "scale and zero point of each channel by strides of 0",
       true,
       f32,
       u8,
       {2, 3, 4, 5},
       {},
       channels,
       channel_zeros,
       quantize_page},
      {"per_element",
       "parameters",
       "a scale and a zero point for each element",
       true,
       f32,
       i8,
       {1, 2, 2, 2},
       {5, -6, 7, -8, 9, 10, -11, 12},
       {{1, 2, 0.5, 4, 0.25, 8, 1, 0.125}, {}},
       Parameter{{0, 1, -2, 3, -4, 5, -6, 7}, {}},
       quantize_page},
      {"negative_scale",
       "parameters",
       "a negative scale",
       true,
       f32,
       i8,
       {1, 1, 1, 8},
       near,
       one(-0.5),
       one(2),
       "reading: negative scales are used as they are"},
      {"int32",
       "types",
       "INT32 is divided by FLOAT32",
       true,
       i32,
       i8,
       {1, 1, 1, 6},
       {100, -100, 7, -9, 2147483647, -2147483648.0},
       one(2),
       one(0),
       half_even},
      {"int32_beyond_float32",
       "types",
       "INT32 is not rounded to FLOAT32 before it is divided",
       true,
       i32,
       i8,
       {1, 1, 1, 2},
       {16777217, -16777217},
       one(33554432),
       one(0),
       exact},
      {"rank_1", "ranks", "one dimension, from 3_0", true, f32, u8, {37}, {}, one(0.5, 1), one(128, 1), quantize_page},
      {"rank_8",
       "ranks",
       "eight dimensions, from 3_0",
       true,
       f32,
       i8,
       {1, 2, 1, 2, 1, 3, 2, 1},
       {},
       one(0.5, 8),
       one(-3, 8),
       quantize_page},
      {"no_zero_point",
       "parameters",
       "an absent zero point of INT8 is 0, from 6_2",
       true,
       f32,
       i8,
       {2, 3, 4, 5},
       {},
       one(0.5),
       std::nullopt,
       "reading: an absent zero point is 0"},
      {"nhwc_to_nchw",
       "memory layout",
       "input and output lie in other orders in memory",
       true,
       f32,
       u8,
       {2, 3, 4, 5},
       {},
       channels,
       channel_zeros,
       quantize_page,
       {60, 1, 15, 3}},
      {"padded_output",
       "memory layout",
       "what lies between the output's elements stays",
       true,
       f32,
       u8,
       {2, 2, 3, 4},
       {},
       one(0.5),
       one(100),
       quantize_page,
       {},
       {64, 30, 9, 2}},

      {"onnx_example",
       "plain",
       "subtracts the zero point, multiplies",
       false,
       u8,
       f32,
       {1, 1, 1, 4},
       {0, 3, 128, 255},
       one(2),
       one(128),
       dequantize_page},
      {"int8",
       "types",
       "INT8",
       false,
       i8,
       f32,
       {1, 1, 2, 4},
       {-128, -127, -1, 0, 1, 2, 126, 127},
       one(0.1),
       one(-128),
       dequantize_page},
      {"uint8_float16",
       "types",
       "FLOAT16 results, from 6_0",
       false,
       u8,
       f16,
       {1, 1, 2, 4},
       {0, 1, 2, 3, 127, 128, 254, 255},
       one(0.1),
       one(3),
       dequantize_page},
      {"int16",
       "types",
       "INT16",
       false,
       DataType::int16,
       f32,
       {1, 1, 1, 6},
       {-32768, -1, 0, 1, 300, 32767},
       one(0.3),
       one(-32768),
       dequantize_page},
      {"uint16",
       "types",
       "UINT16",
       false,
       DataType::uint16,
       f32,
       {1, 1, 1, 5},
       {0, 1, 300, 32768, 65535},
       one(0.3),
       one(65535),
       dequantize_page},
      {"int32",
       "types",
       "differences of INT32 do not wrap",
       false,
       i32,
       f32,
       {1, 1, 1, 4},
       {-2147483648.0, 2147483647, 0, 5},
       one(1),
       one(2147483647),
       exact},
      {"uint32",
       "types",
       "differences of UINT32 are negative",
       false,
       DataType::uint32,
       f32,
       {1, 1, 1, 4},
       {0, 4294967295, 3582234233, 1},
       one(0.5),
       one(4294967295),
       exact},
      {"per_channel",
       "parameters",
       "scale and zero point of each channel by strides of 0",
       false,
       u8,
       f32,
       {2, 3, 4, 5},
       {},
       channels,
       channel_zeros,
       dequantize_page},
      {"per_element",
       "parameters",
       "a scale and a zero point for each element",
       false,
       i8,
       f32,
       {1, 2, 2, 2},
       {5, -6, 7, -8, 9, 10, -11, 12},
       {{1, 2, 0.5, 4, 0.25, 8, 1, 0.125}, {}},
       Parameter{{0, 1, -2, 3, -4, 5, -6, 7}, {}},
       dequantize_page},
      {"overflow_float16",
       "overflow",
       "65,519 is rounded to 65504, 76,500 to infinity",
       false,
       i32,
       f16,
       {1, 1, 1, 3},
       {65519, 76500, -76500},
       one(1),
       one(0),
       exact},
      {"negative_scale",
       "parameters",
       "a negative scale; a difference of 0 gives -0",
       false,
       i8,
       f32,
       {1, 1, 1, 4},
       {3, 4, 5, -128},
       one(-0.5),
       one(4),
       "reading: negative scales are used as they are"},
      {"no_zero_point",
       "parameters",
       "an absent zero point of INT8 is 0, from 6_2",
       false,
       i8,
       f32,
       {2, 3, 4, 5},
       {},
       one(0.5),
       std::nullopt,
       "reading: an absent zero point is 0"},
      {"nhwc_to_nchw",
       "memory layout",
       "input and output lie in other orders in memory",
       false,
       i8,
       f16,
       {2, 3, 4, 5},
       {},
       channels,
       Parameter{{3, -100, 127}, {0, 1, 0, 0}},
       dequantize_page,
       {60, 1, 15, 3}},
      {"nchw_to_nhwc",
       "memory layout",
       "input and output lie in other orders in memory",
       false,
       u8,
       f32,
       {2, 3, 4, 5},
       {},
       channels,
       channel_zeros,
       dequantize_page,
       {},
       {60, 1, 15, 3}},
      {"rank_8",
       "ranks",
       "eight dimensions, from 3_0",
       false,
       i8,
       f32,
       {1, 2, 1, 2, 1, 3, 2, 1},
       {},
       one(0.5, 8),
       one(-3, 8),
       dequantize_page},
  };
  return list;
}

/// `values` as elements of `type`, rounded; as many as the strides span, the rest 0.
std::vector<std::byte> elements(DataType type, const Values& values, const List& sizes, const List& strides) {
  const auto count = static_cast<std::size_t>(spanned(sizes, strides));
  std::vector<std::byte> bytes(count * size_of(type));
  visit_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < values.size() && i < count; ++i) {
      if constexpr (is_real<T>) {
        store_element(bytes, i, static_cast<T>(static_cast<float>(values[i])));
      } else {
        store_element(bytes, i, static_cast<T>(static_cast<std::int64_t>(values[i])));
      }
    }
  });
  return bytes;
}

/// Multiples of an eighth for what is quantized, any bytes for what is dequantized.
std::vector<std::byte> drawn(DataType type, std::uint64_t count, Random& random) {
  if (size_of(type) == 1) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.between(0, 255));
    return bytes;
  }
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) value = static_cast<double>(random.between(-800, 800)) / 8;
  return real_elements(type, values);
}

Case quantize_linear_case(const Row& row) {
  Case one;
  one.name = std::string(row.quantizes ? "quantize_linear_" : "dequantize_linear_") + row.name;
  one.op = row.quantizes ? "ELEMENT_WISE_QUANTIZE_LINEAR" : "ELEMENT_WISE_DEQUANTIZE_LINEAR";
  one.kind = row.kind;
  one.property = row.property;
  one.source = row.source;
  Random random(one.name);
  const auto add = [&](const char* name, DataType type, const List& strides, std::vector<std::byte> bytes) {
    one.desc[name] = tensor(type, row.sizes, strides);
    one.inputs.push_back({name, type, std::move(bytes), std::nullopt});
  };
  const auto add_parameter = [&](const char* name, DataType type, const Parameter& parameter) {
    add(name, type, parameter.strides, elements(type, parameter.values, row.sizes, parameter.strides));
  };
  add("InputTensor", row.input, row.in_strides,
      row.values.empty() ? drawn(row.input, spanned(row.sizes, row.in_strides), random)
                         : elements(row.input, row.values, row.sizes, row.in_strides));
  const DataType real = row.quantizes ? row.input : row.output;
  add_parameter("ScaleTensor", real == i32 ? f32 : real, row.scale);
  if (row.zero_point) add_parameter("ZeroPointTensor", row.quantizes ? row.output : row.input, *row.zero_point);
  one.desc["OutputTensor"] = tensor(row.output, row.sizes, row.out_strides);
  return one;
}

}  // namespace
}  // namespace quantize_linear

void add_quantize_linear(std::vector<Case>& cases) {
  using namespace quantize_linear;
  for (const Row& row : rows()) cases.push_back(quantize_linear_case(row));
}

}  // namespace dmlref::tool::kit
