#include "support/workloads.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

namespace bench {
namespace {

using Json = nlohmann::json;

Json read(const char* file) {
  const std::string path = std::string(DMLREF_BENCH_WORKLOADS "/").append(file);
  std::ifstream stream(path);
  Json json = stream ? Json::parse(stream, nullptr, false) : Json();
  if (!json.is_object()) {
    std::fprintf(stderr, "%s: cannot be read as a workload\n", path.c_str());
    std::exit(2);
  }
  return json;
}

// Which cases are left out, and which are quick.
struct Patterns {
  explicit Patterns(const Json& json) : left_out(json.value("left_out", Json::array())), quick(json.at("quick")) {}
  struct List : std::vector<std::regex> {
    explicit List(const Json& list) {
      for (const Json& pattern : list) emplace_back(pattern.get<std::string>());
    }
    bool match(const std::string& id) const {
      return std::any_of(begin(), end(), [&](const std::regex& pattern) { return std::regex_match(id, pattern); });
    }
  };
  List left_out, quick;
};

void add(std::vector<CaseName>& cases, CaseName name, const Patterns& patterns) {
  const std::string id = name.id();
  if (patterns.left_out.match(id)) return;
  name.quick = !name.tiny && patterns.quick.match(id);
  cases.push_back(std::move(name));
}

// Moves the cases that are for the error table only out of `cases`, and pairs every case with its regimes.
void add_regimes(const Json& json, const char* rows, std::vector<CaseName>& cases, std::vector<Regime>& regimes) {
  const std::regex quick(json.at("regimes_quick").get<std::string>());
  for (const Json& entry : json.at("regimes")) {
    const std::regex pattern(entry.at("cases").get<std::string>());
    for (const CaseName& name : cases) {
      const std::string id = name.id();
      if (name.tiny || !std::regex_match(id, pattern)) continue;
      for (const Json& data : entry.at("data")) {
        Regime regime{name, data};
        regime.name.quick = std::regex_match(id, quick);
        regimes.push_back(regime);
      }
    }
  }
  std::erase_if(cases, [&](const CaseName& name) { return json.at(rows).at(name.row).value("errors_only", false); });
}

}  // namespace

std::string CaseName::id() const {
  std::string id = name;
  for (const std::string* part : {&type, &layout, &variant}) {
    if (!part->empty() && *part != "packed") id.append("/").append(*part);
  }
  return id;
}

QuantizedLinearConvolutionWorkload QuantizedLinearConvolutionWorkload::load(const char* file) {
  const Json json = read(file);
  QuantizedLinearConvolutionWorkload workload;
  for (const Json& row : json.at("types")) {
    workload.types.push_back({row.at("name"), row.at("input") == "INT8", row.at("filter") == "INT8",
                              row.at("filter_scale") == "channel", row.at("filter_zero_point")});
  }
  const Patterns patterns(json);
  for (const Json& row : json.at("layers")) {
    const Json& pad = row.at("pad");
    workload.layers.push_back({row.at("name"), row.at("input").get<Sizes>(), row.at("output_channels"),
                               row.at("kernel").at(0), row.at("kernel").at(1), row.at("stride"),
                               pad.is_array() ? pad.at(0) : pad, pad.is_array() ? pad.at(1) : pad, row.at("dilation"),
                               row.at("groups"), row.value("scales_over_decades", false)});
    for (const LayerType& type : workload.types) {
      for (const Json& layout : json.at("layouts")) {
        for (const Json& binding : json.at("bindings")) {
          add(workload.cases,
              {row.at("name"), type.name, layout, binding, false, row.value("tiny", false), workload.layers.size() - 1},
              patterns);
        }
      }
    }
  }
  add_regimes(json, "layers", workload.cases, workload.regimes);
  return workload;
}

const LayerType& QuantizedLinearConvolutionWorkload::type(const std::string& name) const {
  for (const LayerType& type : types) {
    if (type.name == name) return type;
  }
  return types.front();
}

MeanVarianceNormalizationWorkload MeanVarianceNormalizationWorkload::load() {
  const Json json = read("mean_variance_normalization.json");
  MeanVarianceNormalizationWorkload workload;
  const Patterns patterns(json);
  for (const Json& row : json.at("tensors")) {
    NormalizedTensor tensor{row.at("name"), row.at("sizes").get<Sizes>(), row.at("axes").get<Sizes>(), std::nullopt};
    tensor.use_mean = row.value("use_mean", true);
    if (!row.at("scale_bias").is_null()) tensor.scale_bias = row.at("scale_bias").get<Sizes>();
    workload.tensors.push_back(tensor);
    for (const Json& type : json.at("types")) {
      for (const char* scale_bias : {"plain", "sb"}) {
        if (scale_bias[0] == 's' && !tensor.scale_bias) continue;
        for (const Json& activation : json.at("activations")) {
          add(workload.cases,
              {tensor.name, type, "packed", std::string(scale_bias).append("/").append(activation.get<std::string>()),
               false, row.value("tiny", false), workload.tensors.size() - 1},
              patterns);
        }
      }
    }
  }
  add_regimes(json, "tensors", workload.cases, workload.regimes);
  return workload;
}

MatrixMultiplyWorkload MatrixMultiplyWorkload::load() {
  const Json json = read("matrix_multiply_integer.json");
  MatrixMultiplyWorkload workload;
  for (const Json& row : json.at("types")) {
    workload.types.push_back({row.at("name"), row.at("quantized"), row.at("a") == "INT8", row.at("b") == "INT8",
                              row.value("b_zero_point", false), row.value("row_scales", false),
                              row.value("column_scales", false)});
  }
  const Patterns patterns(json);
  for (const Json& row : json.at("products")) {
    workload.products.push_back({row.at("name"), row.at("products"), row.at("m"), row.at("k"), row.at("n")});
    for (const MatrixProductType& type : workload.types) {
      for (const Json& binding : json.at("bindings")) {
        add(workload.cases,
            {row.at("name"), type.name, "packed", binding, false, row.value("tiny", false),
             workload.products.size() - 1},
            patterns);
      }
    }
  }
  return workload;
}

const MatrixProductType& MatrixMultiplyWorkload::type(const std::string& name) const {
  for (const MatrixProductType& type : types) {
    if (type.name == name) return type;
  }
  return types.front();
}

QuantizeLinearWorkload QuantizeLinearWorkload::load() {
  const Json json = read("element_wise_quantize_linear.json");
  QuantizeLinearWorkload workload;
  const Patterns patterns(json);
  for (const Json& row : json.at("matrices")) {
    workload.matrices.push_back({row.at("name"), row.at("rows"), row.at("columns")});
    for (const Json& type : json.at("types")) {
      for (const Json& scales : json.at("scales")) {
        add(workload.cases,
            {row.at("name"), type, "packed", scales, false, row.value("tiny", false), workload.matrices.size() - 1},
            patterns);
      }
    }
  }
  return workload;
}

SliceWorkload SliceWorkload::load() {
  const Json json = read("slice.json");
  SliceWorkload workload;
  const Patterns patterns(json);
  for (const Json& row : json.at("windows")) {
    workload.windows.push_back({row.at("name"), row.at("sizes").get<Sizes>(), row.at("offsets").get<Sizes>(),
                                row.at("window").get<Sizes>(), row.at("strides").get<std::vector<std::int32_t>>()});
    for (const Json& type : json.at("types")) {
      add(workload.cases,
          {row.at("name"), type, "packed", "", false, row.value("tiny", false), workload.windows.size() - 1}, patterns);
    }
  }
  return workload;
}

}  // namespace bench
