// directml_case.hpp: whole operators as an outside program writes them: Microsoft's structs, buffers, expected bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dmlref/directml.hpp"

namespace outside {

/// A tensor desc that owns its arrays.
class Tensor {
 public:
  Tensor(DML_TENSOR_DATA_TYPE type, std::size_t element, std::vector<UINT> sizes, std::vector<UINT> strides = {})
      : sizes_(std::move(sizes)), strides_(std::move(strides)) {
    UINT64 last = 0;
    UINT64 count = 1;
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      last += (sizes_[d] - 1) * (strides_.empty() ? count : strides_[d]);
      count *= sizes_[d];
    }
    buffer_.DataType = type;
    buffer_.Flags = DML_TENSOR_FLAG_NONE;
    buffer_.DimensionCount = static_cast<UINT>(sizes_.size());
    buffer_.Sizes = sizes_.data();
    buffer_.Strides = strides_.empty() ? nullptr : strides_.data();
    buffer_.TotalTensorSizeInBytes = ((last + 1) * element + 3) / 4 * 4;
    buffer_.GuaranteedBaseOffsetAlignment = 0;
    desc_.Type = DML_TENSOR_TYPE_BUFFER;
    desc_.Desc = &buffer_;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  const DML_TENSOR_DESC* desc() const { return &desc_; }
  DML_BUFFER_TENSOR_DESC& buffer() { return buffer_; }
  std::size_t bytes() const { return static_cast<std::size_t>(buffer_.TotalTensorSizeInBytes); }
  bool owned() const { return (buffer_.Flags & DML_TENSOR_FLAG_OWNED_BY_DML) != 0; }

 private:
  std::vector<UINT> sizes_;
  std::vector<UINT> strides_;
  DML_BUFFER_TENSOR_DESC buffer_{};
  DML_TENSOR_DESC desc_{};
};

/// Bytes that start `past` bytes after a multiple of 256.
class Memory {
 public:
  explicit Memory(std::size_t size, std::size_t past = 0, unsigned char fill = 0xA5)
      : storage_(size + 512 + past, std::byte{fill}), size_(size) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    begin_ = static_cast<std::size_t>((256 - address % 256) % 256) + past;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&&) = default;  // keeps the place
  std::span<std::byte> span() { return std::span(storage_).subspan(begin_, size_); }
  std::span<const std::byte> span() const { return std::span(storage_).subspan(begin_, size_); }
  /// All bytes, those before and after the span too.
  const std::vector<std::byte>& everything() const { return storage_; }

 private:
  std::vector<std::byte> storage_;
  std::size_t size_;
  std::size_t begin_ = 0;
};

#if defined(DML_TARGET_VERSION) && DML_TARGET_VERSION < 0x6300
/// What an older <DirectML.h> lacks.
struct DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC {
  const DML_TENSOR_DESC *InputTensor, *ScaleTensor, *BiasTensor, *OutputTensor;
  UINT AxisCount;
  const UINT* Axes;
  BOOL UseMean, UseVariance;
  FLOAT Epsilon;
  const DML_OPERATOR_DESC* FusedActivation;
};
#endif

/// One operator with its inputs and the bytes that its output must hold.
struct Case {
  std::string name;
  std::vector<std::string> input_names;
  std::vector<std::unique_ptr<Tensor>> inputs;  // null: absent
  std::unique_ptr<Tensor> output;
  std::vector<std::vector<std::byte>> data;  // padded to the tensor's bytes
  std::vector<std::byte> expected;           // the output's bytes; those outside its elements hold 0xA5
  DML_OPERATOR_DESC desc{};

  // The structs and arrays that desc points to.
  DML_SLICE_OPERATOR_DESC slice{};
  DML_SLICE1_OPERATOR_DESC slice1{};
  DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC convolution{};
  DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC normalization{};
  DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC normalization1{};
  DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC normalization2{};
  DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC quantize_linear{};
  DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC dequantize_linear{};
  DML_CONVOLUTION_INTEGER_OPERATOR_DESC convolution_integer{};
  DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC product{};
  DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC quantized_product{};
  DML_ACTIVATION_RELU_OPERATOR_DESC relu{};
  DML_OPERATOR_DESC activation{};
  std::vector<UINT> arrays[4];
  std::vector<INT> signed_strides;

