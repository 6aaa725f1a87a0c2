// What is wrong with a descriptor, field by field, and which feature level is the first that accepts it.
#include <dmlref/dmlref.hpp>

#include <cstdio>
#include <optional>

namespace {

using namespace dmlref;

void print(FeatureLevel level, const Slice1Desc& slice) {
  const Report report = validate(slice, level);
  std::printf("%s: %s\n", to_string(level).data(), report ? "accepted" : "refused");
  for (const Violation& violation : report.violations()) {
    std::printf("  field  %s\n  rule   %s\n  says   %s\n", violation.field.c_str(), to_string(violation.rule).data(),
                violation.message.c_str());
    if (violation.available_from) std::printf("  level  %s accepts it\n", to_string(*violation.available_from).data());
  }
}

std::optional<FeatureLevel> first_that_accepts(const Slice1Desc& slice) {
  for (const FeatureLevelName& row : feature_levels) {
    if (validate(slice, row.level)) return row.level;
  }
  return std::nullopt;
}

}  // namespace

int main() {
  Slice1Desc slice;
  slice.input = {DataType::uint8, {4, 6, 8}};
  slice.output = {DataType::uint8, {2, 3, 4}};
  slice.window_offsets = {0, 0, 1};
  slice.window_sizes = {4, 6, 8};  // the last one leaves the input, by the offset
  slice.window_strides = {2, 2, 0};
  print(latest_feature_level, slice);  // two faults that no level accepts

  slice.window_sizes = {4, 6, 7};
  slice.window_strides = {2, 2, 2};
  print(FeatureLevel::level_2_1, slice);  // right, but of three dimensions
  if (const auto level = first_that_accepts(slice)) std::printf("first: %s\n", to_string(*level).data());  // 3_0
}
