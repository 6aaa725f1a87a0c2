// What a model may say: initializers, abbreviations, defaults, bindings, commands, files.
#include <cstdint>
#include <limits>

#include "command/command.hpp"

namespace dmlref::test {
namespace {

class Run : public CommandTest {
 protected:
  /// The one line that `model` prints.
  std::string run(std::string_view model, const std::vector<std::string>& options = {}) {
    write("model.json", model);
    std::vector<std::string> arguments{"run", "model.json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = dmlref(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome << model;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }
  std::string print(std::string_view resource) { return run(print_model(resource)); }
};

TEST_F(Run, PrintsTheDocumentsExample) { EXPECT_EQ(run(slice_model), slice_result); }

TEST_F(Run, AllowsCommentsAndTrailingCommas) {
  std::string model(slice_model);
  model = replaced(model, "{\n", "{ // a comment with \"quotes\", and a comma,\n  \"$schema\": \"./_schema.json\",\n");
  model = replaced(model, "[1,1,4,4]", "[1,1,/* [ */4,4, /* ] */]");
  model = replaced(model, "\"resource\": \"output\" }", "\"resource\": \"output\", },");
  EXPECT_EQ(run(model), slice_result);
  // Inside strings they are text.
  model = replaced(std::string(slice_model), "\"output\":", "\"out//put,]\":");
  model = replaced(model, "\"OutputTensor\": \"output\"", "\"OutputTensor\": \"out//put,]\"");
  model = replaced(model, "\"resource\": \"output\"", "\"resource\": \"out//put,]\"");
  EXPECT_EQ(run(model), "Resource 'out//put,]': 7, 8, 11, 12, 15, 16\n");
}

TEST_F(Run, TakesNamesWithAndWithoutTheirPrefix) {
  std::string model = replaced(std::string(slice_model), "DML_OPERATOR_SLICE", "SLICE");
  model = replaced(model, "\"DataType\": \"FLOAT32\"", "\"DataType\": \"DML_TENSOR_DATA_TYPE_FLOAT32\"");
  model = replaced(model, "\"initialValuesDataType\": \"FLOAT32\"",
                   "\"initialValuesDataType\": \"DML_TENSOR_DATA_TYPE_FLOAT32\"");
  EXPECT_EQ(run(model), slice_result);
}

TEST_F(Run, TakesTensorsWrittenInFull) {
  const std::string model = replaced(std::string(slice_model), R"({ "DataType": "FLOAT32", "Sizes": [1,1,4,4] })",
                                     R"({ "Type": "DML_TENSOR_TYPE_BUFFER", "Desc": { "DataType": "FLOAT32",
      "Flags": "DML_TENSOR_FLAG_NONE", "DimensionCount": 4, "Sizes": [1,1,4,4], "Strides": [16,16,4,1],
      "TotalTensorSizeInBytes": 64, "GuaranteedBaseOffsetAlignment": 0 } })");
  EXPECT_EQ(run(model), slice_result);
  EXPECT_EQ(run(replaced(model, "\"Strides\": [16,16,4,1]", "\"Strides\": null")), slice_result);
  EXPECT_EQ(run(replaced(model, "\"DML_TENSOR_FLAG_NONE\"", "[\"NONE\"]")), slice_result);
}

TEST_F(Run, TakesNoArrayWhereItsCountIsZero) {
  const std::string model = R"({
    "resources": { "x": { "initialValuesDataType": "FLOAT32", "initialValues": [3, -4] },
                   "y": { "initialValuesDataType": "FLOAT32", "initialValues": [0, 0] } },
    "dispatchables": { "op": { "type": "MEAN_VARIANCE_NORMALIZATION2", "desc": {
        "InputTensor": { "DataType": "FLOAT32", "Sizes": [2] }, "OutputTensor": { "DataType": "FLOAT32", "Sizes": [2] },
        "AxisCount": 0, "Axes": [], "UseMean": false, "UseVariance": true, "Epsilon": 16 } } },
    "commands": [ { "type": "dispatch", "dispatchable": "op", "bindings": { "InputTensor": "x", "OutputTensor": "y" } },
                  { "type": "print", "resource": "y" } ] })";
  for (const char* axes : {"\"Axes\": [],", "\"Axes\": null,", ""}) {
    EXPECT_EQ(run(replaced(model, "\"Axes\": [],", axes)), "Resource 'y': 0.6, -0.70710677\n") << axes;
  }
  write("model.json", replaced(replaced(model, "\"AxisCount\": 0", "\"AxisCount\": 1"), "\"Axes\": [],", ""));
  expect_unusable(dmlref({"run", "model.json"}), {"$.dispatchables.op.desc.Axes: is missing, expected an array"});
}

