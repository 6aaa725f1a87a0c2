// The rules of the descriptors once more, written from the documents' tables, on JSON.
#include <algorithm>
#include <map>
#include <set>

#include "kernels.hpp"

namespace dmlref::test::kit {
namespace {

/// Indices of the levels that bring something.
enum Level : std::size_t { v1_0, v2_0, v2_1, v3_0, v3_1, v4_0, v4_1, v5_0, v5_1, v5_2, v6_0, v6_1, v6_2, v6_3, v6_4 };

using Types = std::set<std::string>;
const Types six{"FLOAT32", "FLOAT16", "INT32", "INT16", "UINT32", "UINT16"};
const Types wide{"FLOAT64", "INT64", "UINT64"};
const Types bytes{"INT8", "UINT8"};
const Types reals{"FLOAT32", "FLOAT16"};

const std::map<std::string, int> element_sizes{{"FLOAT32", 4}, {"FLOAT16", 2}, {"FLOAT64", 8}, {"INT8", 1},
                                               {"INT16", 2},   {"INT32", 4},   {"INT64", 8},   {"UINT8", 1},
                                               {"UINT16", 2},  {"UINT32", 4},  {"UINT64", 8}};

/// Numbers of 128 bits hold every product of a descriptor's.
__extension__ using Wide = __int128;

struct TensorDesc {
  bool present = false;
  std::string type;
  List sizes;
  List strides;  // empty: packed
  const Json* json = nullptr;

  std::size_t rank() const { return sizes.size(); }
  std::int64_t size(std::size_t d) const { return d < sizes.size() ? sizes[d] : 0; }
  bool has_zero() const { return std::find(sizes.begin(), sizes.end(), 0) != sizes.end(); }
  Wide product() const {
    Wide product = 1;
    for (const std::int64_t size : sizes) product = std::min<Wide>(product * size, Wide{1} << 80);
    return product;
  }
  Wide spanned() const {
    if (strides.empty()) return product();
    Wide last = 0;
    for (std::size_t d = 0; d < rank(); ++d) last += Wide{sizes[d] - 1} * strides[d];
    return last + 1;
  }
};

class Validator {
 public:
  Validator(const Case& one, std::size_t level, std::string_view fault) : case_(one), level_(level), fault_(fault) {}

  bool accepts() {
    if (case_.op.starts_with("SLICE")) {
      slices();
    } else if (case_.op == "CONVOLUTION_INTEGER") {
      convolution_integer();
    } else if (case_.op.find("MATRIX") != std::string::npos) {
      product();
    } else if (case_.op.starts_with("QUANTIZED")) {
      convolution();
    } else if (case_.op.starts_with("ELEMENT_WISE")) {
      quantize_linear();
    } else {
      normalization();
    }
    return good_;
  }

 private:
  bool has(std::string_view fault) const { return fault == fault_; }
  void rule(std::string_view name, bool holds) { good_ = good_ && (holds || has(name)); }
  /// The levels that a rule knows; a validator that does not know any has them all.
  bool from(Level first) const { return level_ >= first || has("levels"); }

  std::int64_t number(const char* key) const { return case_.desc[key].get<std::int64_t>(); }
  List list(const char* key) const { return case_.desc[key].get<List>(); }

