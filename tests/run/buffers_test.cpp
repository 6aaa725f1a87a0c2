// buffers_test.cpp: braced lists of buffers, buffers by name, and aligned memory.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "dmlref/dmlref.hpp"

namespace {

using namespace dmlref;

MeanVarianceNormalization1Desc layer() {
  MeanVarianceNormalization1Desc desc;
  desc.input = desc.output = TensorDesc(DataType::float32, {1, 4});
  desc.scale = TensorDesc(DataType::float32, {1, 4});
  desc.axes = {1};
  return desc;
}

TEST(BracedBuffers, AreArraysVectorsAndSpans) {
  const MeanVarianceNormalization1Desc desc = layer();
  const std::vector<float> input{1, 2, 3, 4};
  const std::array<float, 4> scale{1, 2, 1, 2};
  float expected[4];
  const InputBuffer inputs[] = {std::as_bytes(std::span(input)), std::as_bytes(std::span(scale)), {}};
  const OutputBuffer outputs[] = {std::as_writable_bytes(std::span(expected))};
  ASSERT_TRUE(run(desc, latest_feature_level, inputs, outputs));

  float array[4];
  std::vector<float> vector(4);
  std::array<std::byte, 16> bytes;
  ASSERT_TRUE(run(desc, latest_feature_level, {input, scale, {}}, {array}));
  ASSERT_TRUE(run(desc, latest_feature_level, {std::span(input), std::as_bytes(std::span(scale)), {}}, {vector}));
  ASSERT_TRUE(run(desc, latest_feature_level, {input, scale, InputBuffer()}, {std::span(bytes)}));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(array[i], expected[i]);
    EXPECT_EQ(vector[i], expected[i]);
  }
  EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof expected), 0);

  // A wrong count is named, that of more than any operator has, too.
  EXPECT_EQ(run(desc, latest_feature_level, {input}, {array}).violations().at(0).field, "inputs");
  const auto& x = input;
  EXPECT_EQ(run(desc, latest_feature_level, {x, x, x, x, x, x, x, x, x, x, x, x}, {array}).violations().at(0).rule,
            RuleId::binding_count);
  EXPECT_EQ(run(desc, latest_feature_level, {input, scale, {}}, {array, vector}).violations().at(0).field, "outputs");
}

TEST(BracedBuffers, StageAndBindByName) {
  MeanVarianceNormalization1Desc desc = layer();
  desc.scale->owned_by_dml = true;
  const CompileResult compiled = compile(desc, latest_feature_level);
  ASSERT_TRUE(compiled);
  const CompiledOperator& op = compiled.value();
  const AlignedBuffer persistent(op.binding_properties().persistent_bytes);
  const AlignedBuffer temporary(op.binding_properties().temporary_bytes);
  const std::vector<float> input{1, 2, 3, 4}, scale{1, 2, 1, 2};
  float listed[4], named[4];
  ASSERT_TRUE(op.initialize({{}, scale, {}}, persistent.span(), temporary.span()));
  ASSERT_TRUE(op.execute({input, {}, {}}, {listed}, persistent.span(), temporary.span()));

  NamedBindings bindings(op);
  bindings.bind("ScaleTensor", scale).bind("InputTensor", std::span(input)).bind("OutputTensor", named);
  ASSERT_TRUE(bindings.report()) << bindings.report().to_string();
  ASSERT_TRUE(op.initialize(bindings, persistent.span(), temporary.span()));
  ASSERT_TRUE(op.execute(bindings, persistent.span(), temporary.span()));
  EXPECT_TRUE(std::equal(listed, listed + 4, named));

  bindings.bind("OutputTensor", input);  // of const
  EXPECT_EQ(op.execute(bindings, persistent.span(), temporary.span()).violations().at(0).rule, RuleId::binding_name);
}

TEST(Aligned, BufferStartsAtAMultipleOf256) {
  std::vector<AlignedBuffer> buffers;
  for (const std::uint64_t bytes : {1u, 255u, 256u, 4097u}) {
    const AlignedBuffer& buffer = buffers.emplace_back(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer.span().size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.span().data()) % 256, 0u);
    std::ranges::fill(buffer.span(), std::byte{1});
  }
  const AlignedBuffer none(0), nothing;
  EXPECT_TRUE(none.ok() && none.span().empty());
  EXPECT_TRUE(nothing.ok() && nothing.span().empty());

  AlignedBuffer from(16);
  const std::byte* const place = from.span().data();
  AlignedBuffer to(std::move(from));
  EXPECT_EQ(to.span().data(), place);
  EXPECT_TRUE(from.ok() && from.span().empty());  // NOLINT: what is left is said
  from = std::move(to);
  EXPECT_EQ(from.span().data(), place);
  AlignedBuffer& itself = from;
  from = std::move(itself);
  EXPECT_EQ(from.span().data(), place);
}

TEST(Aligned, BufferSaysThatMemoryRanOut) {
  for (const std::uint64_t bytes : {(std::numeric_limits<std::uint64_t>::max)(), std::uint64_t{1} << 63}) {
    const AlignedBuffer buffer(bytes);
    EXPECT_FALSE(buffer.ok());
    EXPECT_TRUE(buffer.span().empty());
  }
}

}  // namespace
