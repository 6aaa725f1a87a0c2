// ONNX files and data that cannot be used: status 2, one line that names file, place and expectation, nothing written.
#include <array>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "conformance/onnx_model.hpp"

namespace dmlref::test {
namespace {

class ImportBadInput : public ImportTest {
 protected:
  /// Status 2, a line for each fault, and no folder; returns what was said.
  std::string expect_nothing(const Outcome& outcome) {
    expect_unusable(outcome, {}, any_faults);
    EXPECT_FALSE(fs::exists(file("out"))) << outcome;
    return outcome.err;
  }
};

OnnxModel good_model() {
  OnnxModel model(17);
  model.input("x", Type::FLOAT, {2, 4}).output("y", Type::FLOAT, {2, 4});
  model.initializer("s", floats({4}, {1, 2, 3, 4}));
  model.node("LayerNormalization", {"x", "s"}, {"y"}).real("epsilon", 0.5f);
  return model;
}

TEST_F(ImportBadInput, IsNamedWithItsPlace) {
  using Model = ::onnx::ModelProto;
  const auto initializer = [](Model& m) { return m.mutable_graph()->mutable_initializer(0); };
  const auto node = [](Model& m) { return m.mutable_graph()->mutable_node(0); };
  const struct {
    std::function<void(Model&)> change;
    std::vector<std::string> fragments;
  } rows[] = {
      {[](Model& m) { m.clear_graph(); }, {"model.onnx: is not an ONNX file: it has no graph"}},
      {[](Model& m) { m.mutable_opset_import(0)->set_version(99); }, {"opset_import: is 99, expected an opset from 1"}},
      {[](Model& m) { m.mutable_opset_import(0)->set_version(26); },
       {"opset_import: is 26, expected an opset from 1 to 25"}},
      {[](Model& m) { m.clear_opset_import(); },
       {"model.onnx: opset_import: names no opset of ONNX's own operators, expected one of domain \"\""}},
      {[](Model& m) { m.mutable_opset_import(0)->set_domain("com.microsoft"); }, {"opset_import: names no opset"}},
      {[](Model& m) { m.mutable_opset_import(0)->set_version(-1); }, {"opset_import: is -1"}},
      {[](Model& m) { m.mutable_graph()->clear_output(); }, {"has no output that is computed"}},
      {[](Model& m) { m.mutable_graph()->add_sparse_initializer(); }, {"graph.sparse_initializer: is present"}},
      // Nodes.
      {[&](Model& m) { node(m)->set_op_type("Softmax"); }, {"node 0 (Softmax): is Softmax, expected one of Slice"}},
      {[&](Model& m) { node(m)->set_op_type(""); }, {"node 0 (): is , expected one of Slice"}},
      {[&](Model& m) { node(m)->set_domain("com.microsoft"); },
       {"node 0 (LayerNormalization): is com.microsoft.LayerNormalization"}},
      {[&](Model& m) {
         node(m)->set_name("ln");
         node(m)->set_input(0, "z");
       },
       {"node 0 (LayerNormalization \"ln\"): takes \"z\", expected an input, an initializer or an earlier node's "
        "output"}},
      {[&](Model& m) { node(m)->set_input(0, "y"); },
       {"node 0", "takes \"y\" of itself or of a later node, expected no cycle"}},
      {[&](Model& m) { node(m)->set_output(0, "x"); }, {"node 0", "gives \"x\", which is given already"}},
      {[&](Model& m) {
         node(m)->clear_output();
         m.mutable_graph()->mutable_output(0)->set_name("x");
       },
       {"node 0", "has no output"}},
      {[&](Model& m) { node(m)->clear_input(); }, {"node 0 (LayerNormalization): lacks input 0 (X)"}},
      {[&](Model& m) { node(m)->mutable_attribute(0)->set_name("delta"); },
       {"node 0", "attribute delta: is not known"}},
      {[&](Model& m) { node(m)->mutable_attribute(0)->set_type(::onnx::AttributeProto::GRAPH); },
       {"attribute epsilon: is of another type"}},
      {[](Model& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); },
       {"graph.output: names \"z\", expected an input"}},
      // Declared types and shapes.
      {[](Model& m) { m.mutable_graph()->mutable_input(0)->clear_type(); }, {"takes \"x\", which is no tensor"}},
      {[](Model& m) { m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(8); },
       {"takes \"x\", which is STRING, expected an element type"}},
      {[](Model& m) { m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77); },
       {"takes \"x\", which is of type 77"}},
      {[](Model& m) { m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape(); },
       {"takes \"x\", which has no shape"}},
      {[](Model& m) { *m.mutable_graph()->add_input() = m.graph().input(0); },
       {"graph.input[1] (\"x\"): has the name of an earlier one"}},
      {[](Model& m) {
         m.mutable_graph()
             ->mutable_output(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->mutable_shape()
             ->mutable_dim(0)
             ->set_dim_value(3);
       },
       {"output 0 (\"y\"): is declared otherwise than its nodes give it: FLOAT [2, 4]"}},
      // Initializers.
      {[&](Model& m) { *m.mutable_graph()->add_initializer() = m.graph().initializer(0); },
       {"graph.initializer[1] (\"s\"): has the name of an earlier one"}},
      {[&](Model& m) { initializer(m)->set_raw_data("12345678"); },
       {"graph.initializer[0] (\"s\").raw_data: has 8 bytes, expected 16 for dims [4] of FLOAT"}},
      {[&](Model& m) {
         initializer(m)->clear_raw_data();
         initializer(m)->add_float_data(1);
       },
       {"graph.initializer[0] (\"s\").float_data: has 1 values, expected 4 for dims [4]"}},
      {[&](Model& m) {
         initializer(m)->clear_raw_data();
         initializer(m)->set_data_type(Type::UINT8);
         for (const int value : {1, 2, 3, 256}) initializer(m)->add_int32_data(value);
       },
       {"(\"s\").int32_data: [3] is 256, expected a value of UINT8"}},
      {[&](Model& m) { initializer(m)->set_dims(0, -4); }, {"(\"s\").dims: is [-4], expected extents from 0"}},
      {[&](Model& m) { initializer(m)->set_dims(0, INT64_MAX); }, {"(\"s\").dims: is [9223372036854775807]"}},
      {[&](Model& m) { initializer(m)->add_dims(INT64_MAX / 2); }, {"(\"s\").dims: is [4, 4611686018427387903]"}},
      {[&](Model& m) { initializer(m)->set_data_type(0); }, {"takes \"s\", which is of no type"}},
      {[&](Model& m) { initializer(m)->set_data_type(Type::STRING); }, {"takes \"s\", which is STRING"}},
      {[&](Model& m) { initializer(m)->mutable_segment()->set_begin(1); }, {"(\"s\").segment: is present"}},
  };
  for (const auto& row : rows) {
    OnnxModel model = good_model();
    row.change(model.proto());
    expect_refused(model, row.fragments, any_faults);
  }
}

TEST_F(ImportBadInput, TellsEachFaultInALine) {
  OnnxModel model = good_model();
  model.node("Softmax", {"y"}, {"z"}).node("Slice", {"z"}, {"of a node that failed"});
  model.node("Relu", {"x"}, {"a"}).node("LayerNormalization", {"x", "s"}, {"b"}).attribute("stash_type", 16);
  model.output("z", Type::FLOAT, {2, 4}).output("q", Type::FLOAT, {1});
  write("model.onnx", model.bytes());
  expect_unusable(dmlref({"import", "model.onnx", "--out", "out"}), {"graph.output: names \"q\""}, 1);
  model.graph().mutable_output()->RemoveLast();
  write("model.onnx", model.bytes());
  expect_unusable(
      dmlref({"import", "model.onnx", "--out", "out"}),
      {"node 1 (Softmax): is Softmax", "node 3 (Relu): ", "node 4 (LayerNormalization): attribute stash_type"}, 3);
  EXPECT_FALSE(fs::exists(file("out")));

  OnnxModel order = good_model();
  order.node("Relu", {"nothing"}, {"a"}).node("Relu", {"later"}, {"b"}).node("Relu", {"x"}, {"later"});
  write("model.onnx", order.bytes());
  expect_unusable(dmlref({"import", "model.onnx", "--out", "out"}),
                  {"node 1 (Relu): takes \"nothing\"", "node 2 (Relu): takes \"later\" of itself or of a later node"},
                  2);
}

/// A model whose scale lies in a file.
OnnxModel external_model(const std::string& location, const std::string& offset, const std::string& length) {
  OnnxModel model = good_model();
  ::onnx::TensorProto& scale = *model.graph().mutable_initializer(0);
  scale.clear_raw_data();
  scale.set_data_location(::onnx::TensorProto::EXTERNAL);
  const std::pair<std::string, std::string> entries[] = {
      {"location", location}, {"offset", offset}, {"length", length}};
  for (const auto& [key, value] : entries) {
    if (value.empty()) continue;
    auto* entry = scale.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return model;
}

TEST_F(ImportBadInput, ReadsExternalDataBelowTheModelsFolderAlone) {
  const std::string values = bytes_of<float>({1, 2, 3, 4});
  fs::create_directories(file("model/data"));
  write("model/data/weights.bin", "head" + values + "tail");
  write("model/whole.bin", values);
  write("secret.bin", values);
  fs::create_symlink("../secret.bin", file("model/link.bin"));
  fs::create_directory_symlink("..", file("model/up"));
  fs::create_symlink("data/weights.bin", file("model/inner.bin"));
  const auto import = [&](const OnnxModel& model) {
    write("model/model.onnx", model.bytes());
    fs::remove_all(file("out"));
    return dmlref({"import", "model/model.onnx", "--out", "out"});
  };
  write("model/model.onnx", good_model().bytes());
  ASSERT_EQ(dmlref({"import", "model/model.onnx", "--out", "inside"}).status, 0);
  for (const auto& [location, offset, length] : {std::array<std::string, 3>{"data/weights.bin", "4", "16"},
                                                 {"whole.bin", "", ""},
                                                 {"./data/../whole.bin", "0", "16"},
                                                 {"inner.bin", "4", "16"},
                                                 {"up/model/whole.bin", "", "16"}}) {
    SCOPED_TRACE(location);
    const Outcome outcome = import(external_model(location, offset, length));
    ASSERT_EQ(outcome.status, 0) << outcome;
    EXPECT_EQ(read_text(file("out/constant_0.npy")), read_text(file("inside/constant_0.npy")));
    EXPECT_EQ(read_text(file("out/model.json")).find("secret"), std::string::npos);
  }
  const std::string below = "expected a file below the folder of the ONNX file, symbolic links resolved";
  const std::string place = "graph.initializer[0] (\"s\").external_data: ";
  const struct {
    std::string location, offset, length;
    std::vector<std::string> fragments;
  } rows[] = {
      {"../secret.bin", "", "", {place + "names \"../secret.bin\", ", below}},
      {"data/../../secret.bin", "", "", {below}},
      {"link.bin", "", "", {place + "names \"link.bin\", ", below}},
      {"up/secret.bin", "", "", {below}},
      {file("secret.bin").string(), "", "", {below}},
      {"/dev/zero", "0", "16", {below}},
      {"../missing.bin", "", "", {below}},
      {"missing/../up/secret.bin", "", "", {below}},
      {"missing/../link.bin", "", "", {below}},
      {"up/missing/../../secret.bin", "", "", {below}},
      {std::string("whole.bin\0/../data", 18), "", "", {place + "has a NUL in its name"}},
      {std::string("../secret.bin\0/../model/whole.bin", 33), "", "", {place + "has a NUL in its name"}},
      {".", "", "", {below}},
      {"missing.bin", "", "", {place + "names \"missing.bin\", which is no file"}},
      {"data", "", "", {place + "names \"data\", which is no file"}},
      {"", "", "", {place + "has no location"}},
      {"whole.bin", "4", "", {place + "has 12 bytes in \"whole.bin\", expected 16"}},
      {"data/weights.bin", "", "", {place + "has 24 bytes in \"data/weights.bin\", expected 16"}},
      {"whole.bin", "1", "16", {place + "is bytes 1 to 1 + 16 of \"whole.bin\", which has 16"}},
      {"whole.bin", "17", "", {place + "is bytes 17 to its end of \"whole.bin\", which has 16"}},
      {"whole.bin", "18446744073709551615", "16", {place + "is bytes 18446744073709551615 to "}},
      {"whole.bin", "-1", "", {place + "offset is \"-1\", expected a number of bytes"}},
      {"whole.bin", "0", "16x", {place + "length is \"16x\", expected a number of bytes"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.location);
    const Outcome outcome = import(external_model(row.location, row.offset, row.length));
    expect_unusable(outcome, row.fragments);
    EXPECT_FALSE(fs::exists(file("out"))) << outcome;
  }
  OnnxModel unknown = external_model("whole.bin", "", "");
  auto* entry = unknown.graph().mutable_initializer(0)->add_external_data();
  entry->set_key("basepath");
  expect_unusable(import(unknown), {place + "has \"basepath\", expected location, offset, length and checksum"});
}

TEST_F(ImportBadInput, IsRefusedBeforeItFillsTheMemory) {
  OnnxModel wide = good_model();
  auto* shape = wide.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_value(std::int64_t{1} << 40);
  expect_refused(wide, {"node 0", "has a tensor of shape [1099511627776, 4], expected extents and strides of 32 bits"});
  shape->mutable_dim(0)->set_dim_value(std::int64_t{1} << 31);
  shape->mutable_dim(1)->set_dim_value(std::int64_t{1} << 31);
  expect_refused(wide, {"node 0"});
  shape->mutable_dim(1)->set_dim_value(std::int64_t{1} << 62);
  expect_refused(wide, {"node 0", "takes \"x\", which has a shape that no memory holds"});

  OnnxModel many(13);
  std::string bytes = many.bytes();
  // A graph of empty nodes: two bytes each.
  std::string nodes;
  for (int i = 0; i < 2'100'000; ++i) nodes += std::string("\x0A\x00", 2);
  ::onnx::ModelProto tail;
  std::string length;
  for (std::size_t rest = nodes.size(); rest != 0; rest >>= 7) {
    length += static_cast<char>((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
  }
  write("many.onnx", bytes + "\x3A" + length + nodes);
  const std::string said = expect_nothing(dmlref({"import", "many.onnx", "--out", "out"}));
  EXPECT_NE(said.find("graph.node["), std::string::npos) << said;
  EXPECT_NE(said.find("is one part more than 2000000"), std::string::npos) << said;

  // Graphs in attributes of nodes of graphs.
  std::string deep;
  for (int level = 0; level < 40; ++level) {
    for (const char tag : {'\x32', '\x2A', '\x0A'}) {  // AttributeProto.g, NodeProto.attribute, GraphProto.node
      std::string size;
      for (std::size_t rest = deep.size(); rest != 0; rest >>= 7) {
        size += static_cast<char>((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
      }
      deep = tag + (size.empty() ? std::string(1, '\0') : size) + deep;
    }
  }
  std::string size;
  for (std::size_t rest = deep.size(); rest != 0; rest >>= 7) {
    size += static_cast<char>((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
  }
  write("deep.onnx", "\x3A" + size + deep);
  EXPECT_NE(expect_nothing(dmlref({"import", "deep.onnx", "--out", "out"})).find("nests deeper than 64 levels"),
            std::string::npos);
}

TEST_F(ImportBadInput, OfEveryLengthIsRefused) {
  const std::string whole = good_model().bytes();
  for (std::size_t length = 0; length < whole.size(); length += 1 + length / 40) {
    SCOPED_TRACE(length);
    write("model.onnx", std::string_view(whole).substr(0, length));
    EXPECT_NE(expect_nothing(dmlref({"import", "model.onnx", "--out", "out"})).find("model.onnx: "), std::string::npos);
  }
  write("model.onnx", std::string_view(whole).substr(0, 60));
  const std::string said = expect_nothing(dmlref({"import", "model.onnx", "--out", "out"}));
  EXPECT_NE(said.find("model.onnx: is not an ONNX file, or is damaged: graph at byte "), std::string::npos) << said;
  EXPECT_NE(said.find("expected at most the "), std::string::npos) << said;
}

TEST_F(ImportBadInput, OfAnyBytesNeverCrashes) {
  const std::string whole = good_model().bytes();
  std::mt19937 random(13);
  for (int i = 0; i < 150; ++i) {
    std::string broken = whole;
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      broken[random() % broken.size()] = static_cast<char>(random());
    }
    write("model.onnx", broken);
    const Outcome outcome = dmlref({"import", "model.onnx", "--out", "out"});
    if (outcome.status != 0) expect_nothing(outcome);
    fs::remove_all(file("out"));
  }
}

TEST_F(ImportBadInput, OfFilesAndFolders) {
  expect_unusable(dmlref({"import", "missing.onnx", "--out", "out"}), {"missing.onnx: cannot be opened"});
  write("text.onnx", "This is no model, whatever its name says.\n");
  expect_unusable(dmlref({"import", "text.onnx", "--out", "out"}), {"text.onnx: is not an ONNX file, or is damaged: "});
  write("empty.onnx", "");
  expect_unusable(dmlref({"import", "empty.onnx", "--out", "out"}),
                  {"empty.onnx: is not an ONNX file: it has no graph"});
  expect_unusable(dmlref({"import", ".", "--out", "out"}), {"is a directory, expected a file"});
  write("model.onnx", good_model().bytes());
  expect_unusable(dmlref({"import", "model.onnx"}), {"--out is required"});
  expect_unusable(dmlref({"import", "model.onnx", "--out", "out", "--data", "nowhere"}),
                  {"--data: is nowhere, expected a folder"});
  write("taken", "a file");
  expect_unusable(dmlref({"import", "model.onnx", "--out", "taken"}), {"--out: taken"});
  EXPECT_EQ(read_text(file("taken")), "a file");
  EXPECT_FALSE(fs::exists(file("out")));
  // What was written before a file could not be is taken back.
  fs::create_directories(file("half/model.json"));
  expect_unusable(dmlref({"import", "model.onnx", "--out", "half"}), {"half/model.json: cannot be written"});
  EXPECT_FALSE(fs::exists(file("half/input_0.npy")));
}

/// All files below a folder, with their contents.
std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    contents[name] = entry.is_regular_file() ? read_text(entry.path()) : "a folder";
  }
  return contents;
}

TEST_F(ImportBadInput, LeavesWhatWasInTheFolder) {
  write("model.onnx", good_model().bytes());
  fs::create_directories(file("out/model.json"));  // cannot be replaced
  write("out/model.json/inner", "inner");
  write("out/input_0.npy", "mine");
  write("out/other", "other");
  const auto before = contents_of(file("out"));
  expect_unusable(dmlref({"import", "model.onnx", "--out", "out"}), {"out/model.json: cannot be written"});
  EXPECT_EQ(contents_of(file("out")), before);
  // Folders on the way are made, and go again.
  write("model.onnx", replaced(good_model().bytes(), "LayerNormalization", "LayerNormalizatiom"));
  expect_unusable(dmlref({"import", "model.onnx", "--out", "a/b/c"}), {"LayerNormalizatiom"});
  EXPECT_FALSE(fs::exists(file("a")));
  // A link is replaced, not followed.
  write("model.onnx", good_model().bytes());
  fs::remove_all(file("out/model.json"));
  fs::create_symlink(file("out/other"), file("out/model.json"));
  EXPECT_EQ(dmlref({"import", "model.onnx", "--out", "out"}).status, 0);
  EXPECT_EQ(read_text(file("out/other")), "other");
  EXPECT_NE(read_text(file("out/input_0.npy")), "mine");
  EXPECT_EQ(contents_of(file("out")).size(), 4u);
}

TEST_F(ImportBadInput, OfLargeTensorsIsRefusedByTheBudget) {
  OnnxModel model = good_model();
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
      1 << 20);
  model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  write("model.onnx", model.bytes());
  EXPECT_NE(expect_nothing(dmlref({"import", "model.onnx", "--out", "out", "--memory", "8M"}))
                .find("input \"x\": wants 16777216 bytes for zeros"),
            std::string::npos);
  OnnxModel numbers = good_model();
  numbers.initializer("w", floats({1 << 18}, std::vector<float>(1 << 18)));
  write("model.onnx", numbers.bytes());
  EXPECT_NE(
      expect_nothing(dmlref({"import", "model.onnx", "--out", "out", "--memory", "2M"})).find("model.onnx: wants "),
      std::string::npos);
}

TEST_F(ImportBadInput, OfManyDimensionsIsRefused) {
  OnnxModel model = good_model();
  auto& shape = *model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  while (shape.dim_size() <= 32) shape.add_dim()->set_dim_value(1);
  write("model.onnx", model.bytes());
  EXPECT_NE(
      expect_nothing(dmlref({"import", "model.onnx", "--out", "out"})).find("has 33 extents, expected at most 32"),
      std::string::npos);
}

TEST_F(ImportBadInput, OfData) {
  write("model.onnx", good_model().bytes());
  fs::create_directory(file("data"));
  const std::vector<float> values(8, 1);
  const std::string good = floats({2, 4}, values).SerializeAsString();
  const struct {
    std::string input;
    std::string output;
    std::vector<std::string> fragments;
  } rows[] = {
      {"", good, {"data/input_0.pb: cannot be opened"}},
      {good, "", {"data/output_0.pb: cannot be opened"}},
      {good.substr(0, 20),
       good,
       {"data/input_0.pb: is not an ONNX file, or is damaged: raw_data at byte ", "expected at most the "}},
      {floats({8}, values).SerializeAsString(),
       good,
       {"data/input_0.pb: is FLOAT [8], expected the type and shape of input"}},
      {tensor(Type::INT32, {2, 4}, values).SerializeAsString(), good, {"data/input_0.pb: is INT32 [2, 4]"}},
      {good, floats({4, 2}, values).SerializeAsString(), {"data/output_0.pb: is FLOAT [4, 2], expected FLOAT [2, 4]"}},
      {floats({2, 5}, values).SerializeAsString(),
       good,
       {"data/input_0.pb: tensor.raw_data: has 32 bytes, expected 40 for dims [2, 5]"}},
  };
  for (const auto& row : rows) {
    for (const auto& [name, bytes] :
         {std::pair("data/input_0.pb", row.input), std::pair("data/output_0.pb", row.output)}) {
      fs::remove(file(name));
      if (!bytes.empty()) write(name, bytes);
    }
    const Outcome outcome = dmlref({"import", "model.onnx", "--data", "data", "--out", "out"});
    expect_unusable(outcome, row.fragments);
    EXPECT_FALSE(fs::exists(file("out")));
  }
}

}  // namespace
}  // namespace dmlref::test