  TensorDesc tensor(const char* name, const Types& types, std::size_t least_rank, std::size_t most_rank) {
    TensorDesc tensor;
    const auto found = case_.desc.find(name);
    if (found == case_.desc.end()) return tensor;
    tensor.present = true;
    tensor.json = &*found;
    tensor.type = (*tensor.json)["DataType"].get<std::string>();
    tensor.sizes = (*tensor.json)["Sizes"].get<List>();
    if (tensor.json->contains("Strides")) tensor.strides = (*tensor.json)["Strides"].get<List>();
    const bool output = std::string_view(name) == "OutputTensor";

    rule("tensor_type", tensor.json->value("Type", "BUFFER") == "BUFFER");
    rule("tensor_data_type", types.count(tensor.type) != 0);
    rule("tensor_dimension_count", tensor.rank() >= 1 && tensor.rank() <= 8);
    rule("tensor_rank", (tensor.rank() >= least_rank && tensor.rank() <= most_rank) ||
                            (has("tensor_dimension_count") && tensor.rank() > 8));
    rule("tensor_owned_by_dml", !output || tensor.json->value("Flags", "NONE") != "OWNED_BY_DML");
    rule("tensor_size_zero", !tensor.has_zero());
    const auto size = element_sizes.find(tensor.type);
    const int element = size == element_sizes.end() ? 1 : size->second;
    const auto alignment = tensor.json->value("GuaranteedBaseOffsetAlignment", std::int64_t{0});
    rule("tensor_alignment", alignment == 0 || ((alignment & (alignment - 1)) == 0 && alignment >= element));
    if (tensor.has_zero() || tensor.sizes.empty()) return tensor;

    const Wide spanned = has("tensor_strides") ? tensor.product() : tensor.spanned();
    constexpr Wide limit = 4294967295;
    const bool within_limit = tensor.product() <= limit && spanned <= limit;
    rule("tensor_element_limit", within_limit);
    const Wide least = has("total_not_rounded_up") ? spanned * element : (spanned * element + 3) / 4 * 4;
    const auto given = tensor.json->value("TotalTensorSizeInBytes", std::uint64_t{0});
    const bool exactly = has("exact_total_size") && given != 0;
    rule("tensor_total_size", given == 0 || (exactly ? Wide{given} == least : Wide{given} >= least));
    rule("total_size_limit", !within_limit || Wide{given} <= (limit * element + 3) / 4 * 4);
    if (output) rule("output_strides_overlap", unique(tensor));
    for (std::size_t d = 0; d < tensor.strides.size(); ++d) {
      const bool step = tensor.sizes[d] > 1;
      if (has("no_broadcast_inputs") && !output && step && tensor.strides[d] == 0) good_ = false;
      if (has("no_zero_strides") && tensor.strides[d] == 0) good_ = false;
    }
    if (has("inputs_unique") && !output && !unique(tensor)) good_ = false;
    if (has("packed_only") && !tensor.strides.empty()) good_ = false;
    return tensor;
  }

  /// No two elements at one address: by trying them all.
  bool unique(const TensorDesc& tensor) const {
    if (tensor.strides.empty() || tensor.product() > 1000000) return true;
    std::set<std::int64_t> seen;
    List at(tensor.rank(), 0);
    do {
      std::int64_t address = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        if (has("output_broadcast") && tensor.strides[d] == 0) address += at[d] << 40;
        address += at[d] * tensor.strides[d];
      }
      if (!seen.insert(address).second) return false;
    } while (next(at, tensor.sizes));
    return true;
  }

  void same_type(const TensorDesc& a, const TensorDesc& b) {
    if (a.present && b.present) rule("tensor_data_type_match", a.type == b.type);
  }
  void same_rank(const TensorDesc& a, const TensorDesc& b) {
    if (a.present && b.present) rule("tensor_rank_match", a.rank() == b.rank());
  }
  /// Whether the rest can be looked at: what follows compares sizes of one rank.
  bool comparable(const TensorDesc& a, const TensorDesc& b) const { return a.rank() == b.rank(); }

  std::int64_t sum(std::int64_t a, std::int64_t b) const {
    return has("sums_of_32_bits") ? (a + b) & 0xFFFFFFFF : a + b;
  }

  void slices() {
    const bool slice1 = case_.op == "SLICE1";
    rule("operator_level", !slice1 || from(v2_1));
    Types types = six;
    if (from(v2_1) || slice1) types.insert(bytes.begin(), bytes.end());
    if (from(v4_1)) types.insert(wide.begin(), wide.end());
    const std::size_t least = from(v3_0) ? 1 : 4;
    const std::size_t most = from(v3_0) ? 8 : 5;
    const TensorDesc input = tensor("InputTensor", types, least, most);
    const TensorDesc output = tensor("OutputTensor", types, least, most);
    same_type(input, output);
    same_rank(input, output);
    const auto count = static_cast<std::size_t>(number("DimensionCount"));
    rule("slice_dimension_count", count == input.rank() || (has("tensor_rank_match") && count == output.rank()) ||
                                      (has("tensor_dimension_count") && count > 8));
    if (!comparable(input, output) || count != input.rank()) return;
    const List offsets = list(slice1 ? "InputWindowOffsets" : "Offsets");
    const List sizes = list(slice1 ? "InputWindowSizes" : "Sizes");
    const List strides = list(slice1 ? "InputWindowStrides" : "Strides");
    for (std::size_t d = 0; d < count; ++d) {
      if (slice1) {
        slice1_dimension(input.size(d), output.size(d), offsets[d], sizes[d], strides[d]);
      } else {
        slice_dimension(input.size(d), output.size(d), offsets[d], sizes[d], strides[d]);
      }
    }
  }

