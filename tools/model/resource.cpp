#include "model/resource.hpp"

#include <fmt/format.h>

#include <cstring>
#include <system_error>

namespace dmlref::tool {
namespace {

/// value + delta in the element's own type: integers wrap, real numbers round, as DxDispatch counts.
template <class T>
T next(T value, T delta) {
  if constexpr (std::is_same_v<T, half>) {
    return half(static_cast<float>(value) + static_cast<float>(delta));
  } else if constexpr (std::is_floating_point_v<T>) {
    return value + delta;
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(delta));
  }
}

std::vector<std::byte> element_bytes(const Node& node, DataType type) {
  std::vector<std::byte> bytes(size_of(type));
  visit_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    store_element(bytes, 0, node.number<T>());
  });
  return bytes;
}

DataType parse_type(const Node& node, bool unknown_allowed) {
  const std::optional<DataType> type = data_type_from_name(node.text());
  const bool known = type && (size_of(*type) != 0 || (unknown_allowed && *type == DataType::unknown));
  if (!known) node.refuse("one of " + data_type_names());
  return *type;
}

std::uint64_t value_count(const Node& values) {
  const Node node = values.at("valueCount", "how many values there are");
  const auto count = node.number<std::uint32_t>();
  if (count == 0) node.refuse("an integer from 1 to 4294967295");
  return count;
}

}  // namespace

void ResourceDesc::fail(const std::string& path, const std::string& what) const {
  throw Failure(file_ + ": " + path, what);
}

ResourceDesc::ResourceDesc(const Node& node, const std::filesystem::path& folder)
    : file_(node.file()), path_(node.path()) {
  if (!node.json().is_object()) node.refuse("an object");
  Faults faults;
  const bool keys_known = faults.holds([&] {
    node.expect_object({"type", "initialValues", "initialValuesDataType", "initialValuesOffsetInBytes", "sizeInBytes",
                        "resampleSize", "resampleMode"});
  });
  faults.collect([&] {
    if (const auto kind = node.find("type"); kind && kind->text() != "buffer") kind->refuse("\"buffer\"");
  });
  const bool type_known = faults.holds([&] {
    if (const auto type = node.find("initialValuesDataType")) type_ = parse_type(*type, true);
  });
  // Values of an unknown type cannot be read.
  if (type_known && !node.may_be_misspelt("initialValues", keys_known)) {
    faults.collect([&] { parse_values(node, folder); });
  }
  const auto bytes = [&](std::string_view key) -> std::optional<std::uint64_t> {
    const auto member = node.find(key);
    if (!member) return std::nullopt;
    const auto number = member->number<std::uint64_t>();
    if (number > (std::uint64_t{1} << 62)) member->refuse("at most 2^62");
    return number;
  };
  faults.collect([&] { size_ = bytes("sizeInBytes"); });
  faults.collect([&] { offset_ = bytes("initialValuesOffsetInBytes").value_or(0); });
  faults.raise();
}

void ResourceDesc::parse_values(const Node& node, const std::filesystem::path& folder) {
  const Node values = node.at("initialValues", "an array, or an object with value, valueStart or sourcePath");
  if (values.json().is_array()) {
    if (values.json().empty()) values.refuse("at least one value");
    const bool typed = values.json().front().is_object();  // a list that names each value's type
    if (!node.find("initialValuesDataType") && !typed) node.at("initialValuesDataType", "one of " + data_type_names());
    type_ == DataType::unknown ? parse_list(values) : parse_array(values);
  } else if (values.json().is_object()) {
    parse_object(node, values, folder);
  } else {
    values.refuse("an array, or an object with value, valueStart or sourcePath");
  }
  if (!std::holds_alternative<File>(initial_)) {
    for (const char* key : {"resampleSize", "resampleMode"}) {
      if (node.find(key)) node.fail_at(key, "is given, expected it only where sourcePath names a picture");
    }
  }
}

void ResourceDesc::parse_array(const Node& node) {
  Values values(node.json().size() * size_of(type_));
  visit_type(type_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::size_t index = 0;
    for (const Json& element : node.json()) {
      const std::optional<T> value = to_number<T>(element);
      if (!value) node[index].refuse(number_expectation<T>());
      store_element(values, index++, *value);
    }
  });
  initial_ = std::move(values);
}

void ResourceDesc::parse_list(const Node& node) {
  Values values;
  for (std::size_t i = 0; i < node.json().size(); ++i) {
    const Node element = node[i];
    element.expect_object({"name", "type", "value"});
    const DataType type = parse_type(element.at("type", "a data type like \"UINT32\""), false);
    const std::vector<std::byte> bytes = element_bytes(element.at("value", "a number"), type);
    values.insert(values.end(), bytes.begin(), bytes.end());
  }
  initial_ = std::move(values);
}

