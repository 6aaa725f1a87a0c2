// npy.hpp: NumPy's array files, versions 1.0 to 3.0: the eleven types and bool, in C order. What is written is
// little endian; big-endian elements are read, and Fortran order where it is C's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {

struct NpyArray {
  DataType type = DataType::unknown;
  std::vector<std::uint64_t> shape;  ///< empty: one element
  std::vector<std::byte> data;
  Reservation memory{};  ///< of the data

  std::uint64_t count() const noexcept { return data.size() / size_of(type); }
};

/// The elements at the beginning of `bytes`, which may be padded to a multiple of four bytes, as DxDispatch writes its
/// buffers. Throws FileError where the number of bytes is another.
std::span<const std::byte> elements_of(std::span<const std::byte> bytes, DataType type,
                                       std::span<const std::uint64_t> shape);

/// Throws FileError that says what is wrong with the bytes.
NpyArray read_npy(std::span<const std::byte> file);

/// A dump without header; without a shape it is a list as long as the file. Throws FileError.
NpyArray read_raw(std::span<const std::byte> file, DataType type, std::span<const std::uint64_t> shape);

/// The file's bytes before the elements.
std::string npy_header(DataType type, std::span<const std::uint64_t> shape);

/// The file's bytes. `data` holds the elements of `shape` in C order.
std::vector<std::byte> write_npy(DataType type, std::span<const std::uint64_t> shape, std::span<const std::byte> data);

}  // namespace dmlref::tool
