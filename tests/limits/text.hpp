// text.hpp: a descriptor as a dispatchable of DxDispatch's JSON models.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"

namespace dmlref_test::limits {

class Json {
 public:
  explicit Json(const dmlref::OperatorDesc& desc) {
    std::visit(
        [&]<class Desc>(const Desc& d) {
          name_ = dmlref::Schema<Desc>::info.name;
          dmlref::schema::for_each_member(
              d, [&](const dmlref::FieldInfo& field, const auto& member) { add(field.name, member); });
        },
        desc);
  }
  std::string text() const { return R"({"type": "DML_OPERATOR_)" + name_ + R"(", "desc": {)" + members_ + "}}"; }

 private:
  void put(std::string_view name, const std::string& value) {
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
    put(name, text + "}");
  }
  void add(std::string_view name, const std::optional<dmlref::TensorDesc>& tensor) {
    if (tensor) add(name, *tensor);
  }
  template <class T>
  void add(std::string_view name, const std::vector<T>& values) {
    put(name, list(values));
  }
  void add(std::string_view name, std::uint32_t value) { put(name, std::to_string(value)); }
  void add(std::string_view name, bool value) { put(name, value ? "true" : "false"); }
  void add(std::string_view name, float value) { put(name, number(value)); }
  void add(std::string_view name, const std::optional<dmlref::Activation>& activation) {
    if (!activation) return;
    const dmlref::ActivationInfo& info = *dmlref::find_activation(activation->type);
    std::string text = R"({"Type": "ACTIVATION_)" + std::string(info.name) + '"';
    for (std::size_t i = 0; i < 2; ++i) {
      if (info.parameter_names[i].empty()) continue;
      text += ", \"" + std::string(info.parameter_names[i]) + "\": " + number(activation->parameters[i]);
    }
    put(name, text + "}");
  }

  std::string name_, members_;
};

inline std::string text_of(const dmlref::OperatorDesc& desc) { return Json(desc).text(); }

}  // namespace dmlref_test::limits
