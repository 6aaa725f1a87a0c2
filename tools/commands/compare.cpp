#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "io/file.hpp"
#include "io/npy.hpp"
#include "io/tensor_file.hpp"
#include "support/element.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  std::uint64_t ulp = 0;
  std::optional<DataType> type;      // of raw dumps
  std::vector<std::uint64_t> shape;  // of raw dumps; empty: a list as long as the file
};

NpyArray read(const std::string& path, const CompareOptions& options) {
  try {
    const std::vector<std::byte> bytes = read_file(path);
    if (!options.type || is_npy(path)) return read_npy(bytes);
    return read_raw(bytes, *options.type, options.shape);
  } catch (const FileError& error) {
    throw Failure(path, error.what());
  }
}

std::string coordinates(std::uint64_t index, const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; index /= shape[d]) at[d] = index % shape[d];
  return fmt::format("[{}]", fmt::join(at, ", "));
}

int compare_files(const CompareOptions& options) {
  const NpyArray a = read(options.a, options);
  const NpyArray b = read(options.b, options);
  if (a.type != b.type) {
    fmt::print("differ: {} against {}\n", to_string(a.type), to_string(b.type));
    return exit_failed;
  }
  if (a.shape != b.shape) {
    fmt::print("differ: shape ({}) against ({})\n", fmt::join(a.shape, ", "), fmt::join(b.shape, ", "));
    return exit_failed;
  }
  const std::uint64_t count = a.count();
  std::uint64_t beyond = 0;
  std::optional<std::uint64_t> largest = 0;  // empty: some pair has no distance, which is worse than any
  std::uint64_t worst = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::optional<std::uint64_t> distance = ulp_distance(a.type, a.data, b.data, i);
    if (!distance || *distance > options.ulp) ++beyond;
    if (largest && (!distance || *distance > *largest)) {
      largest = distance;
      worst = i;
    }
  }
  const std::string furthest = largest ? fmt::format("{} ulp", *largest) : "no number of ulp";
  if (beyond == 0) {
    fmt::print("equal within {} ulp: {} elements of {}, largest difference {}\n", options.ulp, count, to_string(a.type),
               furthest);
    return exit_done;
  }
  fmt::print("differ: {} of {} elements of {} by more than {} ulp, worst at {}: {} against {}, {}\n", beyond, count,
             to_string(a.type), options.ulp, coordinates(worst, a.shape), element_text(a.type, a.data, worst),
             element_text(b.type, b.data, worst), largest ? furthest + " apart" : "which no number of ulp spans");
  return exit_failed;
}

}  // namespace

void add_compare(CLI::App& line) {
  const auto options = std::make_shared<CompareOptions>();
  Verb verb(line, "compare", "Compare the elements of two files");
  verb.argument("A.npy", "One array", options->a);
  verb.argument("B.npy", "Another", options->b);
  verb.option("--ulp", "How many units in the last place apart is equal; 0 if not given", options->ulp, parse_integer);
  verb.option("--type", "The element type of files that are no .npy", options->type, parse_type);
  verb.option("--shape", "The extents of files that are no .npy, like 1,3,4,4", options->shape, parse_integers);
  verb.runs([options] { return compare_files(*options); });
}

}  // namespace dmlref::tool
