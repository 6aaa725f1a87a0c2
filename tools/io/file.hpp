// file.hpp: whole files, read and written; failures say what the system said.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace dmlref::tool {

/// All bytes of a regular file. Throws FileError ("cannot be opened: ...", "is a directory", "is too large").
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// Creates or replaces the file; folders on the way are made. Throws FileError.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace dmlref::tool
