// The kit's cases: our own results on every target pass, an independent implementation of each operator passes, and
// each planted fault is caught. Prints the tables of docs/conformance.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "dmlref/directml.hpp"
#include "kernels.hpp"
#include "kit/check.hpp"
#include "model/operator_parser.hpp"

namespace dmlref::test::kit {
namespace {

const std::vector<Case>& cases() {
  static const std::vector<Case> all = tool::kit::all_cases(false);
  return all;
}

tool::kit::Description description_of(const Case& one) {
  tool::kit::Description description;
  description.type = one.output.type;
  description.sizes.assign(one.output.sizes.begin(), one.output.sizes.end());
  description.strides.assign(one.output.strides.begin(), one.output.strides.end());
  description.bits = one.tolerance.bits;
  description.absolute = one.tolerance.absolute;
  description.ulp = one.tolerance.ulp;
  return description;
}

std::string difference(const Case& one, const std::vector<std::byte>& result, bool strict) {
  return tool::kit::difference(description_of(one), result, one.output.bytes, strict);
}

/// Microsoft's structs of a case, and what they point to.
struct Desc {
  explicit Desc(const Case& one)
      : json(nlohmann::json::parse(Json{{"type", one.op}, {"desc", one.desc}}.dump())),
        op(tool::Node(file, json, "$"), {}) {}
  std::string file = "case";
  nlohmann::json json;
  tool::ParsedOperator op;
};

TEST(Kit, OurResultsPassOnEveryTarget) {
  std::string targets;
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    targets += " " + std::string(row.name);
    SCOPED_TRACE(row.name);
    for (const Case& one : cases()) {
      if (!one.accepted_from) continue;
      SCOPED_TRACE(one.name);
      const Desc desc(one);
      std::vector<std::vector<std::byte>> padded;  // a bound buffer is a multiple of four bytes
      std::vector<InputBuffer> inputs;
      for (const tool::TensorRole& role : desc.op.tensors()) {
        if (role.output) continue;
        auto& bytes = padded.emplace_back();
        for (const tool::kit::Input& input : one.inputs) {
          if (input.tensor == role.name) bytes = input.bytes;
        }
        bytes.resize((bytes.size() + 3) / 4 * 4);
        inputs.emplace_back(bytes);
      }
      std::vector<std::byte> output(one.output.bytes.size(), std::byte{0xCC});
      const OutputBuffer outputs[] = {output};
      const Report report = dmlref::run(desc.op.desc(), *one.accepted_from, inputs, outputs, {row.isa});
      ASSERT_TRUE(report) << report.to_string();
      tool::kit::Description bits = description_of(one);
      bits.bits = true;  // fast kernels equal the reference
      EXPECT_EQ(tool::kit::difference(bits, output, one.output.bytes, true), "");
    }
  }
  std::printf("targets:%s\n", targets.c_str());
}

TEST(Kit, DescriptorsAreRefusedByLevel) {
  std::size_t refused = 0;
  for (const Case& one : cases()) {
    const Desc desc(one);
    for (const FeatureLevelName& row : feature_levels) {
      const bool expected = one.accepted_from && *one.accepted_from <= row.level;
      EXPECT_EQ(validate(desc.op.desc(), row.level).ok(), expected) << one.name << " at " << row.name;
      refused += expected ? 0 : 1;
    }
  }
  std::printf("%zu cases at 15 levels, %zu refusals\n", cases().size(), refused);
}

TEST(Kit, SecondTextAgreesStrictly) {
  for (const Case& one : cases()) {
    if (!one.accepted_from) continue;
    EXPECT_EQ(difference(one, run(one, Fault::none), true), "") << one.name;
  }
}

// A device may compute in float32: the tolerances leave room for that.
TEST(Kit, Float32ArithmeticIsWithinTheTolerances) {
  for (const Case& one : cases()) {
    const bool float32_subnormals = one.source.find("subnormals") != std::string::npos;
    if (!one.accepted_from || float32_subnormals || !one.op.starts_with("MEAN")) continue;
    EXPECT_EQ(difference(one, run(one, Fault::float32_arithmetic), false), "") << one.name;
  }
}

unsigned bit_of(const Case& one) {
  for (const OperatorRow& row : operator_rows) {
    if (row.name == one.op) return row.bit;
  }
  ADD_FAILURE() << one.op << " has no row";
  return 0;
}

/// Prints a row of the page's table: how many operators and cases catch a fault, and the first case. Of the operators
/// that have the fault each must have one; where none is named, any.
template <class Fails>
void expect_caught(std::string_view fault, unsigned operators, Fails fails) {
  std::size_t count = 0;
  unsigned found = 0;
  std::string first = "-";
  for (const Case& one : cases()) {
    const unsigned bit = bit_of(one);
    if ((operators != 0 && (operators & bit) == 0) || !fails(one)) continue;
    if (count++ == 0) first = '`' + one.name + '`';
    found |= bit;
  }
  std::printf("| %.*s | %d | %zu | %s |\n", static_cast<int>(fault.size()), fault.data(), std::popcount(found), count,
              first.c_str());
  EXPECT_NE(count, 0u);
  for (const OperatorRow& row : operator_rows) {
    EXPECT_FALSE((operators & ~found & row.bit) != 0) << "no case of " << row.name;
  }
}

TEST(PlantedFaults, WrongKernelsAreCaught) {
  ASSERT_GE(std::size(fault_table), 40u);
  std::printf("| wrong kernel | operators | cases | first |\n|---|---|---|---|\n");
  for (const FaultRow& row : fault_table) {
    SCOPED_TRACE(row.text);
    expect_caught(row.text, row.operators, [&row](const Case& one) {
      return one.accepted_from && difference(one, run(one, row.fault), false) != "";
    });
  }
}

bool validates_rightly(const Case& one, std::string_view fault) {
  for (std::size_t level = 0; level < feature_levels.size(); ++level) {
    const bool expected = one.accepted_from && *one.accepted_from <= feature_levels[level].level;
    if (accepts(one, level, fault) != expected) return false;
  }
  return true;
}

TEST(PlantedFaults, SecondValidatorAgrees) {
  for (const Case& one : cases()) EXPECT_TRUE(validates_rightly(one, "")) << one.name;
}

TEST(PlantedFaults, WrongValidatorsAreCaught) {
  std::printf("| wrong validator | operators | cases | first |\n|---|---|---|---|\n");
  for (const ValidatorFault& fault : validator_faults()) {
    SCOPED_TRACE(fault.name);
    expect_caught(fault.text, fault.operators,
                  [&fault](const Case& one) { return !validates_rightly(one, fault.name); });
  }
}

}  // namespace
}  // namespace dmlref::test::kit