  void slice_dimension(std::int64_t input, std::int64_t output, std::int64_t offset, std::int64_t size,
                       std::int64_t stride) {
    rule("slice_size_zero", size != 0);
    rule("slice_output_size", size == output);
    if (input == 0 || size == 0) return;
    const std::int64_t reach = (size - 1) * stride;
    rule("slice_bounds", sum(offset, has("sums_of_32_bits") ? reach & 0xFFFFFFFF : reach) < input);
    if (has("whole_steps_inside")) good_ = good_ && offset + size * stride <= input;
    if (has("slice_stride_zero")) good_ = good_ && stride != 0;
    if (has("stride_beyond_the_input")) good_ = good_ && stride <= input;
  }

  void slice1_dimension(std::int64_t input, std::int64_t output, std::int64_t offset, std::int64_t window,
                        std::int64_t stride) {
    rule("slice1_window_empty", window != 0);
    rule("slice1_stride_zero", stride != 0);
    if (input == 0) return;
    const bool read_inside = stride > 0 && offset + (output - 1) * stride < input;
    rule("slice1_window_bounds",
         window == 0 || sum(offset, window) <= input || (has("only_what_is_read_inside") && read_inside));
    if (window == 0 || stride == 0) return;
    const std::int64_t offered = 1 + (window - 1) / (stride < 0 ? -stride : stride);
    rule("slice1_output_size", output <= offered);
    if (has("signed_division")) good_ = good_ && output <= std::max<std::int64_t>(0, 1 + (window - 1) / stride);
    if (has("output_is_the_window")) good_ = good_ && output == offered;
    if (has("no_negative_strides")) good_ = good_ && stride > 0;
  }

  void convolution() {
    rule("operator_level", from(v2_1));
    const std::size_t low = from(v4_0) ? 3 : 4;
    const std::size_t one = from(v4_0) ? 1 : 4;
    const std::size_t scale = from(v5_2) ? 1 : from(v4_0) ? 3 : 4;
    const TensorDesc input = tensor("InputTensor", bytes, low, 4);
    const TensorDesc in_scale = tensor("InputScaleTensor", {"FLOAT32"}, one, 4);
    const TensorDesc in_zero = tensor("InputZeroPointTensor", bytes, one, 4);
    const TensorDesc filter = tensor("FilterTensor", bytes, low, 4);
    const TensorDesc filter_scale = tensor("FilterScaleTensor", {"FLOAT32"}, scale, 4);
    const TensorDesc filter_zero = tensor("FilterZeroPointTensor", bytes, one, 4);
    const TensorDesc bias = tensor("BiasTensor", {"INT32"}, low, 4);
    const TensorDesc out_scale = tensor("OutputScaleTensor", {"FLOAT32"}, one, 4);
    const TensorDesc out_zero = tensor("OutputZeroPointTensor", bytes, one, 4);
    const TensorDesc output = tensor("OutputTensor", bytes, low, 4);
    same_type(in_zero, input);
    same_type(filter_zero, filter);
    same_type(out_zero, output);
    if (has("one_type_for_all")) good_ = good_ && input.type == output.type && input.type == filter.type;
    for (const TensorDesc* other : {&filter, &bias, &output}) same_rank(*other, input);
    for (const TensorDesc* value : {&in_scale, &in_zero, &out_scale, &out_zero}) {
      if (value->present) rule("convolution_single_value", value->product() == 1);
    }
    for (const TensorDesc* value : {&filter_scale, &filter_zero}) {
      if (!value->present) continue;
      const std::size_t channel = value->rank() == 1 ? 0 : 1;
      const bool per_channel = value->size(channel) == filter.size(0) && value->product() == filter.size(0);
      rule("convolution_filter_values", value->product() == 1 || per_channel);
    }
    if (has("equal_granularity") && filter_zero.present)
      good_ = good_ && filter_zero.product() == filter_scale.product();
    if (has("bias_required")) good_ = good_ && bias.present;
    if (has("zero_points_required")) good_ = good_ && in_zero.present && out_zero.present;

    if (bias.present && comparable(bias, input)) {
      rule("convolution_bias_size", bias.size(1) == filter.size(0) && bias.product() == bias.size(1));
    }
    windows(input, filter, output);
  }

