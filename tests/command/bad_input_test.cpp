// What cannot be used ends with status 2 and one line that names file, place and expectation; never a crash.
#include <cstdint>
#include <random>

#include "command/command.hpp"

namespace dmlref::test {
namespace {

class BadInput : public CommandTest {};

/// The good model with one passage changed, and what the line must say.
struct Row {
  const char* from;
  const char* to;
  std::vector<std::string> fragments;
  int faults = 1;
};

TEST_F(BadInput, OfTheModel) {
  const Row rows[] = {
      // No JSON.
      {"{\n", "[\n", {"line ", "is not valid JSON"}},
      {"\"commands\": [", "\"commands\": [[", {"is not valid JSON"}},
      {"\"valueCount\": 16", "\"valueCount\": 1.6.1", {"line 3, column ", "is not valid JSON"}},
      {"\"resources\"", "resources", {"line 2, column ", "is not valid JSON"}},
      {"\"commands\"", "/* never closed", {"is not valid JSON"}},
      // The outline.
      {"\"resources\"", "\"resource\"", {"$.resource: is an unknown key, expected one of", "dispatchables"}},
      {"\"commands\": [",
       "\"commands\": 3, \"x\": [",
       {"$.x: is an unknown key", "$.commands: is 3, expected an array"},
       2},
      {"\"input\": { \"initialValuesDataType\"",
       "\"input\": 7, \"in\": { \"initialValuesDataType\"",
       {"$.resources.input: is 7, expected an object"}},
      {"\"output\": {", "\"input\": {", {"$.resources.input: occurs twice"}},
      {"\"dispatchables\": {",
       "\"dispatchables\": [], \"$schema\": {",
       {"$.dispatchables: is an array of 0 elements, expected an object"}},
      // Resources.
      {"\"initialValuesDataType\": \"FLOAT32\"",
       "\"initialValuesDataType\": \"FLOAT31\"",
       {"$.resources.input.initialValuesDataType: is \"FLOAT31\", expected one of FLOAT32, FLOAT16"}},
      {"\"initialValuesDataType\": \"FLOAT32\"",
       "\"initialValuesDataType\": \"UINT4\"",
       {"$.resources.input.initialValuesDataType: is \"UINT4\""}},
      {"\"initialValuesDataType\": \"FLOAT32\", ",
       "",
       {"$.resources.input.initialValuesDataType: is missing, expected one of FLOAT32"}},
      {"\"valueCount\": 16",
       "\"valueCount\": \"16\"",
       {"$.resources.input.initialValues.valueCount: is \"16\", expected an integer from 0 to 4294967295"}},
      {"\"valueCount\": 16", "\"valueCount\": -16", {"$.resources.input.initialValues.valueCount: is -16"}},
      {"\"valueCount\": 16", "\"valueCount\": 0", {"valueCount: is 0, expected an integer from 1"}},
      {"\"valueCount\": 16, ", "", {"$.resources.input.initialValues.valueCount: is missing"}},
      {"\"valueCount\": 16", "\"valueCount\": 15", {"$.commands[0].bindings.InputTensor", "60 bytes", "64"}},
      {", \"valueDelta\": 1", "", {"$.resources.input.initialValues.valueDelta: is missing"}},
      {"\"valueStart\": 1", "\"valueStart\": true", {"initialValues.valueStart: is true, expected a number"}},
      {"\"valueStart\": 1", "\"valueStart\": \"one\"", {"valueStart: is \"one\"", "\"nan\", \"inf\", \"-inf\""}},
      {"\"valueStart\": 1", "\"valueStart\": 1e60", {"valueStart: is 1e+60, expected a number that FLOAT32 holds"}},
      {"\"valueStart\": 1",
       "\"valueBegin\": 1",
       {"$.resources.input.initialValues: has none of the keys value, valueStart, sourcePath"}},
      {"\"valueStart\": 1", "\"value\": 1", {"initialValues.valueDelta: is an unknown key"}},
      {"{ \"valueCount\": 16, \"valueStart\": 1, \"valueDelta\": 1 }",
       "[]",
       {"$.resources.input.initialValues: is an array of 0"}},
      {"{ \"valueCount\": 16, \"valueStart\": 1, \"valueDelta\": 1 }",
       "[1, 2, [3]]",
       {"$.resources.input.initialValues[2]: "}},
      {"{ \"valueCount\": 16, \"valueStart\": 1, \"valueDelta\": 1 }",
       "[1, 2, null]",
       {"initialValues[2]: is null, expected a number"}},
      {"{ \"valueCount\": 16, \"valueStart\": 1, \"valueDelta\": 1 }",
       "\"deferred\"",
       {"initialValues: is \"deferred\""}},
      {"\"initialValues\": {",
       "\"sizeInBytes\": 60, \"initialValues\": {",
       {"$.resources.input.sizeInBytes: is 60, expected at least 64"}},
      {"\"initialValues\": {", "\"sizeInBytes\": 9e18, \"initialValues\": {", {"$.resources.input.sizeInBytes: "}},
      {"\"initialValues\": {",
       "\"sizeInBytes\": 4000000000000000000, \"initialValues\": {",
       {"$.resources.input: wants 4000000000000000000 bytes for its bytes, expected no more than"}},
      {"\"initialValues\": {",
       "\"resampleSize\": [1,1,4,4], \"initialValues\": {",
       {"$.resources.input.resampleSize: "}},
      // Operators.
      {"DML_OPERATOR_SLICE",
       "DML_OPERATOR_GEMM",
       {"$.dispatchables.slice.type: is \"DML_OPERATOR_GEMM\", which DirectML has and dmlref has not, expected one of "
        "the "
        "operators SLICE, SLICE1"}},
      {"DML_OPERATOR_SLICE",
       "SCATTER",
       {"$.dispatchables.slice.type: is \"SCATTER\", which DirectML has and dmlref has not, expected one of the"}},
      {"DML_OPERATOR_SLICE",
       "DML_OPERATOR_GEMMM",
       {"$.dispatchables.slice.type: is \"DML_OPERATOR_GEMMM\", expected one of the operators SLICE, SLICE1"}},
      {"DML_OPERATOR_SLICE", "hlsl", {"$.dispatchables.slice.type: is \"hlsl\""}},
      {"DML_OPERATOR_SLICE\"", "hlsl\", \"compiler\": \"dxc\"", {"$.dispatchables.slice.type: is \"hlsl\""}},
      {"\"desc\"", "\"descr\"", {"$.dispatchables.slice.descr: is an unknown key, expected one of type, desc"}},
      {"\"type\": \"DML_OPERATOR_SLICE\",", "", {"$.dispatchables.slice.type: is missing"}},
      {"\"DimensionCount\": 4,", "", {"$.dispatchables.slice.desc.DimensionCount: is missing, expected an unsigned"}},
      {"\"DimensionCount\": 4",
       "\"DimensionCount\": 5",
       {"$.dispatchables.slice.desc.Offsets: has 4 elements, expected 5 as DimensionCount says"},
       3},
      {"\"Offsets\": [0,0,1,2]",
       "\"Offsets\": [0,0,1,-2]",
       {"$.dispatchables.slice.desc.Offsets[3]: is -2, expected an integer from 0 to 4294967295"}},
      {"\"Offsets\": [0,0,1,2]", "\"Offsets\": [0,0,1,4294967296]", {"desc.Offsets[3]: is 4294967296"}},
      {"\"Offsets\": [0,0,1,2]", "\"Offsets\": [0,0,1.5,2]", {"desc.Offsets[2]: is 1.5"}},
      {"\"Offsets\": [0,0,1,2]", "\"offsets\": [0,0,1,2]", {"desc.offsets: is an unknown key", "Offsets"}},
      {"\"Offsets\": [0,0,1,2]", "\"Offsets\": 2", {"desc.Offsets: is 2, expected an array of unsigned integers"}},
      {"\"Sizes\": [1,1,4,4]", "\"Size\": [1,1,4,4]", {"desc.InputTensor.Size: is an unknown key"}},
      {", \"Sizes\": [1,1,4,4]", "", {"desc.InputTensor.Sizes: is missing"}},
      {"\"Sizes\": [1,1,4,4]",
       "\"Sizes\": [1,1,4,4], \"Strides\": [4,1]",
       {"desc.InputTensor.Strides: has 2 elements, expected 4"}},
      {"\"Sizes\": [1,1,4,4]",
       "\"Sizes\": [1,1,4,4], \"DimensionCount\": 3",
       {"desc.InputTensor.Sizes: has 4 elements, expected 3 as DimensionCount says"}},
      {"\"Sizes\": [1,1,4,4]",
       "\"Sizes\": [1,1,4,4], \"Flags\": \"MINE\"",
       {"desc.InputTensor.Flags: is \"MINE\", expected NONE"}},
      {"{ \"DataType\": \"FLOAT32\", \"Sizes\": [1,1,4,4] }",
       "\"input\"",
       {"desc.InputTensor: is \"input\", expected a tensor"}},
      {"\"InputTensor\": { \"DataType\": \"FLOAT32\", \"Sizes\": [1,1,4,4] },",
       "",
       {"$.dispatchables.slice.desc.InputTensor: is missing, expected a tensor"}},
      {"\"DataType\": \"FLOAT32\", \"Sizes\": [1,1,4,4]", "\"Sizes\": [1,1,4,4]", {"InputTensor.DataType: is missing"}},
      {"\"DataType\": \"FLOAT32\", \"Sizes\": [1,1,4,4]",
       "\"DataType\": 1, \"Sizes\": [1,1,4,4]",
       {"InputTensor.DataType: is 1, expected a string"}},
      // Commands and bindings.
      {"\"type\": \"print\"",
       "\"type\": \"show\"",
       {"$.commands[1].type: is \"show\", expected dispatch, print or writeFile"}},
      {"\"resource\": \"output\"",
       "\"resource\": \"outptu\"",
       {"$.commands[1].resource: is \"outptu\", expected one of the resources input, output"}},
      {"\"resource\": \"output\"", "\"ressource\": \"output\"", {"$.commands[1].ressource: is an unknown key"}},
      {"\"dispatchable\": \"slice\"",
       "\"dispatchable\": \"slize\"",
       {"$.commands[0].dispatchable: is \"slize\", expected one of the dispatchables slice"}},
      {"\"InputTensor\": \"input\", ", "", {"$.commands[0].bindings.InputTensor: is missing"}},
      {"\"bindings\"", "\"binding\"", {"$.commands[0].binding: is an unknown key"}},
      {"\"InputTensor\": \"input\"",
       "\"Input\": \"input\"",
       {"$.commands[0].bindings.Input: names no tensor of SLICE, expected one of InputTensor, OutputTensor",
        "$.commands[0].bindings.InputTensor: is missing, expected a resource for InputTensor of SLICE"},
       2},
      {"\"InputTensor\": \"input\"",
       "\"InputTensor\": [\"input\", \"output\"]",
       {"$.commands[0].bindings.InputTensor: is an array of 2 elements, expected one resource"}},
      {"\"InputTensor\": \"input\"",
       "\"InputTensor\": { \"name\": \"input\", \"shapes\": [4] }",
       {"InputTensor.shapes: is an unknown key"}},
      {"\"InputTensor\": \"input\"",
       "\"InputTensor\": { \"name\": \"input\", \"elementOffset\": 16 }",
       {"$.commands[0].bindings.InputTensor: begins at byte 64, expected it within the 64 bytes"}},
      {"\"InputTensor\": \"input\"",
       "\"InputTensor\": { \"name\": \"input\", \"elementCount\": 17 }",
       {"$.commands[0].bindings.InputTensor: takes 68 bytes"}},
      {"\"InputTensor\": \"input\"",
       "\"InputTensor\": { \"name\": \"input\", \"elementCount\": 8 }",
       {"$.commands[0].bindings.InputTensor: ", "32 bytes", "64"}},
      {"\"OutputTensor\": \"output\"",
       "\"OutputTensor\": \"input\"",
       {"$.commands[0].bindings.OutputTensor: ", "overlaps"}},
      {"\"Sizes\": [1,1,4,4]",
       "\"Sizes\": [1,1,4,4], \"Flags\": \"OWNED_BY_DML\"",
       {"$.dispatchables.slice.bindings.InputTensor: is missing"}},
      {"{ \"type\": \"print\", \"resource\": \"output\" }",
       "\"print\"",
       {"$.commands[1]: is \"print\", expected a command"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.from) + "  ->  " + row.to);
    write("model.json", replaced(std::string(slice_model), row.from, row.to));
    std::vector<std::string> fragments = row.fragments;
    fragments.emplace_back("model.json: ");
    expect_unusable(dmlref({"run", "model.json"}), fragments, row.faults);
  }
}

TEST_F(BadInput, OfOwnedTensorsAndActivations) {
  const std::string owned = R"({"resources": {"x": {"initialValuesDataType": "FLOAT32", "initialValues": [1,2]},
      "y": {"initialValuesDataType": "FLOAT32", "initialValues": [0,0]}},
    "dispatchables": {"n": {"type": "MEAN_VARIANCE_NORMALIZATION1", "bindings": {"InputTensor": "x"}, "desc": {
      "InputTensor": {"DataType": "FLOAT32", "Sizes": [2], "Flags": "OWNED_BY_DML"},
      "OutputTensor": {"DataType": "FLOAT32", "Sizes": [2]}, "AxisCount": 1, "Axes": [0],
      "NormalizeVariance": true, "Epsilon": 1, "FusedActivation": {"Type": "ACTIVATION_ELU", "Alpha": 1}}}},
    "commands": [{"type": "dispatch", "dispatchable": "n", "bindings": {"OutputTensor": "y"}}]})";
  write("model.json", owned);
  EXPECT_EQ(dmlref({"run", "model.json"}).status, 0);
  const Row rows[] = {
      {"\"bindings\": {\"OutputTensor\"",
       "\"bindings\": {\"InputTensor\": \"x\", \"OutputTensor\"",
       {"$.commands[0].bindings.InputTensor: is flagged OWNED_BY_DML"}},
      {"\"bindings\": {\"InputTensor\": \"x\"}",
       "\"bindings\": {}",
       {"$.dispatchables.n.bindings.InputTensor: is missing"}},
      {"\"bindings\": {\"InputTensor\": \"x\"}",
       "\"bindings\": {\"OutputTensor\": \"y\"}",
       {"$.dispatchables.n.bindings.OutputTensor: is not flagged OWNED_BY_DML",
        "$.dispatchables.n.bindings.InputTensor: is missing"},
       2},
      {"\"bindings\": {\"InputTensor\": \"x\"}",
       "\"bindings\": {\"InputTensor\": \"x\", \"ScaleTensor\": \"x\"}",
       {"$.dispatchables.n.bindings.ScaleTensor: is bound, but the tensor is absent"}},
      {"\"initialValues\": [1,2]", "\"initialValues\": [1]", {"$.dispatchables.n.bindings.InputTensor: ", "4 bytes"}},
      {"ACTIVATION_ELU", "ACTIVATION_ELUU", {"$.dispatchables.n.desc.FusedActivation.Type: is \"ACTIVATION_ELUU\""}},
      {", \"Alpha\": 1", "", {"$.dispatchables.n.desc.FusedActivation.Alpha: is missing"}},
      {"\"Alpha\": 1", "\"Alpha\": 1, \"Beta\": 1", {"FusedActivation.Beta: is an unknown key"}},
      {"\"Epsilon\": 1", "\"Epsilon\": \"small\"", {"desc.Epsilon: is \"small\", expected a number"}},
      {"\"NormalizeVariance\": true",
       "\"NormalizeVariance\": \"yes\"",
       {"desc.NormalizeVariance: is \"yes\", expected true or false"}},
      {"\"bindings\": {\"InputTensor\"",
       "\"dmlCompileType\": \"Fast\", \"bindings\": {\"InputTensor\"",
       {"$.dispatchables.n.dmlCompileType: is \"Fast\""}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.from) + "  ->  " + row.to);
    write("model.json", replaced(owned, row.from, row.to));
    expect_unusable(dmlref({"run", "model.json"}), row.fragments, row.faults);
  }
}

