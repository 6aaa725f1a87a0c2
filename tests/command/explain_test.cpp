// What explain says is what run writes, for every example and sampled elements, and its texts.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "command/command.hpp"
#include "dmlref/reference/quantize.hpp"
#include "dmlref/view/bind.hpp"
#include "explain/explanation.hpp"
#include "explain/report.hpp"
#include "model/session.hpp"
#include "support/element.hpp"

namespace dmlref::test {
namespace {

const fs::path examples = DMLREF_TEST_EXAMPLES;

/// Every element of a small output; 100 of a large one.
std::vector<Coordinates> sample(const Shape& shape, std::mt19937& random) {
  std::vector<Coordinates> chosen;
  const Index count = element_count(shape);
  for (Index i = 0; i < std::min<Index>(count, 100); ++i) {
    chosen.push_back(unravel(count <= 100 ? i : std::uniform_int_distribution<Index>(0, count - 1)(random), shape));
  }
  return chosen;
}

/// How many sampled elements were explained; each must be, to the bit, what the dispatch then writes.
template <class Look>
std::size_t explain_dispatches(const tool::Model& model, std::mt19937& random, const Look& look) {
  std::size_t explained = 0;
  tool::Session session(model, {});
  for (const tool::Command& command : model.commands) {
    const auto* dispatch = std::get_if<tool::DispatchCommand>(&command.what);
    if (dispatch == nullptr) continue;
    const DML_OPERATOR_DESC& desc = model.dispatchables.find(dispatch->dispatchable)->second.op.desc();
    const auto value = dmlref::detail::read_directml(desc);
    const TensorDesc output = std::visit([](const auto& known) { return known.output; }, *value);
    const Layout layout = layout_of(output);
    const std::vector<Coordinates> chosen = sample(layout.shape, random);
    const tool::BoundTensors tensors = session.tensors_of(*dispatch);
    std::vector<tool::Explanation> explanations;
    for (const Coordinates& at : chosen) {
      explanations.push_back(tool::explain(desc, tensors.inputs, {at.begin(), at.size()}, 5));
    }
    session.dispatch(command.path, *dispatch);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto index = static_cast<std::size_t>(layout(chosen[i]));
      EXPECT_EQ(explanations[i].output.bits, tool::bits_text(output.data_type, tensors.output, index));
      EXPECT_EQ(explanations[i].output.value, tool::element_text(output.data_type, tensors.output, index));
      look(explanations[i]);
      ++explained;
    }
  }
  return explained;
}
std::size_t explain_dispatches(const tool::Model& model, std::mt19937& random) {
  return explain_dispatches(model, random, [](const tool::Explanation&) {});
}

TEST(Explain, EndsInWhatRunWritesForEveryExample) {
  constexpr std::uint32_t seed = 20250611;
  std::mt19937 random(seed);
  std::size_t explained = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(examples)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().filename().string() + ", seed " + std::to_string(seed));
    explained += explain_dispatches(tool::parse_model(entry.path()), random);
  }
  EXPECT_GE(explained, 600u);
}

/// A model of one operator with random attributes and data.
class RandomModel {
 public:
  explicit RandomModel(std::mt19937& random) : random_(random) {}

