// schema_test.cpp: a field that is added to a schema, and nowhere else, is read, checked for presence, copied, tagged
// and bound; an operator may have two outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "schema/masked_slice.hpp"
#include "support/report_fields.hpp"

namespace {

using namespace dmlref;
using dmlref_test::fields, dmlref_test::masked_slice, dmlref_test::MaskedSliceStruct;

TEST(Schema, KnowsOffsetsOfMicrosoftsStruct) {
  const auto& known = schema::fields<MaskedSliceDesc>;
  ASSERT_EQ(known.size(), 8u);
  EXPECT_EQ(known[0].offset, offsetof(MaskedSliceStruct, InputTensor));
  EXPECT_EQ(known[4].offset, offsetof(MaskedSliceStruct, RestTensor));
  EXPECT_EQ(known[5].offset, offsetof(MaskedSliceStruct, Limit));
  EXPECT_EQ(known[6].offset, offsetof(MaskedSliceStruct, OrderCount));
  EXPECT_EQ(known[7].offset, offsetof(MaskedSliceStruct, Order));
  EXPECT_EQ(known[7].count_offset, offsetof(MaskedSliceStruct, OrderCount));
  EXPECT_EQ(schema::struct_size(known), sizeof(MaskedSliceStruct));
  EXPECT_EQ(schema::input_count<MaskedSliceDesc>, 3u);
  EXPECT_EQ(schema::output_count<MaskedSliceDesc>, 2u);
}

TEST(Schema, ReadsMicrosoftsStruct) {
  const UINT sizes[] = {8}, halves[] = {4}, order[] = {3, 1, 2};
  const DML_BUFFER_TENSOR_DESC whole = {
      DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_FLAG_OWNED_BY_DML, 1, sizes, nullptr, 8, 0};
  const DML_BUFFER_TENSOR_DESC half = {DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_FLAG_NONE, 1, halves, nullptr, 4, 0};
  const DML_TENSOR_DESC input = {DML_TENSOR_TYPE_BUFFER, &whole}, output = {DML_TENSOR_TYPE_BUFFER, &half};
  MaskedSliceStruct given = {&input, &input, nullptr, &output, &output, 7, 3, order};

  Report report;
  const MaskedSliceDesc desc = rules::value_of(rules::read_struct<MaskedSliceDesc>(report, &given));
  EXPECT_TRUE(report.ok()) << report.to_string();
  EXPECT_EQ(desc.mask.sizes, Dimensions{8});
  EXPECT_TRUE(desc.mask.owned_by_dml);
  EXPECT_FALSE(desc.offsets_tensor.has_value());
  EXPECT_EQ(desc.rest.sizes, Dimensions{4});
  EXPECT_EQ(desc.limit, 7u);
  EXPECT_EQ(desc.order, (Dimensions{3, 1, 2}));

  given.MaskTensor = given.RestTensor = nullptr;
  given.Order = nullptr;
  rules::read_struct<MaskedSliceDesc>(report, &given);
  EXPECT_EQ(fields(report), (std::vector<std::string>{"MaskTensor", "RestTensor", "Order"}));
}

TEST(Schema, ChecksNewTensors) {
  MaskedSliceDesc desc = masked_slice();
  EXPECT_TRUE(validate(desc, latest_feature_level).ok());
  desc.mask.strides = Dimensions{1, 1};
  desc.rest.data_type = DataType::float64;
  desc.rest.total_size_in_bytes = 64;
  EXPECT_EQ(fields(validate(desc, latest_feature_level)),
            (std::vector<std::string>{"MaskTensor.Strides", "RestTensor.DataType"}));
  EXPECT_FALSE(validate(masked_slice(), feature_level(0x2000)).ok());
}

TEST(Schema, TagsEveryField) {
  const auto tag_of = [](const MaskedSliceDesc& desc) {
    std::array<std::byte, detail::PersistentTag::bytes> bytes{};
    detail::PersistentTag(desc, Isa::scalar, "halves", 64).write(bytes);
    return bytes;
  };
  const MaskedSliceDesc desc = masked_slice();
  EXPECT_EQ(tag_of(desc), tag_of(MaskedSliceDesc(desc)));
  MaskedSliceDesc other = desc;
  other.limit = 8;
  EXPECT_NE(tag_of(desc), tag_of(other));
  other = desc;
  other.order[2] = 4;
  EXPECT_NE(tag_of(desc), tag_of(other));
  other = desc;
  other.offsets_tensor = desc.mask;
  EXPECT_NE(tag_of(desc), tag_of(other));
}

TEST(Schema, BindsTwoOutputs) {
  MaskedSliceDesc desc = masked_slice();
  desc.mask.owned_by_dml = true;
  const CompileResult compiled = compile(desc, latest_feature_level);
  ASSERT_TRUE(compiled) << compiled.report().to_string();
  const CompiledOperator& op = compiled.value();
  ASSERT_EQ(op.input_slots().size(), 3u);
  ASSERT_EQ(op.output_slots().size(), 2u);
  EXPECT_EQ(op.output_slots()[1].name, "RestTensor");

  std::array<std::byte, 8> input{}, mask{};
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i);
  std::array<std::byte, 4> first{}, rest{};
  const auto expect_halves = [&] {
    EXPECT_TRUE(std::equal(first.begin(), first.end(), input.begin()));
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), input.begin() + 4));
    first = rest = {};
  };

  Report report = run(desc, latest_feature_level, std::array<InputBuffer, 3>{input, mask, {}},
                      std::array<OutputBuffer, 2>{first, rest});
  EXPECT_TRUE(report.ok()) << report.to_string();
  expect_halves();

  const AlignedBuffer persistent(op.binding_properties().persistent_bytes);
  NamedBindings bindings(op);
  bindings.bind("MaskTensor", InputBuffer(mask)).bind("RestTensor", OutputBuffer(rest));
  bindings.bind("InputTensor", InputBuffer(input)).bind("OutputTensor", OutputBuffer(first));
  report = op.initialize(bindings, persistent.span(), {});
  EXPECT_TRUE(report.ok()) << report.to_string();
  report = op.execute(bindings, persistent.span(), {});
  EXPECT_TRUE(report.ok()) << report.to_string();
  expect_halves();

  const std::array<InputBuffer, 3> inputs{input, {}, {}};
  const auto faults = [&](std::vector<OutputBuffer> outputs) {
    return fields(op.execute(inputs, outputs, persistent.span(), {}));
  };
  EXPECT_EQ(faults({first}), std::vector<std::string>{"outputs"});
  EXPECT_EQ(faults({first, {}}), std::vector<std::string>{"RestTensor"});
  EXPECT_EQ(faults({first, first}), std::vector<std::string>{"RestTensor"});
  EXPECT_EQ(faults({first, OutputBuffer(input).first(4)}), std::vector<std::string>{"RestTensor"});

  bindings.bind("RestTensor", InputBuffer(rest));
  EXPECT_EQ(fields(op.execute(bindings, persistent.span(), {})), std::vector<std::string>{"RestTensor"});
}