/// Each row is one spelling that DxDispatch accepts.
TEST_F(Run, AcceptsEverySpellingOfAModel) {
  const std::string nested_tensor =
      R"({ "Desc": { "DataType": "FLOAT32", "Sizes": [1,1,4,4], "Flags": ["DML_TENSOR_FLAG_NONE"] } })";
  const std::string tensor = R"({ "DataType": "FLOAT32", "Sizes": [1,1,4,4] })";
  struct Spelling {
    std::string from;
    std::string to;
  };
  const Spelling rows[] = {
      {"\"type\": \"DML_OPERATOR_SLICE\",", "\"Type\": \"DML_OPERATOR_SLICE\","},
      {"\"type\": \"DML_OPERATOR_SLICE\",", "\"Type\": \"SLICE\","},
      {"\"desc\"", "\"Desc\""},
      {"[1,1,4,4] }", R"([1,1,4,4], "Strides": [] })"},
      {"[1,1,4,4] }", R"([1,1,4,4], "TotalTensorSizeInBytes": 0 })"},
      {"[1,1,4,4] }", R"([1,1,4,4], "Flags": [], "GuaranteedBaseOffsetAlignment": 0 })"},
      {"[1,1,4,4] }", R"([1,1,4,4], "Type": "BUFFER", "DimensionCount": 4 })"},
      {"[1,1,4,4] }", R"([1,1,4,4], "Type": "DML_TENSOR_TYPE_BUFFER", "Flags": "NONE" })"},
      {tensor, nested_tensor},
      {"\"InputTensor\": \"input\"",
       R"("InputTensor": [{ "name": "input", "elementCount": 0, "elementOffset": 0, "shape": [4],
                          "format": "R32_FLOAT", "counter": "input", "counterOffsetBytes": 4 }])"},
      {"\"type\": \"dispatch\"", "\"type\": \"DISPATCH\", \"threadGroupCount\": [1, 1, 1]"},
      {"\"type\": \"print\"", "\"type\": \"Print\", \"verbose\": false"},
  };
  for (const Spelling& row : rows) {
    SCOPED_TRACE(row.to);
    EXPECT_EQ(run(replaced(std::string(slice_model), row.from, row.to)), slice_result);
  }
  // The members of the desc beside the type.
  const std::string flat = replaced(replaced(std::string(slice_model), "\"desc\": {", ""), "[1,1,1,1]\n      }",
                                    "[1,1,1,1], \"dmlCompileType\": \"DmlCompileGraph\"");
  EXPECT_EQ(run(flat), slice_result);
  write("model.json", replaced(flat, "\"Offsets\": [0,0,1,2]", "\"Offsets\": [0,0,2,2]"));
  const Outcome refused = dmlref({"run", "model.json"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("model.json: $.dispatchables.slice.Offsets[2]: "), std::string::npos) << refused;
  write("model.json", replaced(flat, "\"Offsets\"", "\"offsets\""));
  expect_unusable(dmlref({"run", "model.json"}),
                  {"$.dispatchables.slice.offsets: is an unknown key, expected one of type, desc", "Offsets"});
  write("model.json", replaced(std::string(slice_model), "\"desc\"", "\"Type\": \"SLICE\", \"desc\""));
  expect_unusable(dmlref({"run", "model.json"}), {"$.dispatchables.slice.type: is given beside Type"});
  // A list of typed values names no type of its own.
  EXPECT_EQ(run(R"({"resources": {"r": {"initialValues": [{"type": "UINT8", "value": 6}]}}, "dispatchables": {},
                    "commands": [{"type": "writeFile", "resource": "r", "targetPath": "r.bin", "dimensions": []}]})"),
            "");
  EXPECT_EQ(read_text(file("r.bin")), "\6");
}