/// Nothing runs where a later command cannot: neither the print nor the file before it is seen.
TEST_F(BadInput, AllFaultsOfCommandsAreToldBeforeAnythingRuns) {
  const std::string model = replaced(std::string(slice_model), "\"commands\": [",
                                     R"("commands": [
    { "type": "dispatch", "dispatchable": "slice", "bindings": { "InputTensor": "input", "OutputTensor": "output" } },
    { "type": "print", "resource": "output" },
    { "type": "writeFile", "resource": "output", "targetPath": "written.npy" },)");
  const std::string good = R"({ "InputTensor": "input", "OutputTensor": "output" } },
    { "type": "print", "resource": "output" }
  ])";
  write("model.json", model);
  EXPECT_EQ(dmlref({"run", "model.json"}).out, std::string(slice_result) + std::string(slice_result));
  fs::remove(file("written.npy"));

  write("model.json", replaced(model, good, R"({ "InputTensor": "output", "OutputTensor": "output" } },
    { "type": "dispatch", "dispatchable": "slice",
      "bindings": { "InputTensor": { "name": "input", "elementOffset": 16 }, "OutputTensor": "output" } },
    { "type": "dispatch", "dispatchable": "slice",
      "bindings": { "InputTensor": "input", "OutputTensor": { "name": "input", "elementOffset": 15 } } }
  ])"));
  expect_unusable(dmlref({"run", "model.json"}),
                  {"$.commands[3].bindings.InputTensor: gives 24 bytes, expected at least the 64",
                   "$.commands[4].bindings.InputTensor: begins at byte 64, expected it within the 64 bytes",
                   "$.commands[5].bindings.OutputTensor: gives 4 bytes, expected at least the 24"},
                  3);
  EXPECT_FALSE(fs::exists(file("written.npy")));

  write("model.json", replaced(model, good, R"({ "InputTensor": "input", "OutputTensor": "nowhere" } },
    { "type": "dispatch", "dispatchable": "slice", "bindings": { "InputTensor": 7 } },
    { "type": "print", "resource": "out" }
  ])"));
  expect_unusable(dmlref({"run", "model.json"}),
                  {"$.commands[3].bindings.OutputTensor: is \"nowhere\"", "$.commands[4].bindings.InputTensor: is 7",
                   "$.commands[4].bindings.OutputTensor: is missing", "$.commands[5].resource: is \"out\""},
                  4);

  write("model.json", replaced(model, good, R"({ "InputTensor": "input", "OutputTensor": "output" } },
    { "type": "writeFile", "resource": "output", "targetPath": "a.npy", "dimensions": [7] },
    { "type": "writeFile", "resource": "output", "targetPath": "a.png" }
  ])"));
  expect_unusable(dmlref({"run", "model.json"}),
                  {"$.commands[4].dimensions: is [7]", "$.commands[5].targetPath: names a.png"}, 2);
  EXPECT_FALSE(fs::exists(file("written.npy")));

  // A thousand faults are told in part.
  std::string prints;
  for (int i = 0; i < 1000; ++i) prints += R"(, { "type": "print", "resource": "x" })";
  write("model.json", print_model(R"({"initialValuesDataType": "INT8", "initialValues": [1]})", prints));
  expect_unusable(dmlref({"run", "model.json"}), {"$.commands[50].resource", "dmlref: and 950 faults more"}, 51);
}

