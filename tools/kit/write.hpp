// write.hpp: the kit as a folder.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "kit/case.hpp"

namespace dmlref::tool::kit {

/// The model that DxDispatch runs: reads its inputs beside itself, writes output.npy to the current folder.
Json model_of(const Case& one);
/// What check-kit needs to know.
Json description_of(const Case& one);
/// JSON for people: an array of numbers on one line.
std::string text_of(const Json& json);

/// A file that every kit has.
struct KitFile {
  std::string_view name;
  std::string_view text;
};
std::span<const KitFile> kit_files();

/// Writes all into a new or empty folder. Throws Failure; what was written is then taken away.
void write_kit(const std::filesystem::path& folder, const std::vector<Case>& cases);

}  // namespace dmlref::tool::kit
