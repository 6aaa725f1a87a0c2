// Models of others: where they may write, and how much memory they may take.
#include <functional>

#include "command/command.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "io/npy.hpp"
#include "support/random.hpp"
#include "support/seed.hpp"

namespace dmlref::test {
namespace {

class ForeignModel : public CommandTest {
 protected:
  /// Prints, then writes one byte to each target.
  void write_model(std::string_view name, const std::vector<std::string>& targets) const {
    std::string commands;
    for (const std::string& target : targets) {
      commands += R"(, {"type": "writeFile", "resource": "r", "targetPath": ")" + target + "\"}";
    }
    write(name, print_model(R"({"initialValuesDataType": "UINT8", "initialValues": [65]})", commands));
  }
  void expect_written(const std::vector<std::string>& arguments, std::string_view target) const {
    const Outcome outcome = dmlref(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome;
    EXPECT_EQ(read_text(file(target)), "A") << target;
  }
};

TEST_F(ForeignModel, WritesBelowItsFolderAndTheCurrentOne) {
  for (const char* folder : {"models", "here", "here/inner"}) fs::create_directory(file(folder));
  fs::create_directory_symlink(file("here/inner"), file("link"));
  const std::string here = file("").string();
  // The current folder is the test's.
  for (const std::string& target : {std::string("a.bin"), std::string("new/er/a.bin"), std::string("./here/../b.bin"),
                                    here + "c.bin", std::string("link/d.bin"), std::string("none/../e.bin")}) {
    write_model("models/m.json", {target});
    expect_written({"run", "models/m.json"}, fs::path(target).is_absolute() ? "c.bin" : target);
  }
  write_model("models/m.json", {here + "models/f.bin"});
  expect_written({"run", here + "models/m.json"}, "models/f.bin");
  // The model's own folder lies beside the current one.
  write_model("models/m.json", {"../models/g.bin", "h.bin"});
  const Outcome beside = shell("cd here && exec \"$0\" run ../models/m.json");
  EXPECT_EQ(beside.status, 0) << beside;
  for (const char* name : {"models/g.bin", "here/h.bin"}) EXPECT_EQ(read_text(file(name)), "A") << name;
}

TEST_F(ForeignModel, WritesNowhereElse) {
  fs::create_directories(file("here/models"));
  fs::create_directory(file("outside"));
  write("outside/old", "old");
  fs::create_directory_symlink(file("outside"), file("here/link"));
  fs::create_symlink(file("outside/old"), file("here/linked_file"));
  fs::create_symlink(file("outside/new"), file("here/dangling"));
  fs::create_symlink("loop", file("here/loop"));
  const std::string outside = fs::canonical(file("outside")).string();
  const std::string runs_here = "cd here && exec \"$0\" run models/m.json";
  struct Row {
    std::string target;
    std::string lies_in;
  };
  for (const Row& row :
       {Row{"../outside/a", outside + "/a"}, Row{"models/../../outside/a", outside + "/a"},
        Row{"none/../../outside/a", outside + "/a"}, Row{outside + "/a", outside + "/a"}, Row{"link/a", outside + "/a"},
        Row{"linked_file", outside + "/old"}, Row{"dangling", outside + "/new"}, Row{"link/../old", ""}, Row{"..", ""},
        Row{".", ""}, Row{"/dev/null", "/dev/null"}, Row{"loop", ""}}) {
    SCOPED_TRACE(row.target);
    write_model("here/models/m.json", {"b.bin", row.target});
    const Outcome outcome = shell(runs_here);
    expect_unusable(outcome,
                    {"models/m.json: $.commands[2].targetPath: names " + row.target + ", which ", row.lies_in});
    if (row.target != "loop") expect_unusable(outcome, {"(--root DIR allows another folder)"});
    EXPECT_FALSE(fs::exists(file("here/b.bin")));
    for (const char* name : {"outside/a", "outside/new", "old"}) EXPECT_FALSE(fs::exists(file(name))) << name;
    EXPECT_EQ(read_text(file("outside/old")), "old");
  }
  write_model("here/models/m.json", {"../outside/a", "../outside/b"});
  expect_unusable(shell(runs_here), {"$.commands[1].targetPath: ", "$.commands[2].targetPath: "}, 2);
}

// The system reads a name up to its NUL; the rest of it must not make a path look as if it lay below the folder.
TEST_F(ForeignModel, NamesNoFileWithANul) {
  fs::create_directories(file("here/models"));
  fs::create_directory(file("outside"));
  const std::string outside = fs::canonical(file("outside")).string(), here = fs::canonical(file("here")).string();
  const std::string runs_here = "cd here && exec \"$0\" run models/m.json";
  for (const std::string& target :
       {outside + "/new\\u0000/../../here/b.bin", outside + "/folder\\u0000/b.bin/../../../here/b.bin",
        std::string("b\\u0000.bin"), here + "/b.bin\\u0000"}) {
    SCOPED_TRACE(target);
    write_model("here/models/m.json", {target});
    expect_unusable(shell(runs_here), {"models/m.json: $.commands[1].targetPath: names ", "has a NUL in its name"});
    EXPECT_TRUE(fs::is_empty(file("outside")));
    EXPECT_FALSE(fs::exists(file("here/b")) || fs::exists(file("here/b.bin")));
  }
  write("here/models/r.json", R"({"resources": {"r": {"initialValuesDataType": "FLOAT32",
      "initialValues": {"sourcePath": "m.json\u0000.bin"}}}, "dispatchables": {}, "commands": []})");
  expect_unusable(shell("cd here && exec \"$0\" run models/r.json"), {"sourcePath: names ", "has a NUL in its name"});
}

