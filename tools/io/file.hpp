// file.hpp: whole files, read and written; failures say what the system said.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <vector>

namespace dmlref::tool {

/// What is read of anything that does not tell its size beforehand (a pipe, a device), and of a model.
inline constexpr std::size_t max_unsized_file = std::size_t{256} << 20;

/// All bytes of a file, at most `most`. Throws FileError ("cannot be opened: ...", "is a directory", "has more than
/// ...").
std::vector<std::byte> read_file(const std::filesystem::path& path,
                                 std::size_t most = (std::numeric_limits<std::size_t>::max)());

/// Creates or replaces the file; folders on the way are made. Throws FileError.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace dmlref::tool