  tool::Json convolution(bool integer = false) {
    const std::uint32_t spatial = from(1, 2);
    const std::uint32_t groups = from(1, 3);
    const std::uint32_t channels = from(1, 3);
    const std::uint32_t outputs = groups * from(1, 2);
    std::vector<std::uint32_t> input{from(1, 2), groups * channels};
    std::vector<std::uint32_t> filter{outputs, channels};
    std::vector<std::uint32_t> output{input[0], outputs};
    for (const char* list : {"Strides", "Dilations", "StartPadding", "EndPadding"}) desc_[list] = tool::Json::array();
    for (std::uint32_t d = 0; d < spatial; ++d) {
      input.push_back(from(5, 8));
      filter.push_back(from(1, 3));
      const std::uint32_t stride = from(1, 2);
      const std::uint32_t dilation = from(1, 2);
      const std::uint32_t start = from(0, 2);
      const std::uint32_t end = from(0, 2);
      output.push_back((input.back() + start + end - dilation * (filter.back() - 1) - 1) / stride + 1);
      desc_["Strides"].push_back(stride);
      desc_["Dilations"].push_back(dilation);
      desc_["StartPadding"].push_back(start);
      desc_["EndPadding"].push_back(end);
    }
    desc_["DimensionCount"] = spatial;
    desc_["GroupCount"] = groups;
    const std::vector<std::uint32_t> one(spatial + 2, 1);
    std::vector<std::uint32_t> per_channel = one;
    per_channel[1] = outputs;
    const bool scales = coin();
    const char* x = byte_type();
    const char* f = byte_type();
    const char* y = byte_type();
    if (integer) {
      tensor("InputTensor", x, input);
      if (coin()) tensor("InputZeroPointTensor", x, one);
      tensor("FilterTensor", f, filter);
      if (coin()) tensor("FilterZeroPointTensor", f, scales ? per_channel : one);
      tensor("OutputTensor", "INT32", output);
      return model("CONVOLUTION_INTEGER");
    }
    tensor("InputTensor", x, input);
    tensor("InputScaleTensor", "FLOAT32", one, 0.01, 1);
    if (coin()) tensor("InputZeroPointTensor", x, one);
    tensor("FilterTensor", f, filter);
    tensor("FilterScaleTensor", "FLOAT32", scales ? per_channel : one, 0.01, 1);
    if (coin()) tensor("FilterZeroPointTensor", f, scales ? per_channel : one);
    if (coin()) tensor("BiasTensor", "INT32", per_channel, -5000, 5000);
    tensor("OutputScaleTensor", "FLOAT32", one, 1, 200);
    if (coin()) tensor("OutputZeroPointTensor", y, one);
    tensor("OutputTensor", y, output);
    return model("QUANTIZED_LINEAR_CONVOLUTION");
  }

  tool::Json product(bool quantized) {
    using Sizes = std::vector<std::uint32_t>;
    Sizes leading;
    for (std::uint32_t d = 0, count = from(0, 2); d < count; ++d) leading.push_back(from(1, 2));
    const auto with = [](Sizes sizes, std::uint32_t rows, std::uint32_t columns) {
      sizes.push_back(rows);
      sizes.push_back(columns);
      return sizes;
    };
    const std::uint32_t m = from(1, 4), k = from(1, 5), n = from(1, 4);
    const Sizes one(leading.size(), 1);
    const auto rows = [&] { return with(one, coin() ? m : 1, 1); };
    const auto columns = [&] { return with(one, 1, coin() ? n : 1); };
    const char* a = byte_type();
    const char* b = byte_type();
    const char* y = quantized ? byte_type() : "INT32";
    tensor("ATensor", a, with(leading, m, k));
    if (coin()) tensor("AZeroPointTensor", a, rows());
    tensor("BTensor", b, with(leading, k, n));
    if (coin()) tensor("BZeroPointTensor", b, columns());
    if (quantized) {
      tensor("AScaleTensor", "FLOAT32", rows(), 0.01, 1);
      tensor("BScaleTensor", "FLOAT32", columns(), 0.01, 1);
      tensor("OutputScaleTensor", "FLOAT32", rows(), 1, 200);
      if (coin()) tensor("OutputZeroPointTensor", y, rows());
    }
    tensor("OutputTensor", y, with(leading, m, n));
    return model(quantized ? "QUANTIZED_LINEAR_MATRIX_MULTIPLY" : "MATRIX_MULTIPLY_INTEGER");
  }