// The order of fields, their offsets and sizes are those of Microsoft's structs.
template <class Desc, class Struct>
constexpr bool same_struct(std::initializer_list<std::size_t> offsets) {
  const auto& fields = schema::fields<Desc>;
  if (sizeof(void*) != 8) return true;  // offsets below are those of 64 bits
  return schema::struct_size(fields) == sizeof(Struct) &&
         std::equal(fields.begin(), fields.end(), offsets.begin(), offsets.end(),
                    [](const FieldInfo& field, std::size_t offset) { return field.offset == offset; });
}
static_assert(same_struct<SliceDesc, DML_SLICE_OPERATOR_DESC>({0, 8, 16, 24, 32, 40}));
static_assert(same_struct<Slice1Desc, DML_SLICE1_OPERATOR_DESC>({0, 8, 16, 24, 32, 40}));
static_assert(same_struct<QuantizedLinearConvolutionDesc, DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC>(
    {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120}));
static_assert(same_struct<MeanVarianceNormalizationDesc, DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC>(
    {0, 8, 16, 24, 32, 36, 40, 48}));
static_assert(same_struct<MeanVarianceNormalization1Desc, DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC>(
    {0, 8, 16, 24, 32, 40, 48, 52, 56}));
static_assert(same_struct<MeanVarianceNormalization2Desc, DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC>(
    {0, 8, 16, 24, 32, 40, 48, 52, 56, 64}));
static_assert(same_struct<ConvolutionIntegerDesc, DML_CONVOLUTION_INTEGER_OPERATOR_DESC>({0, 8, 16, 24, 32, 40, 48, 56,
                                                                                          64, 72, 80}));
static_assert(same_struct<MatrixMultiplyIntegerDesc, DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC>({0, 8, 16, 24, 32}));
static_assert(same_struct<QuantizedLinearMatrixMultiplyDesc, DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC>(
    {0, 8, 16, 24, 32, 40, 48, 56, 64}));

}  // namespace