  void convolution_integer() {
    rule("operator_level", from(v2_1));
    const std::size_t low = from(v4_0) ? 3 : 4;
    const std::size_t one = from(v4_0) ? 1 : 4;
    const TensorDesc input = tensor("InputTensor", bytes, low, 4);
    const TensorDesc in_zero = tensor("InputZeroPointTensor", bytes, one, 4);
    const TensorDesc filter = tensor("FilterTensor", bytes, low, 4);
    const TensorDesc filter_zero = tensor("FilterZeroPointTensor", bytes, one, 4);
    const TensorDesc output = tensor("OutputTensor", {"INT32"}, low, 4);
    same_type(in_zero, input);
    same_type(filter_zero, filter);
    same_rank(filter, input);
    same_rank(output, input);
    same_rank(filter_zero, in_zero);
    if (has("one_type_for_all")) good_ = good_ && input.type == filter.type;
    if (has("zero_points_required")) good_ = good_ && in_zero.present;
    if (in_zero.present) rule("convolution_single_value", in_zero.product() == 1);
    if (filter_zero.present) {
      const std::size_t channel = filter_zero.rank() == 1 ? 0 : 1;
      const bool per_channel = filter_zero.size(channel) == filter.size(0) && filter_zero.product() == filter.size(0);
      rule("convolution_filter_values", filter_zero.product() == 1 || per_channel);
    }
    windows(input, filter, output);
  }

  /// A scale or a zero point: one value, or `count` in the dimension that stands `from_end` before the last.
  void values(const char* name, const TensorDesc& tensor, std::int64_t count, std::size_t from_end,
              bool one_dimension) {
    if (!tensor.present || tensor.product() == 1) return;
    const bool has_place = tensor.rank() > from_end || (one_dimension && tensor.rank() == 1);
    const std::size_t place = tensor.rank() > from_end ? tensor.rank() - 1 - from_end : 0;
    rule(name, has_place && tensor.size(place) == count && tensor.product() == count);
  }

  void product() {
    const bool integer = case_.op == "MATRIX_MULTIPLY_INTEGER";
    rule("operator_level", from(v2_1));
    const std::size_t low = from(v4_0) ? 2 : 4;
    const std::size_t one = from(v4_0) ? 1 : 4;
    const std::size_t b_zero_low = !integer || from(v5_2) ? one : low;
    const TensorDesc a = tensor("ATensor", bytes, low, 4);
    const TensorDesc a_scale = tensor("AScaleTensor", {"FLOAT32"}, one, 4);
    const TensorDesc a_zero = tensor("AZeroPointTensor", bytes, one, 4);
    const TensorDesc b = tensor("BTensor", bytes, low, 4);
    const TensorDesc b_scale = tensor("BScaleTensor", {"FLOAT32"}, one, 4);
    const TensorDesc b_zero = tensor("BZeroPointTensor", bytes, b_zero_low, 4);
    const TensorDesc out_scale = tensor("OutputScaleTensor", {"FLOAT32"}, one, 4);
    const TensorDesc out_zero = tensor("OutputZeroPointTensor", bytes, one, 4);
    const TensorDesc output = tensor("OutputTensor", integer ? Types{"INT32"} : bytes, low, 4);
    same_type(a_zero, a);
    same_type(b_zero, b);
    if (!integer) {
      same_type(out_zero, output);
      for (const TensorDesc* other : {&a_zero, &b_scale, &b_zero, &out_scale, &out_zero}) same_rank(*other, a_scale);
    }
    same_rank(b, a);
    same_rank(output, a);
    if (has("product_parameters_of_data_rank")) {
      good_ = good_ && (!a_zero.present || a_zero.rank() == a.rank()) && (!b_zero.present || b_zero.rank() == b.rank());
    }
    if (has("product_zero_points_required")) good_ = good_ && a_zero.present && b_zero.present;
    if (has("product_of_unsigned_only")) good_ = good_ && a.type == "UINT8";
    if (!comparable(a, b) || !comparable(a, output) || a.rank() < 2) return;
    const std::size_t row = a.rank() - 2, column = a.rank() - 1;
    for (std::size_t d = 0; d < row; ++d) {
      rule("matrix_multiply_batch", b.size(d) == a.size(d) && output.size(d) == a.size(d));
    }
    rule("matrix_multiply_inner_size", b.size(row) == a.size(column));
    rule("matrix_multiply_output_size", output.size(row) == a.size(row) && output.size(column) == b.size(column));
    values("matrix_multiply_row_values", a_scale, a.size(row), 1, false);
    values("matrix_multiply_row_values", a_zero, a.size(row), 1, integer);
    values("matrix_multiply_column_values", b_scale, b.size(column), 0, false);
    values("matrix_multiply_column_values", b_zero, b.size(column), 0, false);
    values("matrix_multiply_row_values", out_scale, output.size(row), 1, false);
    values("matrix_multiply_row_values", out_zero, output.size(row), 1, false);
  }

