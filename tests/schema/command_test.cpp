// command_test.cpp: what the command knows of an operator comes from its schema: fields that nothing else names are
// printed, parsed and shown by `info --schema`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/desc_json.hpp"
#include "model/document.hpp"
#include "model/operator_parser.hpp"
#include "model/schema_json.hpp"
#include "schema/masked_slice.hpp"
#include "support/failure.hpp"

namespace {

using namespace dmlref;

const std::vector<tool::OperatorFields> known = tool::operator_fields<schema::OperatorList<MaskedSliceDesc>>();

MaskedSliceDesc parsed(const std::string& text) {
  const std::string file = "model.json";
  const nlohmann::json json = nlohmann::json::parse(text);
  const tool::ParsedOperator parsed(tool::Node(file, json, "$"), {}, known);
  EXPECT_EQ(parsed.desc().Type, static_cast<DML_OPERATOR_TYPE>(250));
  Report report;
  const auto facts = rules::read_struct<MaskedSliceDesc>(report, parsed.desc().Desc);
  EXPECT_TRUE(report.ok()) << report.to_string();
  return rules::value_of(facts);
}

std::string fault_of(const std::string& text) {
  try {
    parsed(text);
    return "none";
  } catch (const tool::Failure& failure) {
    return failure.what();
  }
}

TEST(SchemaOfCommand, ParsesWhatItPrints) {
  MaskedSliceDesc desc = dmlref_test::masked_slice();
  desc.offsets_tensor = TensorDesc(DataType::uint32, {1, 2});
  const auto json = tool::desc_json(desc);
  EXPECT_EQ(json["type"], "DML_OPERATOR_MASKED_SLICE");
  std::vector<std::string> keys;
  for (const auto& member : json["desc"].items()) keys.push_back(member.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"InputTensor", "MaskTensor", "OffsetsTensor", "OutputTensor", "RestTensor",
                                            "Limit", "OrderCount", "Order"}));
  EXPECT_EQ(json["desc"]["Limit"], 7);

  const MaskedSliceDesc again = parsed(json.dump());
  EXPECT_EQ(tool::desc_json(again), json);
  EXPECT_EQ(again.order, desc.order);
  EXPECT_EQ(again.limit, desc.limit);
  EXPECT_EQ(again.rest.sizes, desc.rest.sizes);
}

TEST(SchemaOfCommand, MissesFields) {
  auto json = tool::desc_json(dmlref_test::masked_slice());
  json["desc"].erase("Limit");
  EXPECT_NE(fault_of(json.dump()).find("Limit"), std::string::npos) << fault_of(json.dump());
  json["desc"]["Limited"] = 7;
  EXPECT_NE(fault_of(json.dump()).find("Limited"), std::string::npos) << fault_of(json.dump());
}

TEST(SchemaOfCommand, ShowsFields) {
  const auto json = nlohmann::json::parse(tool::schema_json(known));
  ASSERT_EQ(json["operators"].size(), 1u);
  const auto& row = json["operators"][0];
  EXPECT_EQ(row["name"], "MASKED_SLICE");
  EXPECT_EQ(row["introduced"], "3_0");
  ASSERT_EQ(row["fields"].size(), 8u);
  EXPECT_EQ(row["fields"][2]["name"], "OffsetsTensor");
  EXPECT_EQ(row["fields"][2]["optional"], true);
  EXPECT_EQ(row["fields"][4]["kind"], "output");
  EXPECT_EQ(row["fields"][5], (nlohmann::json{{"name", "Limit"}, {"kind", "uint"}}));
  EXPECT_EQ(row["fields"][7]["count"], "OrderCount");
}

}  // namespace