TEST_F(BadInput, OfFiles) {
  const auto source = [](const char* name, const char* type) {
    return print_model(std::string(R"({"initialValues": {"sourcePath": ")") + name + "\"}" +
                       (*type == '\0' ? "" : std::string(R"(, "initialValuesDataType": ")") + type + "\"") + "}");
  };
  const std::string path = "model.json: $.resources.r.initialValues.sourcePath: names ";
  struct FileRow {
    const char* name;
    std::string content;
    const char* type;
    std::vector<std::string> fragments;
  };
  const std::string good = npy("<f4", "(2,)", bytes_of<float>({1, 2}));
  const FileRow rows[] = {
      {"a.npy", "", "", {path, "a.npy, which is no .npy file"}},
      {"a.npy", "not an array at all", "", {path, "is no .npy file"}},
      {"a.npy", good.substr(0, 20), "", {path, "ends within its .npy header"}},
      {"a.npy", good.substr(0, 9), "", {path, "is no .npy file"}},
      {"a.npy", replaced(good, "\x01", "\x09"), "", {path, "version 9.0"}},
      {"a.npy", good, "FLOAT16", {path, "holds FLOAT32, expected FLOAT16"}},
      {"a.npy", npy("!f4", "(2,)", std::string(8, 'x')), "", {path, "elements of type '!f4'"}},
      {"a.npy", npy("<c8", "(1,)", std::string(8, 'x')), "", {path, "elements of type '<c8'"}},
      {"a.npy", npy("|O", "(1,)", std::string(8, 'x')), "", {path, "elements of type '|O'"}},
      {"a.npy", npy("|b2", "(1,)", "xx"), "", {path, "elements of type '|b2'"}},
      {"a.npy", npy("<f4", "(2, 2)", std::string(16, 'x'), "True"), "", {path, "Fortran order, expected C order"}},
      {"a.npy", npy("<f4", "(2, 1, 2)", std::string(16, 'x'), "True"), "", {path, "Fortran order, expected C order"}},
      {"a.npy",
       npy("<f4", "(3,)", std::string(8, 'x')),
       "",
       {path, "has 8 bytes of elements, expected 12 for shape (3)"}},
      {"a.npy", npy("<f4", "(1,)", std::string(8, 'x')), "", {path, "has 8 bytes of elements, expected 4"}},
      {"a.npy", npy("<f4", "(0,)", ""), "", {path, "no extent of 0"}},
      {"a.npy", npy("<f4", "(9999999999, 9999999999, 9999999999)", "x"), "", {path, "which no memory holds"}},
      {"a.npy", npy("<f4", "(99999999999999999999999,)", "x"), "", {path, "broken .npy header"}},
      {"a.npy", npy("<f4", "(-1,)", "x"), "", {path, "broken .npy header"}},
      {"a.npy", replaced(good, "'shape'", "'shapo'"), "", {path, "broken .npy header"}},
      {"a.npy",
       replaced(good, "'shape': (2,), ", "               "),
       "",
       {path, "lacks one of 'descr', 'fortran_order', 'shape'"}},
      {"a.dat", "", "FLOAT32", {path, "is empty"}},
      {"a.dat", "12345", "FLOAT32", {path, "has 5 bytes, expected a multiple of 4"}},
      {"a.dat", "1234", "", {"$.resources.r.initialValuesDataType: is missing"}},
      {"a.png", "no picture", "UINT8", {path, "is no picture, expected a PNG or JPEG file"}},
      {"a.png", "", "UINT8", {path, "is no picture"}},
      {"a.png", "\x89PNG\r\n\x1a\n and then nothing", "UINT8", {path, "is no readable PNG"}},
      {"a.jpg", "\xFF\xD8\xFF\xE0 and then nothing", "FLOAT32", {path, "is no readable JPEG"}},
      {"a.png", read_text(fs::path(DMLREF_TEST_EXAMPLES) / "picture.png").substr(0, 9000), "UINT8", {path, "PNG"}},
      {"a.png",
       read_text(fs::path(DMLREF_TEST_EXAMPLES) / "picture.png"),
       "INT32",
       {"$.resources.r.initialValuesDataType: is \"INT32\", expected FLOAT32, FLOAT16 or UINT8 for a picture"}},
  };
  for (const FileRow& row : rows) {
    SCOPED_TRACE(row.name + std::string(" ") + row.fragments.back());
    write(row.name, row.content);
    write("model.json", source(row.name, row.type));
    expect_unusable(dmlref({"run", "model.json"}), row.fragments);
  }
  write("model.json", source("missing.npy", ""));
  expect_unusable(dmlref({"run", "model.json"}), {path, "missing.npy, which cannot be opened: No such file"});
  fs::create_directory(file("folder.npy"));
  write("model.json", source("folder.npy", ""));
  expect_unusable(dmlref({"run", "model.json"}), {path, "folder.npy, which is a directory"});
}