  /// Quantizes where that is asked, or dequantizes: any types, one scale for all or for each place of an axis.
  tool::Json quantize_linear(bool quantizes) {
    constexpr const char* reals[] = {"FLOAT32", "FLOAT16", "INT32"};
    constexpr const char* integers[] = {"INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32"};
    const std::string x = quantizes ? reals[random_() % 3] : integers[random_() % 6];
    const std::string y = quantizes ? byte_type() : reals[random_() % 2];
    const std::string scale = !quantizes ? y : x == "INT32" ? "FLOAT32" : x;
    const std::string zero = quantizes ? y : x;
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t d = 0, rank = from(1, 4); d < rank; ++d) sizes.push_back(from(1, 4));
    const auto repeated = [&](const char* name, const std::string& type, double low, double high) {
      const std::size_t axis = coin() ? random_() % sizes.size() : sizes.size();  // or none
      tensor(name, type, {axis < sizes.size() ? sizes[axis] : 1}, low, high);
      std::vector<std::uint32_t> strides(sizes.size(), 0);
      if (axis < sizes.size()) strides[axis] = 1;
      desc_[name] = {{"DataType", type}, {"Sizes", sizes}, {"Strides", strides}};
      tool::Json& values = resources_[name]["initialValues"];
      const tool::Json special[] = {0, -0.0, "inf", "-inf", "nan", 0.5, 1e-7};
      if (type.starts_with("FLOAT") && random_() % 3 == 0) values[random_() % values.size()] = special[random_() % 7];
    };
    tensor("InputTensor", x, sizes, x[0] == 'U' ? 0 : -300, 300);
    repeated("ScaleTensor", scale, -2, 2);
    if (coin()) repeated("ZeroPointTensor", zero, 0, 200);
    tensor("OutputTensor", y, sizes);
    return model(quantizes ? "ELEMENT_WISE_QUANTIZE_LINEAR" : "ELEMENT_WISE_DEQUANTIZE_LINEAR");
  }

  tool::Json normalization() {
    const char* type = coin() ? "FLOAT32" : "FLOAT16";
    std::vector<std::uint32_t> sizes;
    desc_["Axes"] = tool::Json::array();
    for (std::uint32_t d = 0, rank = from(1, 5); d < rank; ++d) {
      sizes.push_back(from(1, 5));
      if (coin()) desc_["Axes"].push_back(d);
    }
    desc_["AxisCount"] = desc_["Axes"].size();
    const bool mvn2 = coin();
    if (mvn2) desc_["UseMean"] = random_() % 4 == 0;
    desc_[mvn2 ? "UseVariance" : "NormalizeVariance"] = coin();
    desc_["Epsilon"] = 1e-5;
    const double far_away = coin() ? 0 : 1000;  // a mean that dwarfs the deviations
    tensor("InputTensor", type, sizes, far_away - 2, far_away + 2);
    for (const char* name : {"ScaleTensor", "BiasTensor"}) {
      if (coin()) continue;
      std::vector<std::uint32_t> part = sizes;
      for (std::uint32_t& extent : part) extent = coin() ? extent : 1;
      tensor(name, type, part, -2, 2);
    }
    tensor("OutputTensor", type, sizes, 0, 0);
    const ActivationInfo& activation = activation_table[random_() % activation_table.size()];
    tool::Json fused{{"Type", "ACTIVATION_" + std::string(activation.name)}};
    for (std::size_t p = 0; p < activation.parameter_names.size(); ++p) {
      const std::string name(activation.parameter_names[p]);
      if (!name.empty()) fused[name] = static_cast<double>(activation.defaults[p]);
    }
    if (coin()) desc_["FusedActivation"] = fused;
    return model(mvn2 ? "MEAN_VARIANCE_NORMALIZATION2" : "MEAN_VARIANCE_NORMALIZATION1");
  }

 private:
  std::uint32_t from(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(random_()) % (most - least + 1);
  }
  bool coin() { return random_() % 2 == 0; }
  const char* byte_type() { return coin() ? "INT8" : "UINT8"; }

  /// A tensor bound to a resource of its name; bytes have any value, others lie between the limits.
  void tensor(const char* name, const std::string& type, const std::vector<std::uint32_t>& sizes, double low = 0,
              double high = 0) {
    std::size_t count = 1;
    for (const std::uint32_t extent : sizes) count *= extent;
    tool::Json values = tool::Json::array();
    for (std::size_t i = 0; i < count; ++i) {
      const double share = static_cast<double>(random_() % 100000) / 100000;
      if (type == "INT8") {
        values.push_back(static_cast<std::int8_t>(random_()));
      } else if (type == "UINT8") {
        values.push_back(static_cast<std::uint8_t>(random_()));
      } else if (type.find("INT") != std::string::npos) {
        values.push_back(static_cast<std::int32_t>(low + (high - low) * share));
      } else {
        values.push_back(low + (high - low) * share);
      }
    }
    desc_[name] = {{"DataType", type}, {"Sizes", sizes}};
    resources_[name] = {{"initialValuesDataType", type}, {"initialValues", values}};
    bindings_[name] = name;
  }

  tool::Json model(const char* type) const {
    return {{"resources", resources_},
            {"dispatchables", {{"op", {{"type", type}, {"desc", desc_}}}}},
            {"commands", {{{"type", "dispatch"}, {"dispatchable", "op"}, {"bindings", bindings_}}}}};
  }

  std::mt19937& random_;
  tool::Json desc_ = tool::Json::object();
  tool::Json resources_ = tool::Json::object();
  tool::Json bindings_ = tool::Json::object();
};

