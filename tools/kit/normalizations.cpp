// normalizations.cpp: the cases of MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and
// MEAN_VARIANCE_NORMALIZATION2.
#include <array>
#include <cmath>
#include <optional>

#include "dmlref/desc/activation.hpp"
#include "kit/build.hpp"

namespace dmlref::tool::kit {
namespace normalizations {  // one source with the other tables
namespace {

constexpr auto f32 = DataType::float32;
constexpr auto f16 = DataType::float16;
constexpr const char* page = "DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC";
constexpr const char* page0 = "DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC";
constexpr const char* rms =
    "reading of DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, which says nothing of UseMean and UseVariance: ONNX "
    "Runtime builds RMS normalization on it";
constexpr const char* fused = "Using fused operators; the activation's page";
constexpr const char* subnormal =
    "reading: the formulas hold for all numbers. Direct3D lets a device take float32 subnormals for 0";
constexpr const char* unrounded = "reading of Using fused operators: the activation sees the unrounded value";
constexpr const char* no_axes =
    "reading of DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC: no lower bound of AxisCount";

struct Fused {
  ActivationType type;
  std::array<float, 2> parameters;
};

/// Elements are centre + unit * k with a random k from -range to range.
struct Values {
  double centre = 0;
  double unit = 0.015625;
  std::int64_t range = 256;
};

struct Row {
  std::string name = {};
  const char* kind = "";
  const char* property = "";
  DataType type = f32;
  List input{2, 3, 4, 5};
  List axes{2, 3};                                   // of MVN1
  std::optional<bool> cross_channel = std::nullopt;  // present: MVN
  std::optional<bool> use_mean = std::nullopt;       // present: MVN2
  List scale = {};                                   // sizes; none: absent
  List bias = {};
  bool normalize_variance = true;
  float epsilon = 0.00001f;
  std::optional<Fused> activation = std::nullopt;
  Values values = {};
  Values scales = {1, 0.0078125, 100};
  Values biases = {0, 0.0078125, 200};
  // Orders of the dimensions in memory; none: packed.
  List in_order = {};
  List out_order = {};
  List in_strides = {};
  List out_strides = {};
  List scale_strides = {};  // of scale and bias
  const char* source = page;
};

constexpr std::array<Fused, 17> activations{{{ActivationType::elu, {0.75f, 0}},
                                             {ActivationType::hard_sigmoid, {0.3f, 0.4f}},
                                             {ActivationType::identity, {0, 0}},
                                             {ActivationType::leaky_relu, {0.2f, 0}},
                                             {ActivationType::linear, {1.5f, -0.25f}},
                                             {ActivationType::parametric_softplus, {0.8f, 1.3f}},
                                             {ActivationType::relu, {0, 0}},
                                             {ActivationType::scaled_elu, {1.25f, 1.125f}},
                                             {ActivationType::scaled_tanh, {1.25f, 0.7f}},
                                             {ActivationType::sigmoid, {0, 0}},
                                             {ActivationType::softplus, {2, 0}},
                                             {ActivationType::softsign, {0, 0}},
                                             {ActivationType::tanh, {0, 0}},
                                             {ActivationType::thresholded_relu, {0.5f, 0}},
                                             {ActivationType::shrink, {0.25f, 0.5f}},
                                             {ActivationType::celu, {0.75f, 0}},
                                             {ActivationType::gelu, {0, 0}}}};

std::vector<Row> rows_of_mvn2() {
  const List channel{1, 3, 1, 1}, column{1, 1, 1, 5};
  std::vector<Row> list{
      {.name = "rms", .kind = "mean", .property = "UseMean FALSE: RMS normalization", .values = {1, 0.015625, 256}},
      {.name = "rms_scale",
       .kind = "mean",
       .property = "RMS normalization along the innermost dimension",
       .axes = {3},
       .scale = column},
      {.name = "rms_scale_bias_full",
       .kind = "mean",
       .property = "UseMean FALSE with a scale and bias for each element",
       .scale = {2, 3, 4, 5},
       .bias = {2, 3, 4, 5}},
      {.name = "rms_bias_alone", .kind = "mean", .property = "UseMean FALSE with a bias alone", .bias = channel},
      {.name = "rms_far_from_zero",
       .kind = "mean",
       .property = "the mean square counts the mean",
       .input = {1, 2, 8, 8},
       .values = {4096, 0.015625, 64}},
      {.name = "rms_float16_far_from_zero",
       .kind = "mean",
       .property = "squares of float16 exceed float16",
       .type = f16,
       .input = {1, 2, 8, 8},
       .values = {1000, 0.5, 60}},
      {.name = "rms_large_group",
       .kind = "mean",
       .property = "a group of some thousand elements",
       .input = {1, 2, 50, 61},
       .values = {0.5, 0.015625, 256}},
      {.name = "rms_constant_group",
       .kind = "mean",
       .property = "a constant group is divided by itself, without epsilon",
       .epsilon = 0,
       .values = {3, 0, 0}},
      {.name = "rms_large_epsilon",
       .kind = "epsilon",
       .property = "epsilon is added to the mean square, inside the root",
       .epsilon = 0.5f},
      {.name = "rms_axes_3_1",
       .kind = "axes",
       .property = "dimensions that do not adjoin, in any order",
       .axes = {3, 1}},
      {.name = "rms_scale_bias_differ",
       .kind = "scale and bias",
       .property = "scale and bias repeat along other dimensions",
       .scale = {2, 1, 4, 1},
       .bias = {1, 3, 1, 5}},
      {.name = "rms_subnormal_float16",
       .kind = "subnormal",
       .property = "float16 subnormals with epsilon 0",
       .type = f16,
       .epsilon = 0,
       .values = {0, 0x1p-24, 900}},
      {.name = "rms_tanh_of_large_values",
       .kind = "activation",
       .property = "no overflow for large arguments",
       .scale = channel,
       .bias = channel,
       .activation = Fused{ActivationType::tanh, {0, 0}},
       .scales = {100, 1, 10}},
      {.name = "rms_softplus_of_large_values",
       .kind = "activation",
       .property = "no overflow for large arguments",
       .scale = channel,
       .bias = channel,
       .activation = Fused{ActivationType::softplus, {1, 0}},
       .scales = {100, 1, 10}},
      {.name = "rms_no_axes",
       .kind = "axes",
       .property = "each element is divided by the root of its own square and epsilon",
       .axes = {},
       .epsilon = 0.5f},
      {.name = "rms_float16_activation",
       .kind = "activation",
       .property = "the activation sees the unrounded value",
       .type = f16,
       .scale = channel,
       .bias = channel,
       .activation = Fused{ActivationType::sigmoid, {0, 0}}},
      {.name = "rms_softplus_below_one",
       .kind = "activation",
       .property = "a Steepness below 1 from 6_4",
       .activation = Fused{ActivationType::softplus, {0.5f, 0}}},
      {.name = "rms_groups_by_strides",
       .kind = "memory layout",
       .property = "group normalization of NHWC data by strides, without the mean",
       .input = {2, 2, 6, 3},
       .axes = {1, 2},
       .scale = {2, 2, 6, 3},
       .in_strides = {36, 1, 6, 2},
       .out_strides = {36, 1, 6, 2},
       .scale_strides = {0, 1, 0, 2}},
      {.name = "no_statistics",
       .kind = "mean",
       .property = "neither UseMean nor UseVariance: scale * x + bias",
       .scale = channel,
       .bias = channel,
       .normalize_variance = false,
       .epsilon = 0.5f},
  };
  for (const DataType type : {f32, f16}) {
    for (std::size_t rank = 1; rank <= 8; ++rank) {
      Row row{.kind = "types and ranks", .property = "ranks 1 to 8 from 6_3", .type = type};
      row.name = "rms_" + lower(to_string(type)) + "_rank" + std::to_string(rank);
      const List extents{2, 1, 2, 3, 1, 2, 3, 5};
      row.input = List(extents.end() - static_cast<std::ptrdiff_t>(rank), extents.end());
      row.axes = {static_cast<std::int64_t>(rank) - 1};
      row.scale = List(rank, 1);
      row.scale.back() = 5;
      row.values.centre = 0.5;
      list.push_back(row);
    }
  }
  for (const Fused& activation : activations) {
    Row row{.kind = "activation", .property = "the activation's formula, its parameters in their order"};
    row.name = "rms_activation_" + lower(find_activation(activation.type)->name);
    row.input = {1, 3, 6, 7};
    row.scale = row.bias = channel;
    row.activation = activation;
    list.push_back(row);
  }
  for (Row& row : list) row.use_mean = false;
  Row mean{.name = "mean_and_variance", .kind = "mean", .property = "UseMean and UseVariance TRUE: as MVN1"};
  mean.use_mean = true;
  mean.scale = mean.bias = channel;
  mean.values.centre = 2;
  list.push_back(mean);
  mean.name = "mean_only";
  mean.property = "UseVariance FALSE: no division, and no epsilon";
  mean.normalize_variance = false;
  mean.epsilon = 0.5f;
  list.push_back(mean);
  list.push_back({.name = "mean_far_from_zero",
                  .kind = "variance",
                  .property = "a mean of thousands of deviations does not eat the variance",
                  .input = {1, 2, 8, 8},
                  .use_mean = true,
                  .values = {4096, 0.015625, 64}});
  list.push_back({.name = "float16_large_sum",
                  .kind = "float16",
                  .property = "sums of float16 are not float16",
                  .type = f16,
                  .input = {1, 1, 50, 41},
                  .use_mean = true,
                  .values = {1.5, 0.0009765625, 500}});
  for (Row& row : list) row.source = rms;
  return list;
}

std::vector<Row> rows() {
  const List channel{1, 3, 1, 1};
  std::vector<Row> list{
      {.name = "axes_2_3", .kind = "axes", .property = "instance normalization: statistics over height and width"},
      {.name = "axes_3_2", .kind = "axes", .property = "the order of Axes does not matter", .axes = {3, 2}},
      {.name = "axes_1_2_3", .kind = "axes", .property = "layer normalization: channels, too", .axes = {1, 2, 3}},
      {.name = "axes_3_1_2", .kind = "axes", .property = "the order of Axes does not matter", .axes = {3, 1, 2}},
      {.name = "axes_0_2_3",
       .kind = "axes",
       .property = "batch normalization: statistics per channel over the batch",
       .axes = {0, 2, 3}},
      {.name = "axes_all", .kind = "axes", .property = "one group", .axes = {0, 1, 2, 3}},
      {.name = "axis_0",
       .kind = "axes",
       .property = "the outermost dimension alone",
       .input = {4, 3, 2, 5},
       .axes = {0}},
      {.name = "axis_1",
       .kind = "axes",
       .property = "a dimension in the middle alone",
       .input = {2, 4, 3, 5},
       .axes = {1}},
      {.name = "axis_3", .kind = "axes", .property = "the innermost dimension alone", .axes = {3}},
      {.name = "axes_3_1", .kind = "axes", .property = "dimensions that do not adjoin, in any order", .axes = {3, 1}},
      {.name = "axes_0_2", .kind = "axes", .property = "dimensions that do not adjoin", .axes = {0, 2}},
      {.name = "no_axes",
       .kind = "axes",
       .property = "each element is a group of its own: the result is the bias",
       .axes = {},
       .scale = channel,
       .bias = channel,
       .source = no_axes},
      {.name = "no_axes_mean_only",
       .kind = "axes",
       .property = "each element is its own mean",
       .input = {3, 5},
       .axes = {},
       .scale = {3, 5},
       .bias = {1, 5},
       .normalize_variance = false,
       .source = no_axes},
      {.name = "no_axes_float16_activation",
       .kind = "axes",
       .property = "each element is a group of its own: the activation of the bias",
       .type = f16,
       .axes = {},
       .scale = {2, 3, 4, 5},
       .bias = {2, 3, 4, 5},
       .activation = Fused{ActivationType::tanh, {0, 0}},
       .in_order = {0, 2, 3, 1},
       .source = no_axes},
      {.name = "group_of_one_element",
       .kind = "variance",
       .property = "an element alone: the result is the bias",
       .input = {2, 3, 1, 1},
       .scale = channel,
       .bias = channel},
      {.name = "group_of_two_elements",
       .kind = "variance",
       .property = "population variance: divided by the count",
       .input = {2, 3, 1, 2}},
      {.name = "constant_group",
       .kind = "variance",
       .property = "a variance of 0: the result is the bias",
       .scale = channel,
       .bias = channel,
       .values = {3, 0, 0}},
      {.name = "mean_far_from_zero",
       .kind = "variance",
       .property = "a mean of thousands of deviations does not eat the variance",
       .input = {1, 2, 8, 8},
       .values = {4096, 0.015625, 64}},
      {.name = "negative_mean_far_from_zero",
       .kind = "variance",
       .property = "a mean of thousands of deviations does not eat the variance",
       .input = {1, 2, 8, 8},
       .values = {-6000, 0.015625, 64}},
      {.name = "large_group",
       .kind = "variance",
       .property = "a group of some thousand elements",
       .input = {1, 2, 50, 61}},
      {.name = "large_group_far_from_zero",
       .kind = "variance",
       .property = "many elements far from zero",
       .input = {1, 2, 50, 61},
       .values = {1000, 0.015625, 64}},
      {.name = "mean_only",
       .kind = "variance",
       .property = "NormalizeVariance FALSE: no division, and no epsilon",
       .normalize_variance = false,
       .epsilon = 0.5f},
      {.name = "mean_only_scale_bias",
       .kind = "variance",
       .property = "NormalizeVariance FALSE with scale and bias",
       .scale = channel,
       .bias = channel,
       .normalize_variance = false,
       .epsilon = 0.5f},
      {.name = "large_epsilon",
       .kind = "epsilon",
       .property = "epsilon is added to the variance, inside the root",
       .epsilon = 0.5f},
      {.name = "epsilon_beside_a_small_variance",
       .kind = "epsilon",
       .property = "an epsilon that is larger than the variance",
       .epsilon = 0.01f,
       .values = {0, 0.0009765625, 64}},
      {.name = "epsilon_zero", .kind = "epsilon", .property = "no epsilon", .epsilon = 0},
      {.name = "subnormal_float16",
       .kind = "subnormal",
       .property = "float16 subnormals with epsilon 0",
       .type = f16,
       .epsilon = 0,
       .values = {0, 0x1p-24, 900}},
      {.name = "subnormal_float32",
       .kind = "subnormal",
       .property = "float32 subnormals with epsilon 0",
       .epsilon = 0,
       .values = {0, 0x1p-149, 100000},
       .source = subnormal},
      {.name = "scale_bias_per_channel",
       .kind = "scale and bias",
       .property = "one scale and bias for each channel",
       .scale = channel,
       .bias = channel},
      {.name = "scale_bias_full",
       .kind = "scale and bias",
       .property = "a scale and bias for each element",
       .scale = {2, 3, 4, 5},
       .bias = {2, 3, 4, 5}},
      {.name = "scale_bias_per_batch",
       .kind = "scale and bias",
       .property = "channel size 1 from 4_0",
       .scale = {2, 1, 1, 1},
       .bias = {2, 1, 1, 1}},
      {.name = "scale_bias_per_column",
       .kind = "scale and bias",
       .property = "layer normalization: along the innermost dimension",
       .axes = {3},
       .scale = {1, 1, 1, 5},
       .bias = {1, 1, 1, 5}},
      {.name = "scale_bias_differ",
       .kind = "scale and bias",
       .property = "scale and bias repeat along other dimensions",
       .scale = {2, 1, 4, 1},
       .bias = {1, 3, 1, 5}},
      {.name = "scale_bias_scalar",
       .kind = "scale and bias",
       .property = "one scale and one bias",
       .scale = {1, 1, 1, 1},
       .bias = {1, 1, 1, 1}},
      {.name = "scale_alone",
       .kind = "scale and bias",
       .property = "a scale without a bias from 5_2",
       .scale = channel},
      {.name = "bias_alone", .kind = "scale and bias", .property = "a bias without a scale from 5_2", .bias = channel},
      {.name = "large_bias",
       .kind = "scale and bias",
       .property = "the bias is added last",
       .scale = channel,
       .bias = channel,
       .biases = {20, 0.125, 100}},
      {.name = "float16_large_sum",
       .kind = "float16",
       .property = "sums of float16 are not float16",
       .type = f16,
       .input = {1, 1, 50, 41},
       .values = {1.5, 0.0009765625, 500}},
      {.name = "float16_large_values",
       .kind = "float16",
       .property = "squares of float16 exceed float16",
       .type = f16,
       .values = {0, 32, 1800}},
      {.name = "float16_far_from_zero",
       .kind = "float16",
       .property = "deviations of float16 are not rounded",
       .type = f16,
       .input = {1, 2, 8, 8},
       .values = {1000, 0.5, 60}},
      {.name = "float16_scale_bias",
       .kind = "float16",
       .property = "the result is rounded once, after scale and bias",
       .type = f16,
       .input = {2, 3, 7, 9},
       .scale = channel,
       .bias = channel,
       .scales = {0.0625, 0.0009765625, 8},
       .biases = {4, 0.0625, 30}},
      {.name = "float16_activation_rounded_once",
       .kind = "float16",
       .property = "the activation sees the unrounded value",
       .type = f16,
       .scale = channel,
       .bias = channel,
       .activation = Fused{ActivationType::linear, {256, -256}},
       .scales = {0.0625, 0.0009765625, 8},
       .biases = {1, 0.0009765625, 4},
       .source = unrounded},
      {.name = "nhwc",
       .kind = "memory layout",
       .property = "input and output are NHWC in memory",
       .scale = channel,
       .bias = channel,
       .in_order = {0, 2, 3, 1},
       .out_order = {0, 2, 3, 1}},
      {.name = "nhwc_input_nchw_output",
       .kind = "memory layout",
       .property = "input and output differ in layout",
       .in_order = {0, 2, 3, 1}},
      {.name = "nhwc_float16_axes_1_2_3",
       .kind = "memory layout",
       .property = "NHWC, all of an image one group",
       .type = f16,
       .input = {2, 5, 3, 4},
       .axes = {1, 2, 3},
       .in_order = {0, 2, 3, 1},
       .out_order = {0, 2, 3, 1}},
      {.name = "groups_by_strides",
       .kind = "memory layout",
       .property = "group normalization of NHWC data by strides: {N, C/G, H*W, G}, scale and bias by stride 0",
       .input = {2, 2, 6, 3},
       .axes = {1, 2},
       .scale = {2, 2, 6, 3},
       .bias = {2, 2, 6, 3},
       .in_strides = {36, 1, 6, 2},
       .out_strides = {36, 1, 6, 2},
       .scale_strides = {0, 1, 0, 2}},
      {.name = "broadcast_input",
       .kind = "memory layout",
       .property = "an input stride of 0: equal rows",
       .in_strides = {15, 5, 0, 1}},
      {.name = "broadcast_scale_strides",
       .kind = "memory layout",
       .property = "scale and bias by stride 0 at full size",
       .scale = {2, 3, 4, 5},
       .bias = {2, 3, 4, 5},
       .scale_strides = {0, 1, 0, 0}},
      {.name = "padded_rows",
       .kind = "memory layout",
       .property = "rows with unused elements after them",
       .in_strides = {120, 40, 8, 1},
       .out_strides = {150, 50, 12, 2}},
      {.name = "softplus_below_one",
       .kind = "activation",
       .property = "a Steepness below 1 from 6_4",
       .activation = Fused{ActivationType::softplus, {0.5f, 0}},
       .source = fused},
      {.name = "tanh_of_large_values",
       .kind = "activation",
       .property = "no overflow for large arguments",
       .scale = channel,
       .bias = channel,
       .activation = Fused{ActivationType::tanh, {0, 0}},
       .scales = {100, 1, 10},
       .source = fused},
      {.name = "softplus_of_large_values",
       .kind = "activation",
       .property = "no overflow for large arguments",
       .scale = channel,
       .bias = channel,
       .activation = Fused{ActivationType::softplus, {1, 0}},
       .scales = {100, 1, 10},
       .source = fused},
      {.name = "mean_only_activation",
       .kind = "activation",
       .property = "an activation without division",
       .normalize_variance = false,
       .activation = Fused{ActivationType::leaky_relu, {0.25f, 0}},
       .source = fused},
  };
  for (const Fused& activation : activations) {
    for (const DataType type : {f32, f16}) {
      Row row{
          .kind = "activation", .property = "the activation's formula, its parameters in their order", .type = type};
      row.name = "activation_" + lower(find_activation(activation.type)->name) + "_" + lower(to_string(type));
      row.input = {1, 3, 6, 7};
      row.scale = row.bias = channel;
      row.activation = activation;
      row.source = fused;
      list.push_back(row);
    }
  }
  for (const DataType type : {f32, f16}) {
    for (std::size_t rank = 1; rank <= 8; ++rank) {
      Row row{.kind = "types and ranks", .property = "rank 4 from 2_1, ranks 1 to 8 from 3_1", .type = type};
      row.name = lower(to_string(type)) + "_rank" + std::to_string(rank);
      const List extents{2, 1, 2, 3, 1, 2, 3, 5};
      row.input = List(extents.end() - static_cast<std::ptrdiff_t>(rank), extents.end());
      row.axes = rank == 1 ? List{0} : List{static_cast<std::int64_t>(rank) - 1, static_cast<std::int64_t>(rank) - 2};
      row.scale = row.bias = List(rank, 1);
      const std::size_t channels = rank == 1 ? 0 : 1;
      row.scale[channels] = row.bias[channels] = row.input[channels];
      list.push_back(row);
    }
    for (const bool cross : {false, true}) {
      const List full{2, 3, 4, 5};
      for (const List& parameter : {List{}, List{1, 3, 1, 1}, List{2, 1, 1, 1}, List{1, 1, 1, 5}, full}) {
        Row row{.kind = "axes", .type = type, .cross_channel = cross};
        row.property = cross ? "CrossChannel TRUE: statistics over {C, H, W}" : "CrossChannel FALSE: over {H, W}";
        row.name = std::string(cross ? "cross_channel_" : "per_channel_") + lower(to_string(type));
        for (std::size_t d = 0; d < parameter.size(); ++d) {
          row.name += (d == 0 ? "_scale_" : "x") + std::to_string(parameter[d]);
        }
        row.scale = row.bias = parameter;
        row.source = page0;
        list.push_back(row);
      }
    }
  }
  Row mvn{.name = "large_epsilon", .kind = "epsilon", .property = "epsilon is inside the root", .cross_channel = true};
  mvn.epsilon = 0.5f;
  mvn.source = page0;
  list.push_back(mvn);
  mvn.name = "mean_only_activation";
  mvn.kind = "activation";
  mvn.property = "NormalizeVariance FALSE and an activation";
  mvn.normalize_variance = false;
  mvn.activation = Fused{ActivationType::elu, {0.5f, 0}};
  list.push_back(mvn);
  mvn.name = "activation_shrink";
  mvn.property = "SHRINK from 2_0";
  mvn.normalize_variance = true;
  mvn.activation = Fused{ActivationType::shrink, {0.25f, 0.5f}};
  mvn.source = fused;
  list.push_back(mvn);
  mvn.source = page0;
  mvn.name = "scale_alone";
  mvn.kind = "scale and bias";
  mvn.property = "a scale without a bias from 5_2";
  mvn.normalize_variance = true;
  mvn.activation.reset();
  mvn.cross_channel = false;
  mvn.scale = channel;
  list.push_back(mvn);
  mvn.name = "nhwc";
  mvn.kind = "memory layout";
  mvn.property = "input and output are NHWC in memory";
  mvn.bias = channel;
  mvn.in_order = mvn.out_order = {0, 2, 3, 1};
  list.push_back(mvn);
  for (const Row& row : rows_of_mvn2()) list.push_back(row);
  return list;
}

std::vector<std::byte> elements(DataType type, std::uint64_t count, const Values& values, Random& random) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& number : numbers) {
    number = values.centre + values.unit * static_cast<double>(random.between(-values.range, values.range));
  }
  return real_elements(type, numbers);
}

Json activation_json(const Fused& activation) {
  const ActivationInfo& info = *find_activation(activation.type);
  Json json{{"Type", "ACTIVATION_" + std::string(info.name)}};
  for (std::size_t p = 0; p < 2; ++p) {
    if (!info.parameter_names[p].empty()) json[std::string(info.parameter_names[p])] = activation.parameters[p];
  }
  return json;
}

Case normalization_case(const Row& row) {
  Case one;
  one.name = (row.cross_channel ? "mvn_" : row.use_mean ? "mvn2_" : "mvn1_") + row.name;
  one.op = row.cross_channel ? "MEAN_VARIANCE_NORMALIZATION"
           : row.use_mean    ? "MEAN_VARIANCE_NORMALIZATION2"
                             : "MEAN_VARIANCE_NORMALIZATION1";
  one.kind = row.kind;
  one.property = row.property;
  one.source = row.source;
  Random random(one.name);
  const auto strides = [&](const List& order, const List& given) {
    return order.empty() ? given : strides_in_order(row.input, order);
  };
  const auto add = [&](const char* name, const List& sizes, const List& steps, const Values& values) {
    if (sizes.empty()) return;
    one.desc[name] = tensor(row.type, sizes, steps);
    one.inputs.push_back({name, row.type, elements(row.type, spanned(sizes, steps), values, random), std::nullopt});
  };
  add("InputTensor", row.input, strides(row.in_order, row.in_strides), row.values);
  add("ScaleTensor", row.scale, row.scale_strides, row.scales);
  add("BiasTensor", row.bias, row.scale_strides, row.biases);
  one.desc["OutputTensor"] = tensor(row.type, row.input, strides(row.out_order, row.out_strides));
  if (row.cross_channel) {
    one.desc["CrossChannel"] = *row.cross_channel;
  } else {
    one.desc["AxisCount"] = row.axes.size();
    one.desc["Axes"] = row.axes;
  }
  if (row.use_mean) one.desc["UseMean"] = *row.use_mean;
  one.desc[row.use_mean ? "UseVariance" : "NormalizeVariance"] = row.normalize_variance;
  one.desc["Epsilon"] = row.epsilon;
  if (row.activation) one.desc["FusedActivation"] = activation_json(*row.activation);
  return one;
}

}  // namespace
}  // namespace normalizations

void add_normalizations(std::vector<Case>& cases) {
  using namespace normalizations;
  for (const Row& row : rows()) cases.push_back(normalization_case(row));
}

}  // namespace dmlref::tool::kit
