// Which levels accept an operator, and what info says.
#include <cstdio>

#include "command/command.hpp"
#include "dmlref/desc/feature_level.hpp"

namespace dmlref::test {
namespace {

class Validate : public CommandTest {};

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST_F(Validate, GivesAVerdictPerRangeOfLevels) {
  write("m.json",
        replaced(std::string(slice_model), "\"Sizes\": [1,1,3,2] }", "\"Sizes\": [1,1,3,2], \"Strides\": [6,6,2,1] }"));
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"validate", "m.json"}, {"validate", "m.json", "--feature-level", "all"}}) {
    const Outcome outcome = dmlref(options);
    EXPECT_EQ(outcome.status, 0) << outcome;
    EXPECT_EQ(outcome.out, "slice: SLICE at feature levels 1_0 to 6_4: accepted\n");
  }
}

TEST_F(Validate, NamesTheFieldAndTheLevelThatAccepts) {
  write("m.json", replaced(replaced(std::string(slice_model), "\"DataType\": \"FLOAT32\"", "\"DataType\": \"INT64\""),
                           "\"DataType\": \"FLOAT32\"", "\"DataType\": \"INT64\""));
  const Outcome all = dmlref({"validate", "m.json"});
  EXPECT_EQ(all.status, 0) << all;  // some level accepts it
  EXPECT_EQ(count(all.out, "slice: SLICE at feature levels 1_0 to 2_0: refused\n"), 1u) << all;
  EXPECT_EQ(count(all.out, "slice: SLICE at feature levels 2_1 to 4_0: refused\n"), 1u) << all;
  EXPECT_EQ(count(all.out, "slice: SLICE at feature levels 4_1 to 6_4: accepted\n"), 1u) << all;
  const Outcome one = dmlref({"validate", "m.json", "--feature-level", "4_0"});
  EXPECT_EQ(one.status, 1) << one;
  EXPECT_EQ(count(one.out, "\n"), 3u) << one;
  EXPECT_EQ(count(one.out, "  InputTensor.DataType is INT64"), 1u) << one;
  EXPECT_EQ(count(one.out, "(accepted from feature level 4_1)"), 2u) << one;
  EXPECT_EQ(one.err, "");
  EXPECT_EQ(dmlref({"validate", "m.json", "--feature-level", "4_1"}).status, 0);
}

TEST_F(Validate, FailsWhatNoLevelAccepts) {
  write("m.json", replaced(replaced(std::string(slice_model), "[0,0,1,2]", "[0,0,2,2]"), "\"Sizes\": [1,1,3,2],",
                           "\"Sizes\": [1,1,3,1],"));
  const Outcome outcome = dmlref({"validate", "m.json"});
  EXPECT_EQ(outcome.status, 1) << outcome;
  EXPECT_TRUE(outcome.out.starts_with("slice: SLICE at feature levels 1_0 to 6_4: refused\n")) << outcome;
  EXPECT_EQ(count(outcome.out, "  Sizes[3] "), 1u) << outcome;    // unlike the output's
  EXPECT_EQ(count(outcome.out, "  Offsets[2] "), 1u) << outcome;  // reads beyond the input
  const Outcome run = dmlref({"run", "m.json"});
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_EQ(count(run.err, "dmlref: m.json: $.dispatchables.slice.desc.Sizes[3]: "), 1u) << run;
}

TEST_F(Validate, NeedsNoData) {
  write("m.json", replaced(std::string(slice_model), R"({ "valueCount": 16, "valueStart": 1, "valueDelta": 1 })",
                           R"({ "sourcePath": "nowhere.dat" })"));
  EXPECT_EQ(dmlref({"validate", "m.json"}).status, 0);
}

TEST_F(Validate, RefusesZeroSizesAndOverflowsWithoutHarm) {
  for (const char* sizes :
       {"[1,1,0,4]", "[4294967295,4294967295,4294967295,4294967295]", "[]", "[1,1,1,1,1,1,1,1,1]"}) {
    SCOPED_TRACE(sizes);
    write("m.json", replaced(std::string(slice_model), "[1,1,4,4]", sizes));
    const Outcome outcome = dmlref({"validate", "m.json"});
    EXPECT_EQ(outcome.status, 1) << outcome;
    EXPECT_GE(count(outcome.out, ": refused\n"), 1u) << outcome;
    EXPECT_EQ(count(outcome.out, ": accepted\n"), 0u) << outcome;
  }
}

TEST_F(Validate, PrintsTextAndJson) {
  const std::string model = (fs::path(DMLREF_TEST_EXAMPLES) / "slice1_feature_level.json").string();
  const fs::path golden = fs::path(DMLREF_TEST_GOLDEN) / "reports";
  EXPECT_EQ(dmlref({"validate", model}).out, read_text(golden / "validate.txt"));
  const Outcome all = dmlref({"validate", model, "--json"});
  EXPECT_EQ(all.status, 0);
  EXPECT_EQ(all.out, read_text(golden / "validate.json"));
  const Outcome one = dmlref({"validate", model, "--json", "--feature-level", "2_0"});
  EXPECT_EQ(one.status, 1);
  EXPECT_TRUE(one.out.starts_with("{\n  \"accepted\": false,")) << one;
  EXPECT_EQ(count(one.out, "\"from\": \"2_0\""), 1u) << one;
  EXPECT_EQ(count(one.out, "\"from\""), 1u) << one;
}

TEST_F(Validate, InfoPrintsWhatHasEachLevel) {
  const Outcome outcome = dmlref({"info", "--levels"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(count(outcome.out, "\n"), feature_levels.size() + 1) << outcome;
  for (const FeatureLevelName& row : feature_levels) {
    char number[16];
    std::snprintf(number, sizeof(number), "0x%04x", static_cast<unsigned>(row.level));
    EXPECT_EQ(count(outcome.out, "\n" + std::string(row.name) + " "), 1u) << outcome;
    EXPECT_EQ(count(outcome.out, number), 1u) << outcome;
  }
  EXPECT_EQ(count(outcome.out, "build 22621"), 1u) << outcome;
  expect_unusable(dmlref({"info", "--levels", "--schema"}), {"--levels", "--schema"});
}

TEST_F(Validate, InfoNamesVersionAndInstructionSets) {
  const Outcome outcome = dmlref({"info"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.out.starts_with("dmlref 0.")) << outcome;
  EXPECT_EQ(count(outcome.out, "instruction sets found: scalar"), 1u) << outcome;
  EXPECT_EQ(count(outcome.out, "in use: "), 1u) << outcome;
  const Outcome forced = dmlref({"info"}, {"DMLREF_ISA=scalar"});
  EXPECT_EQ(count(forced.out, "in use: scalar (named by DMLREF_ISA)"), 1u) << forced;
}

}  // namespace
}  // namespace dmlref::test
