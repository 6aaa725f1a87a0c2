// text.hpp: a descriptor as a dispatchable of DxDispatch's JSON models.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"

namespace dmlref_test::limits {

class Json {
 public:
  explicit Json(const dmlref::OperatorDesc& desc) {
    std::visit([&](const auto& d) { describe(d); }, desc);
  }
  std::string text() const { return R"({"type": "DML_OPERATOR_)" + name_ + R"(", "desc": {)" + members_ + "}}"; }

 private:
  void add(std::string_view name, const std::string& value) {
    if (!members_.empty()) members_ += ", ";
    members_ += '"' + std::string(name) + "\": " + value;
  }
  template <class T>
  static std::string list(const std::vector<T>& values) {
    std::string text = "[";
    for (const T value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
    return text + "]";
  }
  static std::string number(float value) {
    if (!std::isfinite(value)) return std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
    return text;
  }
  void add(std::string_view name, const dmlref::TensorDesc& tensor) {
    std::string text = R"({"DataType": ")" + std::string(to_string(tensor.data_type)) + R"(", "Sizes": )";
    text += list(tensor.sizes);
    if (tensor.strides) text += ", \"Strides\": " + list(*tensor.strides);
    const dmlref::TensorDesc least(tensor.data_type, tensor.sizes, tensor.strides);
    if (tensor.total_size_in_bytes != least.total_size_in_bytes) {
      text += ", \"TotalTensorSizeInBytes\": " + std::to_string(tensor.total_size_in_bytes);
    }
    if (tensor.owned_by_dml) text += R"(, "Flags": "OWNED_BY_DML")";
    add(name, text + "}");
  }
  void add(std::string_view name, const std::optional<dmlref::TensorDesc>& tensor) {
    if (tensor) add(name, *tensor);
  }

  template <class Desc>
  void describe(const Desc&) {  // an operator that draw.hpp does not draw yet
    name_ = dmlref::Schema<Desc>::info.name;
  }
  void describe(const dmlref::SliceDesc& d) {
    name_ = "SLICE";
    add("InputTensor", d.input);
    add("OutputTensor", d.output);
    add("Offsets", list(d.offsets));
    add("Sizes", list(d.sizes));
    add("Strides", list(d.strides));
  }
  void describe(const dmlref::Slice1Desc& d) {
    name_ = "SLICE1";
    add("InputTensor", d.input);
    add("OutputTensor", d.output);
    add("InputWindowOffsets", list(d.window_offsets));
    add("InputWindowSizes", list(d.window_sizes));
    add("InputWindowStrides", list(d.window_strides));
  }
  void describe(const dmlref::QuantizedLinearConvolutionDesc& d) {
    name_ = "QUANTIZED_LINEAR_CONVOLUTION";
    add("InputTensor", d.input);
    add("InputScaleTensor", d.input_scale);
    add("InputZeroPointTensor", d.input_zero_point);
    add("FilterTensor", d.filter);
    add("FilterScaleTensor", d.filter_scale);
    add("FilterZeroPointTensor", d.filter_zero_point);
    add("BiasTensor", d.bias);
    add("OutputScaleTensor", d.output_scale);
    add("OutputZeroPointTensor", d.output_zero_point);
    add("OutputTensor", d.output);
    add("Strides", list(d.strides));
    add("Dilations", list(d.dilations));
    add("StartPadding", list(d.start_padding));
    add("EndPadding", list(d.end_padding));
    add("GroupCount", std::to_string(d.group_count));
  }
  template <class Desc>
  void describe_normalization(const Desc& d) {
    add("InputTensor", d.input);
    add("ScaleTensor", d.scale);
    add("BiasTensor", d.bias);
    add("OutputTensor", d.output);
    if constexpr (requires { d.use_mean; }) {
      add("UseMean", d.use_mean ? "true" : "false");
      add("UseVariance", d.use_variance ? "true" : "false");
    } else {
      add("NormalizeVariance", d.normalize_variance ? "true" : "false");
    }
    add("Epsilon", number(d.epsilon));
    if (!d.fused_activation) return;
    const dmlref::ActivationInfo& info = *dmlref::find_activation(d.fused_activation->type);
    std::string text = R"({"Type": "ACTIVATION_)" + std::string(info.name) + '"';
    for (std::size_t i = 0; i < 2; ++i) {
      if (info.parameter_names[i].empty()) continue;
      text += ", \"" + std::string(info.parameter_names[i]) + "\": " + number(d.fused_activation->parameters[i]);
    }
    add("FusedActivation", text + "}");
  }
  void describe(const dmlref::MeanVarianceNormalizationDesc& d) {
    name_ = "MEAN_VARIANCE_NORMALIZATION";
    describe_normalization(d);
    add("CrossChannel", d.cross_channel ? "true" : "false");
  }
  void describe(const dmlref::MeanVarianceNormalization1Desc& d) {
    name_ = "MEAN_VARIANCE_NORMALIZATION1";
    describe_normalization(d);
    add("Axes", list(d.axes));
  }
  void describe(const dmlref::MeanVarianceNormalization2Desc& d) {
    name_ = "MEAN_VARIANCE_NORMALIZATION2";
    describe_normalization(d);
    add("Axes", list(d.axes));
  }

  std::string name_, members_;
};

inline std::string text_of(const dmlref::OperatorDesc& desc) { return Json(desc).text(); }

}  // namespace dmlref_test::limits
