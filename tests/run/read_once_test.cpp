// read_once_test.cpp: each call reads the environment once, so that its answers agree where another thread changes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "dmlref/dmlref.hpp"

namespace {
int reads = 0;
const char* value = nullptr;
}  // namespace

// In place of the C library's. gtest and the standard library ask for other names.
extern "C" char* getenv(const char* name) {
  if (std::strcmp(name, "DMLREF_ISA") != 0) return nullptr;
  ++reads;
  return const_cast<char*>(value);
}

namespace {

using namespace dmlref;

TEST(Environment, IsReadOncePerCall) {
  QuantizedLinearConvolutionDesc desc;
  desc.input = {DataType::uint8, {1, 1, 4, 4}};
  desc.filter = {DataType::int8, {1, 1, 1, 1}};
  desc.output = {DataType::uint8, {1, 1, 4, 4}};
  desc.input_scale = desc.filter_scale = desc.output_scale = {DataType::float32, {1, 1, 1, 1}};
  desc.strides = desc.dilations = {1, 1};
  desc.start_padding = desc.end_padding = {0, 0};
  const std::uint8_t input[16] = {1, 2, 3};
  const std::int8_t filter[4] = {1};
  const float one[1] = {1};
  std::uint8_t output[16];
  const Shape image{1, 1, 4, 4}, single{1, 1, 1, 1};
  const TensorView<const float> scale(one, single);
  const QuantizedLinearConvolutionTensors<std::uint8_t, std::int8_t, std::uint8_t> views{
      {input, image}, scale, {}, {filter, single}, scale, {}, {}, scale, {}, {output, image}};
  const auto counted = [&](const char* isa, auto&& call) {
    value = isa;
    reads = 0;
    static_cast<void>(call());
    return reads;
  };
  for (const char* isa : {static_cast<const char*>(nullptr), "", "scalar", "no such set"}) {
    SCOPED_TRACE(isa == nullptr ? "unset" : isa);
    EXPECT_EQ(counted(isa, [&] { return compile(desc, latest_feature_level); }), 1);
    EXPECT_EQ(counted(isa, [&] { return compile(OperatorDesc(desc), latest_feature_level); }), 1);
    EXPECT_EQ(counted(isa, [&] { return compile(DML_OPERATOR_DESC{}, DML_FEATURE_LEVEL_6_4); }), 1);
    EXPECT_EQ(
        counted(isa,
                [&] {
                  return run(desc, latest_feature_level, {input, one, {}, filter, one, {}, {}, one, {}}, {output});
                }),
        1);
    EXPECT_EQ(counted(isa, [&] { return quantized_linear_convolution(views); }), 1);
  }
  const auto set = [&] { return quantized_linear_convolution(views, {}, {.isa = Isa::scalar}); };
  EXPECT_EQ(counted("no such set", set), 0) << "requested by the program";
}

}  // namespace
