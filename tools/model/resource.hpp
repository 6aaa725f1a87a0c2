// resource.hpp: a buffer of the model: what it starts with, then its memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "io/tensor_file.hpp"
#include "model/document.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {

/// The resource as the model describes it; nothing of its size is allocated yet, no file read.
class ResourceDesc {
 public:
  ResourceDesc(const Node& node, const std::filesystem::path& folder);

  bool reads_file() const noexcept { return std::holds_alternative<File>(initial_); }

  friend class Resource;

 private:
  struct Constant {
    std::uint64_t count;
    std::vector<std::byte> value;
  };
  struct Sequence {
    std::uint64_t count;
    std::vector<std::byte> start;
    std::vector<std::byte> delta;
  };
  struct File {
    std::filesystem::path path;
    std::string where;  // the JSON path that names it
    std::optional<ResampleSize> resample;
  };
  using Values = std::vector<std::byte>;

  void parse_values(const Node& node, const std::filesystem::path& folder);
  void parse_array(const Node& node);
  void parse_list(const Node& node);
  void parse_object(const Node& node, const Node& values, const std::filesystem::path& folder);
  [[noreturn]] void fail(const std::string& path, const std::string& what) const;

  std::string file_;
  std::string path_;
  DataType type_ = DataType::unknown;
  std::variant<Values, Constant, Sequence, File> initial_;
  std::optional<std::uint64_t> size_;
  std::uint64_t offset_ = 0;
};

/// The buffer itself.
class Resource {
 public:
  /// Reads the file, fills the memory. Fails where the file is not what the model says, or beyond the budget.
  explicit Resource(const ResourceDesc& desc);

  /// Type and number of the initial values, which is what is printed and written. Type unknown: a list of typed values.
  DataType type() const noexcept { return type_; }
  std::uint64_t count() const noexcept { return count_; }
  /// The shape of the .npy or picture that it came from; empty otherwise.
  const std::vector<std::uint64_t>& shape() const noexcept { return shape_; }
  std::span<std::byte> memory() noexcept { return memory_.bytes(); }
  /// The part that the initial values took.
  std::span<const std::byte> values() const noexcept { return memory_.bytes().subspan(values_offset_, values_bytes_); }

 private:
  DataType type_;
  std::uint64_t count_ = 0;
  std::size_t values_offset_ = 0;
  std::size_t values_bytes_ = 0;
  std::vector<std::uint64_t> shape_;
  Memory memory_;
};

}  // namespace dmlref::tool
