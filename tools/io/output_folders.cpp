#include "io/output_folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "io/file.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {

namespace fs = std::filesystem;

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
