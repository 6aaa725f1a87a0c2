// `dmlref kit` and `dmlref check-kit` through the real executable, and check_kit.py beside them.
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "command/command.hpp"

namespace dmlref::test {
namespace {

/// The program that has NumPy or another module; empty where none has.
std::string python_with(const std::string& module) {
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import " + module + "' 2>/dev/null").c_str()) == 0) return python;
  }
  return "";
}

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_text(entry.path());
  }
  return files;
}

class KitTest : public CommandTest {
 protected:
  /// A program's outcome in the test's folder, by the shell.
  Outcome shell(const std::string& line) const {
    const std::string folder = file("").string();
    const std::string path =
        "PATH='" + fs::path(DMLREF_TEST_COMMAND).parent_path().string() + "':\"$PATH\"; export PATH; ";
    const int status = std::system(("cd '" + folder + "' && { " + path + line + "\n} >.out 2>.err").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(file(".out")), read_text(file(".err"))};
  }

  void make_kit(const std::string& filter = "") const {
    const Outcome outcome = dmlref({"kit", "kit", "--filter", filter});
    ASSERT_EQ(outcome.status, 0) << outcome;
  }

  /// Results as a perfect device gives them.
  void copy_results() const {
    for (const fs::directory_entry& entry : fs::directory_iterator(file("kit"))) {
      if (!entry.is_directory()) continue;
      const fs::path to = file("results") / entry.path().filename();
      fs::create_directories(to);
      if (fs::exists(entry.path() / "expected")) {
        fs::copy(entry.path() / "expected" / "output.npy", to / "output.npy");
      } else {
        write_text(to / "refused", "");
      }
    }
  }

  /// Both checkers say the same and end the same; what they say.
  Outcome check(const std::string& options = "") const {
    const Outcome ours = shell("dmlref check-kit kit results " + options);
    static const std::string python = python_with("numpy");
    if (python.empty()) {
      std::printf("no NumPy here: check_kit.py is not compared\n");
      return ours;
    }
    const Outcome theirs = shell(python + " kit/check_kit.py kit results " + options);
    EXPECT_EQ(ours.status, theirs.status) << ours << theirs;
    EXPECT_EQ(ours.out, theirs.out) << ours << theirs;
    return ours;
  }

  static bool has_line(const Outcome& outcome, const std::string& line) {
    return ("\n" + outcome.out).find("\n" + line + "\n") != std::string::npos;
  }
};

/// All cases, written once.
class WholeKitTest : public KitTest {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (fs::temp_directory_path() / "dmlref-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) whole_ = pattern;
  }
  static void TearDownTestSuite() {
    std::error_code error;
    fs::remove_all(whole_, error);
  }
  void SetUp() override {
    if (fs::is_empty(whole_)) {
      const Outcome outcome = dmlref({"kit", whole_.string()});
      ASSERT_EQ(outcome.status, 0) << outcome;
    }
    fs::create_directory_symlink(whole_, file("kit"));
  }

 private:
  static inline fs::path whole_;
};

/// The sh block of the kit's README.
std::string loop_of(const std::string& readme) {
  const std::size_t begin = readme.find("```sh\n") + 6;
  return readme.substr(begin, readme.find("```", begin) - begin);
}

TEST_F(WholeKitTest, IsTheSameEachTime) {
  ASSERT_EQ(dmlref({"kit", "again"}).status, 0);
  const auto first = files_of(file("kit"));
  EXPECT_GT(first.size(), 2000u);
  EXPECT_TRUE(first == files_of(file("again")));
}

