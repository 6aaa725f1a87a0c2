#include "onnx/graph.hpp"

#include <fmt/format.h>

#include <array>

namespace dmlref::tool::onnx {
namespace {

constexpr std::array<ElementType, 13> element_types{{{1, "FLOAT", DataType::float32, true},
                                                     {2, "UINT8", DataType::uint8, true},
                                                     {3, "INT8", DataType::int8, true},
                                                     {4, "UINT16", DataType::uint16, true},
                                                     {5, "INT16", DataType::int16, true},
                                                     {6, "INT32", DataType::int32, true},
                                                     {7, "INT64", DataType::int64, true},
                                                     {9, "BOOL", DataType::uint8, false},
                                                     {10, "FLOAT16", DataType::float16, true},
                                                     {11, "DOUBLE", DataType::float64, true},
                                                     {12, "UINT32", DataType::uint32, true},
                                                     {13, "UINT64", DataType::uint64, true},
                                                     {16, "BFLOAT16", DataType::uint16, false}}};

}  // namespace

const ElementType* find_element_type(std::int32_t code) noexcept {
  for (const ElementType& row : element_types) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

std::string type_name(std::int32_t code) {
  if (const ElementType* row = find_element_type(code)) return std::string(row->name);
  switch (code) {
    case 0: return "of no type";
    case 8: return "STRING";
    case 14: return "COMPLEX64";
    case 15: return "COMPLEX128";
    case 17: return "FLOAT8E4M3FN";
    case 18: return "FLOAT8E4M3FNUZ";
    case 19: return "FLOAT8E5M2";
    case 20: return "FLOAT8E5M2FNUZ";
    case 21: return "UINT4";
    case 22: return "INT4";
    case 23: return "FLOAT4E2M1";
    default: return fmt::format("of type {}", code);
  }
}

std::uint64_t element_count(const Shape& shape) noexcept {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

}  // namespace dmlref::tool::onnx