TEST(Explain, EndsInWhatRunWritesForRandomOperators) {
  constexpr std::uint32_t seed = 20250614;
  std::mt19937 random(seed);
  for (int round = 0; round < 700; ++round) {
    RandomModel any(random);
    const int kind = round % 7;
    const tool::Json json = kind == 0   ? any.convolution()
                            : kind == 1 ? any.normalization()
                            : kind == 2 ? any.convolution(true)
                            : kind < 5  ? any.product(kind == 3)
                                        : any.quantize_linear(kind == 5);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + "\n" +
                 json["dispatchables"].dump());
    const tool::Model model = tool::parse_model(tool::Document("model.json", json.dump()), ".");
    const Report report = validate(model.dispatchables.begin()->second.op.desc(), latest_feature_level);
    ASSERT_TRUE(report.ok()) << report.to_string();
    EXPECT_GE(explain_dispatches(model, random), 1u);
    if (HasFailure()) return;
  }
}

/// Infinities and NaN in every tensor and parameter: the derivation ends in the output, which is stored as it says.
TEST(Explain, TellsInfinitiesAndNanAsTheyAre) {
  constexpr std::uint32_t seed = 20261126;
  std::mt19937 random(seed);
  const char* const special[] = {"inf", "-inf", "nan"};
  int infinite = 0;
  int undefined = 0;
  for (int round = 0; round < 300; ++round) {
    tool::Json json = RandomModel(random).normalization();
    tool::Json& desc = json["dispatchables"]["op"]["desc"];
    for (auto& [name, resource] : json["resources"].items()) {
      if (name == "OutputTensor" || random() % 3 != 0) continue;
      tool::Json& values = resource["initialValues"];
      values[random() % values.size()] = special[random() % 3];
    }
    const tool::Json epsilons[] = {"inf", "-inf", "nan", -1, 0, 1e-5};
    desc["Epsilon"] = epsilons[random() % std::size(epsilons)];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + "\n" + json.dump());
    const tool::Model model = tool::parse_model(tool::Document("model.json", json.dump()), ".");
    EXPECT_GE(explain_dispatches(model, random,
                                 [&](const tool::Explanation& explanation) {
                                   const auto& how = std::get<tool::NormalizationExplanation>(explanation.how);
                                   const std::string text =
                                       tool::to_text(explanation, "op") + tool::to_json_text(explanation, "op");
                                   EXPECT_EQ(text.find("-nan"), std::string::npos) << text;
                                   const bool finite =
                                       std::isfinite(how.before_activation) && std::isfinite(how.after_activation);
                                   EXPECT_TRUE(finite || how.nearest == explanation.output.value) << text;
                                   infinite += std::isinf(how.after_activation) ? 1 : 0;
                                   undefined += std::isnan(how.after_activation) ? 1 : 0;
                                 }),
              1u);
    if (HasFailure()) return;
  }
  EXPECT_GT(infinite, 20);
  EXPECT_GT(undefined, 200);
}

/// Two programs that share nothing: integers of any size here, 128 bits and a double product in the library.
TEST(Explain, QuotientsRoundAsTheLibraryRounds) {
  constexpr std::uint32_t seed = 20250612;
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1e-45f, -1e-38f, 3.4e38f, INFINITY, -INFINITY, NAN};
  const auto scale = [&]() -> float {
    switch (random() % 4) {
      case 0: return special[random() % std::size(special)];
      case 1: return std::ldexp(1.0f, static_cast<int>(random() % 12) - 6);
      case 2: return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      default: return std::ldexp(static_cast<float>(random() % 4096 + 1), -10);
    }
  };
  int ties = 0;
  for (int round = 0; round < 200000; ++round) {
    const int bits = static_cast<int>(random() % 48);
    auto accumulator = static_cast<std::int64_t>(random()) & ((std::int64_t{1} << bits) - 1);
    if (random() % 2 == 0) accumulator = -accumulator;
    const float in = scale();
    const float filter = scale();
    const float out = scale();
    const tool::ExactQuotient quotient = tool::exact_quotient(accumulator, in, filter, out);
    const std::int64_t expected = reference::RequantizeScale(in, filter, out).round_exactly(accumulator);
    const std::int64_t limit = reference::rounding_limit;
    ASSERT_EQ(std::clamp(quotient.rounded, -limit, limit), expected)
        << accumulator << " * " << in << " * " << filter << " / " << out << " = " << quotient.fraction;
    ties += quotient.tie ? 1 : 0;
  }
  EXPECT_GT(ties, 500);
}