TEST_F(BadInput, OfWriteFile) {
  const auto model = [](const char* command) {
    return print_model(R"({"initialValuesDataType": "INT8", "initialValues": [1,2,3,4,5,6]})",
                       std::string(R"(, {"type": "writeFile", "resource": "r", )") + command + "}");
  };
  const Row rows[] = {
      {R"("targetPath": "a.npy", "dimensions": [7])",
       "",
       {"$.commands[1].dimensions: is [7], expected no more than the 6"}},
      {R"("targetPath": "a.npy", "dimensions": [4294967295, 4294967295, 4294967295])",
       "",
       {"$.commands[1].dimensions: "}},
      {R"("targetPath": "a.npy", "dimensions": [0])", "", {"$.commands[1].dimensions: has an extent of 0"}},
      {R"("targetPath": "a.png", "dimensions": [2,3])", "", {"$.commands[1].targetPath: ", "INT8, expected FLOAT32"}},
      {R"("targetPath": "a.png", "dimensions": [2,3,1])",
       "",
       {"$.commands[1].targetPath: ", "[2, 3, 1], expected [1, C, H, W]"}},
      {R"("targetPath": "a.png")", "", {"$.commands[1].targetPath: ", "[6], expected [1, C, H, W]"}},
      {R"("targetPath": "")", "", {"$.commands[1].targetPath: is \"\""}},
      {R"("dimensions": [6])", "", {"$.commands[1].targetPath: is missing"}},
      {R"("targetPath": "model.json/x.dat")", "", {"$.commands[1].targetPath: ", "cannot be written"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.from);
    write("model.json", model(row.from));
    Outcome outcome = dmlref({"run", "model.json"});
    // What only the system knows shows when the file is written: after the print.
    if (row.fragments.back() == "cannot be written") outcome.out.clear();
    expect_unusable(outcome, row.fragments);
  }
}

TEST_F(BadInput, OfTheCommandLine) {
  write("good.json", slice_model);
  write("a.npy", npy("<f4", "(1,)", "1234"));
  struct LineRow {
    std::vector<std::string> arguments;
    std::vector<std::string> fragments;
  };
  const LineRow rows[] = {
    {{}, {"no command is given, expected one of run, validate, explain, compare, import, "}},
    {{"frobnicate"}, {"command \"frobnicate\" is unknown, expected one of run, validate, "}},
    {{"rnu", "good.json"}, {"command \"rnu\" is unknown, did you mean run? (dmlref --help shows them all)"}},
    {{"Validate", "good.json"}, {"command \"Validate\" is unknown, did you mean validate?"}},
    {{"check_kit", "a", "b"}, {"command \"check_kit\" is unknown, did you mean check-kit?"}},
    {{"--nonsense"}, {"option \"--nonsense\" is unknown, expected one of --help, --version"}},
    {{"--versoin"}, {"option \"--versoin\" is unknown, did you mean --version?"}},
    {{"run", "good.json", "--feature_level", "6_0"},
     {"option \"--feature_level\" is unknown, did you mean --feature-level? (dmlref run --help shows them all)"}},
    {{"run", "--feature_level=6_0", "good.json"},
     {"option \"--feature_level\" is unknown, did you mean --feature-level?"}},
    {{"run", "good.json", "-v"}, {"option \"-v\" is unknown, expected one of --help, --feature-level, --isa"}},
    {{"explain", "good.json"}, {"--element is required"}},
    {{"import", "model.onnx"}, {"--out is required"}},
    {{"compare", "a.npy", "a.npy", "--shape", "1"}, {"--shape: is given without --type, expected both"}},
    {{"compare", "a.npy", "a.npy", "--type", "FLOAT8"}, {"--type: is \"FLOAT8\", expected one of FLOAT32, "}},
    {{"run"}, {"MODEL.json"}},
    {{"run", "good.json", "more.json"}, {"more.json"}},
    {{"run", "nowhere.json"}, {"nowhere.json: cannot be opened: No such file"}},
    {{"run", "."}, {".: is a directory"}},
    {{"run", "/dev/zero"}, {"/dev/zero: has more than 268435456 bytes"}},
    {{"run", "/dev/null"}, {"/dev/null: line 1, column 1: is not valid JSON"}},
    {{"run", ""}, {"cannot be opened"}},
    {{"run", "a.npy"}, {"a.npy: line 1, column 1: is not valid JSON"}},
    {{"run", "good.json", "--feature-level", "7_0"}, {"--feature-level: is \"7_0\", expected one of 1_0, 2_0", "6_4"}},
    {{"run", "good.json", "--feature-level"}, {"--feature-level"}},
    {{"run", "good.json", "--feature-level", "all"}, {"--feature-level: is \"all\""}},
    {{"run", "good.json", "--isa", "mmx"}, {"--isa: is \"mmx\", expected one that this CPU runs: scalar"}},
#if defined(__x86_64__)
    {{"run", "good.json", "--isa", "neon"}, {"--isa: is \"neon\""}},
#endif
    {{"run", "good.json", "--threads", "0"}, {"--threads: is \"0\", expected an integer from 1"}},
    {{"run", "good.json", "--threads", "-1"}, {"--threads"}},
    {{"run", "good.json", "--threads", "two"}, {"--threads: is \"two\""}},
    {{"run", "good.json", "--threads", "99999999999999999999"}, {"--threads"}},
    {{"run", "good.json", "--ulp", "3"}, {"--ulp"}},
    {{"validate"}, {"MODEL.json"}},
    {{"validate", "nowhere.json"}, {"nowhere.json"}},
    {{"validate", "good.json", "--feature-level", "none"}, {"--feature-level: is \"none\""}},
    {{"compare", "a.npy"}, {"B.npy"}},
    {{"compare", "a.npy", "nowhere.npy"}, {"nowhere.npy: cannot be opened"}},
    {{"compare", "a.npy", "good.json"}, {"good.json: is no .npy file"}},
    {{"compare", "a.npy", "a.npy", "--ulp", "-1"}, {"--ulp"}},
    {{"compare", "a.npy", "a.npy", "--ulp", "1.5"}, {"--ulp: is \"1.5\""}},
    {{"info", "more"}, {"more"}},
    {{"run", "line\nbreak.json"}, {"line break.json"}},
  };
  for (const LineRow& row : rows) {
    SCOPED_TRACE(::testing::PrintToString(row.arguments));
    const Outcome outcome = dmlref(row.arguments);
    expect_unusable(outcome, row.fragments);
    for (const char* word : {"subcommand", "SUBCOMMAND", "verb ", "UNKNOWN"}) {
      EXPECT_EQ(outcome.err.find(word), std::string::npos) << outcome;
    }
  }
  expect_unusable(dmlref({"run", "good.json"}, {"DMLREF_ISA=mmx"}), {"DMLREF_ISA", "mmx", "scalar"});
  expect_unusable(dmlref({"info"}, {"DMLREF_ISA=mmx"}), {"DMLREF_ISA", "mmx", "scalar"});
  // The option goes before the variable.
  EXPECT_EQ(dmlref({"run", "good.json", "--isa", "scalar"}, {"DMLREF_ISA=mmx"}).out, slice_result);
}

TEST_F(BadInput, TellsAllFaultsOfAModelInOneRun) {
  write("model.json", R"({"comands": [], "resources": {
    "a": {"initialValuesDataType": "FLOAT31", "initialValues": [1]},
    "b": {"initialValuesDataType": "FLOAT32", "initialValues": ["one"]},
    "c": {"initialValuesDataType": "FLOAT32", "initialValues": [1]}},
  "dispatchables": {
    "s": {"type": "DML_OPERATOR_SLICE", "desc": {"InputTensor": {"DataType": "F32", "Sizes": [-1], "Sized": 1},
          "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1]}, "DimensionCount": 2, "Offsets": [0], "Strides": [1.5]}},
    "n": {"type": "DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1", "desc": {
          "InputTensor": {"DataType": "FLOAT32", "Sizes": [1]}, "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1]},
          "AxisCount": 1, "Axes": [0], "NormalizeVariance": 2.5, "Epsilon": "infinite"}}},
  "commands": [
    {"type": "dispatch", "dispatchable": "s", "bindings": {}},
    {"type": "dispatch", "dispatchable": "x", "bindings": {}},
    {"type": "print", "resource": "d"}, {"type": "print", "resource": "a"}, {"type": "paint"}]})");
  const std::vector<std::string> faults{
      "$.comands: is an unknown key",
      "$.resources.a.initialValuesDataType: is \"FLOAT31\", expected one of FLOAT32,",
      "$.resources.b.initialValues[0]: is \"one\"",
      "$.dispatchables.s.desc.InputTensor.Sized: is an unknown key",
      "$.dispatchables.s.desc.InputTensor.DataType: is \"F32\", expected one of FLOAT32,",
      "$.dispatchables.s.desc.InputTensor.Sizes[0]: is -1",
      "$.dispatchables.s.desc.Offsets: has 1 elements, expected 2 as DimensionCount says",
      "$.dispatchables.s.desc.Sizes: is missing",
      "$.dispatchables.s.desc.Strides[0]: is 1.5",
      "$.dispatchables.n.desc.NormalizeVariance: is 2.5",
      "$.dispatchables.n.desc.Epsilon: is \"infinite\", expected ",
      "$.commands[1].dispatchable: is \"x\", expected one of the dispatchables n, s",
      "$.commands[2].resource: is \"d\", expected one of the resources a, b, c",
      "$.commands[4].type: is \"paint\""};
  for (const char* command : {"run", "validate"}) {
    const Outcome outcome = dmlref({command, "model.json"});
    expect_unusable(outcome, faults, static_cast<int>(faults.size()));
    EXPECT_EQ(outcome.err.find("UNKNOWN"), std::string::npos) << outcome;
  }
}

TEST_F(BadInput, TellsAllFaultsOfOneResourceAndOneCommand) {
  write("model.json", R"({"resources": {
    "a": {"type": "texture", "initialValuesDataType": "FLOAT31", "initialValues": ["x"], "sizeInBytes": -1,
          "initialValuesOffsetInBytes": "0", "sized": 1},
    "b": {"initialValuesDataType": "UINT8", "initialValues": [256], "sizeInBytes": 1.5}},
  "dispatchables": {
    "s": {"type": "DML_OPERATOR_SLICE", "dmlCompileType": "none", "bindings": {"Input": "b"}, "desc": {
          "InputTensor": {"DataType": "UINT8", "Sizes": [1]}, "OutputTensor": {"DataType": "UINT8", "Sizes": [1]},
          "DimensionCount": 1, "Offsets": [0], "Sizes": [1], "Strides": [1]}}},
  "commands": [
    {"type": "print", "resource": "c", "verbose": 1, "loud": true},
    {"type": "writeFile", "resource": "d", "targetPath": "", "dimensions": [0]},
    {"type": "dispatch", "bindings": {}, "threads": 1}]})");
  const std::vector<std::string> faults{"$.resources.a.sized: is an unknown key",
                                        "$.resources.a.type: is \"texture\", expected \"buffer\"",
                                        "$.resources.a.initialValuesDataType: is \"FLOAT31\"",
                                        "$.resources.a.sizeInBytes: is -1",
                                        "$.resources.a.initialValuesOffsetInBytes: is \"0\"",
                                        "$.resources.b.initialValues[0]: is 256",
                                        "$.resources.b.sizeInBytes: is 1.5",
                                        "$.dispatchables.s.dmlCompileType: is \"none\"",
                                        "$.dispatchables.s.bindings.Input: names no tensor",
                                        "$.commands[0].loud: is an unknown key",
                                        "$.commands[0].resource: is \"c\"",
                                        "$.commands[0].verbose: is 1, expected true or false",
                                        "$.commands[1].resource: is \"d\"",
                                        "$.commands[1].targetPath: is \"\"",
                                        "$.commands[1].dimensions: has an extent of 0",
                                        "$.commands[2].threads: is an unknown key"};
  expect_unusable(dmlref({"validate", "model.json"}), faults, static_cast<int>(faults.size()));
}