TEST_F(Run, BindsTwoTensorsToOneResource) {
  std::string model = replaced(std::string(slice_model), "\"valueCount\": 16", "\"valueCount\": 22");
  model =
      replaced(model, "\"OutputTensor\": \"output\"", R"("OutputTensor": { "name": "input", "elementOffset": 16 })");
  model = replaced(model, "\"resource\": \"output\"", "\"resource\": \"input\"");
  EXPECT_EQ(run(model),
            "Resource 'input': 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 7, 8, 11, 12, 15, 16\n");
  write("model.json", replaced(model, "\"elementOffset\": 16", "\"elementOffset\": 15"));
  expect_unusable(dmlref({"run", "model.json"}),
                  {"$.commands[0].bindings.OutputTensor: overlaps InputTensor in resource input"});
}

TEST_F(Run, UsesStridesOfTheInput) {
  const std::string model =
      replaced(std::string(slice_model), R"("Sizes": [1,1,4,4])", R"("Sizes": [1,1,4,4], "Strides": [16,16,1,4])");
  EXPECT_EQ(run(model), "Resource 'output': 10, 14, 11, 15, 12, 16\n");
}

TEST_F(Run, CutsOutAPartOfAResource) {
  // 64 bytes of input from element 2 on; the output lands in the middle of its buffer.
  std::string model = replaced(std::string(slice_model), "\"valueCount\": 16", "\"valueCount\": 20");
  model = replaced(model, "\"InputTensor\": \"input\"",
                   R"("InputTensor": { "name": "input", "elementOffset": 2, "elementCount": 16 })");
  EXPECT_EQ(run(model), "Resource 'output': 9, 10, 13, 14, 17, 18\n");
  model = replaced(model, "\"valueCount\": 6", "\"valueCount\": 9");
  model = replaced(model, "\"OutputTensor\": \"output\"",
                   R"("OutputTensor": [ { "name": "output", "elementSizeInBytes": 2, "elementOffset": 4 } ])");
  EXPECT_EQ(run(model), "Resource 'output': 0, 0, 9, 10, 13, 14, 17, 18, 0\n");
}

TEST_F(Run, KeepsTheOrderOfCommands) {
  const std::string print_first = R"("commands": [ { "type": "print", "resource": "output" },)";
  EXPECT_EQ(run(replaced(std::string(slice_model), "\"commands\": [", print_first)),
            "Resource 'output': 0, 0, 0, 0, 0, 0\n" + std::string(slice_result));
}

TEST_F(Run, ValidatesByTheFeatureLevel) {
  EXPECT_EQ(run(slice_model, {"--feature-level", "1_0"}), slice_result);
  EXPECT_EQ(run(slice_model, {"--feature-level", "DML_FEATURE_LEVEL_3_0"}), slice_result);
  write("int64.json",
        replaced(replaced(std::string(slice_model), "\"DataType\": \"FLOAT32\", \"Sizes\": [1,1,4,4]",
                          "\"DataType\": \"INT8\", \"Sizes\": [1,1,4,4]"),
                 "\"DataType\": \"FLOAT32\", \"Sizes\": [1,1,3,2]", "\"DataType\": \"INT8\", \"Sizes\": [1,1,3,2]"));
  EXPECT_EQ(dmlref({"run", "int64.json", "--feature-level", "2_1"}).status, 0);
  const Outcome refused = dmlref({"run", "int64.json", "--feature-level", "2_0"});
  EXPECT_EQ(refused.status, 1) << refused;
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("int64.json: $.dispatchables.slice.desc.InputTensor.DataType: "), std::string::npos)
      << refused;
  EXPECT_NE(refused.err.find("(accepted from feature level 2_1)"), std::string::npos) << refused;
}

