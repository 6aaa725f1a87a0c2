#include "io/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include "support/failure.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {
namespace {

namespace fs = std::filesystem;

/// The first part of `path` that is a symbolic link; empty: none.
fs::path first_link(const fs::path& path) {
  std::error_code error;
  fs::path part;
  for (const fs::path& name : path) {
    part /= name;
    if (fs::is_symlink(fs::symlink_status(part, error))) return part;
  }
  return {};
}

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// For reading or writing bytes; names of files have wide characters on Windows.
File open_file(const std::filesystem::path& path, bool writes) {
#if defined(_WIN32)
  return File(_wfopen(path.c_str(), writes ? L"wb" : L"rb"));
#else
  return File(std::fopen(path.c_str(), writes ? "wb" : "rb"));
#endif
}

std::string reason() { return std::strerror(errno); }

bool at_end(std::FILE* file) {
  const int next = std::fgetc(file);
  return next == EOF || std::ungetc(next, file) == EOF;
}

/// Reads to the end rather than by the size: a pipe has none, and a file may grow.
template <class Bytes>
Bytes read_all(const std::filesystem::path& path, Reservation& memory, std::size_t most) {
  expect_no_nul(path);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw FileError("is a directory, expected a file");
  const File file = open_file(path, false);
  if (!file) throw FileError("cannot be opened: " + reason());

  std::uint64_t size = 0;
  if (std::filesystem::is_regular_file(path, error)) {
    size = std::filesystem::file_size(path, error);
    if (error) throw FileError("cannot be read: " + error.message());
  } else {
    most = (std::min)(most, max_unsized_file);
  }
  Bytes bytes;
  std::size_t used = 0;
  Reservation reserved;
  for (;;) {
    if (used == bytes.size()) {
      if (used != 0 && at_end(file.get())) break;
      constexpr std::uint64_t least = std::uint64_t{1} << 16;  // also of files in /proc, whose size is 0
      const std::uint64_t wanted = used == 0 && size != 0 ? size : (std::max)(least, std::uint64_t{used} * 2);
      Reservation grown(wanted, "the bytes of the file");  // beside the old ones, until these are copied
      bytes.resize(static_cast<std::size_t>(wanted));
      reserved = std::move(grown);
    }
    const std::size_t got =
        std::fread(reinterpret_cast<char*>(bytes.data()) + used, 1, bytes.size() - used, file.get());
    if (got == 0) break;
    used += got;
    if (used > most)
      throw FileError("has more than " + std::to_string(most) + " bytes, which is the most that is read");
  }
  if (std::ferror(file.get()) != 0) throw FileError("cannot be read: " + reason());
  bytes.resize(used);
  memory = std::move(reserved);
  return bytes;
}

}  // namespace

std::filesystem::path resolved(std::filesystem::path path) {
  constexpr int max_links = 40;  // as Linux
  for (int links = 0; links <= max_links; ++links) {
    std::error_code error;
    path = fs::weakly_canonical(fs::absolute(path, error), error);
    if (error) throw FileError("cannot be resolved: " + error.message());
    // A link to what does not exist is left; opening the file would follow it.
    const fs::path link = first_link(path);
    if (link.empty()) return path;
    const fs::path rest = path.lexically_relative(link);
    path = link.parent_path() / fs::read_symlink(link, error);
    if (error) throw FileError("cannot be resolved: " + error.message());
    if (rest != ".") path /= rest;
  }
  throw FileError("has too many symbolic links");
}

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [rest_of_folder, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return rest_of_folder == folder.end() && rest != path.end();
}

void expect_no_nul(const std::filesystem::path& path) {
  if (path.native().find(std::filesystem::path::value_type{}) == std::filesystem::path::string_type::npos) return;
  throw FileError("has a NUL in its name, expected the path of a file");
}

std::vector<std::byte> read_file(const std::filesystem::path& path, Reservation& memory, std::size_t most) {
  return read_all<std::vector<std::byte>>(path, memory, most);
}

std::string read_text_file(const std::filesystem::path& path, Reservation& memory, std::size_t most) {
  return read_all<std::string>(path, memory, most);
}

namespace {

/// Writes zeros as holes of the file where it can: tensors without data are zeros, and may have gigabytes.
bool write_sparsely(std::FILE* file, std::span<const std::byte> bytes) {
  constexpr std::size_t block = 1 << 16;
  static constexpr std::byte zeros[block]{};
  constexpr bool has_long_positions = sizeof(long) == 8;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(block, bytes.size()));
    bytes = bytes.subspan(part.size());
    const bool is_zero = has_long_positions && !bytes.empty() && std::memcmp(part.data(), zeros, part.size()) == 0;
    if (is_zero && std::fseek(file, static_cast<long>(part.size()), SEEK_CUR) == 0) continue;
    if (std::fwrite(part.data(), 1, part.size(), file) != part.size()) return false;  // a pipe, too
  }
  return true;
}

}  // namespace

void write_file(const std::filesystem::path& path, std::span<const std::byte> head, std::span<const std::byte> bytes) {
  expect_no_nul(path);
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  File file = open_file(path, true);
  if (!file) throw FileError("cannot be written: " + reason());
  const bool written =
      std::fwrite(head.data(), 1, head.size(), file.get()) == head.size() && write_sparsely(file.get(), bytes);
  if (std::fclose(file.release()) != 0 || !written) throw FileError("cannot be written: " + reason());
}

}  // namespace dmlref::tool