TEST_F(ForeignModel, WritesBelowTheRootThatIsGiven) {
  fs::create_directories(file("here"));
  fs::create_directory(file("outside"));
  write_model("here/m.json", {"../outside/a"});
  const std::string start = "cd here && exec \"$0\" run m.json --root ";
  const Outcome outcome = shell(start + "../outside");
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_EQ(read_text(file("outside/a")), "A");
  expect_unusable(shell(start + "../here"), {"names ../outside/a, which is "});
  expect_unusable(shell(start + "../nowhere"), {"--root: is ../nowhere, expected a folder"});
}

std::string repeated(std::string_view item, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text.append(text.empty() ? "" : ",").append(item);
  return text;
}

/// Texts whose trees are many times as large.
std::vector<std::string> large_texts(std::size_t bytes) {
  const auto model = [](const std::string& resources, const std::string& commands) {
    return "{\"resources\": {" + resources + "}, \"dispatchables\": {}, \"commands\": [" + commands + "]}";
  };
  std::string keys;
  for (std::size_t i = 0; keys.size() < bytes; ++i) keys += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  const std::string one = R"("r": {"initialValuesDataType": "FLOAT64", "initialValues": [0]})";
  return {"[" + repeated("[]", bytes) + "]",
          "[" + repeated("{}", bytes) + "]",
          "[" + repeated("\"\"", bytes) + "]",
          "{" + keys + "}",
          "[\"" + std::string(bytes, 'x') + "\"]",
          "[" + std::string(bytes, '1') + "]",
          model(R"("r": {"initialValuesDataType": "FLOAT64", "initialValues": [)" + repeated("0", bytes) + "]}", ""),
          model(R"("r": {"initialValues": [)" + repeated(R"({"type": "INT8", "value": 0})", bytes) + "]}", ""),
          model(one, repeated(R"({"type": "print", "resource": "r"})", bytes))};
}

TEST_F(ForeignModel, TreesOfJsonAreRefusedBeforeTheyAreMade) {
  for (const std::string& text : large_texts(1u << 18)) {
    SCOPED_TRACE(text.substr(0, 40));
    write("m.json", text);
    expect_unusable(dmlref({"validate", "m.json", "--memory", "2M"}),
                    {"m.json: wants ", " bytes for ", "of the 2097152 bytes of a run, which --memory changes"});
  }
}