void ResourceDesc::parse_object(const Node& node, const Node& values, const std::filesystem::path& folder) {
  const auto need_type = [&] {
    if (type_ != DataType::unknown) return;
    node.at("initialValuesDataType", "one of " + data_type_names()).refuse("one of " + data_type_names());
  };
  if (const auto value = values.find("value")) {
    values.expect_object({"valueCount", "value"});
    need_type();
    initial_ = Constant{value_count(values), element_bytes(*value, type_)};
  } else if (const auto start = values.find("valueStart")) {
    values.expect_object({"valueCount", "valueStart", "valueDelta"});
    need_type();
    initial_ = Sequence{value_count(values), element_bytes(*start, type_),
                        element_bytes(values.at("valueDelta", "the step from one value to the next"), type_)};
  } else if (const auto source = values.find("sourcePath")) {
    values.expect_object({"sourcePath"});
    File file{folder / source->text("the path of a file"), source->path(), std::nullopt};
    std::error_code error;
    if (!std::filesystem::exists(file.path, error) && std::filesystem::exists(source->text(), error)) {
      file.path = source->text();  // relative to the current folder
    }
    if (!is_npy(file.path)) need_type();
    auto size = node.find("resampleSize");
    if (size && size->json().is_array() && size->json().empty()) size.reset();
    const auto mode = node.find("resampleMode");
    if ((size || mode) && !is_picture(file.path)) {
      (size ? size : mode)->fail("is given, expected it only where sourcePath names a picture");
    }
    if (mode && mode->text() != "scale") mode->refuse("\"scale\"");
    if (size) {
      const auto shape = size->numbers<std::uint32_t>("[1, C, H, W]");
      const bool good = shape.size() == 4 && shape[0] == 1 && (shape[1] == 1 || shape[1] == 3 || shape[1] == 4) &&
                        shape[2] >= 1 && shape[2] <= 8192 && shape[3] >= 1 && shape[3] <= 8192;
      if (!good) {
        size->fail(fmt::format("is {}, expected [1, C, H, W] with C of 1, 3 or 4 and H, W from 1 to 8192",
                               size->json().dump().substr(0, 80)));
      }
      file.resample = ResampleSize{shape[1], shape[2], shape[3]};
    }
    if (is_picture(file.path) && type_ != DataType::float32 && type_ != DataType::float16 && type_ != DataType::uint8) {
      node.at("initialValuesDataType", "").refuse("FLOAT32, FLOAT16 or UINT8 for a picture");
    }
    initial_ = std::move(file);
  } else {
    values.fail("has none of the keys value, valueStart, sourcePath, expected one of them");
  }
}

Resource::Resource(const ResourceDesc& desc) : type_(desc.type_) {
  using File = ResourceDesc::File;
  TensorFile from_file;
  std::uint64_t bytes = 0;
  if (const auto* file = std::get_if<File>(&desc.initial_)) {
    try {
      from_file = read_tensor(file->path, desc.type_, file->resample);
    } catch (const FileError& error) {
      desc.fail(file->where, fmt::format("names {}, which {}", file->path.string(), error.what()));
    }
    type_ = from_file.type;
    shape_ = from_file.shape;
    bytes = from_file.data.size();
  } else if (const auto* values = std::get_if<ResourceDesc::Values>(&desc.initial_)) {
    bytes = values->size();
  } else if (const auto* constant = std::get_if<ResourceDesc::Constant>(&desc.initial_)) {
    bytes = constant->count * constant->value.size();
  } else {
    const auto& sequence = std::get<ResourceDesc::Sequence>(desc.initial_);
    bytes = sequence.count * sequence.start.size();
  }
  if (desc.size_ && (desc.offset_ > *desc.size_ || *desc.size_ - desc.offset_ < bytes)) {
    desc.fail(desc.path_ + ".sizeInBytes",
              fmt::format("is {}, expected at least {}: {} bytes of initialValues{}", *desc.size_, desc.offset_ + bytes,
                          bytes, desc.offset_ == 0 ? "" : " after the offset"));
  }
  const std::uint64_t total = (desc.size_.value_or(desc.offset_ + bytes) + 3) / 4 * 4;
  try {
    memory_ = Memory(total, "its bytes");
  } catch (const FileError& error) {
    desc.fail(desc.path_, error.what());
  }
  values_offset_ = static_cast<std::size_t>(desc.offset_);
  values_bytes_ = static_cast<std::size_t>(bytes);
  count_ = type_ == DataType::unknown ? 0 : bytes / size_of(type_);

  const std::span<std::byte> to = memory_.bytes().subspan(values_offset_);
  if (std::holds_alternative<File>(desc.initial_)) {
    std::memcpy(to.data(), from_file.data.data(), from_file.data.size());
  } else if (const auto* values = std::get_if<ResourceDesc::Values>(&desc.initial_)) {
    std::memcpy(to.data(), values->data(), values->size());
  } else {
    visit_type(type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (const auto* constant = std::get_if<ResourceDesc::Constant>(&desc.initial_)) {
        const T value = load_element<T>(constant->value, 0);
        for (std::size_t i = 0; i < constant->count; ++i) store_element(to, i, value);
      } else {
        const auto& sequence = std::get<ResourceDesc::Sequence>(desc.initial_);
        T value = load_element<T>(sequence.start, 0);
        const T delta = load_element<T>(sequence.delta, 0);
        for (std::size_t i = 0; i < sequence.count; ++i, value = next(value, delta)) store_element(to, i, value);
      }
    });
  }
}

}  // namespace dmlref::tool