TEST_F(WholeKitTest, CoversEveryOperatorTypeAndRank) {
  std::map<std::string, int> counts;
  for (const fs::directory_entry& entry : fs::directory_iterator(file("kit"))) {
    if (!entry.is_directory()) continue;
    const auto one = nlohmann::json::parse(read_text(entry.path() / "case.json"));
    EXPECT_EQ(one["name"], entry.path().filename().string());
    for (const char* key : {"operator", "fault_kind", "property", "source"})
      EXPECT_FALSE(one[key].get<std::string>().empty());
    const bool reading = one["source_kind"] == "reading";
    EXPECT_EQ(one["source"].get<std::string>().find("reading") != std::string::npos, reading) << one;
    ++counts[one["source_kind"].get<std::string>() + " " + one["operator"].get<std::string>()];
    // DirectML is known to store other values.
    const auto model = nlohmann::json::parse(read_text(entry.path() / "model.json"));
    const auto& desc = model["dispatchables"]["operator"]["desc"];
    if (desc.value("AxisCount", 1) == 0) {
      EXPECT_TRUE(reading) << one;
      ++counts["no axes"];
    }
    if (one["expect"] == "refused") {
      ++counts["refused"];
      EXPECT_FALSE(one["rules"].empty()) << one;
      continue;
    }
    EXPECT_FALSE(one["tolerance"]["source"].get<std::string>().empty());
    ++counts[one["operator"].get<std::string>() + " " + one["data_type"].get<std::string>() + " " +
             std::to_string(one["sizes"].size())];
    ++counts["from " + one["feature_level"].get<std::string>()];
    const std::uintmax_t size = fs::file_size(entry.path() / "expected" / "output.npy");
    EXPECT_EQ(size % 4, 0u) << "data padded to four bytes after a header of 64";
  }
  for (const char* op : {"SLICE", "SLICE1"}) {
    for (const char* type :
         {"FLOAT32", "FLOAT16", "FLOAT64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"}) {
      for (int rank = 1; rank <= 8; ++rank) {
        EXPECT_GE(counts[std::string(op) + " " + type + " " + std::to_string(rank)], 1) << op << type << rank;
      }
    }
  }
  for (const char* type : {"FLOAT32", "FLOAT16"}) {
    for (int rank = 1; rank <= 8; ++rank) {
      EXPECT_GE(counts[std::string("MEAN_VARIANCE_NORMALIZATION1 ") + type + " " + std::to_string(rank)], 1);
    }
    EXPECT_GE(counts[std::string("MEAN_VARIANCE_NORMALIZATION ") + type + " 4"], 1);
  }
  for (const char* type : {"INT8", "UINT8"}) {
    for (int rank : {3, 4}) {
      EXPECT_GE(counts[std::string("QUANTIZED_LINEAR_CONVOLUTION ") + type + " " + std::to_string(rank)], 1);
    }
  }
  for (const char* level : {"1_0", "2_0", "2_1", "3_0", "3_1", "4_0", "4_1", "5_1", "5_2", "6_4"}) {
    EXPECT_GE(counts[std::string("from ") + level], 1) << level;
  }
  EXPECT_GE(counts["refused"], 80);
  EXPECT_GE(counts["no axes"], 3);
  for (const char* op : {"SLICE", "SLICE1", "QUANTIZED_LINEAR_CONVOLUTION", "MEAN_VARIANCE_NORMALIZATION",
                         "MEAN_VARIANCE_NORMALIZATION1"}) {
    EXPECT_GE(counts["documented " + std::string(op)], 25) << op;
  }
}

TEST_F(KitTest, CheckerWithoutNumPySaysSoInALine) {
  make_kit("^slice_page_example_1$");
  fs::create_directories(file("without"));
  write("without/numpy.py", "raise ImportError('not here')\n");
  const Outcome outcome = shell("PYTHONPATH=without python3 kit/check_kit.py kit results");
  EXPECT_EQ(outcome.status, 2) << outcome;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "check_kit: needs NumPy, which this Python has not: pip install numpy, or Debian's python3-numpy\n");
}

TEST_F(KitTest, ResultsMayBeBigEndianOrInFortranOrderWhereItIsCs) {
  const std::string python = python_with("numpy");
  if (python.empty()) GTEST_SKIP() << "no NumPy (Debian: python3-numpy)";
  make_kit("^slice_page_example_1$");
  copy_results();
  write("big_endian.py", R"(
import numpy as np
path = "results/slice_page_example_1/output.npy"
array = np.load(path)
np.save(path, array.astype(array.dtype.newbyteorder(">")))
)");
  const Outcome saved = shell(python + " big_endian.py");
  ASSERT_EQ(saved.status, 0) << saved;
  EXPECT_NE(read_text(file("results/slice_page_example_1/output.npy")).find("'>"), std::string::npos);
  EXPECT_EQ(check().status, 0);
}