TEST(Explain, WritesQuotientsInFull) {
  struct Row {
    std::int64_t accumulator;
    float input;
    float filter;
    float output;
    const char* fraction;
    const char* decimal;
    std::int64_t rounded;
    bool tie;
    const char* integer = nullptr;  // where it is not `rounded`
  };
  constexpr std::int64_t cap = std::int64_t{1} << 40;
  const Row rows[] = {
      {11, 0.5f, 0.25f, 0.25f, "11/2", "5.5", 6, true},
      {-13, 0.5f, 0.25f, 0.25f, "-13/2", "-6.5", -6, true},
      {1, 1.0f, 1.0f, 3.0f, "1/3", "0.33333333333333333333...", 0, false},
      {-2, 1.0f, 1.0f, 3.0f, "-2/3", "-0.66666666666666666666...", -1, false},
      {7, 2.0f, 4.0f, 1.0f, "56", "56", 56, false},
      {1, 0x1p-60f, 0x1p-10f, 1.0f, "1/1180591620717411303424", "0.00000000000000000000...", 0, false},
      {3, 0x1p-149f, 0x1p-149f, 1.0f, "3 * 2^-298", "0.00000000000000000000...", 0, false},
      {0, 2.0f, -1.0f, INFINITY, "0", "0", 0, false},
      {0, INFINITY, 1.0f, 1.0f, "undefined", "nan", 0, false},
      {0, 1.0f, 1.0f, 0.0f, "undefined", "nan", 0, false},
      {-1, 1.0f, 1.0f, 0.0f, "-infinite", "-inf", -cap, false, "-inf"},
      {20, INFINITY, 0.25f, 0.25f, "infinite", "inf", cap, false, "inf"},
      {-3, 0x1p80f, 1.0f, 1.0f, "-3626777458843887524118528", "-3626777458843887524118528", -cap, false,
       "-3626777458843887524118528"},
      {3, 0x1p40f, 0x1p-1f, 1.0f, "1649267441664", "1649267441664", cap, false, "1649267441664"},
      {5, NAN, 1.0f, 1.0f, "undefined", "nan", 0, false},
      {5, 1.0f, 1.0f, INFINITY, "0", "0", 0, false},
  };
  for (const Row& row : rows) {
    const tool::ExactQuotient quotient = tool::exact_quotient(row.accumulator, row.input, row.filter, row.output);
    EXPECT_EQ(quotient.fraction, row.fraction);
    EXPECT_EQ(quotient.decimal, row.decimal) << row.fraction;
    EXPECT_EQ(quotient.rounded, row.rounded) << row.fraction;
    EXPECT_EQ(quotient.integer, row.integer != nullptr ? row.integer : std::to_string(row.rounded)) << row.fraction;
    EXPECT_EQ(quotient.tie, row.tie) << row.fraction;
  }
}

class ExplainCommand : public CommandTest {};

TEST_F(ExplainCommand, PrintsTextAndJson) {
  struct Row {
    const char* example;
    const char* element;
    const char* report;
    const char* dispatchable = nullptr;  // where there are several
  };
  const Row rows[] = {{"qlc_padding", "0,0,0,0", "explain_convolution"},
                      {"mvn1_fused_activation", "0,0,0,1", "explain_normalization"},
                      {"slice1_reversed", "0,0,0,1", "explain_slice"},
                      {"ci_padding", "0,0,0,1", "explain_convolution_integer"},
                      {"mmi_zero_points_per_row", "1,1", "explain_matrix_multiply"},
                      {"qlmm_basic", "0,1", "explain_quantized_matrix_multiply"},
                      {"mvn2_rms", "0,1", "explain_normalization2"},
                      {"quantize_linear", "0,0,0,2", "explain_quantize_linear", "quantize"},
                      {"quantize_linear", "0,0,1,1", "explain_dequantize_linear", "dequantize"}};
  const fs::path reports = fs::path(DMLREF_TEST_GOLDEN) / "reports";
  for (const Row& row : rows) {
    SCOPED_TRACE(row.example);
    const std::string model = (examples / row.example).string() + ".json";
    std::vector<std::string> words{"explain", model, "--element", row.element};
    if (row.dispatchable != nullptr) words.insert(words.end(), {"--dispatchable", row.dispatchable});
    const Outcome text = dmlref(words);
    EXPECT_EQ(text.status, 0) << text;
    EXPECT_EQ(text.err, "");
    EXPECT_EQ(text.out, read_text(reports / (std::string(row.report) + ".txt")));
    words.push_back("--json");
    EXPECT_EQ(dmlref(words).out, read_text(reports / (std::string(row.report) + ".json")));
  }
}

