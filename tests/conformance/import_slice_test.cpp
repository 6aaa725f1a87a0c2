// Slice, and the views Transpose, Identity and Reshape, against index arithmetic written a second way.
#include <iterator>
#include <limits>
#include <random>

#include "conformance/onnx_model.hpp"
#include "support/seed.hpp"

namespace dmlref::test {
namespace {

class ImportSlice : public ImportTest {};
class ImportViews : public ImportTest {};

std::vector<float> counting(std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

/// The indices that ONNX's page says, by stepping: start and end are clamped as the page has it for either sign of the
/// step, which for a negative one is not as NumPy does.
std::vector<std::int64_t> taken(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  start = std::clamp<std::int64_t>(start, 0, step < 0 ? extent - 1 : extent);
  end = std::clamp<std::int64_t>(end, step < 0 ? -1 : 0, step < 0 ? extent - 1 : extent);
  // A longer step leaves the axis all the same, and would overflow.
  step = std::clamp<std::int64_t>(step, -extent, extent);
  std::vector<std::int64_t> indices;
  for (std::int64_t i = start; step < 0 ? i > end : i < end; i += step) indices.push_back(i);
  return indices;
}

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

struct Range {
  std::int64_t start, end, step;
};

// Over 7 elements of axis 1 of {2, 7, 3}.
constexpr Range ranges[] = {{0, 7, 1},       {1, 6, 2},
                            {-3, most, 1},   {-100, 3, 1},
                            {6, 0, -2},      {most, least, -1},
                            {-2, -6, -3},    {2, 100, 4},
                            {5, -100, -1},   {0, 1, most},
                            {6, -8, -most},  {-1, -8, least},
                            {100, 2, -2},    {3, 4, -0x7FFFFFFF + 2 * 0x7FFFFFFFLL},
                            {-9, least, -1}, {least, -9, -2}};

TEST_F(ImportSlice, TakesWhatOnnxSays) {
  for (const Range& range : ranges) {
    SCOPED_TRACE(std::to_string(range.start) + ":" + std::to_string(range.end) + ":" + std::to_string(range.step));
    const std::vector<std::int64_t> indices = taken(range.start, range.end, range.step, 7);
    std::vector<float> expected;
    for (int n = 0; n < 2; ++n) {
      for (const std::int64_t i : indices) {
        for (int c = 0; c < 3; ++c) expected.push_back(static_cast<float>((n * 7 + i) * 3 + c));
      }
    }
    const Extents shape{2, static_cast<std::int64_t>(indices.size()), 3};
    OnnxModel model(13);
    model.input("x", Type::FLOAT, {2, 7, 3}).output("y", Type::FLOAT, shape);
    model.initializer("starts", integers({range.start})).initializer("ends", integers({range.end}));
    model.initializer("axes", integers({-2})).initializer("steps", integers({range.step}));
    model.node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
    expect_output(model, {floats({2, 7, 3}, counting(42))}, floats(shape, expected));
  }
}

/// Numbers that ranges are made of: near the axis, near 0, and at the ends of 32 and 64 bits.
std::int64_t drawn(std::mt19937_64& random, std::int64_t extent, bool is_step) {
  const std::int64_t far[] = {least, least + 1, most - 1, most, -0x80000000LL, 0x7FFFFFFF, 0x7FFFFFFFLL + 1, -100, 100};
  if (random() % 5 == 0) return far[random() % std::size(far)];
  const std::int64_t value =
      static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(4 * extent + 1)) - 2 * extent;
  return is_step && value == 0 ? 1 : value;
}

TEST_F(ImportSlice, TakesWhatOnnxSaysOfRandomRanges) {
  const std::uint64_t seed = dmlref_test::test_seed(39);
  std::mt19937_64 random(seed);
  const int wanted = dmlref_test::rounds(2000);
  constexpr std::int64_t extents[] = {1, 2, 3, 7, 16};
  OnnxModel model(13);
  OnnxModel empty(13);
  fs::create_directory(file("data"));
  for (std::size_t i = 0; i < std::size(extents); ++i) {
    model.input("x" + std::to_string(i), Type::FLOAT, {extents[i]});
    empty.input("x" + std::to_string(i), Type::FLOAT, {extents[i]});
    write("data/input_" + std::to_string(i) + ".pb", floats({extents[i]}, counting(extents[i])).SerializeAsString());
  }
  int taking = 0;
  int refused = 0;
  while (taking < wanted) {
    const std::size_t axis = random() % std::size(extents);
    const std::int64_t extent = extents[axis];
    const Range range{drawn(random, extent, false), drawn(random, extent, false), drawn(random, extent, true)};
    std::vector<float> expected;
    for (const std::int64_t index : taken(range.start, range.end, range.step, extent)) {
      expected.push_back(static_cast<float>(index));
    }
    OnnxModel& to = expected.empty() ? empty : model;
    int& number = expected.empty() ? refused : taking;
    if (expected.empty() && refused == 50) continue;  // no more faults are told
    const std::string name = std::to_string(number);
    const Extents shape{static_cast<std::int64_t>(expected.size())};
    to.initializer("s" + name, integers({range.start})).initializer("e" + name, integers({range.end}));
    to.initializer("a" + name, integers({0})).initializer("t" + name, integers({range.step}));
    to.node("Slice", {"x" + std::to_string(axis), "s" + name, "e" + name, "a" + name, "t" + name}, {"y" + name});
    to.output("y" + name, Type::FLOAT, shape);
    if (!expected.empty()) {
      write("data/output_" + name + ".pb", floats(shape, expected).SerializeAsString());
    }
    ++number;
  }
  ASSERT_EQ(refused, 50);
  write("model.onnx", model.bytes());
  const Outcome imported = dmlref({"import", "model.onnx", "--data", "data", "--out", "out"});
  ASSERT_EQ(imported.status, 0) << imported;
  const Outcome run = dmlref({"run", "out/model.json"});
  ASSERT_EQ(run.status, 0) << run;
  for (int i = 0; i < taking; ++i) {
    const std::string name = std::to_string(i) + ".npy";
    ASSERT_EQ(read_text(file("out/output_" + name)), read_text(file("out/expected_" + name)))
        << model.graph().node(i).DebugString() << "seed " << seed;
  }
  // Nothing taken is a tensor without elements, which DirectML has none of: a line each.
  write("empty.onnx", empty.bytes());
  const Outcome none = dmlref({"import", "empty.onnx", "--out", "none"});
  expect_unusable(none, {"node 0 (Slice): ", "node 49 (Slice): "}, 50);
}

TEST_F(ImportSlice, TellsWhereOnnxRuntimeReadsAnEndAsNone) {
  for (const std::int64_t end : {most, std::int64_t{0x7FFFFFFF}}) {
    OnnxModel model(13);
    model.input("x", Type::FLOAT, {5}).output("y", Type::FLOAT, {5});
    model.initializer("s", integers({4})).initializer("e", integers({end})).initializer("a", integers({0}));
    model.initializer("t", integers({-1})).node("Slice", {"x", "s", "e", "a", "t"}, {"y"});
    expect_refused(model, {"node 0 (Slice): ends[0] is " + std::to_string(end) + ", which ONNX Runtime reads as no end",
                           "nothing is taken, expected -9223372036854775808 for all elements"});
  }
}

TEST_F(ImportSlice, NotesWhereOnnxRuntimeTakesMore) {
  constexpr std::int64_t extent = std::int64_t{1} << 31 | 9, end = 0x7FFFFFFF;
  OnnxModel model(13);
  model.input("x", Type::UINT8, {extent}).output("y", Type::UINT8, {7});
  model.initializer("s", integers({end - 7})).initializer("e", integers({end}));
  model.node("Slice", {"x", "s", "e"}, {"y"});
  write("model.onnx", model.bytes());
  const Outcome large = dmlref({"import", "model.onnx", "--out", "out"});
  EXPECT_EQ(large.status, 0) << large;
  EXPECT_NE(
      large.out.find("node 0 (Slice): ends[0] is 2147483647, which ONNX Runtime reads as no end; by ONNX's rule 7 "
                     "elements are in range, not 17\n"),
      std::string::npos)
      << large;
  // Both rules take the same.
  OnnxModel same(13);
  same.input("x", Type::UINT8, {9}).output("y", Type::UINT8, {7});
  same.initializer("s", integers({2})).initializer("e", integers({end})).node("Slice", {"x", "s", "e"}, {"y"});
  write("model.onnx", same.bytes());
  const Outcome small = dmlref({"import", "model.onnx", "--out", "out"});
  EXPECT_EQ(small.status, 0) << small;
  EXPECT_EQ(small.out.find("ONNX Runtime"), std::string::npos) << small;
}

TEST_F(ImportSlice, ReadsItsRangesFromAttributesConstantsAndData) {
  const ::onnx::TensorProto x = floats({2, 4}, counting(8));
  const ::onnx::TensorProto y = floats({1, 2}, {5, 6});
  OnnxModel attributes(9);
  attributes.input("x", Type::FLOAT, {2, 4}).output("y", Type::FLOAT, {1, 2});
  attributes.node("Slice", {"x"}, {"y"}).list("starts", {1, 1}).list("ends", {2, -1}).list("axes", {0, 1});
  expect_output(attributes, {x}, y);

  OnnxModel constants(11);
  constants.input("x", Type::FLOAT, {2, 4}).output("y", Type::FLOAT, {1, 2});
  constants.constant("starts", tensor<std::int32_t>(Type::INT32, {2}, {1, 1}));
  constants.constant("ends", tensor<std::int32_t>(Type::INT32, {2}, {2, -1}));
  constants.node("Slice", {"x", "starts", "ends"}, {"y"});
  expect_output(constants, {x}, y);

  OnnxModel data(13);
  data.input("x", Type::FLOAT, {2, 4}).output("y", Type::FLOAT, {1, 2});
  data.input("starts", Type::INT64, {2}).input("ends", Type::INT64, {2});
  data.node("Slice", {"x", "starts", "ends"}, {"y"});
  expect_output(data, {x, integers({1, 1}), integers({2, -1})}, y);
  EXPECT_NE(imported_.out.find("node 0 (Slice): starts is fixed to what data/input_1.pb has"), std::string::npos)
      << imported_;
  expect_refused(data, {"node 0 (Slice): starts (\"starts\") is known only when the model runs"});
}

TEST_F(ImportSlice, MovesTheBitsOfEveryType) {
  const auto expect_moved = [&](std::int32_t type, const auto& values) {
    SCOPED_TRACE(type);
    OnnxModel model(13);
    model.input("x", type, {3}).output("y", type, {2});
    model.initializer("one", integers({1})).initializer("three", integers({3}));
    model.node("Slice", {"x", "one", "three"}, {"y"});
    auto rest = values;
    rest.erase(rest.begin());
    expect_output(model, {tensor(type, {3}, values)}, tensor(type, {2}, rest));
  };
  expect_moved(Type::BOOL, std::vector<std::uint8_t>{1, 0, 1});
  expect_moved(Type::UINT8, std::vector<std::uint8_t>{1, 0, 255});
  expect_moved(Type::INT8, std::vector<std::int8_t>{1, -128, 127});
  expect_moved(Type::FLOAT16, std::vector<std::uint16_t>{0, 0x3C00, 0xFBFF});
  expect_moved(Type::BFLOAT16, std::vector<std::uint16_t>{0, 0x3F80, 0xFF7F});
  expect_moved(Type::UINT16, std::vector<std::uint16_t>{0, 1, 65535});
  expect_moved(Type::INT16, std::vector<std::int16_t>{0, -1, 32767});
  expect_moved(Type::UINT32, std::vector<std::uint32_t>{0, 1, 0xFFFFFFFF});
  expect_moved(Type::INT32, std::vector<std::int32_t>{0, -1, 0x7FFFFFFF});
  expect_moved(Type::DOUBLE, std::vector<double>{0, -0.1, 1e300});
  expect_moved(Type::INT64, std::vector<std::int64_t>{0, least, most});
  expect_moved(Type::UINT64, std::vector<std::uint64_t>{0, 1, ~std::uint64_t{0}});
}

TEST_F(ImportSlice, RefusesRangesThatMeanNothing) {
  const struct {
    std::vector<std::int64_t> starts, ends, axes, steps;
    std::vector<std::string> fragments;
  } rows[] = {
      {{0}, {1}, {2}, {1}, {"node 0 (Slice): axes[0] is 2, expected -2 to 1 for rank 2"}},
      {{0, 0}, {1, 1}, {1, -1}, {1, 1}, {"axes[1] is 1 again, expected each axis once"}},
      {{0}, {1}, {0}, {0}, {"steps[0] is 0"}},
      {{0, 0}, {1}, {0}, {1}, {"has 2 starts, 1 ends, 1 axes and 1 steps"}},
      {{3}, {1}, {0}, {1}, {"OutputTensor.Sizes[0] is 0", "[tensor_size_zero]"}},
  };
  for (const auto& row : rows) {
    OnnxModel model(13);
    model.input("x", Type::FLOAT, {4, 4}).output("y", Type::FLOAT, {1, 4});
    model.initializer("starts", integers(row.starts)).initializer("ends", integers(row.ends));
    model.initializer("axes", integers(row.axes)).initializer("steps", integers(row.steps));
    model.node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
    expect_refused(model, row.fragments);
  }
}

TEST_F(ImportViews, AreStridesOfTheNextOperator) {
  // {2, 3, 4} transposed to {4, 2, 3}, then a row of it.
  std::vector<float> expected;
  for (int n = 0; n < 2; ++n) {
    for (int c = 2; c >= 0; --c) expected.push_back(static_cast<float>((n * 3 + c) * 4 + 1));
  }
  OnnxModel model(13);
  model.input("x", Type::FLOAT, {2, 3, 4}).output("y", Type::FLOAT, {1, 2, 3});
  model.initializer("starts", integers({1, -1})).initializer("ends", integers({2, least}));
  model.initializer("axes", integers({0, 2})).initializer("steps", integers({1, -1}));
  model.node("Transpose", {"x"}, {"t"}).list("perm", {2, 0, 1});
  model.node("Identity", {"t"}, {"i"});
  model.node("Slice", {"i", "starts", "ends", "axes", "steps"}, {"y"});
  expect_output(model, {floats({2, 3, 4}, counting(24))}, floats({1, 2, 3}, expected));
  EXPECT_NE(imported_.out.find("operators: 1, outputs: 1"), std::string::npos) << imported_;
}

TEST_F(ImportViews, AreCopiedWhereAShapeNeedsPackedElements) {
  // {2, 3} transposed and flattened; a scalar; outputs that are inputs.
  OnnxModel model(13);
  model.input("x", Type::FLOAT, {2, 3}).output("y", Type::FLOAT, {3, 2, 1});
  model.initializer("shape", integers({0, -1, 1}));
  model.node("Transpose", {"x"}, {"t"}).node("Reshape", {"t", "shape"}, {"y"});
  expect_output(model, {floats({2, 3}, counting(6))}, floats({3, 2, 1}, {0, 3, 1, 4, 2, 5}));

  OnnxModel scalar(13);
  scalar.input("x", Type::FLOAT, {}).output("y", Type::FLOAT, {});
  scalar.node("Identity", {"x"}, {"y"});
  expect_output(scalar, {floats({}, {7})}, floats({}, {7}));

  OnnxModel constant(13);
  constant.initializer("x", floats({2, 2}, {1, 2, 3, 4})).output("y", Type::FLOAT, {2, 2});
  constant.node("Transpose", {"x"}, {"y"});
  expect_output(constant, {}, floats({2, 2}, {1, 3, 2, 4}));
}

TEST_F(ImportViews, RefuseShapesThatDoNotFit) {
  const struct {
    std::vector<std::int64_t> shape;
    const char* fragment;
  } rows[] = {
      {{-1, -1}, "expected one -1 at most"},
      {{5, -1}, "expected extents that divide the input's elements"},
      {{7}, "expected as many elements as the input has"},
      {{-2, 3}, "expected extents from 0, or -1"},
      {{1, 6, 0}, "expected 0 only where the input has a dimension"},
      {{most, most, most}, "expected as many elements as the input has"},
  };
  for (const auto& row : rows) {
    OnnxModel model(13);
    model.input("x", Type::FLOAT, {2, 3}).output("y", Type::FLOAT, {6}).initializer("shape", integers(row.shape));
    model.node("Reshape", {"x", "shape"}, {"y"});
    expect_refused(model, {"node 0 (Reshape): shape is [", row.fragment});
  }
  for (const Extents& perm : {Extents{0}, Extents{0, 0}, Extents{0, 2}, Extents{-1, 0}, Extents{}}) {
    OnnxModel model(13);
    model.input("x", Type::FLOAT, {2, 3}).output("y", Type::FLOAT, {3, 2});
    model.node("Transpose", {"x"}, {"y"}).list("perm", perm);
    expect_refused(model, {"node 0 (Transpose): attribute perm: is ", "expected an order of 2 axes"});
  }
}

}  // namespace
}  // namespace dmlref::test
