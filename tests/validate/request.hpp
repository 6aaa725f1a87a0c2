// request.hpp: a descriptor that tests can bend: plain values by name, linked into Microsoft's structs on demand.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dmlref/validate/read_directml.hpp"

namespace request {

// Puts a number where an enumeration stands, whether it is one of its values or not.
template <class Enum>
void put(Enum& to, std::uint32_t value) {
  static_assert(sizeof(to) == sizeof(value));
  std::memcpy(&to, &value, sizeof(to));
}

struct Tensor {
  std::uint32_t data_type = 1;
  std::vector<UINT> sizes;
  std::optional<std::vector<UINT>> strides = std::nullopt;
  std::optional<UINT> dimension_count = std::nullopt;  // empty: as many as sizes
  std::optional<UINT64> total_size = std::nullopt;     // empty: the least
  std::uint32_t flags = 0;
  UINT alignment = 0;
  std::uint32_t type = 1;  // BUFFER
  bool desc_is_null = false;
  bool sizes_are_null = false;
};

struct FusedActivation {
  std::uint32_t type = 44;  // RELU
  float parameters[2] = {1.0f, 1.0f};
  bool desc_is_null = false;
  bool has_input = false;
  bool has_output = false;
};

// A tensor that is not in the map is null; so is an array.
struct Request {
  std::uint32_t type = 0;
  bool desc_is_null = false;
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::vector<UINT>> arrays;  // INT for InputWindowStrides
  UINT count = 0;                                   // DimensionCount or AxisCount
  std::map<std::string, std::uint32_t> numbers;     // bits of UINT, BOOL and FLOAT; 0 where there is none
  std::optional<FusedActivation> activation;
};

inline std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// Microsoft's structs of a request, by the operator's schema; refers to the request.
class Linked {
 public:
  explicit Linked(const Request& request) : request_(request) {
    const std::span<const dmlref::FieldInfo> fields = fields_of(request.type);
    struct_.resize(dmlref::schema::struct_size(fields) / 8 + 1);
    for (const dmlref::FieldInfo& field : fields)
      link(field, reinterpret_cast<std::byte*>(struct_.data()) + field.offset);
    desc_.Desc = struct_.data();
    put(desc_.Type, request.type);
    if (request.desc_is_null) desc_.Desc = nullptr;
  }
  Linked(const Linked&) = delete;
  Linked& operator=(const Linked&) = delete;

  const DML_OPERATOR_DESC& desc() const { return desc_; }

 private:
  struct Structs {
    DML_BUFFER_TENSOR_DESC buffer{};
    DML_TENSOR_DESC tensor{};
  };

  const DML_TENSOR_DESC* tensor(const std::string& name) {
    const auto found = request_.tensors.find(name);
    if (found == request_.tensors.end()) return nullptr;
    const Tensor& from = found->second;
    Structs& to = structs_[name];
    put(to.buffer.DataType, from.data_type);
    put(to.buffer.Flags, from.flags);
    to.buffer.DimensionCount = from.dimension_count.value_or(static_cast<UINT>(from.sizes.size()));
    to.buffer.Sizes = from.sizes_are_null ? nullptr : from.sizes.data();
    to.buffer.Strides = from.strides ? from.strides->data() : nullptr;
    to.buffer.TotalTensorSizeInBytes = from.total_size.value_or(least(from));
    to.buffer.GuaranteedBaseOffsetAlignment = from.alignment;
    put(to.tensor.Type, from.type);
    to.tensor.Desc = from.desc_is_null ? nullptr : &to.buffer;
    return &to.tensor;
  }
  static UINT64 least(const Tensor& tensor) {
    const auto type = static_cast<dmlref::DataType>(tensor.data_type);
    if (!tensor.strides) return dmlref::buffer_tensor_size(type, tensor.sizes).value_or(0);
    return dmlref::buffer_tensor_size(type, tensor.sizes, *tensor.strides).value_or(0);
  }
  const UINT* array(const std::string& name) const {
    const auto found = request_.arrays.find(name);
    return found == request_.arrays.end() ? nullptr : found->second.data();
  }
  const DML_OPERATOR_DESC* activation() {
    if (!request_.activation) return nullptr;
    const FusedActivation& from = *request_.activation;
    activation_.input = from.has_input ? &activation_tensor_ : nullptr;
    activation_.output = from.has_output ? &activation_tensor_ : nullptr;
    std::memcpy(activation_.parameters, from.parameters, sizeof(from.parameters));
    put(activation_desc_.Type, from.type);
    activation_desc_.Desc = from.desc_is_null ? nullptr : &activation_;
    return &activation_desc_;
  }

