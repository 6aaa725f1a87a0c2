// external_data.hpp: tensors whose data lies in files beside their ONNX file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/memory.hpp"

namespace dmlref::tool::onnx {

/// ONNX's `external_data` of a tensor.
struct ExternalRange {
  std::string location;                 ///< a path, from the folder of the ONNX file
  std::uint64_t offset = 0;             ///< in bytes
  std::optional<std::uint64_t> length;  ///< in bytes; empty: to the end of the file
};

/// Reads the data of one ONNX file's tensors. Nothing but files below that file's folder is opened: a model of a
/// stranger must not copy other files into what import writes.
class ExternalData {
 public:
  /// `memory` accounts for all that is read.
  ExternalData(std::filesystem::path folder, Reservation& memory) : folder_(std::move(folder)), memory_(memory) {}

  /// The bytes of `range`, which must be `size`. Throws FileError.
  std::vector<std::byte> read(const ExternalRange& range, std::uint64_t size);

 private:
  std::filesystem::path resolved(const std::string& location) const;

  std::filesystem::path folder_;
  Reservation& memory_;
};

}  // namespace dmlref::tool::onnx