TEST_F(Run, SaysHowADispatchRunsWhenVerbose) {
  write("model.json", slice_model);
  const Outcome outcome =
      dmlref({"run", "model.json", "--verbose", "--feature-level", "5_0", "--isa", "scalar", "--threads", "2"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, slice_result);
  EXPECT_TRUE(
      outcome.err.starts_with("feature level 5_0, instruction set scalar, 2 threads\n"
                              "$.commands[0]: slice: SLICE, strategy "))
      << outcome;
  EXPECT_TRUE(outcome.err.ends_with(" µs\n")) << outcome;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome;
  const Outcome named = dmlref({"run", "model.json", "--verbose", "--threads", "1"}, {"DMLREF_ISA=scalar"});
  EXPECT_TRUE(named.err.starts_with("feature level 6_4, instruction set scalar, 1 thread\n")) << named;
}

TEST_F(Run, PrintsEveryTypeInFull) {
  EXPECT_EQ(print(R"({"initialValuesDataType": "INT8", "initialValues": [-128, 127]})"), "Resource 'r': -128, 127\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "UINT8", "initialValues": [0, 65, 255]})"),
            "Resource 'r': 0, 65, 255\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "INT16", "initialValues": [-32768, 32767]})"),
            "Resource 'r': -32768, 32767\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "UINT16", "initialValues": [65535]})"), "Resource 'r': 65535\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "INT32", "initialValues": [-2147483648]})"),
            "Resource 'r': -2147483648\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "UINT32", "initialValues": [4294967295]})"),
            "Resource 'r': 4294967295\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "INT64", "initialValues": [-9223372036854775808, 7]})"),
            "Resource 'r': -9223372036854775808, 7\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "UINT64", "initialValues": [18446744073709551615]})"),
            "Resource 'r': 18446744073709551615\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "FLOAT64", "initialValues": [0.1, 1e300, "-INF"]})"),
            "Resource 'r': 0.1, 1e+300, -inf\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "FLOAT32", "initialValues": [0.1, 16777217, -0.0, 1.5e-45, "nan"]})"),
            "Resource 'r': 0.1, 16777216, -0, 1e-45, nan\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "FLOAT16", "initialValues": [65504, 0.1, 2049, -6e-8, "inf", "NaN"]})"),
            "Resource 'r': 65504, 0.1, 2048, -6e-08, inf, nan\n");
}

TEST_F(Run, PrintsBitsWhenVerbose) {
  EXPECT_EQ(run(R"({"resources": {"r": {"initialValuesDataType": "FLOAT16", "initialValues": [1, -2]}},
                    "dispatchables": {}, "commands": [{"type": "PRINT", "resource": "r", "verbose": true}]})"),
            "Resource 'r':\n[0] 1 (0x3C00)\n[1] -2 (0xC000)\n");
}

TEST_F(Run, FillsSequencesInTheirOwnType) {
  EXPECT_EQ(print(R"({"initialValuesDataType": "FLOAT32",
                      "initialValues": {"valueCount": 4, "valueStart": 1, "valueDelta": 2.5}})"),
            "Resource 'r': 1, 3.5, 6, 8.5\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "UINT8",
                      "initialValues": {"valueCount": 4, "valueStart": 254, "valueDelta": 1}})"),
            "Resource 'r': 254, 255, 0, 1\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "INT8",
                      "initialValues": {"valueCount": 3, "valueStart": -127, "valueDelta": -1}})"),
            "Resource 'r': -127, -128, 127\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "FLOAT16",
                      "initialValues": {"valueCount": 3, "valueStart": 2047, "valueDelta": 1}})"),
            "Resource 'r': 2047, 2048, 2048\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "FLOAT16", "initialValues": {"valueCount": 2, "value": "-inf"}})"),
            "Resource 'r': -inf, -inf\n");
}

