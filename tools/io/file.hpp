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

/// Absolute, without links, `.` and `..`. What does not exist counts as a folder that is no link: `missing/../link`
/// leads where `link` does. Throws FileError.
std::filesystem::path resolved(std::filesystem::path path);

/// Of two absolute paths without links, `.` and `..`.
bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder);

/// Throws FileError where the name of a file has a NUL. The system reads a name up to its NUL, std::filesystem all of
/// it: a check of the path would not be about the file that is opened. Every check and every opening calls this first.
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