TEST_F(ForeignModel, TreesOfJsonTakeNoMoreThanWasReserved) {
  if (dmlref_test::sanitized) GTEST_SKIP() << "the address sanitizer needs more address space than the test allows";
  constexpr std::uint64_t own = 32u << 20;  // of the command without a model
  for (const std::string& text : large_texts(1u << 19)) {
    SCOPED_TRACE(text.substr(0, 40));
    write("m.json", text);
    for (const std::uint64_t budget : {12u << 20, 48u << 20}) {
      const Outcome outcome = dmlref_within(own + budget, {"validate", "m.json", "--memory", std::to_string(budget)});
      EXPECT_EQ(outcome.err.find("not enough memory"), std::string::npos) << budget << '\n' << outcome;
      EXPECT_LT(outcome.status, 3) << budget << '\n' << outcome;
    }
  }
}

TEST_F(ForeignModel, PicturesAndTheirResamplingHaveTheBudgetOfTheRun) {
  const tool::Image tall = tool::make_image(1, 8192, 1);
  tool::write_file(file("tall.png"), tool::encode_png(tall));
  const auto model = [](const std::string& size) {
    return R"({"resources": {"r": {"initialValuesDataType": "UINT8", "initialValues": {"sourcePath": "tall.png"},
               "resampleSize": [1, 1, )" +
           size + R"(]}}, "dispatchables": {}, "commands": []})";
  };
  write("m.json", model("8192, 8192"));
  expect_unusable(dmlref({"run", "m.json", "--memory", "50M"}),
                  {"$.resources.r.initialValues.sourcePath: names tall.png, which wants 67108864 bytes for the pixels",
                   "of the 52428800 bytes of a run"});
  write("m.json", model("1024, 1024"));
  expect_unusable(dmlref({"run", "m.json", "--memory", "4M"}), {"wants 4194304 bytes for resampling"});
  if (!dmlref_test::sanitized) {
    // Doubles for all of its columns would be 128 MiB.
    write("m.json", model("64, 2048"));
    const Outcome outcome = dmlref_within(56u << 20, {"run", "m.json", "--threads", "1", "--memory", "24M"});
    EXPECT_EQ(outcome.status, 0) << outcome;
  }
}

TEST_F(ForeignModel, FilesTogetherHaveTheBudgetOfTheRun) {
  write("a.bin", std::string(1u << 20, 'a'));
  std::string resources;
  for (int i = 0; i < 8; ++i) {
    resources += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
                 R"(": {"initialValuesDataType": "UINT8", "initialValues": {"sourcePath": "a.bin"}})";
  }
  write("m.json", "{\"resources\": {" + resources + "}, \"dispatchables\": {}, \"commands\": []}");
  EXPECT_EQ(dmlref({"run", "m.json", "--memory", "12M"}).status, 0);
  // Each alone fits.
  expect_unusable(dmlref({"run", "m.json", "--memory", "6M"}), {"$.resources[\"", "wants 1048576 bytes for "},
                  any_faults);
}

