// tables_test.cpp: every operator at every level with every tensor, data type and number of dimensions, against the
// documents' tables written down a second time.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "dmlref/validate/read_directml.hpp"
#include "validate/request.hpp"

namespace {

using request::Request;
using Level = std::uint32_t;

constexpr Level levels[] = {0x1000, 0x2000, 0x2100, 0x3000, 0x3100, 0x4000, 0x4100, 0x5000,
                            0x5100, 0x5200, 0x6000, 0x6100, 0x6200, 0x6300, 0x6400};

enum : std::uint32_t {
  quantize = 33,
  dequantize = 34,
  slice = 60,
  mvn = 73,
  slice1 = 111,
  mvn1 = 115,
  mmi = 117,
  qlmm = 118,
  ci = 119,
  qlc = 120,
  mvn2 = 171
};

// The second copy of the tables, as sentences.

Level first_level(std::uint32_t op) {
  if (op == mvn2) return 0x6300;
  return op == slice || op == mvn || op == quantize || op == dequantize ? 0x1000 : 0x2100;
}
bool is_convolution(std::uint32_t op) { return op == ci || op == qlc; }
bool is_product(std::uint32_t op) { return op == mmi || op == qlmm; }
bool is_parameter(const std::string& tensor) {
  return tensor.find("Scale") != std::string::npos || tensor.find("ZeroPoint") != std::string::npos;
}

std::set<UINT> types(std::uint32_t op, const std::string& tensor, Level level) {
  if (is_product(op)) {
    if (tensor.find("Scale") != std::string::npos) return {1};
    return op == mmi && tensor == "OutputTensor" ? std::set<UINT>{6} : std::set<UINT>{5, 8};
  }
  if (op == mvn || op == mvn1 || op == mvn2) return {1, 2};
  if (op == quantize || op == dequantize) {
    const bool is_integer = (tensor == "OutputTensor") == (op == quantize) && tensor != "ScaleTensor";
    if (tensor == "ScaleTensor" || (tensor != "ZeroPointTensor" && !is_integer)) {
      std::set<UINT> reals = {1};
      if (level >= 0x6000) reals.insert(2);
      if (op == quantize && tensor == "InputTensor" && level >= 0x2100) reals.insert(6);
      return reals;
    }
    std::set<UINT> integers = {5};
    if (level >= 0x2100) integers.insert(8);
    if (level >= 0x2100 && op == dequantize) integers.insert({3, 4, 6, 7});
    return integers;
  }
  if (op == ci) return tensor == "OutputTensor" ? std::set<UINT>{6} : std::set<UINT>{5, 8};
  if (op == qlc) {
    if (tensor.find("Scale") != std::string::npos) return {1};
    if (tensor == "BiasTensor") return {6};
    return {5, 8};
  }
  std::set<UINT> result = {1, 2, 3, 4, 6, 7};
  if (level >= 0x2100) result.insert({5, 8});
  if (level >= 0x4100) result.insert({9, 10, 11});
  return result;
}

std::pair<UINT, UINT> ranks(std::uint32_t op, const std::string& tensor, Level level) {
  if (op == mvn) return {4, 4};
  if (op == mvn2) return {1, 8};
  if (op == mvn1) return level >= 0x3100 ? std::pair<UINT, UINT>{1, 8} : std::pair<UINT, UINT>{4, 4};
  if (op == quantize || op == dequantize) {
    return level >= 0x3000 ? std::pair<UINT, UINT>{1, 8} : std::pair<UINT, UINT>{4, 4};
  }
  if (op == slice || op == slice1) return level >= 0x3000 ? std::pair<UINT, UINT>{1, 8} : std::pair<UINT, UINT>{4, 5};
  if (level < 0x4000) return {4, 4};
  if (is_product(op)) {
    if (!is_parameter(tensor)) return {2, 4};
    return {op == mmi && tensor == "BZeroPointTensor" && level < 0x5200 ? 2u : 1u, 4};
  }
  if (tensor == "FilterScaleTensor") return {level >= 0x5200 ? 1u : 3u, 4};
  if (tensor.find("Scale") != std::string::npos || tensor.find("ZeroPoint") != std::string::npos) return {1, 4};
  return {3, 4};
}

struct Verdict {
  bool accepted;
  Level from;  // 0: never
};

// Accepted at `level`, or from where.
Verdict verdict(Level level, const std::function<bool(Level)>& accepts) {
  if (accepts(level)) return {true, 0};
  for (const Level higher : levels) {
    if (higher > level && accepts(higher)) return {false, higher};
  }
  return {false, 0};
}

bool has_type(std::uint32_t op, const std::string& tensor, Level level, UINT type) {
  return types(op, tensor, level).contains(type);
}
bool has_rank(std::uint32_t op, const std::string& tensor, Level level, UINT rank) {
  const auto [least, most] = ranks(op, tensor, level);
  return rank >= least && rank <= most;
}

// Tensors whose data type (or number of dimensions) is that of `tensor`. INT32 is quantized by scales of FLOAT32.
std::vector<std::string> type_group(std::uint32_t op, const std::string& tensor, UINT type = 1) {
  if (op == quantize || op == dequantize) {
    const bool by_input = (op == quantize) == (tensor == "InputTensor" || tensor == "ScaleTensor");
    const std::string data = by_input ? "InputTensor" : "OutputTensor";
    const bool is_scaled = tensor == "ScaleTensor" || data == (op == quantize ? "InputTensor" : "OutputTensor");
    if (is_scaled && op == quantize && type == 6) return {tensor};
    return {data, is_scaled ? "ScaleTensor" : "ZeroPointTensor"};
  }
  if (op == slice || op == slice1) return {"InputTensor", "OutputTensor"};
  if (op == mvn || op == mvn1 || op == mvn2) return {"InputTensor", "ScaleTensor", "BiasTensor", "OutputTensor"};
  if ((op == mmi || op == ci) && tensor == "OutputTensor") return {tensor};
  for (const char* owner : {"Input", "Filter", "A", "B", "Output"}) {
    const std::string data = std::string(owner) + "Tensor";
    const std::string zero_point = std::string(owner) + "ZeroPointTensor";
    if (tensor == data || tensor == zero_point) return {data, zero_point};
  }
  return {tensor};
}
std::vector<std::string> tensors_of(std::uint32_t op);
std::vector<std::string> rank_group(std::uint32_t op, const std::string& tensor) {
  if (op == quantize || op == dequantize) return {"InputTensor", "ScaleTensor", "ZeroPointTensor", "OutputTensor"};
  if (is_product(op)) {
    std::vector<std::string> group;
    for (const std::string& other : tensors_of(op)) {
      if (is_parameter(other) == is_parameter(tensor)) group.push_back(other);
    }
    return op == mmi && is_parameter(tensor) ? std::vector<std::string>{tensor} : group;
  }
  if (op == ci && is_parameter(tensor)) return {"InputZeroPointTensor", "FilterZeroPointTensor"};
  if (op == ci) return {"InputTensor", "FilterTensor", "OutputTensor"};
  if (op != qlc) return type_group(op, tensor);
  const std::vector<std::string> group = {"InputTensor", "FilterTensor", "BiasTensor", "OutputTensor"};
  return std::find(group.begin(), group.end(), tensor) != group.end() ? group : std::vector<std::string>{tensor};
}

// A request whose only faults can be data types and numbers of dimensions: all sizes are 1, or what a shape needs.
Request plain(std::uint32_t op) {
  Request r = op == slice        ? request::slice()
              : op == slice1     ? request::slice1()
              : op == qlc        ? request::convolution()
              : op == mvn        ? request::normalization()
              : op == ci         ? request::convolution_integer()
              : op == mmi        ? request::matrix_multiply()
              : op == qlmm       ? request::quantized_matrix_multiply()
              : op == mvn2       ? request::normalization2()
              : op == quantize   ? request::quantize_linear()
              : op == dequantize ? request::dequantize_linear()
                                 : request::normalization1();
  for (auto& [name, tensor] : r.tensors) {
    tensor.sizes = {1, 1, 1, 1};
    tensor.strides.reset();
    tensor.total_size = 4096;
    if (op == mvn1 || op == mvn2) tensor.sizes = {2, 2, 2, 2};
  }
  const auto fill = [&](const char* name, UINT value) {
    if (r.arrays.contains(name)) r.arrays[name].assign(9, value);
  };
  for (const char* name : {"Offsets", "InputWindowOffsets", "StartPadding", "EndPadding"}) fill(name, 0);
  for (const char* name : {"Sizes", "Strides", "InputWindowSizes", "InputWindowStrides", "Dilations"}) fill(name, 1);
  r.numbers["GroupCount"] = 1;
  if (op == mvn1 || op == mvn2) {
    r.count = 1;
    r.arrays["Axes"] = {0};
  }
  return r;
}

void set_rank(Request& r, const std::string& tensor, UINT rank) {
  for (const std::string& name : rank_group(r.type, tensor)) {
    r.tensors[name].sizes.assign(rank, r.type == mvn1 || r.type == mvn2 ? 2 : 1);
  }
  if (r.type == slice || r.type == slice1) r.count = rank;
  if (is_convolution(r.type) && tensor == "InputTensor" && rank >= 3) r.count = rank - 2;
}

using Entry = std::tuple<std::string, bool, Level>;  // field, unsupported at this level only, from

std::set<Entry> expected(const Request& r, const std::string& tensor, Level asked, UINT type, UINT rank) {
  std::set<Entry> result;
  Level level = asked;
  if (asked < first_level(r.type)) {
    level = first_level(r.type);
    result.insert({"Type", true, level});
  }
  const auto add = [&](const std::string& field, Verdict v) {
    if (!v.accepted) result.insert({field, v.from != 0, v.from});
  };
  for (const std::string& name : type_group(r.type, tensor, type)) {
    add(name + ".DataType", verdict(level, [&](Level l) { return has_type(r.type, name, l, type); }));
  }
  for (const std::string& name : rank_group(r.type, tensor)) {
    add(name + ".DimensionCount", verdict(level, [&](Level l) { return has_rank(r.type, name, l, rank); }));
  }
  const std::vector<std::string> group = rank_group(r.type, tensor);
  const bool has_input = std::find(group.begin(), group.end(), "InputTensor") != group.end();
  if (r.type == slice || r.type == slice1) {
    add("DimensionCount", verdict(level, [&](Level l) { return has_rank(r.type, "InputTensor", l, rank); }));
  } else if (is_convolution(r.type) && has_input && rank != 4 && rank >= 3) {
    add("DimensionCount", verdict(level, [&](Level l) { return rank == 3 && l >= 0x4000; }));
  }
  return result;
}

std::vector<std::string> tensors_of(std::uint32_t op) {
  if (op == slice || op == slice1) return {"InputTensor", "OutputTensor"};
  if (op == mvn || op == mvn1 || op == mvn2) return {"InputTensor", "ScaleTensor", "BiasTensor", "OutputTensor"};
  if (op == quantize || op == dequantize) return {"InputTensor", "ScaleTensor", "ZeroPointTensor", "OutputTensor"};
  if (op == ci) return {"InputTensor", "InputZeroPointTensor", "FilterTensor", "FilterZeroPointTensor", "OutputTensor"};
  if (op == mmi) return {"ATensor", "AZeroPointTensor", "BTensor", "BZeroPointTensor", "OutputTensor"};
  if (op == qlmm) {
    return {"ATensor",          "AScaleTensor",      "AZeroPointTensor",      "BTensor",     "BScaleTensor",
            "BZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor", "OutputTensor"};
  }
  return {"InputTensor",           "InputScaleTensor",      "InputZeroPointTensor", "FilterTensor",
          "FilterScaleTensor",     "FilterZeroPointTensor", "BiasTensor",           "OutputScaleTensor",
          "OutputZeroPointTensor", "OutputTensor"};
}

class Tables : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Tables, EveryLevelTensorTypeAndRank) {
  const std::uint32_t op = GetParam();
  std::size_t walked = 0;
  for (const std::string& tensor : tensors_of(op)) {
    for (const UINT type : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u, 13u, 14u, 31u, 32u, 0xFFFFFFFFu}) {
      for (UINT rank = 0; rank <= 9; ++rank) {
        Request r = plain(op);
        const bool data = is_convolution(op) && !is_parameter(tensor);
        set_rank(r, data ? "InputTensor" : tensor, rank);
        for (const std::string& name : type_group(op, tensor, type)) r.tensors[name].data_type = type;
        for (const Level level : levels) {
          const dmlref::Report report = request::validate(r, dmlref::feature_level(level));
          std::set<Entry> actual;
          for (const dmlref::Violation& violation : report.violations()) {
            const bool unsupported = violation.kind == dmlref::ViolationKind::unsupported_at_level;
            ASSERT_EQ(unsupported, violation.available_from.has_value());
            const Level from = unsupported ? static_cast<Level>(*violation.available_from) : 0;
            ASSERT_TRUE(actual.insert({violation.field, unsupported, from}).second) << report.to_string();
          }
          ASSERT_EQ(expected(r, tensor, level, type, rank), actual)
              << tensor << " type " << type << " rank " << rank << " level " << std::hex << level << '\n'
              << report.to_string();
          ++walked;
        }
      }
    }
  }
  std::cout << walked << " combinations\n";
}

