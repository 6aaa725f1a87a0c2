// Equal within a tolerance, or not, where, and by how much.
#include <cmath>
#include <cstdint>
#include <limits>

#include "command/command.hpp"

namespace dmlref::test {
namespace {

class Compare : public CommandTest {
 protected:
  template <class T>
  Outcome compare(const char* descr, const std::vector<T>& a, const std::vector<T>& b, const char* ulp = "0") {
    std::string shape = "(";
    shape.append(std::to_string(a.size())).append(",)");
    write("a.npy", npy(descr, shape, bytes_of(a)));
    write("b.npy", npy(descr, shape, bytes_of(b)));
    const Outcome outcome = dmlref({"compare", "a.npy", "b.npy", "--ulp", ulp});
    EXPECT_EQ(outcome.err, "");
    return outcome;
  }
};

TEST_F(Compare, EqualFilesAreEqual) {
  const Outcome outcome = compare<float>("<f4", {1, -0.0f, NAN, INFINITY}, {1, 0.0f, NAN, INFINITY});
  EXPECT_EQ(outcome.status, 0) << outcome;
  EXPECT_EQ(outcome.out, "equal within 0 ulp: 4 elements of FLOAT32, largest difference 0 ulp\n");
}

TEST_F(Compare, CountsUnitsInTheLastPlace) {
  const float next = std::nextafter(1.0f, 2.0f);
  const float below = std::nextafter(1.0f, 0.0f);
  EXPECT_EQ(compare<float>("<f4", {0, next}, {0, below}, "2").status, 0);
  const Outcome outcome = compare<float>("<f4", {0, 1, next}, {0, next, below}, "1");
  EXPECT_EQ(outcome.status, 1) << outcome;
  EXPECT_EQ(outcome.out,
            "differ: 1 of 3 elements of FLOAT32 by more than 1 ulp, worst at [2]: 1.0000001 against 0.99999994, "
            "2 ulp apart\n\n"
            "at           A        bits           B        bits   absolute   relative  ulp\n"
            "[2]  1.0000001  0x3F800001  0.99999994  0x3F7FFFFF  1.788e-07  1.788e-07    2\n\n"
            "ulp  elements\n"
            "0           1\n"
            "1           1\n"
            "2           1\n");
  // Across zero: both smallest numbers are one unit from it.
  constexpr float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(compare<float>("<f4", {tiny}, {-tiny}, "2").status, 0);
  EXPECT_EQ(compare<float>("<f4", {tiny}, {-tiny}, "1").status, 1);
  EXPECT_EQ(compare<double>("<f8", {1.0}, {std::nextafter(1.0, 2.0)}, "1").status, 0);
  EXPECT_EQ(compare<double>("<f8", {1.0}, {std::nextafter(1.0, 2.0)}).status, 1);
  EXPECT_EQ(compare<std::uint16_t>("<f2", {0x3C00}, {0x3C05}, "5").status, 0);
  EXPECT_EQ(compare<std::uint16_t>("<f2", {0x3C00}, {0x3C05}, "4").status, 1);
  EXPECT_EQ(compare<double>("<f8", {-std::numeric_limits<double>::max()}, {std::numeric_limits<double>::max()},
                            "18446744073709551615")
                .status,
            0);
}

TEST_F(Compare, NothingIsNearNaNOrInfinity) {
  const char* most = "18446744073709551615";
  EXPECT_EQ(compare<float>("<f4", {NAN}, {1}, most).status, 1);
  EXPECT_EQ(compare<float>("<f4", {INFINITY}, {std::numeric_limits<float>::max()}, most).status, 1);
  EXPECT_EQ(compare<float>("<f4", {INFINITY}, {-INFINITY}, most).status, 1);
  const Outcome outcome = compare<float>("<f4", {1, 1, 1}, {2, NAN, 3}, "3");
  EXPECT_NE(outcome.out.find("worst at [1]: 1 against nan, which no number of ulp spans"), std::string::npos)
      << outcome;
}

TEST_F(Compare, ComparesIntegersByTheirDifference) {
  EXPECT_EQ(compare<std::int8_t>("|i1", {-128, 5}, {127, 5}, "255").status, 0);
  EXPECT_EQ(compare<std::int8_t>("|i1", {-128, 5}, {127, 5}, "254").status, 1);
  EXPECT_EQ(compare<std::uint8_t>("|u1", {3}, {2}, "1").status, 0);
  EXPECT_EQ(compare<std::int64_t>("<i8", {std::numeric_limits<std::int64_t>::min()},
                                  {std::numeric_limits<std::int64_t>::max()}, "18446744073709551614")
                .status,
            1);
  EXPECT_EQ(compare<std::uint64_t>("<u8", {0}, {~std::uint64_t{0}}, "18446744073709551615").status, 0);
}

TEST_F(Compare, ShapeAndTypeMustMatch) {
  write("a.npy", npy("<f4", "(2, 3)", std::string(24, '\0')));
  write("b.npy", npy("<f4", "(3, 2)", std::string(24, '\0')));
  write("c.npy", npy("<i4", "(2, 3)", std::string(24, '\0')));
  const Outcome shape = dmlref({"compare", "a.npy", "b.npy"});
  EXPECT_EQ(shape.status, 1);
  EXPECT_EQ(shape.out, "differ: shape (2, 3) against (3, 2)\n");
  const Outcome type = dmlref({"compare", "a.npy", "c.npy"});
  EXPECT_EQ(type.status, 1);
  EXPECT_EQ(type.out, "differ: FLOAT32 against INT32\n");
}

TEST_F(Compare, AcceptsDataPaddedToFourBytes) {
  write("exact.npy", npy("|u1", "(1, 5)", "abcde"));
  write("padded.npy", npy("|u1", "(1, 5)", "abcde\xFF\xFF\xFF"));
  write("half.npy", npy("<f2", "(1,)", std::string("\0\x3C\1\2", 4)));
  write("other.npy", npy("<f2", "(1,)", std::string("\0\x3C", 2)));
  EXPECT_EQ(dmlref({"compare", "exact.npy", "padded.npy"}).out,
            "equal within 0 ulp: 5 elements of UINT8, largest difference 0 ulp\n");
  EXPECT_EQ(dmlref({"compare", "half.npy", "other.npy"}).status, 0);
  write("padded.npy", npy("|u1", "(1, 5)", "abcde\xFF\xFF\xFF\xFF"));
  expect_unusable(dmlref({"compare", "exact.npy", "padded.npy"}),
                  {"padded.npy: has 9 bytes of elements, expected 5 for shape (1, 5) of UINT8, or 8 with padding"});
}

TEST_F(Compare, ReadsRawDumpsOfATypeAndShape) {
  write("a.npy", npy("<i2", "(1, 3)", bytes_of<std::int16_t>({1, -2, 3})));
  write("a.bin", bytes_of<std::int16_t>({1, -2, 3}));
  write("padded.bin", bytes_of<std::int16_t>({1, -2, 4, 99}));
  const auto compare = [&](const char* b, const char* shape) {
    return dmlref({"compare", "a.npy", b, "--type", "DML_TENSOR_DATA_TYPE_INT16", "--shape", shape});
  };
  EXPECT_EQ(compare("a.bin", "1,3").status, 0);
  EXPECT_NE(compare("padded.bin", "1,3").out.find("worst at [0, 2]: 3 against 4"), std::string::npos);
  EXPECT_EQ(compare("a.bin", "3,1").out, "differ: shape (1, 3) against (3, 1)\n");
  EXPECT_EQ(dmlref({"compare", "a.bin", "a.bin", "--type", "INT16"}).out,
            "equal within 0 ulp: 3 elements of INT16, largest difference 0 ulp\n");
  expect_unusable(compare("a.bin", "2,3"), {"a.bin: has 6 bytes of elements, expected 12 for shape (2, 3) of INT16"});
  expect_unusable(compare("a.bin", "4294967296,4294967296,2"), {"a.bin: has shape", "which no memory holds"});
  expect_unusable(compare("a.bin", "1,,3"), {"--shape: is \"1,,3\", expected integers like 1,3,4,4"});
  expect_unusable(dmlref({"compare", "a.bin", "a.bin", "--type", "UINT4"}), {"--type: is \"UINT4\", expected one of"});
  expect_unusable(dmlref({"compare", "a.bin", "a.bin", "--type", "INT32"}),
                  {"a.bin: has 6 bytes, expected a multiple"});
  expect_unusable(dmlref({"compare", "a.bin", "a.bin"}), {"a.bin: is no .npy file"});
  write("empty.bin", "");
  expect_unusable(compare("empty.bin", "3"), {"empty.bin: is empty"});
}

TEST_F(Compare, NamesTheCoordinatesOfTheWorst) {
  std::vector<std::int32_t> a(24, 0);
  std::vector<std::int32_t> b(24, 0);
  a[7] = 1;
  b[17] = 9;  // [1, 1, 1] of 2 by 3 by 4
  write("a.npy", npy("<i4", "(2, 3, 4)", bytes_of(a)));
  write("b.npy", npy("<i4", "(2, 3, 4)", bytes_of(b)));
  EXPECT_EQ(dmlref({"compare", "a.npy", "b.npy"}).out,
            "differ: 2 of 24 elements of INT32 by more than 0 ulp, worst at [1, 1, 1]: 0 against 9, 9 ulp apart\n\n"
            "at         A        bits  B        bits  absolute  relative  ulp\n"
            "[0, 1, 3]  1  0x00000001  0  0x00000000         1       inf    1\n"
            "[1, 1, 1]  0  0x00000000  9  0x00000009         9         1    9\n\n"
            "ulp      elements\n"
            "0              22\n"
            "1               1\n"
            "9 to 16         1\n");
}

TEST_F(Compare, ListsAsManyMismatchesAsAskedFor) {
  std::vector<std::uint8_t> a(40, 0);
  std::vector<std::uint8_t> b(40, 0);
  for (std::size_t i = 0; i < 25; ++i) b[i] = 200;
  write("a.npy", npy("|u1", "(40,)", bytes_of(a)));
  write("b.npy", npy("|u1", "(40,)", bytes_of(b)));
  const auto listed = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"compare", "a.npy", "b.npy"};
    words.insert(words.end(), options.begin(), options.end());
    const std::string out = dmlref(words).out;
    std::size_t found = 0;
    for (std::size_t at = 0; (at = out.find("0xC8", at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(listed({}), 10u);
  EXPECT_EQ(listed({"--mismatches", "3"}), 3u);
  EXPECT_EQ(listed({"--mismatches", "0"}), 0u);
  EXPECT_EQ(listed({"--mismatches", "100"}), 25u);
  EXPECT_EQ(listed({"--ulp", "200"}), 0u);
}

TEST_F(Compare, AcceptsAbsoluteAndRelativeTolerances) {
  write("a.npy", npy("<f4", "(4,)", bytes_of<float>({1000, 0, 1, -2})));
  write("b.npy", npy("<f4", "(4,)", bytes_of<float>({1001, 0.25f, 1.5f, -2})));
  const auto compare = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"compare", "a.npy", "b.npy"};
    words.insert(words.end(), options.begin(), options.end());
    return dmlref(words);
  };
  EXPECT_EQ(compare({"--abs", "1"}).status, 0);
  EXPECT_EQ(compare({"--abs", "0.99"}).status, 1);
  EXPECT_EQ(compare({"--abs", "0.5", "--rel", "0.001"}).status, 0);
  // Of B's magnitude: 1 / 1001 is less than 0.00099901, 1 / 1000 is not.
  EXPECT_EQ(compare({"--abs", "0.5", "--rel", "0.00099901"}).status, 0);
  EXPECT_EQ(compare({"--abs", "0.5", "--rel", "0.00099900"}).status, 1);
  EXPECT_TRUE(compare({"--abs", "0.25", "--rel", "0.4"})
                  .out.starts_with("equal within 0.25 absolute or 0.4 relative: 4 elements of FLOAT32, largest"));
  EXPECT_TRUE(compare({"--ulp", "2", "--abs", "1", "--rel", "1e-3"})
                  .out.starts_with("equal within 2 ulp, 1 absolute or 0.001 relative: "));
  // The worst is the worst of those beyond the tolerance.
  EXPECT_NE(compare({"--abs", "0.3"}).out.find("worst at [2]: 1 against 1.5, 4194304 ulp apart"), std::string::npos);
  // Whatever the tolerance, NaN and infinity are equal to themselves alone.
  write("a.npy", npy("<f4", "(1,)", bytes_of<float>({INFINITY})));
  write("b.npy", npy("<f4", "(1,)", bytes_of<float>({NAN})));
  EXPECT_EQ(compare({"--abs", "1e300", "--rel", "1e300"}).status, 1);
  for (const char* option : {"--abs", "--rel"}) {
    for (const char* text : {"-1", "nan", "inf", "1x", ""}) {
      expect_unusable(compare({option, text}), {option});
    }
  }
}

TEST_F(Compare, PrintsJson) {
  write("a.npy", npy("<f4", "(1, 3)", bytes_of<float>({1, 2, NAN})));
  write("b.npy", npy("<f4", "(1, 3)", bytes_of<float>({1, 3, 1})));
  const Outcome outcome = dmlref({"compare", "a.npy", "b.npy", "--json"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, read_text(fs::path(DMLREF_TEST_GOLDEN) / "reports/compare.json"));
  write("b.npy", npy("<i4", "(1, 3)", bytes_of<float>({1, 3, 1})));
  EXPECT_EQ(dmlref({"compare", "a.npy", "b.npy", "--json"}).out,
            R"({
  "equal": false,
  "tolerance": {
    "ulp": 0,
    "absolute": 0.0,
    "relative": 0.0
  },
  "unlike": "FLOAT32 against INT32"
}
)");
}

TEST_F(Compare, ReadsEitherOrderWhereBothAgreeEitherEndAndBool) {
  const struct {
    const char* descr;
    const char* shape;
    std::string data;
    const char* fortran;
    const char* same_descr;  // of C order and little endian
    std::string same_data;
  } rows[] = {
      {"<f4", "(3,)", bytes_of<float>({1, 2, 3}), "True", "<f4", bytes_of<float>({1, 2, 3})},
      {"<f4", "(1, 3)", bytes_of<float>({1, 2, 3}), "True", "<f4", bytes_of<float>({1, 2, 3})},
      {"<i2", "(1, 4, 1)", bytes_of<std::int16_t>({1, -2, 3, 4}), "True", "<i2", bytes_of<std::int16_t>({1, -2, 3, 4})},
      {"<f4", "()", bytes_of<float>({1}), "True", "<f4", bytes_of<float>({1})},
      {">u1", "(3,)", "abc", "False", "|u1", "abc"},
      {">u2", "(2,)", std::string("\x12\x34\x00\x01", 4), "False", "<u2", std::string("\x34\x12\x01\x00", 4)},
      {">f4", "(1, 2)", std::string("\x3F\x80\x00\x00\xC0\x20\x00\x00", 8), "True", "<f4", bytes_of<float>({1, -2.5f})},
      {">f2", "(2,)", std::string("\x3C\x00\x7C\x00", 4), "False", "<f2", std::string("\x00\x3C\x00\x7C", 4)},
      {">i8", "(1,)", std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE", 8), "False", "<i8", bytes_of<std::int64_t>({-2})},
      {"|b1", "(2, 2)", std::string("\0\1\1\0", 4), "False", "|u1", std::string("\0\1\1\0", 4)},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.descr) + " " + row.shape);
    write("a.npy", npy(row.descr, row.shape, row.data, row.fortran));
    write("b.npy", npy(row.same_descr, row.shape, row.same_data));
    const Outcome outcome = dmlref({"compare", "a.npy", "b.npy"});
    EXPECT_EQ(outcome.status, 0) << outcome;
  }
}

}  // namespace
}  // namespace dmlref::test