  void windows(const TensorDesc& input, const TensorDesc& filter, const TensorDesc& output) {
    const auto count = static_cast<std::size_t>(number("DimensionCount"));
    rule("convolution_dimension_count", count + 2 == input.rank() || (has("tensor_rank") && count > 2));
    const std::int64_t groups = number("GroupCount");
    rule("convolution_group_count_zero", groups != 0);
    for (const std::int64_t stride : list("Strides")) rule("convolution_stride_zero", stride != 0);
    for (const std::int64_t dilation : list("Dilations")) rule("convolution_dilation_zero", dilation != 0);
    if (!comparable(input, filter) || !comparable(input, output) || count + 2 != input.rank()) return;
    if (groups != 0) {
      rule("convolution_group_input_channels", input.size(1) % groups == 0);
      rule("convolution_group_output_channels", filter.size(0) % groups == 0);
      if (input.size(1) % groups == 0) {
        rule("convolution_filter_channels", filter.size(1) == input.size(1) / groups);
      }
      if (has("one_group")) good_ = good_ && groups == 1;
      if (has("groups_or_depthwise")) good_ = good_ && (groups == 1 || groups == input.size(1));
    }
    rule("convolution_batch", output.size(0) == input.size(0));
    rule("convolution_output_channels", output.size(1) == filter.size(0));
    for (std::size_t i = 0; i < count; ++i) window(i, input, filter, output);
  }

  void window(std::size_t i, const TensorDesc& input, const TensorDesc& filter, const TensorDesc& output) {
    const std::int64_t stride = list("Strides")[i];
    const std::int64_t dilation = list("Dilations")[i];
    if (stride == 0 || dilation == 0) return;
    const std::int64_t padded = input.size(i + 2) + list("StartPadding")[i] + list("EndPadding")[i];
    const std::int64_t kernel = 1 + (filter.size(i + 2) - 1) * dilation;
    rule("convolution_kernel_fits", kernel <= padded);
    if (kernel > padded) return;
    const std::int64_t exact = 1 + (padded - kernel) / stride;
    const bool up = has("output_rounded_up") && output.size(i + 2) == 1 + (padded - kernel + stride - 1) / stride;
    rule("convolution_output_size", output.size(i + 2) == exact || up);
    if (has("padding_below_the_kernel"))
      good_ = good_ && list("StartPadding")[i] < kernel && list("EndPadding")[i] < kernel;
    if (has("stride_divides")) good_ = good_ && (padded - kernel) % stride == 0;
  }