TEST_F(BadInput, OfMissingFilesIsToldOfEach) {
  write("model.json", R"({"resources": {
    "a": {"initialValues": {"sourcePath": "a.npy"}}, "b": {"initialValues": {"sourcePath": "b.npy"}}},
    "dispatchables": {}, "commands": []})");
  expect_unusable(dmlref({"run", "model.json"}), {"a.npy, which cannot be opened", "b.npy, which cannot be opened"}, 2);
}

/// Names of others end up on a terminal, which obeys control characters.
TEST_F(BadInput, NamesHaveNoControlCharactersWhereTheyAreShown) {
  const std::string name = R"(\u001b[31mred\u009b1m\u0007\u007f)", shown = " [31mred 1m  ";
  write("model.json", replaced(replaced(print_model(R"({"initialValuesDataType": "UINT8", "initialValues": [65]})"),
                                        "\"r\":", "\"" + name + "\":"),
                               R"("resource": "r")", R"("resource": ")" + name + "\""));
  EXPECT_EQ(dmlref({"run", "model.json"}).out, "Resource '" + shown + "': 65\n");
  const std::string npy_of = npy("\x1b[2J\xC2\x9B\x9B", "(1,)", "\1");
  write("a.npy", npy_of);
  const Outcome outcome = dmlref({"compare", "a.npy", "a.npy"});
  EXPECT_EQ(outcome.status, 2) << outcome;
  EXPECT_NE(outcome.err.find("' [2J ?'"), std::string::npos) << outcome;
  for (const char control : {'\x1b', '\x9b'}) EXPECT_EQ(outcome.err.find(control), std::string::npos) << outcome;
}

