// matrix_products.cpp: the cases of MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kit/build.hpp"

namespace dmlref::tool::kit {
namespace matrix_products {  // one source with the other tables
namespace {

constexpr auto s8 = DataType::int8;
constexpr auto u8 = DataType::uint8;
constexpr auto f32 = DataType::float32;
constexpr auto i32 = DataType::int32;
constexpr const char* integer_page = "DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC";
constexpr const char* quantized_page = "DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC";
constexpr const char* modulo = "reading: sums beyond INT32 are taken modulo 2^32, as devices do";
constexpr const char* absent_zero_point = "reading: an absent zero point is 0";
constexpr const char* one_dimension_is_rows =
    "reading of DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC: a zero point of A with one dimension is per row";
constexpr const char* other_rank = "reading: dimensions of scales and zero points are aligned at the right";
constexpr const char* once = "reading: quantize the exact real number, rounding half to even";

using Floats = std::vector<float>;

struct Product {
  std::string name = {};
  const char* kind = "";
  const char* property = "";
  bool quantized = false;
  List leading = {};  // batch and channel; {2, 3} is rank 4
  std::int64_t m = 5, k = 12, n = 7;
  DataType a = u8;
  DataType b = s8;
  DataType out = u8;
  // Zero points and scales: none, one, or one per row or column.
  List a_zero_points = {131};
  List b_zero_points = {};
  List out_zero_points = {121};
  Floats a_scales = {0.5f};
  Floats b_scales = {0.25f};
  Floats out_scales = {};          // none: such that the results spread over the output's range and none is near a tie
  std::size_t parameter_rank = 0;  // 0: that of the data
  bool rows_in_one_dimension = false;
  List a_values = {};
  List b_values = {};
  bool a_transposed = false;  // in memory
  bool b_transposed = false;
  bool broadcast_b = false;  // one B for all batches, by strides of 0
  bool padded_output = false;
  bool owned = false;
  const char* source = nullptr;
};

List sizes_of(const Product& p, std::int64_t rows, std::int64_t columns) {
  List sizes = p.leading;
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}

List strides_of(const List& sizes, bool transposed, bool broadcast) {
  List order(sizes.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<std::int64_t>(d);
  if (transposed) std::swap(order[order.size() - 1], order[order.size() - 2]);
  if (!transposed && !broadcast) return {};
  List strides = strides_in_order(sizes, order);
  for (std::size_t d = 0; broadcast && d + 2 < strides.size(); ++d) strides[d] = 0;
  return strides;
}

Case product_case(const Product& p) {
  Case one;
  one.name = (p.quantized ? "qlmm_" : "mmi_") + p.name;
  one.op = p.quantized ? "QUANTIZED_LINEAR_MATRIX_MULTIPLY" : "MATRIX_MULTIPLY_INTEGER";
  one.kind = p.kind;
  one.property = p.property;
  one.source = p.source != nullptr ? p.source : p.quantized ? quantized_page : integer_page;
  CaseBuilder builder{one, Random(one.name)};

  const std::size_t rank = p.parameter_rank != 0 ? p.parameter_rank : p.leading.size() + 2;
  const auto along = [&](std::size_t count, bool rows) {
    if (rows && p.rows_in_one_dimension) return List{static_cast<std::int64_t>(count)};
    List sizes(rank, 1);
    if (count > 1) sizes[rank - (rows ? 2 : 1)] = static_cast<std::int64_t>(count);
    return sizes;
  };
  const auto zero_points = [&](const char* name, DataType type, const List& values, bool rows) {
    if (!values.empty()) builder.add(name, type, along(values.size(), rows), {}, byte_elements(values), p.owned);
  };
  const auto scales = [&](const char* name, const Floats& values, bool rows) {
    builder.add(name, f32, along(values.size(), rows), {}, bytes_of(values), p.owned);
  };
  const List a = sizes_of(p, p.m, p.k), b = sizes_of(p, p.k, p.n), out = sizes_of(p, p.m, p.n);
  builder.add_bytes("ATensor", p.a, a, strides_of(a, p.a_transposed, false), p.a_values);
  if (p.quantized) scales("AScaleTensor", p.a_scales, true);
  zero_points("AZeroPointTensor", p.a, p.a_zero_points, true);
  builder.add_bytes("BTensor", p.b, b, strides_of(b, p.b_transposed, p.broadcast_b), p.b_values, p.owned);
  if (p.quantized) scales("BScaleTensor", p.b_scales, false);
  zero_points("BZeroPointTensor", p.b, p.b_zero_points, false);
  if (p.quantized) {
    // The quotients are k / odd / 8 at most: never a tie, and never so near that float32 decides otherwise.
    const auto odd = static_cast<float>(2 * static_cast<std::int64_t>(45 * std::sqrt(static_cast<double>(p.k))) + 1);
    scales("OutputScaleTensor", p.out_scales.empty() ? Floats{0.125f * odd} : p.out_scales, true);
    zero_points("OutputZeroPointTensor", p.out, p.out_zero_points, true);
  }
  List strides;
  if (p.padded_output) {
    strides.assign(out.size(), 2);
    std::int64_t step = 2 * out.back() + 3;
    for (std::size_t d = out.size() - 1; d-- > 0; step *= out[d]) strides[d] = step;
  }
  builder.add("OutputTensor", p.quantized ? p.out : i32, out, strides, {});
  return one;
}

/// One row of A, 1, 255, 255, …, by columns of B that give these sums.
Product of_sums(const char* name, const char* property, const List& sums) {
  Product p{.name = name, .kind = "requantization", .property = property, .quantized = true, .m = 1};
  p.n = static_cast<std::int64_t>(sums.size());
  p.k = *std::max_element(sums.begin(), sums.end()) / (255 * 255) + 2;
  p.b = u8;
  p.a_zero_points = {};
  p.a_values.assign(static_cast<std::size_t>(p.k), 255);
  p.a_values[0] = 1;
  for (std::int64_t k = 0; k < p.k; ++k) {
    for (const std::int64_t sum : sums) {
      const std::int64_t rest = sum % 255, whole = sum / 255;  // 1 * rest + 255 * whole
      p.b_values.push_back(k == 0 ? rest : std::clamp<std::int64_t>(whole - 255 * (k - 1), 0, 255));
    }
  }
  p.source = once;
  return p;
}

/// Products a * b of single elements. The scales' product times a * b, a multiple of 2^-57, lies so near to a tie that
/// double gives the tie itself, which rounds the other way.
Product double_near_ties() {
  Product p{
      .name = "near_ties_of_double",
      .kind = "requantization",
      .property = "a sum times the scales that lies nearer to a tie than a double resolves is rounded to its own side",
      .quantized = true,
      .m = 4,
      .k = 1,
      .n = 4,
      .b = u8,
      .a_zero_points = {},
      .out_zero_points = {3},
      .out_scales = {1},
      .a_values = {146, 219, 215, 171},
      .b_values = {243, 147, 127, 219},
      .source = once};
  p.a_scales.clear();
  p.b_scales.clear();
  for (const float significand : {9980966.0f, 9455652.0f, 15790321.0f, 15759420.0f})
    p.a_scales.push_back(std::ldexp(significand, -28));
  for (const float significand : {12820017.0f, 14913081.0f, 15208557.0f, 14040971.0f})
    p.b_scales.push_back(std::ldexp(significand, -29));
  return p;
}

/// Sums 1 * odd: A is a column of the odd numbers, B is one.
Product ties(const char* name, DataType out, std::int64_t zero_point) {
  Product p{
      .name = name, .kind = "rounding", .property = "ties go to the even quotient, before the zero point is added"};
  p.quantized = true;
  for (std::int64_t odd = -31; odd <= 31; odd += 2) p.a_values.push_back(odd);
  p.m = static_cast<std::int64_t>(p.a_values.size());
  p.k = p.n = 1;
  p.a = s8;
  p.out = out;
  p.a_zero_points = {};
  p.out_zero_points = {zero_point};
  p.b_values = {1};
  p.a_scales = {1};
  p.b_scales = {0.5f};
  p.out_scales = {1};
  p.source = once;
  return p;
}

std::vector<Product> product_rows() {
  std::vector<Product> list;
  for (const bool quantized : {false, true}) {
    const auto add = [&](Product p) {
      p.quantized = quantized;
      list.push_back(std::move(p));
    };
    const List rows{0, 255, 128, 17, 200}, columns{0, -128, 127, 5, -5, 64, 1};
    add({.name = "two_dimensions", .kind = "geometry", .property = "one product, of two dimensions from 4_0"});
    add({.name = "four_dimensions",
         .kind = "geometry",
         .property = "every batch and channel is a product of its own",
         .leading = {2, 3}});
    add({.name = "three_dimensions", .kind = "geometry", .property = "three dimensions from 4_0", .leading = {3}});
    add({.name = "square", .kind = "geometry", .property = "rows of A times columns of B", .m = 6, .k = 6, .n = 6});
    add({.name = "one_row", .kind = "geometry", .property = "a vector times a matrix", .m = 1, .k = 37, .n = 43});
    add({.name = "one_column", .kind = "geometry", .property = "a matrix times a vector", .m = 43, .k = 37, .n = 1});
    add({.name = "depth_one", .kind = "geometry", .property = "an outer product", .k = 1});
    add({.name = "odd_depth", .kind = "geometry", .property = "a depth that is no multiple of four", .k = 67});
    add({.name = "zero_points_per_row",
         .kind = "parameters",
         .property = "each row of A has its zero point",
         .leading = {1, 2},
         .a_zero_points = rows});
    add({.name = "zero_points_per_column",
         .kind = "parameters",
         .property = "each column of B has its zero point",
         .leading = {1, 2},
         .b_zero_points = columns});
    add({.name = "zero_points_per_row_and_column",
         .kind = "parameters",
         .property = "rows and columns have zero points of their own",
         .m = 5,
         .n = 7,
         .a_zero_points = rows,
         .b_zero_points = columns});
    add({.name = "square_zero_points_per_row",
         .kind = "parameters",
         .property = "a zero point of A is per row, not per column",
         .m = 5,
         .n = 5,
         .a_zero_points = rows});
    add({.name = "absent_zero_points",
         .kind = "parameters",
         .property = "an absent zero point is 0",
         .a_zero_points = {},
         .source = absent_zero_point});
    add({.name = "parameters_of_rank_2",
         .kind = "types and ranks",
         .property = "zero points may have fewer dimensions than the data",
         .leading = {2, 2},
         .a_zero_points = rows,
         .b_zero_points = columns,
         .parameter_rank = 2,
         .source = other_rank});
    add({.name = "parameters_of_rank_4",
         .kind = "types and ranks",
         .property = "zero points may have more dimensions than the data",
         .a_zero_points = rows,
         .b_zero_points = columns,
         .parameter_rank = 4,
         .source = other_rank});
    add({.name = "column_zero_points_of_rank_1",
         .kind = "types and ranks",
         .property = "a zero point per column has one dimension",
         .b_zero_points = columns,
         .parameter_rank = 1,
         .source = other_rank});
    add({.name = "transposed_a",
         .kind = "memory layout",
         .property = "A is stored by columns",
         .leading = {2},
         .a_transposed = true});
    add({.name = "transposed_b",
         .kind = "memory layout",
         .property = "B is stored by columns",
         .leading = {2},
         .b_transposed = true});
    add({.name = "broadcast_b",
         .kind = "memory layout",
         .property = "strides of 0: one B for all batches",
         .leading = {2, 3},
         .broadcast_b = true});
    add({.name = "padded_output",
         .kind = "memory layout",
         .property = "the output's elements are apart",
         .leading = {2},
         .padded_output = true});
    add({.name = "b_owned_by_dml",
         .kind = "memory layout",
         .property = "B and all parameters are bound at initialization",
         .a_zero_points = rows,
         .b_zero_points = columns,
         .owned = true});
    for (const DataType a : {u8, s8}) {
      for (const DataType b : {u8, s8}) {
        for (const DataType out : {u8, s8}) {
          if (!quantized && out == s8) continue;
          Product p{.kind = "types and ranks", .property = "the types are independent"};
          p.name = lower(to_string(a)) + "_" + lower(to_string(b)) + (quantized ? "_" + lower(to_string(out)) : "");
          p.leading = {1, 1};
          p.a = a;
          p.b = b;
          p.out = out;
          p.a_zero_points = {a == u8 ? 140 : 17};
          p.b_zero_points = {b == u8 ? 125 : -6};
          p.out_zero_points = {out == u8 ? 130 : -11};
          add(p);
        }
      }
    }
  }
  list.push_back({.name = "row_zero_points_of_rank_1",
                  .kind = "types and ranks",
                  .property = "a zero point of A with one dimension is per row",
                  .m = 5,
                  .n = 5,
                  .a_zero_points = {0, 255, 128, 17, 200},
                  .rows_in_one_dimension = true,
                  .source = one_dimension_is_rows});
  list.push_back({.name = "sum_beyond_int32",
                  .kind = "accumulation",
                  .property = "a sum beyond INT32 is taken modulo 2^32",
                  .m = 2,
                  .k = 34000,
                  .n = 2,
                  .b = u8,
                  .a_zero_points = {},
                  .a_values = {255},
                  .b_values = {255},
                  .source = modulo});
  Product beyond{.name = "sum_beyond_int32",
                 .kind = "accumulation",
                 .property = "a sum beyond INT32 does not wrap",
                 .quantized = true,
                 .m = 2,
                 .k = 34000,
                 .n = 2,
                 .b = u8,
                 .a_zero_points = {},
                 .out_zero_points = {0},
                 .a_scales = {1},
                 .b_scales = {1},
                 .out_scales = {1e7f},
                 .a_values = {255},
                 .b_values = {255}};
  list.push_back(beyond);
  Product scaled{.name = "scales_per_row_and_column",
                 .kind = "parameters",
                 .property = "scales of A and of the output are per row, those of B per column",
                 .quantized = true,
                 .leading = {1, 2},
                 .m = 5,
                 .n = 5};
  scaled.a_scales = {0.25f, 0.5f, 0.125f, 0.75f, 1.0f};
  scaled.b_scales = {0.5f, 0.125f, 1.0f, 0.25f, 0.75f};
  scaled.out_scales = {19.375f, 40.125f, 9.875f, 57.625f, 77.125f};
  scaled.out_zero_points = {100, 121, 140, 3, 250};
  list.push_back(scaled);
  list.push_back(ties("ties", u8, 121));
  list.push_back(ties("ties_int8", s8, -3));
  list.push_back(double_near_ties());
  Product float_near_ties =
      of_sums("near_ties_of_float", "sums times the scales that a product in float32 rounds to the wrong side",
              {510778, 2281475, 2553890, 2826305, 3098720, 4324587, 4597002, 4665106, 4869417, 5141832, 5414247,
               5686662, 5822869, 6095284, 6367699, 6640114});
  float_near_ties.a_scales = {0.0235f};
  float_near_ties.b_scales = {0.00731f};
  float_near_ties.out_scales = {0.0457f * 256};
  float_near_ties.out_zero_points = {1};
  list.push_back(float_near_ties);
  Product beyond_float32 = of_sums("sum_beyond_float32", "a sum of more bits than float32 has is not rounded to it",
                                   {(1 << 25) + 1, (1 << 25) - 1, 3 * (1 << 25) + 1, 3 * (1 << 25) - 1});
  beyond_float32.a_scales = {1};
  beyond_float32.b_scales = {0x1p-26f};
  beyond_float32.out_scales = {1};
  beyond_float32.out_zero_points = {7};
  list.push_back(beyond_float32);
  Product saturated = ties("saturation", u8, 121);
  saturated.kind = "saturation";
  saturated.property = "results beyond 0 to 255 are clamped, after the zero point";
  saturated.b_scales = {16};
  list.push_back(saturated);
  return list;
}

}  // namespace
}  // namespace matrix_products

void add_matrix_products(std::vector<Case>& cases) {
  using namespace matrix_products;
  for (const Product& row : product_rows()) cases.push_back(product_case(row));
}

}  // namespace dmlref::tool::kit