INSTANTIATE_TEST_SUITE_P(Operators, Tables,
                         testing::Values(slice, slice1, qlc, mvn, mvn1, mvn2, quantize, dequantize, ci, mmi, qlmm));

// One tensor with another data type or number of dimensions than those it belongs to: refused at every level.
TEST(Ties, OneTensorAlone) {
  for (const std::uint32_t op :
       {std::uint32_t{slice}, std::uint32_t{slice1}, std::uint32_t{qlc}, std::uint32_t{mvn}, std::uint32_t{mvn1},
        std::uint32_t{mvn2}, std::uint32_t{quantize}, std::uint32_t{dequantize}, std::uint32_t{ci}, std::uint32_t{mmi},
        std::uint32_t{qlmm}}) {
    for (const std::string& tensor : tensors_of(op)) {
      for (const Level level : levels) {
        if (level < first_level(op)) continue;
        if (type_group(op, tensor).size() > 1) {
          for (const UINT type : types(op, tensor, 0x6400)) {
            if (type_group(op, tensor, type).size() == 1) continue;  // goes with another type
            Request r = plain(op);
            if (r.tensors[tensor].data_type == type) continue;
            r.tensors[tensor].data_type = type;
            const dmlref::Report report = request::validate(r, dmlref::feature_level(level));
            EXPECT_FALSE(report.ok()) << tensor << " alone with type " << type << " at " << std::hex << level;
          }
        }
        if (rank_group(op, tensor).size() > 1) {
          for (const UINT rank : {1u, 2u, 3u, 5u, 6u, 7u, 8u}) {
            Request r = plain(op);
            r.tensors[tensor].sizes.assign(rank, 1);
            const dmlref::Report report = request::validate(r, dmlref::feature_level(level));
            EXPECT_FALSE(report.ok()) << tensor << " alone with rank " << rank << " at " << std::hex << level;
          }
        }
      }
    }
  }
}

