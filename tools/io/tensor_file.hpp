// tensor_file.hpp: elements from a file and to a file; its name's ending says which format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {

struct TensorFile {
  DataType type = DataType::unknown;
  std::vector<std::uint64_t> shape;  ///< of an .npy or a picture; empty for raw bytes
  std::vector<std::byte> data;
  Reservation memory{};  ///< of the data
};

/// For pictures: channels, height, width to scale to.
struct ResampleSize {
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
};

bool is_picture(const std::filesystem::path& path);
bool is_npy(const std::filesystem::path& path);

/// .npy, .png, .jpg, .jpeg; anything else is raw bytes. `type` is what the model says (unknown: nothing). FileError.
TensorFile read_tensor(const std::filesystem::path& path, DataType type, const std::optional<ResampleSize>& resample);

/// Throws FileError where write_tensor would, whatever the elements are, before the file is opened.
void check_tensor_file(const std::filesystem::path& path, DataType type, std::span<const std::uint64_t> shape);

/// `shape` tells an .npy its dimensions and a picture that it is {1, C, H, W}, {C, H, W} or {H, W}. FileError.
void write_tensor(const std::filesystem::path& path, DataType type, std::span<const std::uint64_t> shape,
                  std::span<const std::byte> data);

}  // namespace dmlref::tool
