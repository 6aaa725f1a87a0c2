// Every model of examples/ prints what the documents publish, or what a formula written a second way gives
// (exact fractions; golden/ was not made with this library), on every instruction set and number of threads.
#include <algorithm>
#include <cstdint>

#include "command/command.hpp"

namespace dmlref::test {
namespace {

const fs::path examples = DMLREF_TEST_EXAMPLES;
const fs::path golden = DMLREF_TEST_GOLDEN;

class Examples : public CommandTest {};

std::vector<fs::path> models() {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(examples)) {
    if (entry.path().extension() == ".json") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The names after "instruction sets found:".
std::vector<std::string> instruction_sets(std::string info) {
  constexpr std::string_view key = "instruction sets found: ";
  const std::size_t at = info.find(key);
  if (at == std::string::npos) return {};
  std::string line = info.substr(at + key.size());
  line.resize(line.find('\n'));
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream words(line);
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  return names;
}

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

TEST_F(Examples, AllHaveAGoldenOutputAndPrintIt) {
  ASSERT_GE(models().size(), 24u);
  for (const fs::path& model : models()) {
    SCOPED_TRACE(model.filename());
    const fs::path expected = golden / model.filename().replace_extension(".txt");
    ASSERT_TRUE(fs::exists(expected)) << expected;
    const Outcome outcome = dmlref({"run", model.string()});
    EXPECT_EQ(outcome.status, 0) << outcome;
    EXPECT_EQ(outcome.out, read_text(expected));
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(Examples, PrintTheSameOnEveryInstructionSetAndThreadCount) {
  const std::vector<std::string> sets = instruction_sets(dmlref({"info"}).out);
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.front(), "scalar");
  for (const fs::path& model : models()) {
    const std::string expected = read_text(golden / model.filename().replace_extension(".txt"));
    for (const std::string& isa : sets) {
      SCOPED_TRACE(model.filename().string() + " " + isa);
      EXPECT_EQ(dmlref({"run", model.string(), "--isa", isa, "--threads", "1"}).out, expected);
      EXPECT_EQ(dmlref({"run", "--threads=3", model.string()}, {"DMLREF_ISA=" + isa}).out, expected);
    }
  }
}

TEST_F(Examples, AreAcceptedBySomeLevelAndTheLatest) {
  for (const fs::path& model : models()) {
    SCOPED_TRACE(model.filename());
    EXPECT_EQ(dmlref({"validate", model.string()}).status, 0);
    EXPECT_EQ(dmlref({"validate", model.string(), "--feature-level", "6_4"}).status, 0);
  }
}

TEST_F(Examples, PicturePipelineWritesThePictures) {
  // The same pipeline with raw files instead of pictures, so that no compression stands between.
  std::string model = read_text(examples / "picture_pipeline.json");
  std::size_t pictures = 0;
  for (std::size_t at = 0; (at = model.find(".png\",", at)) != std::string::npos; ++pictures) {
    model.replace(at, 4, ".dat");
  }
  ASSERT_EQ(pictures, 5u);
  write("pipeline.json", model);
  fs::copy_file(examples / "picture.png", file("picture.png"));
  const Outcome raw = dmlref({"run", "pipeline.json"});
  ASSERT_EQ(raw.status, 0) << raw;
  EXPECT_EQ(fnv1a(read_text(file("crop.dat"))), 0xF8011F7360EFE58Fu);
  EXPECT_EQ(fnv1a(read_text(file("mirror.dat"))), 0x95214A82BA792F4Bu);
  EXPECT_EQ(fnv1a(read_text(file("edges.dat"))), 0x24697C36476E763Cu);
  EXPECT_EQ(fnv1a(read_text(file("relief.dat"))), 0xB1139E1B9D74E003u);
  EXPECT_EQ(fs::file_size(file("normalized.dat")), 3u * 160 * 240 * 4);

  const Outcome outcome = dmlref({"run", (examples / "picture_pipeline.json").string()});
  ASSERT_EQ(outcome.status, 0) << outcome;
  // A written picture reads back as the bytes that were written.
  write("back.json", R"({"resources": {"edges": {"initialValuesDataType": "UINT8",
                         "initialValues": {"sourcePath": "edges.png"}}}, "dispatchables": {},
                         "commands": [{"type": "writeFile", "resource": "edges", "targetPath": "back.dat"}]})");
  ASSERT_EQ(dmlref({"run", "back.json"}).status, 0);
  EXPECT_EQ(read_text(file("back.dat")), read_text(file("edges.dat")));
  for (const char* name : {"crop.png", "mirror.png", "normalized.png", "relief.png"}) {
    EXPECT_TRUE(read_text(file(name)).starts_with("\x89PNG")) << name;
  }
}

}  // namespace
}  // namespace dmlref::test