TEST_F(ForeignModel, AllReadersTogetherHaveTheBudgetOfTheRun) {
  constexpr std::size_t bytes = 1u << 20;
  write("a.bin", std::string(bytes, 'a'));
  const std::vector<std::byte> zeros(bytes);
  tool::write_file(file("a.npy"), tool::write_npy(DataType::uint8, std::vector<std::uint64_t>{bytes}, zeros));
  tool::write_file(file("a.png"), tool::encode_png(tool::make_image(1024, 1024, 1)));
  const auto reads = [](const std::string& name) {
    return "\"" + name + R"(": {"initialValuesDataType": "UINT8", "initialValues": {"sourcePath": ")" + name + "\"}}";
  };
  const std::string resources[] = {
      reads("a.bin"), reads("a.npy"), reads("a.png"),
      R"("json": {"initialValuesDataType": "UINT8", "initialValues": [)" + repeated("0", bytes / 16) + "]}"};
  const auto run = [&](const std::string& text, const char* memory) {
    write("m.json", "{\"resources\": {" + text + "}, \"dispatchables\": {}, \"commands\": []}");
    return dmlref({"run", "m.json", "--memory", memory});
  };
  std::string all;
  for (const std::string& one : resources) {
    EXPECT_EQ(run(one, "5M").status, 0) << one.substr(0, 20);
    all += (all.empty() ? "" : ", ") + one;
  }
  expect_unusable(run(all, "5M"), {" bytes for ", "of the 5242880 bytes of a run"}, any_faults);
  EXPECT_EQ(run(all, "16M").status, 0);
}

TEST_F(ForeignModel, PicturesThatAreWrittenHaveTheBudgetOfTheRun) {
  // Noise, which JPEG makes hardly smaller: of the file a block after another.
  std::string noise(3 * 512 * 512, '\0');
  dmlref_test::Random random(39);
  for (char& value : noise) value = static_cast<char>(random.byte());
  write("noise.bin", noise);
  for (const char* name : {"out.jpg", "out.png"}) {
    SCOPED_TRACE(name);
    write("m.json",
          R"({"resources": {"r": {"initialValuesDataType": "UINT8", "initialValues": {"sourcePath": "noise.bin"}}},
        "dispatchables": {}, "commands": [{"type": "writeFile", "resource": "r", "dimensions": [1, 3, 512, 512],
        "targetPath": ")" +
              std::string(name) + "\"}]}");
    int refused = 0;
    std::uint64_t memory = 2u << 20;
    for (; !fs::exists(file(name)) && memory < (16u << 20); memory += 50000) {
      const Outcome outcome = dmlref({"run", "m.json", "--memory", std::to_string(memory)});
      if (outcome.status == 0) continue;
      expect_unusable(outcome, {" bytes for ", "of the " + std::to_string(memory) + " bytes of a run"});
      EXPECT_FALSE(fs::exists(file(name)));
      refused += outcome.err.find("bytes for the bytes of the file") != std::string::npos ? 1 : 0;
    }
    EXPECT_TRUE(fs::exists(file(name)));
    EXPECT_GT(refused, std::string_view(name) == "out.jpg" ? 5 : 0);
  }
}

TEST_F(ForeignModel, HalfOfTheMachinesMemoryIsTheBudget) {
  std::ifstream info("/proc/meminfo");
  std::string word;
  std::uint64_t kilobytes = 0;
  info >> word >> kilobytes;
  ASSERT_EQ(word, "MemTotal:");
  write("m.json", R"({"resources": {"r": {"initialValuesDataType": "UINT8",
      "initialValues": {"valueCount": 1, "value": 1}, "sizeInBytes": 4611686018427387904}}, "dispatchables": {},
      "commands": []})");
  expect_unusable(dmlref({"run", "m.json"}), {"wants 4611686018427387904 bytes for its bytes",
                                              "of the " + std::to_string(kilobytes * 512) + " bytes of a run"});
}

TEST_F(ForeignModel, TensorsAndTheMemoryOfOperatorsHaveTheBudgetOfTheRun) {
  write("m.json",
        print_model(R"({"initialValuesDataType": "UINT8", "initialValues": {"valueCount": 4194304, "value": 1}})"));
  expect_unusable(dmlref({"run", "m.json", "--memory", "4M"}),
                  {"m.json: $.resources.r: wants 4194304 bytes for its bytes, expected no more than 41"});
  EXPECT_EQ(dmlref({"run", "m.json", "--memory", "5M"}).status, 0);

  // A filter of a million weights that DirectML owns is packed into persistent memory.
  const auto tensor = [](const std::string& type, const std::string& sizes, const char* flags = "") {
    return R"({"DataType": ")" + type + R"(", "Sizes": )" + sizes + flags + "}";
  };
  write("m.json", R"({"resources": {
      "x": {"initialValuesDataType": "UINT8", "initialValues": {"valueCount": 1024, "value": 1}},
      "w": {"initialValuesDataType": "INT8", "initialValues": {"valueCount": 1048576, "value": 1}},
      "s": {"initialValuesDataType": "FLOAT32", "initialValues": [1]},
      "y": {"initialValuesDataType": "UINT8", "initialValues": {"valueCount": 1024, "value": 0}}},
    "dispatchables": {"op": {"type": "QUANTIZED_LINEAR_CONVOLUTION", "bindings": {"FilterTensor": "w"}, "desc": {
      "InputTensor": )" +
                      tensor("UINT8", "[1,1024,1,1]") + R"(, "InputScaleTensor": )" + tensor("FLOAT32", "[1,1,1,1]") +
                      R"(, "FilterTensor": )" +
                      tensor("INT8", "[1024,1024,1,1]", R"(, "Flags": "DML_TENSOR_FLAG_OWNED_BY_DML")") +
                      R"(, "FilterScaleTensor": )" + tensor("FLOAT32", "[1,1,1,1]") + R"(, "OutputScaleTensor": )" +
                      tensor("FLOAT32", "[1,1,1,1]") + R"(, "OutputTensor": )" + tensor("UINT8", "[1,1024,1,1]") +
                      R"(, "DimensionCount": 2, "Strides": [1,1], "Dilations": [1,1], "StartPadding": [0,0],
      "EndPadding": [0,0], "GroupCount": 1}}},
    "commands": [{"type": "dispatch", "dispatchable": "op", "bindings": {"InputTensor": "x", "InputScaleTensor": "s",
      "FilterScaleTensor": "s", "OutputScaleTensor": "s", "OutputTensor": "y"}}]})");
  expect_unusable(dmlref({"run", "m.json", "--memory", "1536k"}),
                  {"$.dispatchables.op: wants ", " bytes for its persistent memory"});
  EXPECT_EQ(dmlref({"run", "m.json", "--memory", "16M"}).status, 0);
}

