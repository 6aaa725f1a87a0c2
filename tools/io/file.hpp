// file.hpp: whole files, read and written; failures say what the system said.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/memory.hpp"

namespace dmlref::tool {

/// Of two absolute paths without links, `.` and `..`.
bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder);

/// Throws FileError where the name of a file has a NUL: the system would read the name up to it, and whoever judges the
/// path all of it. What opens a file by a name that somebody else chose, or judges one, calls this.
void expect_no_nul(const std::filesystem::path& path);

/// What is read of anything that does not tell its size beforehand (a pipe, a device), and of a model.
inline constexpr std::size_t max_unsized_file = std::size_t{256} << 20;

/// All bytes of a file, at most `most`, which `memory` accounts for. Throws FileError ("cannot be opened: ...", "is a
/// directory", "has more than ...", "wants ...").
std::vector<std::byte> read_file(const std::filesystem::path& path, Reservation& memory,
                                 std::size_t most = (std::numeric_limits<std::size_t>::max)());
/// The same of a file of text.
std::string read_text_file(const std::filesystem::path& path, Reservation& memory, std::size_t most);

/// Creates or replaces the file with `head` and then `bytes`; folders on the way are made. Throws FileError.
void write_file(const std::filesystem::path& path, std::span<const std::byte> head,
                std::span<const std::byte> bytes = {});

}  // namespace dmlref::tool