// Each activation at each level, fused by each normalization; all other operator numbers up to 200 are refused.
TEST(Activations, EveryTypeAtEveryLevel) {
  const std::set<std::uint32_t> first = {35, 37, 38, 39, 40, 43, 44, 45, 46, 47, 49, 50, 51, 52};
  for (const std::uint32_t op : {std::uint32_t{mvn}, std::uint32_t{mvn1}, std::uint32_t{mvn2}}) {
    for (std::uint32_t type = 0; type <= 200; ++type) {
      const Request r = request::fused(plain(op), type);
      for (const Level asked : levels) {
        const Level level = (std::max)(asked, first_level(op));
        const Verdict v = verdict(level, [&](Level l) {
          return first.contains(type) || (type == 90 && l >= 0x2000) || (type == 128 && l >= 0x3000) ||
                 (type == 157 && l >= 0x5100);
        });
        const dmlref::Report report = request::validate(r, dmlref::feature_level(asked));
        const dmlref::Violation* found = nullptr;
        for (const auto& violation : report.violations()) {
          if (violation.field == "FusedActivation.Type") found = &violation;
        }
        ASSERT_EQ(v.accepted, found == nullptr) << type << ' ' << report.to_string();
        if (found == nullptr) continue;
        EXPECT_EQ(v.from, found->available_from ? static_cast<Level>(*found->available_from) : 0) << type;
      }
    }
  }
}

}  // namespace
