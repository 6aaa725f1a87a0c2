// Descriptors of the kit's cases with a few members changed at random: the library's verdict at every level is that of
// the independent validator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "dmlref/directml.hpp"
#include "kernels.hpp"
#include "model/operator_parser.hpp"
#include "support/element.hpp"
#include "support/random.hpp"
#include "support/seed.hpp"

namespace dmlref::test::kit {
namespace {

using dmlref_test::Random;

class Editor {
 public:
  Editor(Case& one, Random& random) : one_(one), desc_(one.desc), random_(random) {
    for (const auto& [name, member] : desc_.items()) {
      if (member.is_object() && member.contains("Sizes")) tensors_.push_back(name);
    }
  }

  void edit() {
    switch (random_.from(0, 11)) {
      case 0: return edit_number();
      case 1: return edit_array();
      case 2: return edit_presence();
      case 3: return edit_activation();
      case 4: return edit_type();
      case 5: return edit_rank();
      case 6: return edit_memory();
      case 7: return edit_strides(any_tensor());
      case 8: return align_sizes();
      default: return edit_size();
    }
  }

 private:
  template <class T>
  const T& any_of(const std::vector<T>& list) {
    return list[random_.from(0, list.size() - 1)];
  }
  Json& any_tensor() { return desc_[any_of(tensors_)]; }
  bool is_mvn() const { return one_.op.starts_with("MEAN"); }

  static List sizes_of(const Json& tensor) { return tensor["Sizes"].get<List>(); }

