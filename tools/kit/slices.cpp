// slices.cpp: the cases of SLICE and SLICE1.
#include <array>

#include "kit/build.hpp"

namespace dmlref::tool::kit {
namespace slices {  // one source with the other tables
namespace {

constexpr auto f32 = DataType::float32;
constexpr auto u8 = DataType::uint8;
constexpr auto u32 = DataType::uint32;
constexpr std::array<DataType, 11> slice_types{f32,
                                               DataType::float16,
                                               DataType::float64,
                                               DataType::int8,
                                               DataType::int16,
                                               DataType::int32,
                                               DataType::int64,
                                               u8,
                                               DataType::uint16,
                                               u32,
                                               DataType::uint64};

enum class Data { plain, bits };

struct SliceRow {
  const char* name;
  const char* kind;
  const char* property;
  DataType type;
  List input;
  List offsets;
  List sizes;  // of the output
  List steps;
  List input_strides = {};
  List output_strides = {};
  Data data = Data::plain;
  const char* source = "DML_SLICE_OPERATOR_DESC";
  std::uint64_t total_size = 0;  // of the input; 0: the least
};

const SliceRow slice_rows[] = {
    {"page_example_1",
     "window offset",
     "output coordinate c reads Offsets + Strides * c",
     f32,
     {1, 1, 4, 4},
     {0, 0, 1, 2},
     {1, 1, 3, 2},
     {1, 1, 1, 1}},
    {"page_example_2",
     "window stride",
     "Strides differ between dimensions",
     f32,
     {1, 1, 4, 4},
     {0, 0, 1, 0},
     {1, 1, 2, 2},
     {1, 1, 2, 3}},
    {"last_element",
     "window offset",
     "a window of one element at the end of every dimension",
     f32,
     {2, 3, 4, 5},
     {1, 2, 3, 4},
     {1, 1, 1, 1},
     {1, 1, 1, 1}},
    {"stride_to_the_edge",
     "window tail",
     "the last element read is the input's last, although Sizes * Strides is beyond",
     u8,
     {1, 1, 1, 11},
     {0, 0, 0, 1},
     {1, 1, 1, 4},
     {1, 1, 1, 3}},
    {"stride_never_taken",
     "window stride",
     "a stride beside a size of 1 is never taken, whatever it is",
     f32,
     {1, 1, 2, 3},
     {0, 0, 1, 2},
     {1, 1, 1, 1},
     {4294967295, 1, 4294967295, 2147483648}},
    {"stride_zero",
     "window stride",
     "a stride of 0 repeats one element",
     f32,
     {1, 1, 2, 3},
     {0, 0, 0, 1},
     {1, 1, 2, 4},
     {1, 1, 1, 0},
     {},
     {},
     Data::plain,
     "reading of DML_SLICE_OPERATOR_DESC: no rule forbids it"},
    {"long_rows",
     "window tail",
     "rows that are no multiple of a vector",
     u8,
     {1, 2, 3, 301},
     {0, 0, 0, 3},
     {1, 2, 3, 297},
     {1, 1, 1, 1}},
    {"every_third",
     "window stride",
     "a stride within long rows",
     DataType::int16,
     {1, 2, 3, 200},
     {0, 0, 0, 1},
     {1, 2, 3, 66},
     {1, 1, 1, 3}},
    {"nan_payloads_float32",
     "bits",
     "bits are copied: payloads of NaN, signalling NaN and the sign of 0 survive",
     f32,
     {1, 1, 8, 32},
     {0, 0, 1, 0},
     {1, 1, 7, 32},
     {1, 1, 1, 1},
     {},
     {},
     Data::bits},
    {"nan_payloads_float16",
     "bits",
     "bits are copied: payloads of NaN, signalling NaN and the sign of 0 survive",
     DataType::float16,
     {1, 1, 8, 64},
     {0, 0, 1, 0},
     {1, 1, 7, 32},
     {1, 1, 1, 2},
     {},
     {},
     Data::bits},
    {"nan_payloads_float64",
     "bits",
     "bits are copied: payloads of NaN, signalling NaN and the sign of 0 survive",
     DataType::float64,
     {1, 1, 8, 32},
     {0, 0, 1, 0},
     {1, 1, 7, 32},
     {1, 1, 1, 1},
     {},
     {},
     Data::bits},
    {"nhwc_input",
     "memory layout",
     "strides of the input: NHWC in memory",
     f32,
     {2, 3, 4, 5},
     {0, 1, 1, 1},
     {2, 2, 3, 2},
     {1, 1, 1, 2},
     {60, 1, 15, 3}},
    {"nhwc_output",
     "memory layout",
     "strides of the output: NHWC in memory",
     f32,
     {2, 3, 4, 5},
     {0, 1, 1, 1},
     {2, 2, 3, 2},
     {1, 1, 1, 2},
     {},
     {12, 1, 4, 2}},
    {"transposed",
     "memory layout",
     "input and output disagree on the fastest dimension",
     DataType::uint16,
     {1, 1, 37, 41},
     {0, 0, 1, 2},
     {1, 1, 35, 38},
     {1, 1, 1, 1},
     {1517, 1517, 1, 37},
     {}},
    {"broadcast_input",
     "memory layout",
     "an input stride of 0 repeats along that dimension",
     f32,
     {2, 3, 4, 5},
     {1, 1, 0, 1},
     {1, 2, 4, 3},
     {1, 1, 1, 1},
     {0, 5, 0, 1}},
    {"overlapping_input",
     "memory layout",
     "elements of the input may share addresses",
     DataType::int32,
     {1, 1, 6, 4},
     {0, 0, 1, 0},
     {1, 1, 4, 4},
     {1, 1, 1, 1},
     {24, 24, 2, 1}},
    {"padded_rows",
     "memory layout",
     "rows with unused elements after them, in input and output",
     u8,
     {1, 2, 3, 5},
     {0, 0, 1, 1},
     {1, 2, 2, 3},
     {1, 1, 1, 1},
     {48, 24, 8, 1},
     {32, 16, 7, 1}},
    {"doubled_strides",
     "memory layout",
     "64-bit elements seen as UINT32 with strides doubled, and a larger total size",
     u32,
     {1, 1, 3, 4},
     {0, 0, 1, 1},
     {1, 1, 2, 2},
     {1, 1, 1, 2},
     {24, 24, 8, 2},
     {},
     Data::plain,
     "DML_BUFFER_TENSOR_DESC",
     96},
};

struct Slice1Row {
  const char* name;
  const char* kind;
  const char* property;
  DataType type;
  List input;
  List offsets;
  List window;
  List steps;
  List output;
  List input_strides = {};
  List output_strides = {};
  Data data = Data::plain;
};

const Slice1Row slice1_rows[] = {
    {"page_example_1",
     "window stride",
     "a positive stride starts at the window's first element",
     f32,
     {1, 1, 4, 4},
     {0, 0, 0, 1},
     {1, 1, 4, 3},
     {1, 1, 2, 2},
     {1, 1, 2, 2}},
    {"page_example_2",
     "stride sign",
     "a negative stride starts at the window's last element",
     f32,
     {1, 1, 4, 4},
     {0, 0, 0, 1},
     {1, 1, 4, 3},
     {1, 1, -2, 2},
     {1, 1, 2, 2}},
    {"reversed_rows",
     "stride sign",
     "stride -1 in the last dimension",
     f32,
     {1, 2, 3, 67},
     {0, 0, 0, 0},
     {1, 2, 3, 67},
     {1, 1, 1, -1},
     {1, 2, 3, 67}},
    {"reversed_rows_of_bytes",
     "stride sign",
     "stride -1 in long rows of bytes",
     u8,
     {1, 1, 5, 301},
     {0, 0, 0, 2},
     {1, 1, 5, 298},
     {1, 1, 1, -1},
     {1, 1, 5, 298}},
    {"reversed_everywhere",
     "stride sign",
     "stride -1 in every dimension",
     DataType::uint16,
     {2, 3, 4, 5},
     {0, 0, 0, 0},
     {2, 3, 4, 5},
     {-1, -1, -1, -1},
     {2, 3, 4, 5}},
    {"reversed_within_a_window",
     "stride sign",
     "the start is InputWindowOffsets + InputWindowSizes - 1",
     f32,
     {1, 1, 1, 12},
     {0, 0, 0, 3},
     {1, 1, 1, 6},
     {1, 1, 1, -1},
     {1, 1, 1, 6}},
    {"negative_tail",
     "window tail",
     "a negative stride that does not divide the window leaves its first elements",
     f32,
     {1, 1, 1, 12},
     {0, 0, 0, 1},
     {1, 1, 1, 8},
     {1, 1, 1, -3},
     {1, 1, 1, 3}},
    {"positive_tail",
     "window tail",
     "a positive stride that does not divide the window leaves its last elements",
     f32,
     {1, 1, 1, 12},
     {0, 0, 0, 1},
     {1, 1, 1, 8},
     {1, 1, 1, 3},
     {1, 1, 1, 3}},
    {"output_less_than_the_window",
     "window tail",
     "the output may take fewer elements than the window offers",
     f32,
     {1, 2, 6, 8},
     {0, 0, 1, 1},
     {1, 2, 5, 7},
     {1, 1, 1, 2},
     {1, 1, 2, 2}},
    {"output_less_than_the_window_reversed",
     "window tail",
     "also then a negative stride starts at the window's end",
     f32,
     {1, 2, 6, 8},
     {0, 0, 1, 1},
     {1, 2, 5, 7},
     {1, 1, -1, -2},
     {1, 1, 2, 3}},
    {"stride_beyond_the_window",
     "stride sign",
     "with one element in the output only the stride's sign counts",
     f32,
     {1, 1, 3, 7},
     {0, 0, 0, 2},
     {1, 1, 3, 4},
     {1, 1, 100, -100},
     {1, 1, 1, 1}},
    {"extreme_strides",
     "stride sign",
     "strides of -2147483648 and 2147483647 beside one element",
     f32,
     {1, 1, 3, 7},
     {0, 0, 0, 2},
     {1, 1, 3, 4},
     {1, 1, 2147483647, -2147483648},
     {1, 1, 1, 1}},
    {"mixed_signs",
     "stride sign",
     "signs differ between dimensions",
     DataType::int32,
     {3, 4, 5, 6},
     {1, 0, 1, 0},
     {2, 4, 4, 6},
     {-1, 2, -3, 1},
     {2, 2, 2, 6}},
    {"rank8_mixed_signs",
     "stride sign",
     "signs differ between eight dimensions",
     DataType::int16,
     {2, 3, 2, 2, 3, 2, 3, 4},
     {0, 1, 0, 0, 0, 1, 0, 1},
     {2, 2, 2, 1, 3, 1, 3, 3},
     {-1, 1, -1, 1, -2, 1, 2, -2},
     {2, 2, 2, 1, 2, 1, 2, 2}},
    {"nhwc_reversed",
     "memory layout",
     "negative window strides over an NHWC input into an NHWC output",
     DataType::float16,
     {2, 5, 4, 3},
     {0, 1, 0, 0},
     {2, 4, 4, 3},
     {1, -1, 1, -1},
     {2, 4, 4, 3},
     {60, 1, 15, 5},
     {48, 1, 12, 4}},
    {"broadcast_reversed",
     "memory layout",
     "a negative window stride along a broadcast dimension",
     f32,
     {2, 3, 4, 5},
     {0, 0, 0, 0},
     {2, 3, 4, 5},
     {1, -1, -2, -1},
     {2, 3, 2, 5},
     {0, 5, 0, 1}},
    {"padded_output",
     "memory layout",
     "rows of the output with unused elements after them",
     u8,
     {1, 2, 4, 6},
     {0, 0, 1, 0},
     {1, 2, 3, 6},
     {1, 1, -1, 3},
     {1, 2, 3, 2},
     {},
     {32, 16, 5, 2}},
    {"nan_payloads",
     "bits",
     "bits are copied under a negative stride too",
     f32,
     {1, 1, 8, 33},
     {0, 0, 0, 0},
     {1, 1, 8, 33},
     {1, 1, -1, -1},
     {1, 1, 8, 33},
     {},
     {},
     Data::bits},
};

/// Extents of the sweep over types and ranks; a rank takes the last ones.
const List sweep_extents{2, 1, 2, 1, 2, 3, 4, 7};

Input input_of(const char* name, DataType type, std::uint64_t count, Data data) {
  Input input;
  input.tensor = "InputTensor";
  input.type = type;
  input.bytes = data == Data::bits ? random_bits(type, count, name) : plain_elements(type, count);
  return input;
}

Case slice_case(const SliceRow& row) {
  Case one;
  one.name = std::string("slice_") + row.name;
  one.op = "SLICE";
  one.kind = row.kind;
  one.property = row.property;
  one.source = row.source;
  one.desc = {{"InputTensor", tensor(row.type, row.input, row.input_strides)},
              {"OutputTensor", tensor(row.type, row.sizes, row.output_strides)},
              {"DimensionCount", row.input.size()},
              {"Offsets", row.offsets},
              {"Sizes", row.sizes},
              {"Strides", row.steps}};
  std::uint64_t count = spanned(row.input, row.input_strides);
  if (row.total_size != 0) {
    one.desc["InputTensor"]["TotalTensorSizeInBytes"] = row.total_size;
    count = row.total_size / size_of(row.type);
  }
  one.inputs.push_back(input_of(row.name, row.type, count, row.data));
  return one;
}

Case slice1_case(const Slice1Row& row) {
  Case one;
  one.name = std::string("slice1_") + row.name;
  one.op = "SLICE1";
  one.kind = row.kind;
  one.property = row.property;
  one.source = "DML_SLICE1_OPERATOR_DESC";
  one.desc = {{"InputTensor", tensor(row.type, row.input, row.input_strides)},
              {"OutputTensor", tensor(row.type, row.output, row.output_strides)},
              {"DimensionCount", row.input.size()},
              {"InputWindowOffsets", row.offsets},
              {"InputWindowSizes", row.window},
              {"InputWindowStrides", row.steps}};
  one.inputs.push_back(input_of(row.name, row.type, spanned(row.input, row.input_strides), row.data));
  return one;
}

/// Every type at every rank: offsets where there is room, stride 2 (SLICE1: -2) along the last dimension.
void add_sweep(std::vector<Case>& cases, bool slice1) {
  for (const DataType type : slice_types) {
    for (std::size_t rank = 1; rank <= 8; ++rank) {
      const std::string name = lower(to_string(type)) + "_rank" + std::to_string(rank);
      SliceRow row{
          name.c_str(), "types and ranks", "the type is taken at this rank from the level on", type, {}, {}, {}, {}};
      List window;
      for (std::size_t d = 8 - rank; d < 8; ++d) {
        const std::int64_t extent = sweep_extents[d];
        const std::int64_t offset = extent > 2 ? 1 : 0;
        const std::int64_t step = d == 7 ? 2 : 1;
        row.input.push_back(extent);
        row.offsets.push_back(offset);
        window.push_back(extent - offset);
        row.sizes.push_back((extent - offset - 1) / step + 1);
        row.steps.push_back(slice1 && step == 2 ? -step : step);
      }
      cases.push_back(slice1 ? slice1_case({row.name, row.kind, row.property, row.type, row.input, row.offsets, window,
                                            row.steps, row.sizes})
                             : slice_case(row));
    }
  }
}

}  // namespace
}  // namespace slices

void add_slices(std::vector<Case>& cases) {
  using namespace slices;
  for (const SliceRow& row : slice_rows) cases.push_back(slice_case(row));
  add_sweep(cases, false);
  for (const Slice1Row& row : slice1_rows) cases.push_back(slice1_case(row));
  add_sweep(cases, true);
}

}  // namespace dmlref::tool::kit
