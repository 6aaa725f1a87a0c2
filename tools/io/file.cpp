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

}  // namespace

std::vector<std::byte> read_file(const std::filesystem::path& path, std::size_t most) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw FileError("is a directory, expected a file");
  const File file = open_file(path, false);
  if (!file) throw FileError("cannot be opened: " + reason());

  MemoryBudget budget;
  const bool sized = std::filesystem::is_regular_file(path, error);
  if (sized) {
    if (const auto refused = budget.spend(std::filesystem::file_size(path, error))) throw FileError(*refused);
  } else {
    most = (std::min)(most, max_unsized_file);
  }
  // Read to the end rather than by the size: a pipe has none, and a file may grow.
  std::vector<std::byte> bytes;
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(bytes.size() < (1u << 16) ? (1u << 16) : bytes.size() * 2);
    const std::size_t got = std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
    if (got == 0) break;
    used += got;
    if (used > most)
      throw FileError("has more than " + std::to_string(most) + " bytes, which is the most that is read");
  }
  if (std::ferror(file.get()) != 0) throw FileError("cannot be read: " + reason());
  bytes.resize(used);
  return bytes;
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  File file = open_file(path, true);
  if (!file) throw FileError("cannot be written: " + reason());
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (std::fclose(file.release()) != 0 || !written) throw FileError("cannot be written: " + reason());
}

}  // namespace dmlref::tool