  /// New sizes; strides no longer fit.
  void set_sizes(Json& tensor, const List& sizes) {
    tensor["Sizes"] = sizes;
    tensor.erase("Strides");
    if (random_.one_in(3)) edit_strides(tensor);
  }
  void edit_size() {
    Json& tensor = any_tensor();
    List sizes = sizes_of(tensor);
    std::int64_t& size = sizes[random_.from(0, sizes.size() - 1)];
    const List others = sizes_of(any_tensor());
    const std::int64_t other = others[random_.from(0, others.size() - 1)];
    const List choices{1, size + 1, std::max<std::int64_t>(size - 1, 1), other, other, 2 * size, size / 2, 0};
    size = random_.one_in(12) ? 0 : any_of(choices);
    set_sizes(tensor, sizes);
  }
  /// One tensor's sizes for another, or for all.
  void align_sizes() {
    const List sizes = sizes_of(any_tensor());
    if (random_.one_in(2)) return set_sizes(any_tensor(), sizes);
    for (const std::string& name : tensors_) set_sizes(desc_[name], sizes);
  }
  void edit_rank() {
    const bool all = random_.one_in(2), front = random_.one_in(2), grows = random_.one_in(2);
    const std::string one = any_of(tensors_);
    for (const std::string& name : tensors_) {
      if (!all && name != one) continue;
      List sizes = sizes_of(desc_[name]);
      const auto at = front ? sizes.begin() : sizes.end();
      if (grows) {
        sizes.insert(at, 1);
      } else if (sizes.size() > 1) {
        sizes.erase(front ? sizes.begin() : sizes.end() - 1);
      }
      set_sizes(desc_[name], sizes);
    }
    if (all && desc_.contains("DimensionCount"))
      set_count(desc_["DimensionCount"].get<std::int64_t>() + (grows ? 1 : -1));
  }
  void edit_type() {
    static const std::vector<std::string> types{"FLOAT32", "FLOAT16", "FLOAT64", "INT8",   "UINT8", "INT8",
                                                "UINT8",   "INT16",   "UINT16",  "INT32",  "INT32", "UINT32",
                                                "INT64",   "UINT64",  "FLOAT32", "FLOAT16"};
    const std::string type = any_of(types), old = any_tensor()["DataType"].get<std::string>();
    if (random_.one_in(2)) {  // all tensors of a type together, as most rules want them
      for (const std::string& name : tensors_) {
        if (desc_[name]["DataType"] == old) desc_[name]["DataType"] = type;
      }
    } else {
      any_tensor()["DataType"] = type;
    }
  }
  void edit_strides(Json& tensor) {
    const List sizes = sizes_of(tensor);
    List strides(sizes.size());
    std::int64_t step = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      strides[d] = step;
      step *= std::max<std::int64_t>(sizes[d], 1);
      if (random_.one_in(4)) strides[d] = 0;
      if (random_.one_in(6)) step += random_.from(0, 3);
      if (random_.one_in(8)) step = std::max<std::int64_t>(1, step - 1);
    }
    if (random_.one_in(5)) std::shuffle(strides.begin(), strides.end(), engine_);
    for (std::int64_t& stride : strides) stride = std::min<std::int64_t>(stride, 4294967295);
    tensor["Strides"] = strides;
  }
  void edit_memory() {
    Json& tensor = any_tensor();
    static const List alignments{0, 1, 2, 3, 4, 8, 16, 48, 256};
    switch (random_.from(0, 2)) {
      case 0: tensor["Flags"] = random_.one_in(2) ? "OWNED_BY_DML" : "NONE"; break;
      case 1: tensor["GuaranteedBaseOffsetAlignment"] = any_of(alignments); break;
      default: {
        const List strides = tensor.contains("Strides") ? tensor["Strides"].get<List>() : List{};
        const std::uint64_t bytes = spanned_bytes(tensor, strides);
        const List steps{0, 0, -1, -4, 1, 4, 1000};
        const std::int64_t total = static_cast<std::int64_t>(bytes) + any_of(steps);
        tensor["TotalTensorSizeInBytes"] = random_.one_in(10) ? 17179869181 : std::max<std::int64_t>(total, 0);
      }
    }
  }
  static std::uint64_t spanned_bytes(const Json& tensor, const List& strides) {
    const auto type = tool::data_type_from_name(tensor["DataType"].get<std::string>());
    const List sizes = sizes_of(tensor);
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
    return (tool::kit::spanned(sizes, strides) * size_of(*type) + 3) / 4 * 4;
  }
  void edit_presence() {
    static const std::vector<std::string> optional{
        "InputZeroPointTensor", "FilterZeroPointTensor", "AZeroPointTensor", "BZeroPointTensor", "ZeroPointTensor",
        "BiasTensor",           "OutputZeroPointTensor", "ScaleTensor"};
    const bool remove = random_.one_in(2);
    for (const std::string& name : optional) {
      if (name == "ScaleTensor" && !is_mvn()) continue;
      if (remove && desc_.contains(name) && random_.one_in(2)) {
        desc_.erase(name);
        std::erase(tensors_, name);
      } else if (!remove && !desc_.contains(name) && takes(name)) {
        Json like = any_tensor();
        like.erase("Flags");
        desc_[name] = like;
        tensors_.push_back(name);
        return;
      }
    }
  }
  bool takes(const std::string& name) const {
    const bool convolution = one_.op.find("CONVOLUTION") != std::string::npos, qlc = convolution && one_.op[0] == 'Q';
    const bool product = one_.op.find("MATRIX") != std::string::npos;
    if (name == "InputZeroPointTensor" || name == "FilterZeroPointTensor") return convolution;
    if (name == "AZeroPointTensor" || name == "BZeroPointTensor") return product;
    if (name == "ZeroPointTensor") return one_.op.starts_with("ELEMENT_WISE");
    if (name == "BiasTensor") return qlc || is_mvn();
    if (name == "OutputZeroPointTensor") return one_.op.starts_with("QUANTIZED");
    return is_mvn();
  }
  void edit_number() {
    if (desc_.contains("GroupCount")) {
      desc_["GroupCount"] = random_.from(0, 4);
    } else if (desc_.contains("DimensionCount")) {
      set_count(random_.from(0, 9));
    }
  }
  void set_count(std::int64_t count) {
    count = std::max<std::int64_t>(count, 0);
    desc_["DimensionCount"] = count;
    for (auto& [name, member] : desc_.items()) {
      if (!member.is_array()) continue;
      List list = member.get<List>();
      list.resize(static_cast<std::size_t>(count), name.find("Padding") != std::string::npos ? 0 : 1);
      member = list;
    }
  }
  void edit_array() {
    if (desc_.contains("Axes")) {
      List axes = desc_["Axes"].get<List>();
      if (random_.one_in(2) || axes.empty()) {
        axes.push_back(random_.one_in(8) ? 4294967295 : random_.from(0, 8));
      } else if (random_.one_in(2)) {
        axes.pop_back();
      } else {
        axes[random_.from(0, axes.size() - 1)] = random_.from(0, 8);
      }
      desc_["Axes"] = axes;
      desc_["AxisCount"] = axes.size();
      return;
    }
    std::vector<std::string> arrays;
    for (const auto& [name, member] : desc_.items()) {
      if (member.is_array() && !member.empty()) arrays.push_back(name);
    }
    if (arrays.empty()) return;
    const std::string& name = any_of(arrays);
    const bool is_signed = name == "InputWindowStrides";
    const List values{0, 1, 1, 2, 2, 3, 4, 4294967295};
    std::int64_t value = any_of(values);
    if (is_signed) value = random_.one_in(2) ? std::min<std::int64_t>(value, 5) : -std::min<std::int64_t>(value, 5);
    Json& array = desc_[name];
    array[random_.from(0, array.size() - 1)] = value;
  }
  void edit_activation() {
    if (!is_mvn()) return edit_array();
    static const std::vector<std::string> names{"SHRINK", "CELU", "GELU", "SOFTPLUS", "RELU", "SOFTMAX", "TANH"};
    const std::string name = any_of(names);
    Json fused{{"Type", "ACTIVATION_" + name}};
    if (name == "SHRINK") fused["Bias"] = fused["Threshold"] = 0.5;
    if (name == "CELU") fused["Alpha"] = 0.5;
    if (name == "SOFTPLUS") fused["Steepness"] = random_.one_in(2) ? 0.5 : 1.0;
    desc_["FusedActivation"] = fused;
  }

