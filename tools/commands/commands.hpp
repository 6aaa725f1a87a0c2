// commands.hpp: what the command line asks for. Each returns the exit status, or throws Failure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "dmlref/desc/feature_level.hpp"
#include "dmlref/isa/cpu.hpp"

namespace dmlref::tool {

struct RunOptions {
  std::filesystem::path model;
  FeatureLevel level = latest_feature_level;
  std::optional<Isa> isa;
  unsigned threads = 1;
};
int run_model(const RunOptions& options);

struct ValidateOptions {
  std::filesystem::path model;
  std::optional<FeatureLevel> level;  ///< empty: all of them
};
int validate_model(const ValidateOptions& options);

struct CompareOptions {
  std::filesystem::path a;
  std::filesystem::path b;
  std::uint64_t ulp = 0;
};
int compare_files(const CompareOptions& options);

int print_info();

}  // namespace dmlref::tool