TEST_F(ExplainCommand, TellsSaturationAndInfinityInTextAndJson) {
  const std::string model = read_text((examples / "qlc_padding").string() + ".json");
  const auto explain = [&](const std::string& scale, bool json) {
    write("model.json", replaced(model, "\"initialValuesDataType\": \"FLOAT32\", \"initialValues\": [0.5]",
                                 "\"initialValuesDataType\": \"FLOAT32\", \"initialValues\": [" + scale + "]"));
    std::vector<std::string> words{"explain", "model.json", "--element", "0,0,1,1"};
    if (json) words.push_back("--json");
    const Outcome outcome = dmlref(words);
    EXPECT_EQ(outcome.status, 0) << outcome;
    return outcome.out;
  };
  EXPECT_NE(explain("\"inf\"", false).find("rounded to the nearest integer       inf\n"), std::string::npos)
      << explain("\"inf\"", false);
  EXPECT_NE(explain("\"nan\"", false).find("NaN counts as 0"), std::string::npos) << explain("\"nan\"", false);
  const tool::Json infinite = tool::Json::parse(explain("\"inf\"", true));
  EXPECT_EQ(infinite["rounded"], "inf");
  EXPECT_EQ(infinite["quotient"]["decimal"], "inf");
  EXPECT_EQ(infinite["saturated"], true);
  for (const char* scale : {"\"inf\"", "1e20"}) {
    EXPECT_NE(explain(scale, false).find("\nclamped to UINT8 "), std::string::npos) << explain(scale, false);
  }
  EXPECT_NE(explain("0.5", false).find("\nwithin UINT8 "), std::string::npos) << explain("0.5", false);
  const tool::Json undefined = tool::Json::parse(explain("\"nan\"", true));
  EXPECT_EQ(undefined["quotient"]["decimal"], "nan");
  EXPECT_EQ(undefined["rounded"], 0);
  EXPECT_EQ(undefined["saturated"], false);
  EXPECT_EQ(tool::Json::parse(explain("1e20", true))["saturated"], true);
  EXPECT_EQ(tool::Json::parse(explain("0.5", true))["saturated"], false);
  EXPECT_TRUE(tool::Json::parse(explain("1e20", true))["rounded"].is_string());
}

TEST_F(ExplainCommand, TellsStatisticsOfInfinitiesInTextAndJson) {
  write("model.json", R"({"resources": {
      "x": {"initialValuesDataType": "FLOAT32", "initialValues": [1, "inf", 3]},
      "y": {"initialValuesDataType": "FLOAT32", "initialValues": [0, 0, 0]}},
    "dispatchables": {"op": {"type": "MEAN_VARIANCE_NORMALIZATION1", "desc": {
      "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 3]}, "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 3]},
      "AxisCount": 1, "Axes": [1], "NormalizeVariance": true, "Epsilon": 0}}},
    "commands": [{"type": "dispatch", "dispatchable": "op", "bindings": {"InputTensor": "x", "OutputTensor": "y"}}]})");
  const Outcome text = dmlref({"explain", "model.json", "--element", "0,0"});
  EXPECT_EQ(text.status, 0) << text;
  for (const auto& [name, value] :
       {std::pair("mean ", " inf\n"), {"variance ", " nan\n"}, {"not rounded ", " nan\n"}}) {
    const std::size_t line = text.out.find("\n" + std::string(name));
    ASSERT_NE(line, std::string::npos) << name << text;
    EXPECT_TRUE(text.out.substr(line + 1, text.out.find('\n', line + 1) - line).ends_with(value)) << name << text;
  }
  const Outcome json = dmlref({"explain", "model.json", "--element", "0,0", "--json"});
  EXPECT_EQ(json.status, 0) << json;
  const tool::Json how = tool::Json::parse(json.out);
  EXPECT_EQ(how["mean"], "inf") << json;
  EXPECT_EQ(how["variance"], "nan") << json;
}