  template <class T>
  void input(const char* tensor_name, DML_TENSOR_DATA_TYPE type, std::vector<UINT> sizes, const std::vector<T>& values,
             bool owned = false, std::vector<UINT> strides = {}) {
    input_names.emplace_back(tensor_name);
    inputs.push_back(std::make_unique<Tensor>(type, sizeof(T), std::move(sizes), std::move(strides)));
    if (owned) inputs.back()->buffer().Flags = DML_TENSOR_FLAG_OWNED_BY_DML;
    std::vector<std::byte> bytes(inputs.back()->bytes(), std::byte{0});
    std::memcpy(bytes.data(), values.data(), values.size() * sizeof(T));
    data.push_back(std::move(bytes));
  }
  void absent(const char* tensor_name) {
    input_names.emplace_back(tensor_name);
    inputs.push_back(nullptr);
    data.emplace_back();
  }
  template <class T>
  void result(DML_TENSOR_DATA_TYPE type, std::vector<UINT> sizes, const std::vector<T>& values,
              std::vector<UINT> strides = {}) {
    const std::vector<UINT> extents = sizes;
    const std::vector<UINT> steps = strides;
    output = std::make_unique<Tensor>(type, sizeof(T), std::move(sizes), std::move(strides));
    expected.assign(output->bytes(), std::byte{0xA5});
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::size_t place = 0;
      std::size_t packed = 1;
      std::size_t rest = i;
      for (std::size_t d = extents.size(); d-- > 0;) {
        place += rest % extents[d] * (steps.empty() ? packed : steps[d]);
        packed *= extents[d];
        rest /= extents[d];
      }
      std::memcpy(expected.data() + place * sizeof(T), &values[i], sizeof(T));
    }
  }
  const DML_TENSOR_DESC* tensor(std::size_t i) const { return inputs[i] ? inputs[i]->desc() : nullptr; }
  /// The convolution of the nine inputs given so far: strides, dilations and both paddings 1.
  void convolve(UINT groups) {
    for (auto& array : arrays) array = {1, 1};
    convolution = {tensor(0),        tensor(1),        tensor(2),        tensor(3),      tensor(4), tensor(5),
                   tensor(6),        tensor(7),        tensor(8),        output->desc(), 2,         arrays[0].data(),
                   arrays[1].data(), arrays[2].data(), arrays[3].data(), groups};
    desc = {DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION, &convolution};
  }

  /// All inputs, as `run` takes them.
  std::vector<dmlref::InputBuffer> all_buffers() const { return {data.begin(), data.end()}; }
  /// Only those owned by DML, or only the others.
  std::vector<dmlref::InputBuffer> buffers(bool owned) const {
    std::vector<dmlref::InputBuffer> list(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] && inputs[i]->owned() == owned) list[i] = data[i];
    }
    return list;
  }
  bool any_owned() const {
    for (const auto& tensor : inputs) {
      if (tensor && tensor->owned()) return true;
    }
    return false;
  }
};

inline std::vector<float> one_to(int n) {
  std::vector<float> values;
  for (int i = 1; i <= n; ++i) values.push_back(static_cast<float>(i));
  return values;
}

/// SLICE's second documented example; with `strided`, into an output of padded rows.
inline std::unique_ptr<Case> slice_case(bool strided, bool owned = false) {
  auto c = std::make_unique<Case>();
  c->name = strided ? "slice_padded_output" : owned ? "slice_owned" : "slice";
  c->input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 4, 4}, one_to(16), owned);
  c->result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 2, 2}, {5, 8, 13, 16},
                   strided ? std::vector<UINT>{20, 20, 7, 3} : std::vector<UINT>{});
  c->arrays[0] = {0, 0, 1, 0};
  c->arrays[1] = {1, 1, 2, 2};
  c->arrays[2] = {1, 1, 2, 3};
  c->slice = {c->tensor(0), c->output->desc(), 4, c->arrays[0].data(), c->arrays[1].data(), c->arrays[2].data()};
  c->desc = {DML_OPERATOR_SLICE, &c->slice};
  return c;
}