  Case& one_;
  Json& desc_;
  Random& random_;
  std::mt19937 engine_{random_.from(0, 1u << 30)};
  std::vector<std::string> tensors_;
};

TEST(Verdicts, AreTheSecondValidatorsAtEveryLevel) {
  Random random(dmlref_test::test_seed());
  const std::vector<Case> cases = tool::kit::all_cases(false);
  const std::string file = "case";
  std::map<std::string, std::pair<int, int>> verdicts;  // of each operator: accepted by the last level, refused
  for (int round = 0; round < dmlref_test::rounds(15000) && !HasFailure(); ++round) {
    Case one = cases[random.from(0, cases.size() - 1)];
    Editor editor(one, random);
    for (std::uint32_t edits = random.from(1, 3); edits-- > 0;) editor.edit();
    const std::string text = Json{{"type", one.op}, {"desc", one.desc}}.dump();
    SCOPED_TRACE(one.name + ' ' + text);
    const auto json = nlohmann::json::parse(text);
    const tool::ParsedOperator op(tool::Node(file, json, "$"), {});
    for (std::size_t level = 0; level < feature_levels.size(); ++level) {
      const Report report = validate(op.desc(), feature_levels[level].level);
      ASSERT_EQ(report.ok(), accepts(one, level, "")) << feature_levels[level].name << '\n' << report.to_string();
      if (level + 1 == feature_levels.size()) ++(report.ok() ? verdicts[one.op].first : verdicts[one.op].second);
    }
  }
  for (const auto& [op, counts] : verdicts) {
    std::printf("%s: %d accepted, %d refused\n", op.c_str(), counts.first, counts.second);
    EXPECT_TRUE(dmlref_test::often(counts.first, 20)) << op;
    EXPECT_TRUE(dmlref_test::often(counts.second, 20)) << op;
  }
}

}  // namespace
}  // namespace dmlref::test::kit