TEST_F(WholeKitTest, ModelsFollowTheSchema) {
  const std::string python = python_with("jsonschema");
  if (python.empty()) GTEST_SKIP() << "no Python module jsonschema (Debian: python3-jsonschema)";
  write("schema.py", R"(
import glob, json, jsonschema
schema = json.load(open("kit/schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
models = [json.load(open(name)) for name in glob.glob("kit/*/model.json")]
for model in models:
    validator.validate(model)
bad = json.loads(json.dumps(models[0]))
next(iter(bad["dispatchables"].values()))["desc"]["NoSuchMember"] = 1
assert not validator.is_valid(bad)
# JSON has no infinities and NaN: words stand for them, wherever a model has a real number.
for word in "inf", "-inf", "nan":
    special = next(json.loads(json.dumps(model)) for model in models if "FusedActivation" in json.dumps(model) and "Alpha" in json.dumps(model))
    for op in special["dispatchables"].values():
        op["desc"]["Epsilon"] = op["desc"]["FusedActivation"]["Alpha"] = word
    validator.validate(special)
    op["desc"]["Epsilon"] = "infinite"
    assert not validator.is_valid(special)
print(len(models))
)");
  const Outcome outcome = shell(python + " schema.py");
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_GT(std::stoi("0" + outcome.out), 400) << outcome;
}

// The README's own loop, the command as the device.
TEST_F(KitTest, OurResultsPassAsTheReadmeSays) {
  make_kit("qlc_p|mvn1_a|slice1_[nop]|refused_.*(scale|wraps)");
  const Outcome loop = shell(loop_of(read_text(file("kit/README.md"))));
  ASSERT_EQ(loop.status, 0) << loop;
  const Outcome outcome = check("--strict");
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_NE(outcome.out.find(", 0 failed, 0 missing\n"), std::string::npos) << outcome;
  EXPECT_TRUE(has_line(outcome, "pass refused_slice_offset_wraps")) << outcome;
}

TEST_F(KitTest, ADeviceOfALowerLevelRefuses) {
  make_kit("slice1_(float64|int8)_rank[45]|mvn1_scale_alone|slice_int8_rank5");
  std::string loop = loop_of(read_text(file("kit/README.md")));
  loop = replaced(loop, "dmlref run", "dmlref run --feature-level 4_0");
  ASSERT_EQ(shell(loop).status, 0);
  EXPECT_EQ(check("--feature-level 4_0 --strict").status, 0);
  const Outcome higher = check();
  EXPECT_EQ(higher.status, 1);
  EXPECT_TRUE(has_line(higher, "fail slice1_float64_rank4: refused, expected a result from feature level 4_1 on"))
      << higher;
  EXPECT_TRUE(has_line(higher, "fail mvn1_scale_alone: refused, expected a result from feature level 5_2 on"));
  const Outcome lower = check("--feature-level 2_0");
  EXPECT_EQ(lower.status, 1);
  EXPECT_TRUE(has_line(lower, "fail slice1_int8_rank4: has a result, expected a refusal: operator_level")) << lower;
  EXPECT_TRUE(has_line(lower, "fail slice_int8_rank5: has a result, expected a refusal: tensor_data_type")) << lower;
}

TEST_F(WholeKitTest, CheckersAgreeOnAllCases) {
  copy_results();
  EXPECT_EQ(check().status, 0);
  EXPECT_EQ(check("--feature-level 3_0").status, 1);
}

// One element of every result is corrupted, beyond every tolerance.
TEST_F(KitTest, CheckersAgreeOnCorruptedResults) {
  make_kit("^(slice|qlc|mvn).*(rank|nhwc|padded|nan|activation_(gelu|linear))");
  copy_results();
  for (const fs::directory_entry& entry : fs::directory_iterator(file("results"))) {
    if (!fs::exists(entry.path() / "output.npy")) continue;
    std::string bytes = read_text(entry.path() / "output.npy");
    const auto one = nlohmann::json::parse(read_text(file("kit") / entry.path().filename() / "case.json"));
    const std::string type = one["data_type"];
    const std::size_t size = type.ends_with("64") ? 8 : type.ends_with("32") ? 4 : type.ends_with("16") ? 2 : 1;
    const std::size_t header = 10 + static_cast<unsigned char>(bytes[8]);
    bytes[header + size - 1] = static_cast<char>(bytes[header + size - 1] ^ 0x41);  // element 0
    write_text(entry.path() / "output.npy", bytes);
  }
  const Outcome outcome = check();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("fail slice_nan_payloads_float32: 1 of 224 elements differ, first at [0, 0, 0, 0]: 0x"),
            std::string::npos)
      << outcome;
  EXPECT_NE(outcome.out.find(" 0 passed, "), std::string::npos) << outcome;
}

TEST_F(KitTest, NamesWhatIsMissingOrOfAnotherKind) {
  make_kit("qlc_(ties|batch|groups)$|refused_slice_s|slice_uint8_rank[123]");
  copy_results();
  fs::remove(file("results/qlc_ties/output.npy"));
  fs::remove_all(file("results/qlc_batch"));
  write_text(file("results/qlc_groups/refused"), "");
  write_text(file("results/slice_uint8_rank1/output.npy"), npy("<i2", "(3,)", std::string(6, '\0')));
  write_text(file("results/slice_uint8_rank2/output.npy"), npy("|u1", "(7,)", std::string(8, '\0')));
  fs::remove(file("results/refused_slice_size_zero/refused"));
  fs::copy(file("kit/qlc_ties/expected/output.npy"), file("results/refused_slice_size_zero/output.npy"));
  const Outcome outcome = check();
  EXPECT_EQ(outcome.status, 1);
  for (const char* line : {"missing qlc_ties", "missing qlc_batch", "fail qlc_groups: has both a result and a refusal",
                           "fail slice_uint8_rank1: output.npy holds INT16, expected UINT8", "pass slice_uint8_rank3",
                           "fail slice_uint8_rank2: output.npy has 7 elements, expected 9",
                           "fail refused_slice_size_zero: has a result, expected a refusal: slice_size_zero"}) {
    EXPECT_TRUE(has_line(outcome, line)) << line << '\n' << outcome;
  }
}

// Within a case's tolerance, but not within one unit in the last place.
TEST_F(KitTest, StrictAllowsOneUnit) {
  make_kit("mvn1_axes_2_3$");
  copy_results();
  const fs::path path = file("results/mvn1_axes_2_3/output.npy");
  std::string bytes = read_text(path);
  bytes[bytes.size() - 4] = static_cast<char>(bytes[bytes.size() - 4] ^ 4);  // the last element's fraction
  write_text(path, bytes);
  EXPECT_EQ(check().status, 0);
  EXPECT_EQ(check("--strict").status, 1);
}

TEST_F(KitTest, DocumentedOnlyLeavesReadingsOut) {
  make_kit("^(slice_page_example_1|slice_stride_zero|mvn1_no_axes|refused_slice_(size_zero|output_stride_zero))$");
  copy_results();
  fs::remove(file("results/slice_stride_zero/output.npy"));
  write_text(file("results/slice_stride_zero/refused"), "");
  fs::remove(file("results/mvn1_no_axes/output.npy"));
  EXPECT_EQ(check().status, 1);
  const Outcome outcome = check("--documented-only");
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_TRUE(has_line(outcome, "3 cases left out: their source is a reading")) << outcome;
  EXPECT_TRUE(has_line(outcome, "pass slice_page_example_1")) << outcome;
  for (const char* name : {"slice_stride_zero", "mvn1_no_axes", "refused_slice_output_stride_zero"}) {
    EXPECT_EQ(outcome.out.find(name), std::string::npos) << outcome;
  }
  fs::remove(file("results/slice_page_example_1/output.npy"));
  EXPECT_EQ(check("--documented-only").status, 1);
}

TEST_F(KitTest, DocumentedOnlyNeedsACase) {
  make_kit("^slice_stride_zero$");
  copy_results();
  EXPECT_EQ(check().status, 0);
  EXPECT_EQ(check("--documented-only").status, 2);
  expect_unusable(dmlref({"check-kit", "kit", "results", "--documented-only"}), {"kit", "has no case whose source"});
}

TEST_F(KitTest, FiltersCases) {
  make_kit("^qlc_ties$");
  EXPECT_TRUE(fs::exists(file("kit/qlc_ties/model.json")));
  EXPECT_FALSE(fs::exists(file("kit/qlc_batch")));
  expect_unusable(dmlref({"kit", "other", "--filter", "("}), {"--filter", "\"(\"", "expected a regular expression"});
  expect_unusable(dmlref({"kit", "other", "--filter", "^nothing"}), {"--filter", "expected it to match a case"});
  EXPECT_FALSE(fs::exists(file("other")));
}

TEST_F(KitTest, IsWrittenIntoNewOrEmptyFoldersOnly) {
  write("file", "text");
  expect_unusable(dmlref({"kit", "file"}), {"file", "is a file, expected"});
  fs::create_directories(file("full"));
  write("full/mine.txt", "text");
  expect_unusable(dmlref({"kit", "full"}), {"full", "holds something, expected"});
  EXPECT_EQ(files_of(file("full")).size(), 1u);
  expect_unusable(dmlref({"kit", "file/below"}), {"file/below", "cannot be written"});
  expect_unusable(dmlref({"kit"}), {"DIR"});
}

TEST_F(KitTest, LeavesNothingWhereAFolderCannotBeWritten) {
  if (geteuid() == 0) {
    // Root writes everywhere but here.
    expect_unusable(dmlref({"kit", "/proc/kit"}), {"/proc/kit", "cannot be written"});
    return;
  }
  fs::create_directories(file("locked"));
  ASSERT_EQ(chmod(file("locked").c_str(), 0500), 0);
  expect_unusable(dmlref({"kit", "locked"}), {"locked", "cannot be written"});
  ASSERT_EQ(chmod(file("locked").c_str(), 0700), 0);
  EXPECT_TRUE(fs::is_empty(file("locked")));
}

/// A kit of one case and its results, one of whose files is replaced.
class BadFileTest : public KitTest {
 protected:
  void SetUp() override {
    make_kit("^mvn1_padded_rows$");
    copy_results();
    ASSERT_EQ(check().status, 0);
    description_ = read_text(description());
  }
  fs::path description() const { return file("kit/mvn1_padded_rows/case.json"); }

  /// Both checkers end with status 2, one line on standard error, and nothing on standard output.
  void expect_both_unusable(const std::vector<std::string>& fragments, const std::string& of_python = "") const {
    expect_unusable(dmlref({"check-kit", "kit", "results"}), fragments);
    static const std::string python = python_with("numpy");
    if (python.empty()) return;
    const Outcome theirs = shell(python + " kit/check_kit.py kit results");
    EXPECT_EQ(theirs.status, 2) << theirs;
    EXPECT_EQ(theirs.out, "");
    EXPECT_EQ(std::count(theirs.err.begin(), theirs.err.end(), '\n'), 1) << theirs;
    EXPECT_NE(theirs.err.find(of_python.empty() ? fragments[0] : of_python), std::string::npos) << theirs;
  }
  void with(std::string_view from, std::string_view to, const std::vector<std::string>& fragments) const {
    SCOPED_TRACE(std::string(to));
    write_text(description(), replaced(description_, from, to));
    expect_both_unusable(fragments);
    write_text(description(), description_);
  }

  std::string description_;
};

TEST_F(BadFileTest, FoldersThatAreMissing) {
  expect_unusable(dmlref({"check-kit", "none", "results"}), {"none", "is no folder, expected a kit"});
  expect_unusable(dmlref({"check-kit", "results", "results"}), {"results", "has no folder with a case.json"});
  expect_unusable(dmlref({"check-kit", "kit", "none"}),
                  {"none", "is no folder, expected one with a folder of results"});
  expect_unusable(dmlref({"check-kit", "kit"}), {"RESULTS"});
  expect_unusable(dmlref({"check-kit", "kit", "results", "--feature-level", "7_0"}), {"--feature-level", "7_0"});
}

TEST_F(BadFileTest, Descriptions) {
  const std::string where = "kit/mvn1_padded_rows/case.json";
  with("\"mvn1_padded_rows\"", "\"other\"", {where, "$.name"});
  with("\"MEAN_VARIANCE_NORMALIZATION1\"", "7", {where, "$.operator"});
  with("\"output\"", "\"maybe\"", {where, "$.expect"});
  with("\"2_1\"", "\"9_9\"", {where, "$.feature_level"});
  with("\"output.npy\"", "\"../../../secret.npy\"", {where, "$.file"});
  with("\"FLOAT32\"", "\"COMPLEX\"", {where, "$.data_type"});
  with("[2,3,4,5]", "[2,3,0,5]", {where, "$.sizes"});
  with("[2,3,4,5]", "[]", {where, "$.sizes"});
  with("[2,3,4,5]", "[4294967295,4294967295,4294967295,4294967295]", {where, "$.sizes"});
  with("[2,3,4,5]", "[2,3,4,-5]", {where, "$.sizes"});
  with("[150,50,12,2]", "[4294967295,4294967295,4294967295,4294967295]", {where, "$.sizes"});
  with("[150,50,12,2]", "[150,50,12]", {where, "$.strides"});
  with("\"bits\": false", "\"bits\": 0", {where, "$.tolerance.bits"});
  with("\"source_kind\": \"documented\"", "\"source_kind\": \"rumour\"", {where, "$.source_kind"});
  with("\"source_kind\": \"documented\",", "", {where, "source_kind"});
  with("\"ulp\": 2", "\"ulp\": -2", {where, "$.tolerance.ulp"});
  with("\"source\"", "", {where});
}

TEST_F(BadFileTest, TruncatedDescriptions) {
  for (std::size_t length : {std::size_t{0}, std::size_t{1}, description_.size() / 2, description_.size() - 3}) {
    write_text(description(), description_.substr(0, length));
    expect_both_unusable({"kit/mvn1_padded_rows/case.json"});
  }
  write_text(description(), std::string(200000, '['));
  expect_both_unusable({"kit/mvn1_padded_rows/case.json"});
  write_text(description(), "[]");
  expect_both_unusable({"kit/mvn1_padded_rows/case.json"});
}

TEST_F(BadFileTest, Arrays) {
  for (const std::string name : {"kit/mvn1_padded_rows/expected/output.npy", "results/mvn1_padded_rows/output.npy"}) {
    const std::string bytes = read_text(file(name));
    for (const std::string& bad :
         {std::string(), bytes.substr(0, 7), bytes.substr(0, 40), bytes.substr(0, bytes.size() - 1), bytes + "1234",
          "\x93NUMPY\x09" + bytes.substr(7), npy("<f4", "(99999999999999, 99999999999999)", "1234"),
          npy("<f4", "(-1,)", ""), npy("|O", "(1,)", "12345678"), npy("<f4", "(1,", "1234"),
          npy("<f4", "(2, 2)", std::string(16, 'x'), "True")}) {
      write_text(file(name), bad);
      expect_both_unusable({name});
    }
    write_text(file(name), bytes);
  }
  // Of another type or size than case.json says.
  write_text(file("kit/mvn1_padded_rows/expected/output.npy"), npy("<f4", "(1,)", "1234"));
  expect_both_unusable({"kit/mvn1_padded_rows/expected/output.npy", "as case.json says"});
  fs::remove(file("kit/mvn1_padded_rows/expected/output.npy"));
  expect_both_unusable({"kit/mvn1_padded_rows/expected/output.npy"});
}

}  // namespace
}  // namespace dmlref::test
