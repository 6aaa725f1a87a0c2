// onnx_model.hpp: makes small ONNX files, and follows them through `dmlref import`, `run` and `compare`.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "dmlref/desc/half.hpp"

namespace dmlref::test {

using Extents = std::vector<std::int64_t>;
using Type = ::onnx::TensorProto;

inline std::int64_t count_of(const Extents& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

template <class T>
::onnx::TensorProto tensor(std::int32_t type, const Extents& dims, const std::vector<T>& values) {
  ::onnx::TensorProto proto;
  proto.set_data_type(type);
  for (const std::int64_t dim : dims) proto.add_dims(dim);
  proto.set_raw_data(bytes_of(values));
  return proto;
}

inline ::onnx::TensorProto floats(const Extents& dims, const std::vector<float>& values) {
  return tensor(Type::FLOAT, dims, values);
}
inline ::onnx::TensorProto integers(const std::vector<std::int64_t>& values) {
  return tensor(Type::INT64, {static_cast<std::int64_t>(values.size())}, values);
}

/// A model under construction.
class OnnxModel {
 public:
  explicit OnnxModel(std::int64_t opset) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
    model_.mutable_graph()->set_name("test");
  }

  ::onnx::ModelProto& proto() { return model_; }
  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  OnnxModel& input(const std::string& name, std::int32_t type, const Extents& dims) {
    declare(*graph().add_input(), name, type, dims);
    return *this;
  }
  OnnxModel& output(const std::string& name, std::int32_t type, const Extents& dims) {
    declare(*graph().add_output(), name, type, dims);
    return *this;
  }
  OnnxModel& initializer(const std::string& name, ::onnx::TensorProto value) {
    value.set_name(name);
    *graph().add_initializer() = std::move(value);
    return *this;
  }
  OnnxModel& node(const std::string& type, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
    ::onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(type);
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    return *this;
  }
  // Attributes of the last node.
  OnnxModel& attribute(const std::string& name, std::int64_t value) {
    ::onnx::AttributeProto& attribute = add_attribute(name, ::onnx::AttributeProto::INT);
    attribute.set_i(value);
    return *this;
  }
  OnnxModel& real(const std::string& name, float value) {
    add_attribute(name, ::onnx::AttributeProto::FLOAT).set_f(value);
    return *this;
  }
  OnnxModel& text(const std::string& name, const std::string& value) {
    add_attribute(name, ::onnx::AttributeProto::STRING).set_s(value);
    return *this;
  }
  OnnxModel& list(const std::string& name, const Extents& values) {
    ::onnx::AttributeProto& attribute = add_attribute(name, ::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
    return *this;
  }
  OnnxModel& constant(const std::string& name, const ::onnx::TensorProto& value) {
    node("Constant", {}, {name});
    *add_attribute("value", ::onnx::AttributeProto::TENSOR).mutable_t() = value;
    return *this;
  }

  std::string bytes() const { return model_.SerializeAsString(); }

 private:
  static void declare(::onnx::ValueInfoProto& value, const std::string& name, std::int32_t type, const Extents& dims) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::int64_t dim : dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  ::onnx::AttributeProto& add_attribute(const std::string& name, ::onnx::AttributeProto::AttributeType type) {
    ::onnx::AttributeProto& attribute = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }

  ::onnx::ModelProto model_;
};

class ImportTest : public CommandTest {
 protected:
  /// Imports with this data, runs, and compares output_0 with `expected` within `ulp`.
  void expect_output(const OnnxModel& model, const std::vector<::onnx::TensorProto>& inputs,
                     const ::onnx::TensorProto& expected, int ulp = 0) {
    write("model.onnx", model.bytes());
    fs::create_directory(file("data"));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      write("data/input_" + std::to_string(i) + ".pb", inputs[i].SerializeAsString());
    }
    write("data/output_0.pb", expected.SerializeAsString());
    imported_ = dmlref({"import", "model.onnx", "--data", "data", "--out", "out"});
    ASSERT_EQ(imported_.status, 0) << imported_;
    const Outcome run = dmlref({"run", "out/model.json"});
    ASSERT_EQ(run.status, 0) << run << read_text(file("out/model.json"));
    const Outcome compared =
        dmlref({"compare", "out/expected_0.npy", "out/output_0.npy", "--ulp", std::to_string(ulp)});
    EXPECT_EQ(compared.status, 0) << compared << read_text(file("out/model.json"));
    fs::remove_all(file("data"));
    fs::remove_all(file("out"));
  }

  /// Imports without data; nothing may be written.
  void expect_refused(const OnnxModel& model, const std::vector<std::string>& fragments, int faults = 1) {
    write("model.onnx", model.bytes());
    const Outcome outcome = dmlref({"import", "model.onnx", "--out", "out"});
    expect_unusable(outcome, fragments, faults);
    EXPECT_FALSE(fs::exists(file("out"))) << outcome;
  }

  Outcome imported_;  // of the last expect_output
};

}  // namespace dmlref::test