TEST_F(Run, WritesTypedListsAndPadding) {
  run(R"({"resources": {"r": {"initialValuesDataType": "UNKNOWN", "sizeInBytes": 32, "initialValuesOffsetInBytes": 4,
          "initialValues": [{"name": "n", "type": "UINT32", "value": 6}, {"type": "FLOAT16", "value": 1},
                            {"type": "INT8", "value": -1}]}}, "dispatchables": {},
          "commands": [{"type": "writeFile", "resource": "r", "targetPath": "deep/er/list.bin"}]})");
  EXPECT_EQ(read_text(file("deep/er/list.bin")), std::string("\6\0\0\0\0\x3C\xFF", 7));
}

TEST_F(Run, ReadsRawFilesBesideTheModelOrHere) {
  fs::create_directory(file("models"));
  write("models/beside.dat", bytes_of<std::int16_t>({1, -2, 3}));
  write("here.bin", bytes_of<std::int16_t>({4}));
  write("models/m.json",
        print_model(R"({"initialValuesDataType": "INT16", "initialValues": {"sourcePath": "beside.dat"}})"));
  EXPECT_EQ(dmlref({"run", "models/m.json"}).out, "Resource 'r': 1, -2, 3\n");
  write("models/m.json",
        print_model(R"({"initialValuesDataType": "INT16", "initialValues": {"sourcePath": "here.bin"}})"));
  EXPECT_EQ(dmlref({"run", "models/m.json"}).out, "Resource 'r': 4\n");
}

TEST_F(Run, ReadsNumPyFiles) {
  write("a.npy", npy("<f4", "(2, 2)", bytes_of<float>({1, 2.5f, -3, 4})));
  EXPECT_EQ(print(R"({"initialValues": {"sourcePath": "a.npy"}})"), "Resource 'r': 1, 2.5, -3, 4\n");
  EXPECT_EQ(print(R"({"initialValuesDataType": "FLOAT32", "initialValues": {"sourcePath": "a.npy"}})"),
            "Resource 'r': 1, 2.5, -3, 4\n");
  write("a.npy", npy("|u1", "(3,)", "\x01\x02\xFF"));
  EXPECT_EQ(print(R"({"initialValues": {"sourcePath": "a.npy"}})"), "Resource 'r': 1, 2, 255\n");
  write("a.npy", npy("<i8", "()", bytes_of<std::int64_t>({-5})));
  EXPECT_EQ(print(R"({"initialValues": {"sourcePath": "a.npy"}})"), "Resource 'r': -5\n");
  // Version 2.0 has a header length of four bytes.
  std::string two = npy("<f2", "(1,)", bytes_of<std::uint16_t>({0x3C00}));
  two[6] = '\x02';
  two.insert(10, 2, '\0');
  write("a.npy", two);
  EXPECT_EQ(print(R"({"initialValues": {"sourcePath": "a.npy"}})"), "Resource 'r': 1\n");
}

TEST_F(Run, WritesNumPyFilesThatReadBack) {
  for (const char* type :
       {"FLOAT32", "FLOAT16", "FLOAT64", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"}) {
    SCOPED_TRACE(type);
    const std::string resource =
        R"({"initialValuesDataType": ")" + std::string(type) + R"(", "initialValues": [1,2,3,4,5,6]})";
    run(print_model(resource,
                    R"(, {"type": "writeFile", "resource": "r", "targetPath": "a.npy", "dimensions": [1,2,3]})"));
    const std::string written = read_text(file("a.npy"));
    EXPECT_EQ(written.find("\x93NUMPY\x01"), 0u);
    EXPECT_NE(written.find("'shape': (1, 2, 3), }"), std::string::npos);
    EXPECT_EQ(
        print(R"({"initialValues": {"sourcePath": "a.npy"}, "initialValuesDataType": ")" + std::string(type) + "\"}"),
        "Resource 'r': 1, 2, 3, 4, 5, 6\n");
    run(print_model(resource, R"(, {"type": "writeFile", "resource": "r", "targetPath": "b.npy"})"));
    EXPECT_NE(read_text(file("b.npy")).find("'shape': (6,), }"), std::string::npos);
    // The elements start at a multiple of 64.
    EXPECT_EQ((read_text(file("b.npy")).find('\n') + 1) % 64, 0u);
  }
}