TEST_F(BadInput, OfNumbersBeyondDouble) {
  write("model.json", print_model(R"({"initialValuesDataType": "FLOAT64", "initialValues": [1e999]})"));
  expect_unusable(dmlref({"validate", "model.json"}),
                  {"model.json: line ", ": number overflow parsing '1e999', expected a number that FLOAT64 holds"});
}

TEST_F(BadInput, HelpMarksWhatIsRequired) {
  EXPECT_NE(dmlref({"import", "--help"}).out.find("--out DIR REQUIRED"), std::string::npos);
  EXPECT_NE(dmlref({"explain", "--help"}).out.find("--element I,J,... REQUIRED"), std::string::npos);
  const std::string all = dmlref({"--help"}).out;
  EXPECT_NE(all.find("Usage: dmlref [OPTIONS] COMMAND\n"), std::string::npos) << all;
  EXPECT_NE(all.find("\nCommands:\n  run "), std::string::npos) << all;
  EXPECT_EQ(all.find("ubcommand"), std::string::npos) << all;
}

TEST_F(BadInput, HelpAndVersionAreNoMistakes) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"compare", "-h"}, {"--version"}}) {
    const Outcome outcome = dmlref(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome;
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("dmlref"), std::string::npos) << outcome;
  }
}

TEST_F(BadInput, DeepNestingAndLongTextStayOneShortLine) {
  write("model.json", std::string(1000000, '['));
  expect_unusable(dmlref({"run", "model.json"}), {"nested more than 64 deep"});
  write("model.json",
        "{\"resources\": {\"" + std::string(100000, 'k') + "\": 3}, \"dispatchables\": {}, \"commands\": []}");
  expect_unusable(dmlref({"run", "model.json"}), {"expected an object"});
  write("model.json", "{\"a\n\x01\xFF\": 3}");
  expect_unusable(dmlref({"run", "model.json"}), {"is not valid JSON"});
  write("model.json", "{\"a\": \"" + std::string(100000, 'v'));
  const Outcome outcome = dmlref({"run", "model.json"});
  expect_unusable(outcome, {"is not valid JSON"});
  EXPECT_LT(outcome.err.size(), 2000u);
}