  void normalization() {
    const bool mvn1 = case_.op == "MEAN_VARIANCE_NORMALIZATION1";
    const bool mvn2 = case_.op == "MEAN_VARIANCE_NORMALIZATION2";
    rule("operator_level", (!mvn1 || from(v2_1)) && (!mvn2 || from(v6_3)));
    const bool any_rank = mvn2 || (mvn1 && from(v3_1));
    const std::size_t least = any_rank ? 1 : 4;
    const std::size_t most = any_rank ? 8 : 4;
    const TensorDesc input = tensor("InputTensor", reals, least, most);
    const TensorDesc scale = tensor("ScaleTensor", reals, least, most);
    const TensorDesc bias = tensor("BiasTensor", reals, least, most);
    const TensorDesc output = tensor("OutputTensor", reals, least, most);
    for (const TensorDesc* other : {&scale, &bias, &output}) {
      same_type(*other, input);
      same_rank(*other, input);
    }
    if (comparable(input, output)) rule("normalization_output_size", input.sizes == output.sizes);
    rule("normalization_scale_with_bias", scale.present == bias.present || from(v5_2));
    if (has("scale_and_bias_equal") && scale.present && bias.present) good_ = good_ && scale.sizes == bias.sizes;
    if (has("scale_required")) good_ = good_ && scale.present;
    for (const TensorDesc* other : {&scale, &bias}) {
      if (!other->present || !comparable(*other, input)) continue;
      for (std::size_t d = 0; d < input.rank(); ++d) {
        const bool one = other->size(d) == 1;
        const bool larger = has("broadcast_both_ways") && input.size(d) == 1;
        rule("normalization_broadcast", other->size(d) == input.size(d) || one || larger);
        const bool channel = d == (input.rank() == 1 ? 0u : 1u);
        if (mvn1 && channel && one && input.size(d) != 1) rule("normalization_channel_broadcast", from(v4_0));
        if (has("only_channels_repeat")) good_ = good_ && (one || channel);
      }
    }
    if (mvn1 || mvn2) axes(input);
    if (case_.desc.contains("FusedActivation")) activation(case_.desc["FusedActivation"]);
  }

  void quantize_linear() {
    const bool quantizes = case_.op == "ELEMENT_WISE_QUANTIZE_LINEAR";
    const std::size_t least = from(v3_0) ? 1 : 4, most = from(v3_0) ? 8 : 4;
    Types scales{"FLOAT32"}, integers{"UINT8"};
    if (from(v6_0)) scales.insert("FLOAT16");
    if (from(v2_1)) integers.insert("INT8");
    if (from(v2_1) && !quantizes) integers.insert({"INT32", "INT16", "UINT32", "UINT16"});
    Types inputs = quantizes ? scales : integers;
    if (from(v2_1) && quantizes) inputs.insert("INT32");
    const TensorDesc input = tensor("InputTensor", inputs, least, most);
    const TensorDesc scale = tensor("ScaleTensor", scales, least, most);
    const TensorDesc zero_point = tensor("ZeroPointTensor", integers, least, most);
    const TensorDesc output = tensor("OutputTensor", quantizes ? integers : scales, least, most);
    same_type(zero_point, quantizes ? output : input);
    if (quantizes && input.type == "INT32") {
      rule("tensor_data_type_match", scale.type == "FLOAT32");
      if (has("scale_of_input_type")) good_ = false;
    } else {
      same_type(scale, quantizes ? input : output);
    }
    for (const TensorDesc* other : {&scale, &zero_point, &output}) {
      same_rank(*other, input);
      if (!other->present || !comparable(*other, input)) continue;
      for (std::size_t d = 0; d < input.rank(); ++d) {
        const bool repeats = has("element_wise_broadcast") && other != &output && other->size(d) == 1;
        rule("element_wise_size", other->size(d) == input.size(d) || repeats);
      }
    }
    rule("element_wise_zero_point", zero_point.present || from(v6_2));
    if (has("zero_point_required")) good_ = good_ && zero_point.present;
  }

  void axes(const TensorDesc& input) {
    const List axes = list("Axes");
    rule("normalization_axis_count", axes.size() <= 8);
    if (has("no_axes")) good_ = good_ && !axes.empty();
    std::set<std::int64_t> seen;
    for (const std::int64_t axis : axes) {
      const bool negative = has("signed_axes") && axis >= 2147483648;
      rule("normalization_axis_range", axis < static_cast<std::int64_t>(input.rank()) || negative);
      rule("normalization_axis_repeated", seen.insert(axis).second);
    }
    if (has("ascending_axes")) good_ = good_ && std::is_sorted(axes.begin(), axes.end());
    if (has("trailing_axes") && !seen.empty()) {
      good_ = good_ && seen.size() == input.rank() - static_cast<std::size_t>(*seen.begin());
    }
  }