TEST_F(ForeignModel, WhatIsPrintedTakesLittleMemory) {
  if (dmlref_test::sanitized) GTEST_SKIP() << "the address sanitizer needs more address space than the test allows";
  constexpr std::size_t count = 1u << 20;
  write("m.json", R"({"resources": {"r": {"initialValuesDataType": "UINT8", "initialValues": {"valueCount": )" +
                      std::to_string(count) + R"(, "value": 255}}}, "dispatchables": {},
                      "commands": [{"type": "print", "resource": "r"}, {"type": "print", "resource": "r", "verbose": true}]})");
  const Outcome outcome = dmlref_within(52u << 20, {"run", "m.json", "--threads", "1", "--memory", "16M"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("Resource 'r': 255, 255"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), ','), std::ptrdiff_t{count} - 1);
  EXPECT_TRUE(outcome.out.ends_with("[1048575] 255 (0xFF)\n"));
  EXPECT_NE(outcome.out.find("\n[   4096] 255"), std::string::npos);
}

TEST_F(ForeignModel, MemoryIsGivenInBytesOrUnits) {
  write("m.json", slice_model);
  for (const char* size : {"100000", "100k", "1M", "1 MiB", "2gb"}) {
    EXPECT_EQ(dmlref({"run", "m.json", "--memory", size}).out, slice_result) << size;
  }
  for (const char* size : {"", "x", "-1", "1.5M", "1Q", "99999999999G"}) {
    expect_unusable(dmlref({"run", "m.json", "--memory", size}),
                    {"--memory: is \"" + std::string(size) + "\", expected bytes like 4096, 512M or 2G"});
  }
  for (const std::vector<std::string>& words : {std::vector<std::string>{"validate", "m.json"},
                                                {"explain", "m.json", "--element", "0,0,0,0"},
                                                {"compare", "m.json", "m.json", "--type", "UINT8"},
                                                {"import", "m.json", "--out", "out"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--memory", "99"});
    expect_unusable(dmlref(all), {"m.json: wants ", "of the 99 bytes of a run, which --memory changes"});
  }
}

}  // namespace
}  // namespace dmlref::test