TEST_F(ExplainCommand, RunsWhatComesBeforeButPrintsAndWritesNothing) {
  const std::string pipeline = (examples / "picture_pipeline.json").string();
  const Outcome few = dmlref({"explain", pipeline, "--dispatchable", "find_edges", "--element", "0,0,0,0"});
  EXPECT_EQ(few.status, 0) << few;
  EXPECT_TRUE(few.out.starts_with("find_edges: QUANTIZED_LINEAR_CONVOLUTION: OutputTensor[0, 0, 0, 0] = ")) << few;
  EXPECT_NE(few.out.find("\n... and 7 products more (--all shows them)\n"), std::string::npos) << few;
  const Outcome all = dmlref({"explain", pipeline, "--dispatchable", "find_edges", "--element", "0,0,0,0", "--all"});
  EXPECT_EQ(all.out.find("..."), std::string::npos) << all;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), std::count(few.out.begin(), few.out.end(), '\n') + 6);
  EXPECT_TRUE(fs::is_empty(file("")));
  // The second dispatch of a chain reads what the first has written.
  const std::string chain = replaced(std::string(slice_model), "\"commands\": [", R"("commands": [
    { "type": "dispatch", "dispatchable": "again", "bindings": { "InputTensor": "output", "OutputTensor": "last" } },)");
  const std::string both = replaced(
      replaced(chain, "\"output\": {",
               "\"last\": { \"initialValuesDataType\": \"FLOAT32\", \"initialValues\": [0] },\n    \"output\": {"),
      "\"dispatchables\": {", R"("dispatchables": {
    "again": { "type": "SLICE", "desc": { "InputTensor": { "DataType": "FLOAT32", "Sizes": [1,1,3,2] },
      "OutputTensor": { "DataType": "FLOAT32", "Sizes": [1,1,1,1] }, "DimensionCount": 4, "Offsets": [0,0,1,1],
      "Sizes": [1,1,1,1], "Strides": [1,1,1,1] } },)");
  write("m.json", both);
  EXPECT_NE(dmlref({"explain", "m.json", "--dispatchable", "again", "--element", "0,0,0,0"}).out.find("] = 0 "),
            std::string::npos);
  const std::string dispatch =
      R"({ "type": "dispatch", "dispatchable": "slice", "bindings": { "InputTensor": "input", "OutputTensor": "output" } },)";
  write("m.json", replaced(both, "\"commands\": [", "\"commands\": [" + dispatch));
  EXPECT_NE(dmlref({"explain", "m.json", "--dispatchable", "again", "--element", "0,0,0,0"}).out.find("] = 12 "),
            std::string::npos);
}

TEST_F(ExplainCommand, RefusesWhatIsNoElement) {
  write("m.json", slice_model);
  expect_unusable(dmlref({"explain", "m.json"}), {"--element"});
  for (const char* element : {"0", "0,0,3,0", "0,0,0,0,0", "0,0,0,18446744073709551615", "4294967296,0,0,0"}) {
    expect_unusable(dmlref({"explain", "m.json", "--element", element}),
                    {"--element: is " + std::string(element) +
                     ", expected 4 coordinates within OutputTensor's Sizes "
                     "[1, 1, 3, 2]"});
  }
  expect_unusable(dmlref({"explain", "m.json", "--element", "0,0,-1,0"}), {"--element: is \"0,0,-1,0\""});
  expect_unusable(dmlref({"explain", "m.json", "--element", "0,0,0,0", "--dispatchable", "x"}),
                  {"--dispatchable: is \"x\", expected one that a command of m.json dispatches, of slice"});
  write("m.json", print_model(R"({"initialValuesDataType": "INT8", "initialValues": [1]})"));
  expect_unusable(dmlref({"explain", "m.json", "--element", "0"}), {"m.json: $.commands: dispatches nothing"});
  write("m.json", replaced(std::string(slice_model), "[0,0,1,2]", "[0,0,2,2]"));
  const Outcome refused = dmlref({"explain", "m.json", "--element", "0,0,0,0"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("$.dispatchables.slice.desc.Offsets[2]"), std::string::npos) << refused;
}

}  // namespace
}  // namespace dmlref::test