  void activation(const Json& fused) {
    static const std::map<std::string, Level> known{{"ELU", v1_0},         {"HARD_SIGMOID", v1_0},
                                                    {"IDENTITY", v1_0},    {"LEAKY_RELU", v1_0},
                                                    {"LINEAR", v1_0},      {"PARAMETRIC_SOFTPLUS", v1_0},
                                                    {"RELU", v1_0},        {"SCALED_ELU", v1_0},
                                                    {"SCALED_TANH", v1_0}, {"SIGMOID", v1_0},
                                                    {"SOFTPLUS", v1_0},    {"SOFTSIGN", v1_0},
                                                    {"TANH", v1_0},        {"THRESHOLDED_RELU", v1_0},
                                                    {"SHRINK", v2_0},      {"CELU", v3_0},
                                                    {"GELU", v5_1}};
    std::string name = fused["Type"].get<std::string>();
    if (name.starts_with("ACTIVATION_")) name.erase(0, 11);
    const auto row = known.find(name);
    rule("activation_type", row != known.end());
    if (row != known.end()) rule("activation_level", from(row->second));
    if (name == "SOFTPLUS") rule("activation_steepness", fused["Steepness"].get<float>() >= 1 || from(v6_4));
    if (has("no_activations")) good_ = false;
  }

  const Case& case_;
  std::size_t level_;
  std::string_view fault_;
  bool good_ = true;
};

}  // namespace

bool accepts(const Case& one, std::size_t level, std::string_view fault) {
  return Validator(one, level, fault).accepts();
}