  // Of an unknown operator those of another one, which must not be read.
  static std::span<const dmlref::FieldInfo> fields_of(std::uint32_t type) {
    using Operators = dmlref::schema::Operators;
    std::size_t at = std::size(Operators::infos) - 1;
    for (std::size_t i = 0; i < at; ++i) at = static_cast<std::uint32_t>(Operators::infos[i].type) == type ? i : at;
    return Operators::fields[at];
  }
  void link(const dmlref::FieldInfo& field, std::byte* to) {
    using Kind = dmlref::FieldKind;
    const std::string name(field.name);
    const auto set = [to](const auto& value) { std::memcpy(to, &value, sizeof(value)); };
    switch (field.kind) {
      case Kind::input_tensor:
      case Kind::optional_input_tensor:
      case Kind::output_tensor: return set(tensor(name));
      case Kind::array_count: return set(request_.count);
      case Kind::uint_array:
      case Kind::int_array: return set(array(name));
      case Kind::activation: return set(activation());
      case Kind::uint:
      case Kind::boolean:
      case Kind::real: {
        const auto found = request_.numbers.find(name);
        return set(found == request_.numbers.end() ? 0u : found->second);
      }
    }
  }

  const Request& request_;
  std::map<std::string, Structs> structs_;
  DML_OPERATOR_DESC desc_{};
  std::vector<std::uint64_t> struct_;  // 8 bytes at a time: as aligned as a pointer
  DML_OPERATOR_DESC activation_desc_{};
  DML_TENSOR_DESC activation_tensor_{};
  struct {
    const void* input;
    const void* output;
    float parameters[2];
  } activation_{};
};

inline dmlref::Report validate(const Request& request, dmlref::FeatureLevel level) {
  const Linked linked(request);
  return dmlref::validate(linked.desc(), level);
}

// The documents' examples, and the smallest requests with every optional tensor, valid from each operator's first
// level.

inline Request slice() {
  Request r;
  r.type = 60;
  r.tensors["InputTensor"] = {1, {1, 1, 4, 4}};
  r.tensors["OutputTensor"] = {1, {1, 1, 2, 2}};
  r.arrays["Offsets"] = {0, 0, 1, 0};
  r.arrays["Sizes"] = {1, 1, 2, 2};
  r.arrays["Strides"] = {1, 1, 2, 3};
  r.count = 4;
  return r;
}

inline Request slice1() {
  Request r;
  r.type = 111;
  r.tensors["InputTensor"] = {1, {1, 1, 4, 4}};
  r.tensors["OutputTensor"] = {1, {1, 1, 2, 2}};
  r.arrays["InputWindowOffsets"] = {0, 0, 0, 1};
  r.arrays["InputWindowSizes"] = {1, 1, 4, 3};
  r.arrays["InputWindowStrides"] = {1, 1, static_cast<UINT>(-2), 2};
  r.count = 4;
  return r;
}

// 4 channels in 2 groups to 6 channels; padded 6 + 1 + 2 by 5 + 0 + 1, kernel 3 by 2 dilated to 5 by 2, strides 2
// and 3.
inline Request convolution() {
  Request r;
  r.type = 120;
  r.tensors["InputTensor"] = {5, {2, 4, 6, 5}};
  r.tensors["InputScaleTensor"] = {1, {1, 1, 1, 1}};
  r.tensors["InputZeroPointTensor"] = {5, {1, 1, 1, 1}};
  r.tensors["FilterTensor"] = {8, {6, 2, 3, 2}};
  r.tensors["FilterScaleTensor"] = {1, {1, 6, 1, 1}};
  r.tensors["FilterZeroPointTensor"] = {8, {1, 1, 1, 1}};
  r.tensors["BiasTensor"] = {6, {1, 6, 1, 1}};
  r.tensors["OutputScaleTensor"] = {1, {1, 1, 1, 1}};
  r.tensors["OutputZeroPointTensor"] = {5, {1, 1, 1, 1}};
  r.tensors["OutputTensor"] = {5, {2, 6, 3, 2}};
  r.arrays["Strides"] = {2, 3};
  r.arrays["Dilations"] = {2, 1};
  r.arrays["StartPadding"] = {1, 0};
  r.arrays["EndPadding"] = {2, 1};
  r.count = 2;
  r.numbers["GroupCount"] = 2;
  return r;
}

// One spatial dimension, from 4_0.
inline Request convolution_1d() {
  Request r = convolution();
  r.tensors["InputTensor"].sizes = {2, 4, 6};
  r.tensors["FilterTensor"].sizes = {6, 2, 3};
  r.tensors["FilterScaleTensor"].sizes = {1, 6, 1};
  r.tensors["BiasTensor"].sizes = {1, 6, 1};
  r.tensors["OutputTensor"].sizes = {2, 6, 3};
  r.count = 1;
  return r;
}

// The same without scales and bias.
inline Request convolution_integer() {
  Request r = convolution();
  r.type = 119;
  for (const char* name :
       {"InputScaleTensor", "FilterScaleTensor", "BiasTensor", "OutputScaleTensor", "OutputZeroPointTensor"}) {
    r.tensors.erase(name);
  }
  r.tensors["FilterZeroPointTensor"].sizes = {1, 6, 1, 1};
  r.tensors["OutputTensor"].data_type = 6;
  return r;
}

// One spatial dimension, from 4_0.
inline Request convolution_integer_1d() {
  Request r = convolution_integer();
  const Request flat = convolution_1d();
  for (const char* name : {"InputTensor", "FilterTensor", "OutputTensor"})
    r.tensors[name].sizes = flat.tensors.at(name).sizes;
  r.count = 1;
  return r;
}

inline Request normalization() {
  Request r;
  r.type = 73;
  r.tensors["InputTensor"] = {1, {2, 3, 4, 5}};
  r.tensors["ScaleTensor"] = {1, {1, 3, 1, 1}};
  r.tensors["BiasTensor"] = {1, {1, 3, 4, 5}};
  r.tensors["OutputTensor"] = {1, {2, 3, 4, 5}};
  r.numbers = {{"CrossChannel", 0}, {"NormalizeVariance", 1}, {"Epsilon", bits(1e-5f)}};
  return r;
}

inline Request normalization1() {
  Request r = normalization();
  r.type = 115;
  r.arrays["Axes"] = {2, 3};
  r.count = 2;
  return r;
}

inline Request normalization2() {
  Request r = normalization1();
  r.type = 171;
  r.numbers = {{"UseMean", 1}, {"UseVariance", 1}, {"Epsilon", bits(1e-5f)}};
  return r;
}

inline Request quantize_linear() {
  Request r;
  r.type = 33;
  r.tensors["InputTensor"] = {1, {1, 2, 3, 4}};
  r.tensors["ScaleTensor"] = {1, {1, 2, 3, 4}, std::vector<UINT>{0, 1, 0, 0}};
  r.tensors["ZeroPointTensor"] = {5, {1, 2, 3, 4}, std::vector<UINT>{0, 0, 0, 0}};
  r.tensors["OutputTensor"] = {5, {1, 2, 3, 4}};
  return r;
}

inline Request dequantize_linear() {
  Request r = quantize_linear();
  r.type = 34;
  std::swap(r.tensors["InputTensor"].data_type, r.tensors["OutputTensor"].data_type);
  return r;
}

// 2 batches of 3 channels, M = 4, K = 5, N = 6; a zero point per row of A and per column of B.
inline Request matrix_multiply() {
  Request r;
  r.type = 117;
  r.tensors["ATensor"] = {5, {2, 3, 4, 5}};
  r.tensors["AZeroPointTensor"] = {5, {1, 1, 4, 1}};
  r.tensors["BTensor"] = {8, {2, 3, 5, 6}};
  r.tensors["BZeroPointTensor"] = {8, {1, 1, 1, 6}};
  r.tensors["OutputTensor"] = {6, {2, 3, 4, 6}};
  return r;
}

// Two dimensions, from 4_0.
inline Request matrix_multiply_2d() {
  Request r = matrix_multiply();
  r.tensors["ATensor"].sizes = {4, 5};
  r.tensors["AZeroPointTensor"].sizes = {4};
  r.tensors["BTensor"].sizes = {5, 6};
  r.tensors["BZeroPointTensor"].sizes = {1, 6};
  r.tensors["OutputTensor"].sizes = {4, 6};
  return r;
}

// The same sizes; scales per row and column, too.
inline Request quantized_matrix_multiply() {
  Request r = matrix_multiply();
  r.type = 118;
  r.tensors["AScaleTensor"] = {1, {1, 1, 4, 1}};
  r.tensors["BScaleTensor"] = {1, {1, 1, 1, 6}};
  r.tensors["OutputScaleTensor"] = {1, {1, 1, 1, 1}};
  r.tensors["OutputZeroPointTensor"] = {5, {1, 1, 4, 1}};
  r.tensors["OutputTensor"] = {5, {2, 3, 4, 6}};
  return r;
}

// Three dimensions and parameters of one, from 4_0.
inline Request quantized_matrix_multiply_3d() {
  Request r = quantized_matrix_multiply();
  for (auto& [name, tensor] : r.tensors) tensor.sizes = {1};
  r.tensors["ATensor"].sizes = {3, 4, 5};
  r.tensors["BTensor"].sizes = {3, 5, 6};
  r.tensors["BScaleTensor"].sizes = r.tensors["BZeroPointTensor"].sizes = {6};
  r.tensors["OutputTensor"].sizes = {3, 4, 6};
  return r;
}

inline Request fused(Request r, std::uint32_t activation, float first = 1.0f, float second = 1.0f) {
  r.activation = FusedActivation{activation, {first, second}};
  return r;
}

}  // namespace request