/// Damaged models end with 0, 1 or 2, and 2 with one line; never with a signal.
TEST_F(BadInput, DamagedModelsNeverCrash) {
  constexpr std::uint32_t seed = 20240817;
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string originals[] = {std::string(slice_model),
                                   read_text(fs::path(DMLREF_TEST_EXAMPLES) / "qlc_owned_by_dml.json"),
                                   read_text(fs::path(DMLREF_TEST_EXAMPLES) / "mvn1_fused_activation.json"),
                                   read_text(fs::path(DMLREF_TEST_EXAMPLES) / "slice1_strided_tensors.json")};
  const char* pieces[] = {"{",   "}",    "[",    "]",         ",",         ":",         "\"", "0", "-1", "4294967295",
                          "1e9", "null", "true", "[0,0,0,0]", "\"input\"", "\"Sizes\"", "8",  "3", "\\", "\xFF"};
  for (int round = 0; round < 250; ++round) {
    std::string text = originals[random() % 4];
    for (auto edits = 1 + random() % 3; edits > 0; --edits) {
      // Numbers are changed more often than structure, so that many models still parse.
      std::size_t at = random() % text.size();
      if (random() % 4 != 0) at = text.find_first_of("0123456789", at);
      if (at == std::string::npos) continue;
      text.replace(at, random() % 2, pieces[random() % std::size(pieces)]);
    }
    write("model.json", text);
    const Outcome outcome = dmlref({"run", "model.json"});
    ASSERT_TRUE(outcome.status >= 0 && outcome.status <= 2) << outcome << text;
    if (outcome.status == 2) {
      ASSERT_TRUE(outcome.err.starts_with("dmlref: ") && outcome.err.ends_with('\n')) << outcome << text;
      ASSERT_LE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 51) << outcome << text;
      ASSERT_EQ(outcome.out, "") << outcome << text;
    }
  }
}

}  // namespace
}  // namespace dmlref::test
