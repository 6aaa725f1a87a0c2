// check.hpp: the results of any device against a kit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "kit/case.hpp"

namespace dmlref::tool::kit {

/// What case.json says.
struct Description {
  std::string name;
  std::string op;
  std::string kind;
  SourceKind source_kind = SourceKind::documented;
  std::optional<FeatureLevel> accepted_from;  ///< empty: to be refused at every level
  std::vector<std::string> rules;
  std::string file;
  DataType type = DataType::unknown;
  std::vector<std::uint32_t> sizes;
  std::vector<std::uint32_t> strides;  ///< empty: packed
  bool bits = false;
  double absolute = 0;
  std::uint64_t ulp = 0;
};

/// The descriptions of a kit's cases by name. Throws Failure.
std::vector<Description> read_kit(const std::filesystem::path& folder);

/// Empty where the elements agree, else how they do not. Both buffers hold what sizes and strides span; memory between
/// elements is not compared. Strict: within one unit in the last place, whatever the case's tolerance.
std::string difference(const Description& one, std::span<const std::byte> result, std::span<const std::byte> expected,
                       bool strict);

enum class CaseState { passed, failed, missing };
struct Outcome {
  CaseState state = CaseState::missing;
  std::string reason;
};

struct CheckOptions {
  FeatureLevel level = latest_feature_level;  ///< of the device
  bool strict = false;
  bool documented_only = false;  ///< cases whose source is a reading are left out
};

/// Takes out what the options leave out; how many that is. Throws Failure where nothing is left.
std::size_t leave_out(std::vector<Description>& cases, const CheckOptions& options,
                      const std::filesystem::path& folder);

/// One case's outcome. Throws Failure where a file of the kit or of the results cannot be used.
Outcome check_case(const std::filesystem::path& kit, const std::filesystem::path& results, const Description& one,
                   const CheckOptions& options);

/// A line per case, then a table by operator and kind of fault. `left_out` is how many are not among the cases.
std::string report_of(const std::vector<Description>& cases, const std::vector<Outcome>& outcomes, std::size_t left_out,
                      const CheckOptions& options);

}  // namespace dmlref::tool::kit
