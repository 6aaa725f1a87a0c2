// large.cpp: few elements, far apart: buffers that reach 2^32 bytes by their strides alone.
#include "kit/build.hpp"

namespace dmlref::tool::kit {
namespace large {  // one source with the other tables
namespace {

constexpr const char* property = "addresses need more than 32 bits, although the tensor has six elements";

struct Row {
  const char* name;
  const char* op;
  DataType type;
  List input;
  List strides;
  List output;
  Json rest;  // of the desc
};

const Row rows[] = {
    {"slice_large",
     "SLICE",
     DataType::uint32,
     {1, 1, 2, 3},
     {0, 0, 1073741824, 1},
     {1, 1, 2, 2},
     {{"DimensionCount", 4},
      {"Offsets", List{0, 0, 0, 1}},
      {"Sizes", List{1, 1, 2, 2}},
      {"Strides", List{1, 1, 1, 1}}}},
    {"slice1_large",
     "SLICE1",
     DataType::uint8,
     {1, 1, 2, 3},
     {0, 0, 4294967292, 1},
     {1, 1, 2, 3},
     {{"DimensionCount", 4},
      {"InputWindowOffsets", List{0, 0, 0, 0}},
      {"InputWindowSizes", List{1, 1, 2, 3}},
      {"InputWindowStrides", List{1, 1, -1, -1}}}},
    {"mvn_large",
     "MEAN_VARIANCE_NORMALIZATION",
     DataType::float32,
     {1, 1, 2, 3},
     {0, 0, 1073741824, 1},
     {1, 1, 2, 3},
     {{"CrossChannel", false}, {"NormalizeVariance", true}, {"Epsilon", 0.00001f}}},
    {"mvn1_large",
     "MEAN_VARIANCE_NORMALIZATION1",
     DataType::float32,
     {1, 1, 2, 3},
     {0, 0, 1073741824, 1},
     {1, 1, 2, 3},
     {{"AxisCount", 1}, {"Axes", List{2}}, {"NormalizeVariance", true}, {"Epsilon", 0.00001f}}},
    {"qlc_large",
     "QUANTIZED_LINEAR_CONVOLUTION",
     DataType::uint8,
     {1, 1, 2, 3},
     {0, 0, 4294967292, 1},
     {1, 1, 2, 3},
     {{"DimensionCount", 2},
      {"Strides", List{1, 1}},
      {"Dilations", List{1, 1}},
      {"StartPadding", List{0, 0}},
      {"EndPadding", List{0, 0}},
      {"GroupCount", 1}}},
};

}  // namespace
}  // namespace large

void add_large(std::vector<Case>& cases) {
  using namespace large;
  for (const Row& row : rows) {
    Case one;
    one.name = row.name;
    one.op = row.op;
    one.kind = "large buffers";
    one.property = property;
    one.source = "DML_BUFFER_TENSOR_DESC";
    const std::uint64_t count = spanned(row.input, row.strides);
    one.desc["InputTensor"] = tensor(row.type, row.input, row.strides);
    // Given, since DMLCalcBufferTensorSize sums in 32 bits.
    one.desc["InputTensor"]["TotalTensorSizeInBytes"] = (count * size_of(row.type) + 3) / 4 * 4;
    one.inputs.push_back({"InputTensor", row.type, {}, Sequence{count, 0, 1}});
    if (one.op == "QUANTIZED_LINEAR_CONVOLUTION") {
      const auto add = [&](const char* name, DataType type, std::vector<std::byte> bytes) {
        one.desc[name] = tensor(type, {1, 1, 1, 1});
        one.inputs.push_back({name, type, std::move(bytes), std::nullopt});
      };
      add("InputScaleTensor", DataType::float32, bytes_of(std::vector<float>{1}));
      add("FilterTensor", DataType::uint8, byte_elements({1}));
      add("FilterScaleTensor", DataType::float32, bytes_of(std::vector<float>{1}));
      add("OutputScaleTensor", DataType::float32, bytes_of(std::vector<float>{1}));
    }
    one.desc["OutputTensor"] = tensor(row.type, row.output);
    one.desc.update(row.rest);
    cases.push_back(std::move(one));
  }
}

}  // namespace dmlref::tool::kit
