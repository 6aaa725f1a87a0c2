#include "io/output_folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "io/file.hpp"
#include "support/failure.hpp"

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

/// Absolute, without links, `.` and `..`. What does not exist is taken as it will be made.
fs::path resolved(fs::path path) {
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

}  // namespace

OutputFolders::OutputFolders(const fs::path& model, const fs::path& root) {
  std::error_code error;
  if (!root.empty() && !fs::is_directory(root, error)) throw FileError("is " + root.string() + ", expected a folder");
  for (const fs::path& folder : {model.parent_path(), fs::path(), root}) {
    const fs::path one = resolved(folder.empty() ? fs::path(".") : folder);
    if (std::find(folders_.begin(), folders_.end(), one) == folders_.end()) folders_.push_back(one);
  }
}

void OutputFolders::expect(const fs::path& target) const {
  expect_no_nul(target);
  const fs::path path = resolved(target);
  if (std::any_of(folders_.begin(), folders_.end(), [&](const fs::path& one) { return lies_below(path, one); })) return;
  std::string expected;
  for (const fs::path& one : folders_) expected.append(expected.empty() ? "" : " or ").append(one.string());
  throw FileError(
      fmt::format("is {}, expected a file below {} (--root DIR allows another folder)", path.string(), expected));
}

}  // namespace dmlref::tool