const std::vector<ValidatorFault>& validator_faults() {
  static const std::vector<ValidatorFault> faults{
      {"tensor_type", 0, "tensors of type INVALID pass"},
      {"tensor_data_type", of::all, "any data type passes"},
      {"tensor_data_type_match", of::all, "data types need not agree"},
      {"tensor_dimension_count", 0, "nine dimensions pass"},
      {"tensor_rank", of::all & ~of::mvn2, "any number of dimensions passes"},
      {"tensor_rank_match", of::all & ~of::mvn, "numbers of dimensions need not agree"},
      {"tensor_owned_by_dml", 0, "an output may be owned by DML"},
      {"tensor_size_zero", 0, "sizes of 0 pass"},
      {"tensor_alignment", 0, "any alignment passes"},
      {"tensor_element_limit", 0, "more than 2^32 - 1 elements pass"},
      {"tensor_total_size", 0, "any total size that is too small passes"},
      {"total_size_limit", 0, "any total size that is too large passes"},
      {"tensor_strides", 0, "the total size is compared with the packed size"},
      {"total_not_rounded_up", 0, "the total size need not be rounded up to four bytes"},
      {"output_strides_overlap", 0, "outputs may share addresses"},
      {"output_broadcast", 0, "outputs may have strides of 0"},
      {"levels", of::all, "all levels are taken for the last"},
      {"operator_level", of::slice1 | of::convolutions | of::products | of::over_axes,
       "operators exist at every level"},
      {"sums_of_32_bits", of::slices, "sums of offsets and sizes wrap at 32 bits"},
      {"slice_dimension_count", of::slices, "any DimensionCount passes"},
      {"slice_output_size", of::slice, "Sizes need not be the output's"},
      {"slice_bounds", of::slice, "reads beyond the input pass"},
      {"slice1_window_empty", of::slice1, "empty windows pass"},
      {"slice1_window_bounds", of::slice1, "windows beyond the input pass"},
      {"only_what_is_read_inside", of::slice1, "windows beyond the input pass where nothing is read there"},
      {"slice1_stride_zero", of::slice1, "strides of 0 pass"},
      {"slice1_output_size", of::slice1, "outputs beyond the window pass"},
      {"convolution_single_value", of::convolutions, "several values pass where one is for the whole tensor"},
      {"convolution_filter_values", of::convolutions, "any number of filter scales or zero points passes"},
      {"convolution_dimension_count", of::convolutions, "any DimensionCount passes"},
      {"convolution_group_count_zero", of::convolutions, "GroupCount 0 passes"},
      {"convolution_group_input_channels", of::convolutions, "GroupCount need not divide the input's channels"},
      {"convolution_group_output_channels", of::convolutions, "GroupCount need not divide the output's channels"},
      {"convolution_filter_channels", of::convolutions, "any number of filter channels passes"},
      {"convolution_stride_zero", of::convolutions, "strides of 0 pass"},
      {"convolution_dilation_zero", of::convolutions, "dilations of 0 pass"},
      {"convolution_batch", of::convolutions, "the batch sizes need not agree"},
      {"convolution_output_channels", of::convolutions, "any number of output channels passes"},
      {"convolution_bias_size", of::qlc, "a bias of any size passes"},
      {"convolution_kernel_fits", of::convolutions, "a kernel larger than the padded input passes"},
      {"convolution_output_size", of::convolutions, "any output size passes"},
      {"output_rounded_up", of::convolutions, "an output size that is rounded up passes"},
      {"matrix_multiply_batch", of::products, "batches of matrix products need not agree"},
      {"matrix_multiply_inner_size", of::products, "any depth of B passes"},
      {"matrix_multiply_output_size", of::products, "any size of a product passes"},
      {"matrix_multiply_row_values", of::products, "any scales and zero points per row pass"},
      {"matrix_multiply_column_values", of::products, "any scales and zero points per column pass"},
      {"product_parameters_of_data_rank", of::products, "refuses zero points of another rank than the data"},
      {"product_zero_points_required", of::products, "refuses absent zero points of matrix products"},
      {"product_of_unsigned_only", of::products, "refuses an A of INT8"},
      {"normalization_output_size", of::normalizations, "the output's sizes need not be the input's"},
      {"normalization_broadcast", of::normalizations, "a scale of any size passes"},
      {"broadcast_both_ways", of::over_axes, "a scale larger than the input passes"},
      {"normalization_channel_broadcast", of::mvn1, "MVN1's channel may be 1 below 4_0"},
      {"normalization_scale_with_bias", of::mvn | of::mvn1, "scale and bias are independent below 5_2"},
      {"normalization_axis_range", of::over_axes, "axes beyond the rank pass"},
      {"signed_axes", of::over_axes, "negative axes pass"},
      {"normalization_axis_repeated", of::over_axes, "an axis passes twice"},
      {"activation_type", of::normalizations, "any operator is fused"},
      {"activation_level", of::mvn | of::mvn1, "activations exist at every level"},
      {"activation_steepness", of::over_axes, "a Steepness below 1 passes below 6_4"},
      {"element_wise_size", of::element_wise, "scale, zero point and output of any size pass"},
      {"element_wise_broadcast", of::element_wise, "a scale of size 1 is repeated"},
      {"element_wise_zero_point", of::element_wise, "an absent zero point passes below 6_2"},
      {"exact_total_size", 0, "refuses a total size above the least"},
      {"no_broadcast_inputs", 0, "refuses strides of 0 in inputs"},
      {"no_zero_strides", 0, "refuses strides of 0 beside a size of 1, too"},
      {"inputs_unique", 0, "refuses inputs whose elements share addresses"},
      {"packed_only", of::all, "refuses strides"},
      {"whole_steps_inside", of::slice, "refuses a window whose last step ends beyond the input"},
      {"slice_stride_zero", of::slice, "refuses SLICE's stride of 0"},
      {"stride_beyond_the_input", of::slice, "refuses strides that are never taken"},
      {"signed_division", of::slice1, "divides by the signed stride, and refuses negative ones"},
      {"output_is_the_window", of::slice1, "refuses an output less than the window"},
      {"no_negative_strides", of::slice1, "refuses negative strides"},
      {"one_type_for_all", of::convolutions, "refuses types that differ between input, filter and output"},
      {"equal_granularity", of::qlc, "refuses scale and zero point of different sizes"},
      {"bias_required", of::qlc, "refuses an absent bias"},
      {"zero_points_required", of::convolutions, "refuses absent zero points"},
      {"one_group", of::convolutions, "refuses groups"},
      {"groups_or_depthwise", of::convolutions, "refuses groups other than depthwise"},
      {"padding_below_the_kernel", of::convolutions, "refuses a padding as large as the kernel"},
      {"stride_divides", of::convolutions, "refuses a stride that leaves a rest"},
      {"scale_and_bias_equal", of::over_axes, "refuses scale and bias of different sizes"},
      {"scale_required", of::normalizations, "refuses an absent scale"},
      {"only_channels_repeat", of::normalizations, "refuses a scale that is not one for each channel"},
      {"no_axes", of::over_axes, "refuses an empty list of axes"},
      {"ascending_axes", of::over_axes, "refuses axes in another order"},
      {"trailing_axes", of::over_axes, "refuses axes that are not the last dimensions"},
      {"no_activations", of::normalizations, "refuses activations"},
      {"zero_point_required", of::element_wise, "refuses an absent zero point"},
      {"scale_of_input_type", of::quantize, "refuses a FLOAT32 scale of an INT32 input"},
  };
  return faults;
}

}  // namespace dmlref::test::kit