/// SLICE1's second documented example, on 1-byte elements.
inline std::unique_ptr<Case> slice1_case() {
  auto c = std::make_unique<Case>();
  c->name = "slice1";
  std::vector<std::uint8_t> values;
  for (std::uint8_t i = 1; i <= 16; ++i) values.push_back(i);
  c->input<std::uint8_t>("InputTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 4, 4}, values);
  c->result<std::uint8_t>(DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 2, 2}, {14, 16, 6, 8});
  c->arrays[0] = {0, 0, 0, 1};
  c->arrays[1] = {1, 1, 4, 3};
  c->signed_strides = {1, 1, -2, 2};
  c->slice1 = {c->tensor(0), c->output->desc(), 4, c->arrays[0].data(), c->arrays[1].data(), c->signed_strides.data()};
  c->desc = {DML_OPERATOR_SLICE1, &c->slice1};
  return c;
}

/// A 3 x 3 picture, a 2 x 2 filter, padding 1; accumulators [[11,9,-1,0],[3,20,14,2],[-7,-8,22,15],[7,1,-5,7]] halved,
/// ties to even, plus 10. `parameters_owned`: all but the picture belong to initialize.
inline std::unique_ptr<Case> convolution_case(bool parameters_owned, bool padded_output = false) {
  auto c = std::make_unique<Case>();
  const bool owned = parameters_owned;
  c->name = padded_output ? "convolution_padded_output" : owned ? "convolution_owned" : "convolution";
  c->input<std::uint8_t>("InputTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 3, 3},
                         {130, 128, 127, 129, 131, 128, 126, 128, 132});
  c->input<float>("InputScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {0.5f}, owned);
  c->input<std::uint8_t>("InputZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 1, 1}, {128}, owned);
  c->input<std::int8_t>("FilterTensor", DML_TENSOR_DATA_TYPE_INT8, {1, 1, 2, 2}, {1, -2, 3, 4}, owned);
  c->input<float>("FilterScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {0.25f}, owned);
  c->absent("FilterZeroPointTensor");
  c->input<std::int32_t>("BiasTensor", DML_TENSOR_DATA_TYPE_INT32, {1, 1, 1, 1}, {3}, owned);
  c->input<float>("OutputScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {0.25f}, owned);
  c->input<std::uint8_t>("OutputZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 1, 1}, {10}, owned);
  c->result<std::uint8_t>(DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 4, 4},
                          {16, 14, 10, 10, 12, 20, 17, 11, 6, 6, 21, 18, 14, 10, 8, 14},
                          padded_output ? std::vector<UINT>{64, 64, 11, 2} : std::vector<UINT>{});
  c->convolve(1);
  return c;
}

/// {-3, 5, -5, 3} has mean 0 and, with the epsilon of 8, a root of 5: scaled by 10, shifted by 1.
inline std::unique_ptr<Case> normalization_case(bool parameters_owned) {
  auto c = std::make_unique<Case>();
  c->name = parameters_owned ? "normalization_owned" : "normalization";
  c->input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 2, 2}, {-3, 5, -5, 3});
  c->input<float>("ScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {10}, parameters_owned);
  c->input<float>("BiasTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, {1}, parameters_owned);
  c->result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 2, 2}, {-5, 11, -9, 7});
  c->normalization = {c->tensor(0), c->tensor(1), c->tensor(2), c->output->desc(), 1, 1, 8.0f, nullptr};
  c->desc = {DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION, &c->normalization};
  return c;
}

/// The same over axis 1 of a column-major pair of rows, one-sided scale, with a fused RELU and padded output.
inline std::unique_ptr<Case> normalization1_case() {
  auto c = std::make_unique<Case>();
  c->name = "normalization1_padded_output";
  c->input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {2, 4}, {-3, 3, 5, -5, -5, 5, 3, -3}, false, {1, 2});
  c->input<float>("ScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1}, {10});
  c->absent("BiasTensor");
  c->result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {2, 4}, {0, 10, 0, 6, 6, 0, 10, 0}, {9, 2});
  c->arrays[0] = {1};
  c->relu = {nullptr, nullptr};
  c->activation = {DML_OPERATOR_ACTIVATION_RELU, &c->relu};
  c->normalization1 = {c->tensor(0), c->tensor(1),  c->tensor(2), c->output->desc(), 1, c->arrays[0].data(), 1,
                       8.0f,         &c->activation};
  c->desc = {DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, &c->normalization1};
  return c;
}

/// {7, -1, 5, -5} has the mean square 25 and {-1, 1, 1, -1} has 1; epsilon is 0, the scale owned.
inline std::unique_ptr<Case> normalization2_case() {
  auto c = std::make_unique<Case>();
  c->name = "normalization2_without_mean";
  c->input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {2, 4}, {7, -1, 5, -5, -1, 1, 1, -1});
  c->input<float>("ScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 4}, {5, 10, 20, 40}, true);
  c->input<float>("BiasTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1}, {1});
  c->result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {2, 4}, {8, -1, 21, -39, -4, 11, 21, -39}, {5, 1});
  c->arrays[0] = {1};
  c->normalization2 = {c->tensor(0), c->tensor(1), c->tensor(2), c->output->desc(), 1, c->arrays[0].data(), 0, 1,
                       0.0f,         nullptr};
  c->desc = {static_cast<DML_OPERATOR_TYPE>(171), &c->normalization2};  // by number: an older header lacks the name
  return c;
}

/// ONNX's example, with one scale and one zero point by strides of 0.
inline std::unique_ptr<Case> quantize_linear_case(bool parameters_owned) {
  auto c = std::make_unique<Case>();
  c->name = parameters_owned ? "quantize_linear_owned" : "quantize_linear";
  c->input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 2, 3}, {0, 2, 3, 1000, -254, -1000});
  c->input<float>("ScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 2, 3}, {2}, parameters_owned, {0, 0, 0, 0});
  c->input<std::uint8_t>("ZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 2, 3}, {128}, parameters_owned,
                         {0, 0, 0, 0});
  c->result<std::uint8_t>(DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 2, 3}, {128, 129, 130, 255, 1, 0});
  c->quantize_linear = {c->tensor(0), c->tensor(1), c->tensor(2), c->output->desc()};
  c->desc = {DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR, &c->quantize_linear};
  return c;
}

