// convolutions.cpp: the cases of QUANTIZED_LINEAR_CONVOLUTION and CONVOLUTION_INTEGER.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kit/build.hpp"

namespace dmlref::tool::kit {
namespace convolutions {  // one source with the other tables
namespace {

constexpr auto s8 = DataType::int8;
constexpr auto u8 = DataType::uint8;
constexpr auto f32 = DataType::float32;
constexpr auto i32 = DataType::int32;
constexpr const char* page = "DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC";
constexpr const char* once =
    "reading of DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: quantize the exact real number, rounding half to even";
constexpr const char* padding =
    "reading of DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: padding is what dequantizes to 0, the zero point";
constexpr const char* unflipped =
    "reading of DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: no mode is named, so the kernel is not flipped";
constexpr const char* bias_unit =
    "reading of DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: the bias is in units of both scales' product";
constexpr const char* absent_zero_point =
    "reading of DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: an absent zero point is 0";
constexpr const char* grouped =
    "reading of DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: GroupCount divides both numbers of channels";
constexpr const char* one_dimension =
    "reading of DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: tensors of rank 3 have one spatial dimension";
constexpr const char* low_rank =
    "reading of DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: values per channel of rank 1 lie in dimension 0";
constexpr const char* integer_page = "DML_CONVOLUTION_INTEGER_OPERATOR_DESC";
constexpr const char* modulo = "reading: sums beyond INT32 are taken modulo 2^32, as devices do";
constexpr const char* integer_padding =
    "reading: padding is the input's zero point, as in QUANTIZED_LINEAR_CONVOLUTION";
constexpr const char* integer_geometry =
    "reading: groups, dilations and output sizes are QUANTIZED_LINEAR_CONVOLUTION's";
constexpr const char* integer_zero_point = "reading: an absent zero point is 0";

using Floats = std::vector<float>;

struct Row {
  std::string name = {};
  const char* kind = "";
  const char* property = "";
  List input{1, 4, 6, 7};
  List filter{5, 4, 3, 3};
  List strides{1, 1};
  List dilations{1, 1};
  List start{0, 0};
  List end{0, 0};
  std::int64_t groups = 1;
  DataType in = u8;
  DataType weight = s8;
  DataType out = u8;
  std::optional<std::int64_t> in_zero_point = 131;
  List filter_zero_points = {};  // none, one, or one per output channel
  std::optional<std::int64_t> out_zero_point = 121;
  bool bias = false;
  float in_scale = 0.5f;
  Floats filter_scales = {0.25f};
  float out_scale = 0;  // 0: such that the results spread over the output's range and none is near a tie
  // Instead of random data: one value for all, or all values.
  List in_values = {};
  List filter_values = {};
  List bias_values = {};
  // Orders of the dimensions in memory; none: packed.
  List in_order = {};
  List filter_order = {};
  List out_order = {};
  List in_strides = {};
  List out_strides = {};
  List bias_strides = {};
  // Ranks of the scales and zero points; 0: that of the input.
  std::int64_t scalar_rank = 0;
  std::int64_t filter_zero_point_rank = 0;
  std::int64_t filter_scale_rank = 0;
  bool owned = false;            // filter and what belongs to it are DML's
  bool integer = false;          // CONVOLUTION_INTEGER: no scales, no bias, no zero point of the output
  const char* source = nullptr;  // none: the page, or a reading that the row rests on
};

/// Sums that a bias gives to one output channel each: the input is its zero point.
Row sums(const char* name, const char* kind, const char* property, List biases) {
  const auto channels = static_cast<std::int64_t>(biases.size());
  Row row{.name = name, .kind = kind, .property = property};
  row.input = {1, 1, 1, 1};
  row.filter = {channels, 1, 1, 1};
  row.in_values = {131};
  row.bias = true;
  row.bias_values = std::move(biases);
  row.source = once;
  return row;
}

/// Sum * scale is this near to a tie that the product in double is the tie itself, and rounds the other way:
/// scale = significand * 2^-48, exact in float.
struct NearTie {
  std::int64_t sum;
  float significand;
};
constexpr NearTie near_ties[] = {{1793690195, 8866267},  {1195973563, 9531763},  {1931815843, 9543669},
                                 {1749803089, 10053809}, {1362044145, 11056111}, {1646581289, 11196903},
                                 {1290893245, 12319637}, {1439137977, 12810871}, {1422006681, 12965207},
                                 {1160891655, 12971849}, {1141939493, 14666067}, {899697233, 14860623},
                                 {998832373, 15076515},  {2106857801, 16766727}};

Row double_near_ties() {
  List biases;
  Floats scales;
  for (const NearTie& row : near_ties) {
    biases.push_back(row.sum);
    scales.push_back(std::ldexp(row.significand, -48));
  }
  Row row = sums("near_ties_of_double", "requantization",
                 "a sum times the scales that lies nearer to a tie than a double resolves is rounded to its own side",
                 biases);
  row.in_scale = 1;
  row.filter_scales = scales;
  row.out_scale = 1;
  row.out_zero_point = 3;
  return row;
}

Row float_near_ties() {
  Row row = sums("near_ties_of_float", "requantization",
                 "sums times the scales that a product in float32 rounds to the wrong side",
                 {510778, 2281475, 2553890, 2826305, 3098720, 4324587, 4597002, 4665106, 4869417, 5141832, 5414247,
                  5686662, 5822869, 6095284, 6367699, 6640114});
  row.in_scale = 0.0235f;
  row.filter_scales = {0.00731f};
  row.out_scale = 0.0457f * 256;
  row.out_zero_point = 1;
  return row;
}

Row ties(const char* name, DataType out, std::int64_t zero_point) {
  List biases;
  for (std::int64_t odd = -31; odd <= 31; odd += 2) biases.push_back(odd);
  Row row = sums(name, "rounding", "ties go to the even quotient, before the zero point is added", biases);
  row.out = out;
  row.in_scale = 1;
  row.filter_scales = {0.5f};
  row.out_scale = 1;
  row.out_zero_point = zero_point;
  return row;
}

std::vector<Row> rows() {
  std::vector<Row> list{
      {.name = "pointwise", .kind = "geometry", .property = "a filter of 1 by 1", .filter = {6, 4, 1, 1}},
      {.name = "same_padding",
       .kind = "padding",
       .property = "padding is the input's zero point: it adds nothing",
       .start = {1, 1},
       .end = {1, 1}},
      {.name = "same_padding_int8",
       .kind = "padding",
       .property = "padding is the input's zero point: it adds nothing",
       .start = {1, 1},
       .end = {1, 1},
       .in = s8,
       .out = s8,
       .in_zero_point = -77,
       .out_zero_point = -9},
      {.name = "padding_with_absent_zero_point",
       .kind = "padding",
       .property = "an absent zero point is 0",
       .start = {1, 1},
       .end = {1, 1},
       .in_zero_point = std::nullopt},
      {.name = "padding_with_filter_zero_point",
       .kind = "padding",
       .property = "padding adds nothing, also where the filter has a zero point",
       .start = {1, 1},
       .end = {1, 1},
       .weight = u8,
       .filter_zero_points = {119}},
      {.name = "asymmetric_padding",
       .kind = "padding",
       .property = "StartPadding comes first, EndPadding last",
       .start = {2, 0},
       .end = {0, 1}},
      {.name = "padding_beyond_the_kernel",
       .kind = "padding",
       .property = "windows that see padding alone give the bias",
       .filter = {5, 4, 2, 2},
       .start = {3, 0},
       .end = {0, 4},
       .bias = true},
      {.name = "strides",
       .kind = "geometry",
       .property = "Strides are those of height and width",
       .input = {1, 4, 9, 11},
       .strides = {2, 3}},
      {.name = "strides_with_padding",
       .kind = "geometry",
       .property = "the first window begins in the padding, whatever the stride",
       .input = {1, 4, 9, 11},
       .strides = {3, 2},
       .start = {1, 2},
       .end = {1, 0}},
      {.name = "stride_leaves_a_rest",
       .kind = "geometry",
       .property = "the output's size rounds down; what no window reaches is not read",
       .input = {1, 4, 8, 10},
       .strides = {3, 3}},
      {.name = "dilations",
       .kind = "dilation",
       .property = "Dilations are those of height and width",
       .input = {1, 4, 9, 11},
       .dilations = {2, 3}},
      {.name = "dilations_with_padding_and_stride",
       .kind = "dilation",
       .property = "dilation, padding and stride together",
       .input = {1, 3, 9, 11},
       .filter = {4, 3, 3, 2},
       .strides = {2, 1},
       .dilations = {3, 2},
       .start = {2, 1},
       .end = {1, 3}},
      {.name = "kernel_as_large_as_the_input", .kind = "geometry", .property = "one window", .filter = {5, 4, 6, 7}},
      {.name = "kernel_not_square",
       .kind = "geometry",
       .property = "a filter of 2 by 5: the kernel is not flipped",
       .filter = {5, 4, 2, 5},
       .source = unflipped},
      {.name = "kernel_not_flipped",
       .kind = "geometry",
       .property = "cross-correlation: the kernel is not flipped",
       .input = {1, 1, 4, 4},
       .filter = {2, 1, 2, 2},
       .source = unflipped},
      {.name = "row_of_pixels",
       .kind = "geometry",
       .property = "a height of 1",
       .input = {1, 8, 1, 33},
       .filter = {9, 8, 1, 3}},
      {.name = "batch", .kind = "geometry", .property = "batch entries are independent", .input = {3, 4, 5, 6}},
      {.name = "many_channels",
       .kind = "geometry",
       .property = "channels that are no multiple of a vector",
       .input = {1, 37, 5, 6},
       .filter = {43, 37, 3, 3}},
      {.name = "groups",
       .kind = "groups",
       .property = "output channel c reads the input channels of group c / (OutC / GroupCount)",
       .input = {1, 6, 5, 6},
       .filter = {4, 3, 3, 3},
       .groups = 2},
      {.name = "groups_unequal_counts",
       .kind = "groups",
       .property = "three groups of two input and four output channels",
       .input = {1, 6, 5, 6},
       .filter = {12, 2, 3, 3},
       .groups = 3},
      {.name = "depthwise",
       .kind = "groups",
       .property = "GroupCount is the number of input channels",
       .input = {1, 19, 6, 7},
       .filter = {19, 1, 3, 3},
       .start = {1, 1},
       .end = {1, 1},
       .groups = 19},
      {.name = "depthwise_multiplier",
       .kind = "groups",
       .property = "two output channels for each input channel",
       .input = {2, 5, 6, 7},
       .filter = {10, 1, 3, 3},
       .groups = 5},
      {.name = "depthwise_strides_dilations",
       .kind = "groups",
       .property = "depthwise with stride and dilation",
       .input = {1, 8, 11, 13},
       .filter = {8, 1, 3, 3},
       .strides = {2, 1},
       .dilations = {1, 2},
       .start = {1, 2},
       .end = {1, 2},
       .groups = 8},
      {.name = "scale_per_channel",
       .kind = "per channel",
       .property = "each output channel has its own filter scale",
       .filter_scales = {0.25f, 0.5f, 0.125f, 0.75f, 1.0f}},
      {.name = "zero_point_per_channel",
       .kind = "per channel",
       .property = "each output channel has its own filter zero point",
       .weight = u8,
       .filter_zero_points = {3, 255, 128, 0, 77}},
      {.name = "zero_point_per_channel_int8",
       .kind = "per channel",
       .property = "each output channel has its own filter zero point",
       .in = s8,
       .out = s8,
       .in_zero_point = 9,
       .filter_zero_points = {-128, 127, 0, 5, -64},
       .out_zero_point = 0},
      {.name = "scale_and_zero_point_per_channel_groups",
       .kind = "per channel",
       .property = "per channel means per output channel, also with groups",
       .input = {1, 6, 5, 6},
       .filter = {4, 3, 3, 3},
       .groups = 2,
       .weight = u8,
       .filter_zero_points = {10, 250, 128, 60},
       .filter_scales = {0.25f, 1.0f, 0.5f, 0.75f}},
      {.name = "scale_per_channel_one_zero_point",
       .kind = "per channel",
       .property = "scale and zero point are per channel independently",
       .weight = u8,
       .filter_zero_points = {200},
       .filter_scales = {0.25f, 0.5f, 0.125f, 0.75f, 1.0f}},
      {.name = "one_scale_zero_point_per_channel",
       .kind = "per channel",
       .property = "scale and zero point are per channel independently",
       .weight = u8,
       .filter_zero_points = {3, 255, 128, 0, 77},
       .filter_scales = {0.5f}},
      {.name = "zero_points_at_the_edges",
       .kind = "zero point",
       .property = "zero points of 255 and 0",
       .weight = u8,
       .in_zero_point = 255,
       .filter_zero_points = {255},
       .out_zero_point = 0},
      {.name = "zero_points_at_the_edges_int8",
       .kind = "zero point",
       .property = "zero points of -128 and 127",
       .in = s8,
       .out = s8,
       .in_zero_point = -128,
       .filter_zero_points = {-128},
       .out_zero_point = 127},
      {.name = "absent_zero_points",
       .kind = "zero point",
       .property = "absent zero points are 0",
       .in_zero_point = std::nullopt,
       .out_zero_point = std::nullopt},
      {.name = "absent_zero_points_int8",
       .kind = "zero point",
       .property = "absent zero points are 0",
       .in = s8,
       .out = s8,
       .in_zero_point = std::nullopt,
       .out_zero_point = std::nullopt},
      {.name = "absent_bias", .kind = "bias", .property = "without a bias nothing is added"},
      {.name = "bias",
       .kind = "bias",
       .property = "a bias for each output channel",
       .filter = {6, 4, 1, 1},
       .bias = true},
      {.name = "bias_of_rank_3",
       .kind = "bias",
       .property = "a bias for each output channel, of rank 3 from 4_0",
       .input = {1, 4, 11},
       .filter = {6, 4, 3},
       .strides = {1},
       .dilations = {1},
       .start = {1},
       .end = {1},
       .bias = true},
      {.name = "bias_scales_per_channel_groups",
       .kind = "bias",
       .property = "a bias is in units of its own channel's scale",
       .input = {1, 6, 5, 6},
       .filter = {4, 3, 3, 3},
       .groups = 2,
       .bias = true,
       .filter_scales = {0.25f, 1.0f, 0.5f, 0.75f}},
      {.name = "absent_everything",
       .kind = "bias",
       .property = "no zero points, no bias",
       .in_zero_point = std::nullopt,
       .out_zero_point = std::nullopt,
       .bias = false},
      {.name = "saturating_products",
       .kind = "accumulation",
       .property = "255 * 127 + 255 * 127 does not fit 16 bits",
       .input = {1, 8, 4, 4},
       .filter = {2, 8, 3, 3},
       .in_zero_point = 0,
       .out_zero_point = 0,
       .out_scale = 0.125f * 19999,
       .in_values = {255},
       .filter_values = {127}},
      {.name = "saturating_negative_products",
       .kind = "accumulation",
       .property = "255 * -128 + 255 * -128 does not fit 16 bits",
       .input = {1, 8, 4, 4},
       .filter = {2, 8, 3, 3},
       .in_zero_point = 0,
       .out_zero_point = 255,
       .out_scale = 0.125f * 19999,
       .in_values = {255},
       .filter_values = {-128}},
      {.name = "products_beyond_int32",
       .kind = "accumulation",
       .property = "products alone exceed 32 bits",
       .input = {1, 70000, 1, 1},
       .filter = {2, 70000, 1, 1},
       .in_zero_point = 0,
       .out_zero_point = 0,
       .in_scale = 1,
       .filter_scales = {1},
       .out_scale = 2e7f,
       .in_values = {255},
       .filter_values = {127}},
      {.name = "negative_products_beyond_int32",
       .kind = "accumulation",
       .property = "products alone exceed 32 bits",
       .input = {1, 70000, 1, 1},
       .filter = {2, 70000, 1, 1},
       .in_zero_point = 0,
       .out_zero_point = 250,
       .in_scale = 1,
       .filter_scales = {1},
       .out_scale = 2e7f,
       .in_values = {255},
       .filter_values = {-128}},
      {.name = "bias_beyond_int32",
       .kind = "accumulation",
       .property = "products and the largest bias exceed 32 bits",
       .input = {1, 4, 3, 3},
       .filter = {2, 4, 3, 3},
       .in_zero_point = 0,
       .out_zero_point = 0,
       .bias = true,
       .in_scale = 1,
       .filter_scales = {0x1p-24f},
       .out_scale = 1,
       .in_values = {255},
       .filter_values = {127},
       .bias_values = {2147483647, 2147483600}},
      {.name = "bias_below_int32",
       .kind = "accumulation",
       .property = "products and the least bias exceed 32 bits",
       .input = {1, 4, 3, 3},
       .filter = {2, 4, 3, 3},
       .in_zero_point = 0,
       .out_zero_point = 255,
       .bias = true,
       .in_scale = 1,
       .filter_scales = {0x1p-24f},
       .out_scale = 1,
       .in_values = {255},
       .filter_values = {-128},
       .bias_values = {-2147483648, -2147483600}},
      {.name = "nhwc",
       .kind = "memory layout",
       .property = "input and output are NHWC in memory",
       .input = {2, 5, 6, 7},
       .filter = {6, 5, 3, 3},
       .start = {1, 1},
       .end = {1, 1},
       .in_order = {0, 2, 3, 1},
       .out_order = {0, 2, 3, 1}},
      {.name = "nhwc_filter_ohwi",
       .kind = "memory layout",
       .property = "the filter's channels lie innermost",
       .input = {1, 5, 6, 7},
       .filter = {6, 5, 3, 3},
       .in_order = {0, 2, 3, 1},
       .filter_order = {0, 2, 3, 1},
       .out_order = {0, 2, 3, 1}},
      {.name = "nhwc_input_nchw_output",
       .kind = "memory layout",
       .property = "input and output differ in layout",
       .input = {1, 5, 6, 7},
       .filter = {6, 5, 3, 3},
       .in_order = {0, 2, 3, 1}},
      {.name = "nhwc_depthwise",
       .kind = "memory layout",
       .property = "depthwise in NHWC",
       .input = {1, 9, 6, 7},
       .filter = {9, 1, 3, 3},
       .start = {1, 1},
       .end = {1, 1},
       .groups = 9,
       .in_order = {0, 2, 3, 1},
       .filter_order = {2, 3, 0, 1},
       .out_order = {0, 2, 3, 1}},
      {.name = "padded_rows",
       .kind = "memory layout",
       .property = "rows with unused elements after them",
       .input = {1, 4, 6, 7},
       .in_strides = {400, 100, 16, 1},
       .out_strides = {500, 100, 12, 2}},
      {.name = "broadcast_input",
       .kind = "memory layout",
       .property = "an input stride of 0: all channels are one",
       .in_strides = {42, 0, 7, 1}},
      {.name = "broadcast_bias",
       .kind = "memory layout",
       .property = "a bias stride of 0: one bias for all channels",
       .bias = true,
       .bias_values = {-3777},
       .bias_strides = {0, 0, 0, 0}},
      {.name = "filter_owned_by_dml",
       .kind = "memory layout",
       .property = "filter, its scale and zero point are bound at initialization",
       .weight = u8,
       .filter_zero_points = {10, 250, 128, 60, 5},
       .filter_scales = {0.25f, 0.5f, 0.125f, 0.75f, 1.0f},
       .owned = true},
      {.name = "filter_and_bias_owned_by_dml",
       .kind = "memory layout",
       .property = "the bias, too, is bound at initialization",
       .bias = true,
       .owned = true},
      {.name = "scalars_of_rank_1",
       .kind = "types and ranks",
       .property = "scales and zero points of input and output have rank 1 from 4_0",
       .scalar_rank = 1},
      {.name = "scalars_of_rank_2",
       .kind = "types and ranks",
       .property = "scales and zero points of input and output have rank 2 from 4_0",
       .scalar_rank = 2},
      {.name = "filter_zero_point_of_rank_1",
       .kind = "types and ranks",
       .property = "one filter zero point per channel in rank 1 from 4_0",
       .weight = u8,
       .filter_zero_points = {10, 250, 128, 60, 5},
       .filter_zero_point_rank = 1},
      {.name = "filter_scale_of_rank_3",
       .kind = "types and ranks",
       .property = "a filter scale of rank 3 from 4_0",
       .filter_scales = {0.25f, 0.5f, 0.125f, 0.75f, 1.0f},
       .filter_scale_rank = 3},
      {.name = "filter_scale_of_rank_2",
       .kind = "types and ranks",
       .property = "a filter scale of rank 2 from 5_2",
       .filter_scale_rank = 2},
      {.name = "filter_scale_of_rank_1",
       .kind = "types and ranks",
       .property = "one filter scale per channel in rank 1 from 5_2",
       .filter_scales = {0.25f, 0.5f, 0.125f, 0.75f, 1.0f},
       .filter_scale_rank = 1},
      {.name = "three_dimensions_padding_dilation",
       .kind = "geometry",
       .property = "one spatial dimension",
       .input = {2, 4, 13},
       .filter = {6, 2, 3},
       .strides = {2},
       .dilations = {2},
       .start = {1},
       .end = {3},
       .groups = 2},
  };
  list.push_back(ties("ties", u8, 121));
  list.push_back(ties("ties_even_zero_point", u8, 100));
  list.push_back(ties("ties_int8", s8, -3));
  list.push_back(float_near_ties());
  list.push_back(double_near_ties());

  Row saturated = sums("saturation_uint8", "saturation", "results beyond 0 to 255 are clamped, after the zero point",
                       {-100000, -122, -121, -120, 0, 133, 134, 135, 136, 100000, 2147483647, -2147483647});
  saturated.in_scale = saturated.out_scale = 1;
  saturated.filter_scales = {1};
  list.push_back(saturated);
  saturated.name = "saturation_int8";
  saturated.property = "results beyond -128 to 127 are clamped, after the zero point";
  saturated.out = s8;
  saturated.out_zero_point = -5;
  list.push_back(saturated);

  for (const DataType in : {u8, s8}) {
    for (const DataType weight : {u8, s8}) {
      for (const DataType out : {u8, s8}) {
        for (const int rank : {3, 4}) {
          Row row{.kind = "types and ranks", .property = "the three types are independent; rank 3 from 4_0"};
          row.name = lower(to_string(in)) + "_" + lower(to_string(weight)) + "_" + lower(to_string(out)) + "_rank" +
                     std::to_string(rank);
          row.in = in;
          row.weight = weight;
          row.out = out;
          row.in_zero_point = in == u8 ? 140 : 17;
          row.filter_zero_points = {weight == u8 ? 125 : -6};
          row.out_zero_point = out == u8 ? 130 : -11;
          if (rank == 3) {
            row.input = {2, 4, 17};
            row.filter = {5, 4, 3};
            row.strides = row.dilations = row.start = row.end = {1};
          }
          list.push_back(row);
        }
      }
    }
  }
  return list;
}

/// The cases of CONVOLUTION_INTEGER.
std::vector<Row> integer_rows() {
  std::vector<Row> list{
      {.name = "pointwise", .kind = "geometry", .property = "a filter of 1 by 1", .filter = {6, 4, 1, 1}},
      {.name = "window", .kind = "geometry", .property = "the kernel is not flipped", .filter = {5, 4, 2, 5}},
      {.name = "same_padding",
       .kind = "padding",
       .property = "padding adds nothing",
       .start = {1, 1},
       .end = {1, 1},
       .source = integer_padding},
      {.name = "asymmetric_padding",
       .kind = "padding",
       .property = "StartPadding comes first, EndPadding last",
       .start = {2, 0},
       .end = {0, 1},
       .source = integer_padding},
      {.name = "padding_with_filter_zero_point",
       .kind = "padding",
       .property = "padding adds nothing, also where the filter has a zero point",
       .start = {1, 1},
       .end = {1, 1},
       .weight = u8,
       .filter_zero_points = {119},
       .source = integer_padding},
      {.name = "padding_beyond_the_kernel",
       .kind = "padding",
       .property = "windows that see padding alone give 0",
       .filter = {5, 4, 2, 2},
       .start = {3, 0},
       .end = {0, 4},
       .source = integer_padding},
      {.name = "strides",
       .kind = "geometry",
       .property = "Strides are those of height and width; what no window reaches is not read",
       .input = {2, 4, 9, 11},
       .strides = {2, 3},
       .source = integer_geometry},
      {.name = "dilations",
       .kind = "dilation",
       .property = "Dilations are those of height and width",
       .input = {1, 4, 9, 11},
       .dilations = {2, 3},
       .source = integer_geometry},
      {.name = "groups",
       .kind = "groups",
       .property = "output channel c reads the input channels of group c / (OutC / GroupCount)",
       .input = {1, 6, 5, 6},
       .filter = {4, 3, 3, 3},
       .groups = 2,
       .source = integer_geometry},
      {.name = "depthwise",
       .kind = "groups",
       .property = "one group per channel",
       .input = {1, 9, 5, 6},
       .filter = {9, 1, 3, 3},
       .groups = 9,
       .source = integer_geometry},
      {.name = "filter_zero_points",
       .kind = "parameters",
       .property = "one filter zero point per output channel",
       .weight = u8,
       .filter_zero_points = {10, 250, 128, 60, 5}},
      {.name = "filter_zero_points_groups",
       .kind = "parameters",
       .property = "filter zero points are those of all output channels, whatever their group",
       .input = {1, 6, 5, 6},
       .filter = {4, 3, 3, 3},
       .groups = 2,
       .weight = u8,
       .filter_zero_points = {10, 250, 128, 60},
       .source = integer_geometry},
      {.name = "absent_zero_points",
       .kind = "parameters",
       .property = "an absent zero point is 0",
       .in_zero_point = std::nullopt,
       .source = integer_zero_point},
      {.name = "zero_points_of_rank_1",
       .kind = "types and ranks",
       .property = "zero points of rank 1 from 4_0",
       .weight = u8,
       .filter_zero_points = {10, 250, 128, 60, 5},
       .scalar_rank = 1,
       .filter_zero_point_rank = 1},
      {.name = "three_dimensions",
       .kind = "types and ranks",
       .property = "one spatial dimension from 4_0",
       .input = {2, 4, 17},
       .filter = {5, 4, 3},
       .strides = {2},
       .dilations = {2},
       .start = {1},
       .end = {2},
       .source = integer_geometry},
      {.name = "uint8_uint8", .kind = "types and ranks", .property = "the types are independent", .weight = u8},
      {.name = "int8_int8",
       .kind = "types and ranks",
       .property = "the types are independent",
       .in = s8,
       .in_zero_point = -77},
      {.name = "int8_uint8",
       .kind = "types and ranks",
       .property = "the types are independent",
       .in = s8,
       .weight = u8,
       .in_zero_point = 17},
      {.name = "nhwc",
       .kind = "memory layout",
       .property = "input, filter and output have their channels innermost",
       .input = {2, 5, 6, 7},
       .filter = {6, 5, 3, 3},
       .in_order = {0, 2, 3, 1},
       .filter_order = {0, 2, 3, 1},
       .out_order = {0, 2, 3, 1}},
      {.name = "padded_rows",
       .kind = "memory layout",
       .property = "rows with unused elements after them",
       .in_strides = {400, 100, 16, 1},
       .out_strides = {500, 100, 12, 2}},
      {.name = "filter_owned_by_dml",
       .kind = "memory layout",
       .property = "filter and its zero point are bound at initialization",
       .weight = u8,
       .filter_zero_points = {10, 250, 128, 60, 5},
       .owned = true},
      {.name = "sum_beyond_int32",
       .kind = "accumulation",
       .property = "a sum beyond INT32 is taken modulo 2^32",
       .input = {1, 34000, 1, 1},
       .filter = {2, 34000, 1, 1},
       .weight = u8,
       .in_zero_point = std::nullopt,
       .in_values = {255},
       .filter_values = {255},
       .source = modulo},
  };
  for (Row& row : list) row.integer = true;
  return list;
}

/// The first reading without which the results are not known, or the page.
const char* source_of(const Row& row) {
  if (row.source != nullptr) return row.source;
  if (row.integer) return integer_page;
  const auto is_padded = [](const List& pads) {
    return std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  };
  const auto is_low = [](std::int64_t rank, std::size_t count) { return (rank == 1 || rank == 2) && count > 1; };
  if (row.input.size() == 3) return one_dimension;
  if (is_padded(row.start) || is_padded(row.end)) return padding;
  if (row.bias) return bias_unit;
  if (!row.in_zero_point || !row.out_zero_point) return absent_zero_point;
  if (row.groups != 1) return grouped;
  if (is_low(row.filter_scale_rank, row.filter_scales.size())) return low_rank;
  if (is_low(row.filter_zero_point_rank, row.filter_zero_points.size())) return low_rank;
  return page;
}

List output_sizes(const Row& row) {
  List sizes{row.input[0], row.filter[0]};
  for (std::size_t i = 0; i + 2 < row.input.size(); ++i) {
    const std::int64_t kernel = 1 + (row.filter[i + 2] - 1) * row.dilations[i];
    sizes.push_back(1 + (row.input[i + 2] + row.start[i] + row.end[i] - kernel) / row.strides[i]);
  }
  return sizes;
}

/// {1, channels, 1, 1} of that rank; rank 1: {channels}.
List channel_sizes(std::int64_t rank, std::int64_t channels) {
  List sizes(static_cast<std::size_t>(rank), 1);
  sizes[rank == 1 ? 0 : 1] = channels;
  return sizes;
}

/// The quotients are k / odd / 8 at most: never a tie, and never so near that float32 decides otherwise.
float spreading_scale(const Row& row) {
  const double taps = static_cast<double>(spanned(row.filter, {})) / static_cast<double>(row.filter[0]);
  return 0.125f * static_cast<float>(2 * static_cast<std::int64_t>(45 * std::sqrt(taps)) + 1);
}

Case convolution_case(const Row& row) {
  Case one;
  one.name = (row.integer ? "ci_" : "qlc_") + row.name;
  one.op = row.integer ? "CONVOLUTION_INTEGER" : "QUANTIZED_LINEAR_CONVOLUTION";
  one.kind = row.kind;
  one.property = row.property;
  one.source = source_of(row);
  CaseBuilder builder{one, Random(row.name)};

  const auto rank = static_cast<std::int64_t>(row.input.size());
  const auto rank_or = [rank](std::int64_t given) { return given == 0 ? rank : given; };
  const std::int64_t channels = row.filter[0];
  const List scalar = channel_sizes(rank_or(row.scalar_rank), 1);
  const auto strides = [](const List& sizes, const List& order, const List& given) {
    return order.empty() ? given : strides_in_order(sizes, order);
  };
  const auto add_scale = [&](const char* name, float scale) {
    if (!row.integer) builder.add(name, f32, scalar, {}, bytes_of(Floats{scale}));
  };
  const auto add_filter_values = [&](const char* name, DataType type, std::int64_t given_rank, std::size_t count,
                                     std::vector<std::byte> bytes) {
    builder.add(name, type, channel_sizes(rank_or(given_rank), static_cast<std::int64_t>(count)), {}, std::move(bytes),
                row.owned);
  };

  builder.add_bytes("InputTensor", row.in, row.input, strides(row.input, row.in_order, row.in_strides), row.in_values);
  add_scale("InputScaleTensor", row.in_scale);
  if (row.in_zero_point) builder.add_bytes("InputZeroPointTensor", row.in, scalar, {}, {*row.in_zero_point});
  builder.add_bytes("FilterTensor", row.weight, row.filter, strides(row.filter, row.filter_order, {}),
                    row.filter_values, row.owned);
  if (!row.integer) {
    add_filter_values("FilterScaleTensor", f32, row.filter_scale_rank, row.filter_scales.size(),
                      bytes_of(row.filter_scales));
  }
  if (!row.filter_zero_points.empty()) {
    add_filter_values("FilterZeroPointTensor", row.weight, row.filter_zero_point_rank, row.filter_zero_points.size(),
                      byte_elements(row.filter_zero_points));
  }
  if (row.bias) {
    const List sizes = channel_sizes(rank, channels);
    std::vector<std::int32_t> biases(static_cast<std::size_t>(spanned(sizes, row.bias_strides)));
    for (std::size_t c = 0; c < biases.size(); ++c) {
      biases[c] =
          static_cast<std::int32_t>(row.bias_values.empty() ? builder.random.between(-9000, 9000) : row.bias_values[c]);
    }
    builder.add("BiasTensor", i32, sizes, row.bias_strides, bytes_of(biases), row.owned);
  }
  add_scale("OutputScaleTensor", row.out_scale == 0 ? spreading_scale(row) : row.out_scale);
  if (row.out_zero_point && !row.integer) {
    builder.add_bytes("OutputZeroPointTensor", row.out, scalar, {}, {*row.out_zero_point});
  }
  const List output = output_sizes(row);
  builder.add("OutputTensor", row.integer ? i32 : row.out, output, strides(output, row.out_order, row.out_strides), {});

  one.desc["DimensionCount"] = rank - 2;
  one.desc["Strides"] = row.strides;
  one.desc["Dilations"] = row.dilations;
  one.desc["StartPadding"] = row.start;
  one.desc["EndPadding"] = row.end;
  one.desc["GroupCount"] = row.groups;
  return one;
}

}  // namespace
}  // namespace convolutions

void add_convolutions(std::vector<Case>& cases) {
  using namespace convolutions;
  for (const Row& row : rows()) cases.push_back(convolution_case(row));
  for (const Row& row : integer_rows()) cases.push_back(convolution_case(row));
}

}  // namespace dmlref::tool::kit
