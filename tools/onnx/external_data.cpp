#include "onnx/external_data.hpp"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

#include "io/file.hpp"
#include "support/failure.hpp"

namespace dmlref::tool::onnx {

namespace fs = std::filesystem;

fs::path ExternalData::resolved(const std::string& location) const {
  expect_no_nul(location);
  const fs::path folder = tool::resolved(folder_.empty() ? fs::path(".") : folder_);
  const fs::path named = fs::path(location);
  const std::string expected = "expected a file below the folder of the ONNX file, symbolic links resolved";
  if (named.is_absolute() || named.has_root_path()) {
    throw FileError(fmt::format("names \"{}\", {}", location, expected));
  }
  // Before it is asked whether the file exists: a file outside is not told from none.
  const fs::path path = tool::resolved(folder / named);
  if (!lies_below(path, folder)) {
    throw FileError(fmt::format("names \"{}\", {}", location, expected));
  }
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw FileError(fmt::format("names \"{}\", which is no file", location));
  return path;
}

std::vector<std::byte> ExternalData::read(const ExternalRange& range, std::uint64_t size) {
  const fs::path path = resolved(range.location);
  std::error_code error;
  const std::uint64_t all = fs::file_size(path, error);
  if (error) throw FileError(fmt::format("\"{}\" cannot be read: {}", range.location, error.message()));
  const std::uint64_t length = range.length.value_or(range.offset <= all ? all - range.offset : 0);
  if (range.offset > all || length > all - range.offset) {
    throw FileError(fmt::format("is bytes {} to {} of \"{}\", which has {}", range.offset,
                                range.length ? fmt::format("{} + {}", range.offset, length) : "its end", range.location,
                                all));
  }
  if (length != size) {
    throw FileError(fmt::format("has {} bytes in \"{}\", expected {}", length, range.location, size));
  }
  memory_.add(size, "external data");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(range.offset));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!file || static_cast<std::uint64_t>(file.gcount()) != size) {
    throw FileError(fmt::format("\"{}\" cannot be read", range.location));
  }
  return bytes;
}

}  // namespace dmlref::tool::onnx