TEST_F(Run, WritesAndReadsPictures) {
  const auto picture = [&](const char* source, const char* type, const char* more = "") {
    return print(std::string(R"({"initialValues": {"sourcePath": ")") + source + R"("}, "initialValuesDataType": ")" +
                 type + "\"" + more + "}");
  };
  run(print_model(R"({"initialValuesDataType": "UINT8", "initialValues": [255,0, 10,20,  0,255, 30,40,  7,7, 50,60]})",
                  R"(, {"type": "writeFile", "resource": "r", "targetPath": "p.PNG", "dimensions": [1,3,2,2]},
                       {"type": "writeFile", "resource": "r", "targetPath": "gray.png", "dimensions": [3,4]},
                       {"type": "writeFile", "resource": "r", "targetPath": "alpha.png", "dimensions": [4,1,3]},
                       {"type": "writeFile", "resource": "r", "targetPath": "p.jpg", "dimensions": [1,1,3,4]})"));
  EXPECT_EQ(picture("p.PNG", "UINT8"), "Resource 'r': 255, 0, 10, 20, 0, 255, 30, 40, 7, 7, 50, 60\n");
  EXPECT_EQ(picture("gray.png", "UINT8"), "Resource 'r': 255, 0, 10, 20, 0, 255, 30, 40, 7, 7, 50, 60\n");
  EXPECT_EQ(picture("alpha.png", "UINT8"), "Resource 'r': 255, 0, 10, 20, 0, 255, 30, 40, 7, 7, 50, 60\n");
  EXPECT_TRUE(read_text(file("p.jpg")).starts_with("\xFF\xD8\xFF"));
  EXPECT_EQ(picture("p.PNG", "FLOAT32", R"(, "resampleSize": [1,1,2,2])"),
            "Resource 'r': 0.3019608, 0.5882353, 0.101960786, 0.14117648\n");
  EXPECT_EQ(
      picture("gray.png", "UINT8", R"(, "resampleSize": [1,3,1,1], "resampleMode": "scale")").find("Resource 'r': "),
      0u);
  // Real numbers are clamped to 0..1 and rounded to 255ths.
  run(print_model(R"({"initialValuesDataType": "FLOAT32", "initialValues": [-1, 0.5, 2, "nan", 1, 0.00197]})",
                  R"(, {"type": "writeFile", "resource": "r", "targetPath": "f.png", "dimensions": [2,3]})"));
  EXPECT_EQ(picture("f.png", "UINT8"), "Resource 'r': 0, 128, 255, 0, 255, 1\n");
  EXPECT_EQ(picture("f.png", "FLOAT16"), "Resource 'r': 0, 0.502, 1, 0, 1, 0.00392\n");
}

TEST_F(Run, ResamplingKeepsAConstantPicture) {
  run(print_model(R"({"initialValuesDataType": "UINT8", "initialValues": {"valueCount": 35, "value": 77}})",
                  R"(, {"type": "writeFile", "resource": "r", "targetPath": "c.png", "dimensions": [5,7]})"));
  for (const char* size : {"[1,1,2,3]", "[1,1,1,6]", "[1,1,6,1]"}) {
    const std::string text = print(R"({"initialValues": {"sourcePath": "c.png"}, "initialValuesDataType": "UINT8",
                                       "resampleSize": )" +
                                   std::string(size) + "}");
    EXPECT_EQ(text, "Resource 'r': 77, 77, 77, 77, 77, 77\n");
  }
}

