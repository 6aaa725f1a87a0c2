// output_folders.hpp: where a model may write.
#pragma once

#include <filesystem>
#include <vector>

namespace dmlref::tool {

/// The folders below which a run writes, whatever a model says.
class OutputFolders {
 public:
  /// Below the model's own folder, the current one, and `root` unless it is empty. Throws FileError where `root` is no
  /// folder.
  OutputFolders(const std::filesystem::path& model, const std::filesystem::path& root);

  /// Throws FileError where `target`, symbolic links resolved, lies below none of them. It may not exist yet.
  void expect(const std::filesystem::path& target) const;

 private:
  std::vector<std::filesystem::path> folders_;  // resolved
};

}  // namespace dmlref::tool