/// The way back, without a zero point, a scale for each row, and padded output.
inline std::unique_ptr<Case> dequantize_linear_case() {
  auto c = std::make_unique<Case>();
  c->name = "dequantize_linear_padded_output";
  c->input<std::int16_t>("InputTensor", DML_TENSOR_DATA_TYPE_INT16, {2, 3}, {0, -3, 300, 4, 5, -6});
  c->input<float>("ScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {2, 3}, {0.5f, -2}, false, {1, 0});
  c->absent("ZeroPointTensor");
  c->result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {2, 3}, {0, -1.5f, 150, -8, -10, 12}, {4, 1});
  c->dequantize_linear = {c->tensor(0), c->tensor(1), c->tensor(2), c->output->desc()};
  c->desc = {DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, &c->dequantize_linear};
  return c;
}

/// The sums of convolution_case, without its bias. `filter_owned`: the filter belongs to initialize.
inline std::unique_ptr<Case> convolution_integer_case(bool filter_owned) {
  auto c = std::make_unique<Case>();
  c->name = filter_owned ? "convolution_integer_owned" : "convolution_integer_padded_output";
  c->input<std::uint8_t>("InputTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 3, 3},
                         {130, 128, 127, 129, 131, 128, 126, 128, 132});
  c->input<std::uint8_t>("InputZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 1, 1}, {128});
  c->input<std::int8_t>("FilterTensor", DML_TENSOR_DATA_TYPE_INT8, {1, 1, 2, 2}, {1, -2, 3, 4}, filter_owned);
  c->absent("FilterZeroPointTensor");
  c->result<std::int32_t>(DML_TENSOR_DATA_TYPE_INT32, {1, 1, 4, 4},
                          {8, 6, -4, -3, 0, 17, 11, -1, -10, -11, 19, 12, 4, -2, -8, 4},
                          filter_owned ? std::vector<UINT>{} : std::vector<UINT>{64, 64, 11, 2});
  for (auto& array : c->arrays) array = {1, 1};
  c->convolution_integer = {c->tensor(0),
                            c->tensor(1),
                            c->tensor(2),
                            c->tensor(3),
                            c->output->desc(),
                            2,
                            c->arrays[0].data(),
                            c->arrays[1].data(),
                            c->arrays[2].data(),
                            c->arrays[3].data(),
                            1};
  c->desc = {DML_OPERATOR_CONVOLUTION_INTEGER, &c->convolution_integer};
  return c;
}

/// ONNX's example of MatMulInteger with a zero point per row, into an output of padded rows.
inline std::unique_ptr<Case> product_case() {
  auto c = std::make_unique<Case>();
  c->name = "matrix_multiply_padded_output";
  c->input<std::uint8_t>("ATensor", DML_TENSOR_DATA_TYPE_UINT8, {4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0});
  c->input<std::uint8_t>("AZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {4}, {12, 0, 1, 2});
  c->input<std::uint8_t>("BTensor", DML_TENSOR_DATA_TYPE_UINT8, {3, 2}, {1, 4, 2, 5, 3, 6});
  c->absent("BZeroPointTensor");
  c->result<std::int32_t>(DML_TENSOR_DATA_TYPE_INT32, {4, 2}, {-38, -83, 28, 82, 16, 52, 4, 22}, {5, 2});
  c->product = {c->tensor(0), c->tensor(1), c->tensor(2), c->tensor(3), c->output->desc()};
  c->desc = {DML_OPERATOR_MATRIX_MULTIPLY_INTEGER, &c->product};
  return c;
}

/// ONNX's example of QLinearMatMul. `parameters_owned`: all but A belong to initialize.
inline std::unique_ptr<Case> quantized_product_case(bool parameters_owned) {
  auto c = std::make_unique<Case>();
  const bool owned = parameters_owned;
  c->name = owned ? "quantized_matrix_multiply_owned" : "quantized_matrix_multiply";
  c->input<std::uint8_t>("ATensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 2, 4}, {208, 236, 0, 238, 3, 214, 255, 29});
  c->input<float>("AScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1}, {0.0066f}, owned);
  c->input<std::uint8_t>("AZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1}, {113}, owned);
  c->input<std::uint8_t>("BTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 4, 3},
                         {152, 60, 0, 127, 51, 26, 127, 254, 244, 255, 246, 247}, owned, {12, 1, 4});
  c->input<float>("BScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 3}, {0.00705f, 0.00705f, 0.00705f}, owned);
  c->input<std::uint8_t>("BZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 3}, {114}, owned, {0, 0});
  c->input<float>("OutputScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {2, 1}, {0.0107f, 0.0107f}, owned);
  c->input<std::uint8_t>("OutputZeroPointTensor", DML_TENSOR_DATA_TYPE_UINT8, {1, 1}, {118}, owned);
  c->result<std::uint8_t>(DML_TENSOR_DATA_TYPE_UINT8, {1, 2, 3}, {168, 115, 255, 1, 66, 151});
  c->quantized_product = {c->tensor(0), c->tensor(1), c->tensor(2), c->tensor(3),     c->tensor(4),
                          c->tensor(5), c->tensor(6), c->tensor(7), c->output->desc()};
  c->desc = {DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY, &c->quantized_product};
  return c;
}

inline std::vector<std::unique_ptr<Case>> all_cases() {
  std::vector<std::unique_ptr<Case>> cases;
  cases.push_back(slice_case(false));
  cases.push_back(slice_case(true));
  cases.push_back(slice_case(false, true));
  cases.push_back(slice1_case());
  cases.push_back(convolution_case(false));
  cases.push_back(convolution_case(true));
  cases.push_back(convolution_case(false, true));
  cases.push_back(normalization_case(false));
  cases.push_back(normalization_case(true));
  cases.push_back(normalization1_case());
  cases.push_back(normalization2_case());
  cases.push_back(quantize_linear_case(false));
  cases.push_back(quantize_linear_case(true));
  cases.push_back(dequantize_linear_case());
  cases.push_back(convolution_integer_case(false));
  cases.push_back(convolution_integer_case(true));
  cases.push_back(product_case());
  cases.push_back(quantized_product_case(false));
  cases.push_back(quantized_product_case(true));
  return cases;
}

}  // namespace outside