TEST_F(Run, AcceptsFusedActivationsInEveryForm) {
  const auto normalize = [&](const char* activation) {
    return run(std::string(R"({"resources": {
      "x": {"initialValuesDataType": "FLOAT32", "initialValues": [1,2,3,4]},
      "y": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 4, "value": 9}}},
      "dispatchables": {"n": {"type": "DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1", "Desc": {
        "InputTensor": {"DataType": "FLOAT32", "Sizes": [4]}, "ScaleTensor": null,
        "OutputTensor": {"DataType": "FLOAT32", "Sizes": [4]},
        "AxisCount": 1, "Axes": [0], "NormalizeVariance": 0, "Epsilon": 0.00001, "FusedActivation": )") +
               activation + R"(}}},
      "commands": [{"type": "dispatch", "dispatchable": "n", "bindings": {"InputTensor": "x", "OutputTensor": "y"}},
                   {"type": "print", "resource": "y"}]})");
  };
  EXPECT_EQ(normalize("null"), "Resource 'y': -1.5, -0.5, 0.5, 1.5\n");
  EXPECT_EQ(normalize(R"({"Type": "ACTIVATION_RELU"})"), "Resource 'y': 0, 0, 0.5, 1.5\n");
  EXPECT_EQ(normalize(R"({"Type": "DML_OPERATOR_ACTIVATION_LINEAR", "Alpha": 2, "Beta": -1})"),
            "Resource 'y': -4, -2, 0, 2\n");
  EXPECT_EQ(normalize(R"({"Type": "ACTIVATION_SHRINK", "Desc": {"Bias": 0.25, "Threshold": 1}})"),
            "Resource 'y': -1.25, 0, 0, 1.25\n");
  EXPECT_EQ(normalize(R"({"type": "DML_OPERATOR_ACTIVATION_SHRINK", "desc": {"Bias": 0.25, "Threshold": 1}})"),
            "Resource 'y': -1.25, 0, 0, 1.25\n");
  EXPECT_EQ(normalize(R"({"type": "ACTIVATION_SHRINK", "Bias": 0.25, "Threshold": 1})"),
            "Resource 'y': -1.25, 0, 0, 1.25\n");
  // Tensors of a fused activation are not looked at.
  EXPECT_EQ(normalize(R"({"type": "ACTIVATION_RELU", "Desc": {"InputTensor": {"DataType": "INT8"},
                                                              "OutputTensor": 3}})"),
            "Resource 'y': 0, 0, 0.5, 1.5\n");
}

TEST_F(Run, RunsAMillionElementsOfRankEight) {
  const std::string model = R"({"resources": {
      "x": {"initialValuesDataType": "UINT32", "initialValues": {"valueCount": 1048576, "valueStart": 0, "valueDelta": 1}},
      "y": {"initialValuesDataType": "UINT32", "initialValues": {"valueCount": 1048576, "value": 0}}},
    "dispatchables": {"s": {"type": "SLICE1", "desc": {
      "InputTensor": {"DataType": "UINT32", "Sizes": [4,4,4,4,4,4,16,16]},
      "OutputTensor": {"DataType": "UINT32", "Sizes": [4,4,4,4,4,4,16,16]}, "DimensionCount": 8,
      "InputWindowOffsets": [0,0,0,0,0,0,0,0], "InputWindowSizes": [4,4,4,4,4,4,16,16],
      "InputWindowStrides": [-1,-1,-1,-1,-1,-1,-1,-1]}}},
    "commands": [{"type": "dispatch", "dispatchable": "s", "bindings": {"InputTensor": "x", "OutputTensor": "y"}},
                 {"type": "writeFile", "resource": "y", "targetPath": "y.dat"}]})";
  EXPECT_EQ(run(model), "");
  std::vector<std::uint32_t> expected(1048576);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::uint32_t>(expected.size() - 1 - i);
  EXPECT_TRUE(read_text(file("y.dat")) == bytes_of(expected));
}

TEST_F(Run, ReadsAMillionWrittenNumbers) {
  std::string values = "0";
  for (int i = 1; i < 1000000; ++i) values.append(",").append(std::to_string(i % 10));
  const std::string printed = print(R"({"initialValuesDataType": "UINT8", "initialValues": [)" + values + "]}");
  EXPECT_EQ(std::count(printed.begin(), printed.end(), ','), 999999);
}

}  // namespace
}  // namespace dmlref::test
