// operator_bytes.hpp: DML_OPERATOR_DESCs from bytes, and bytes of a DML_OPERATOR_DESC.
//
// Every pointer is null or leads to as much memory as its contract says, to the byte; everything else is what the bytes
// say. The tables of the command's parser (tools/model/operator_fields.hpp) say what members there are. Bytes that are
// missing at the end are 0, and 0 is the harmless choice everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/directml.hpp"
#include "model/operator_fields.hpp"

namespace dmlref_test {

// A number is one byte up to 0xDF, one of these, or four bytes after 0xF0 and above.
inline constexpr std::uint32_t odd_numbers[16] = {
    0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFF, 0x10000,  0x10001,
    0x40000000, 0x3FFFFFFF, 0x20000000, 0x55555555, 0x7FFF,     0x8000, 0xFFFFFF, 0x1000000};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint8_t byte() { return at_ < bytes_.size() ? bytes_[at_++] : std::uint8_t{0}; }
  std::uint32_t word() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) value |= std::uint32_t{byte()} << shift;
    return value;
  }
  std::uint32_t number() {
    const std::uint8_t first = byte();
    if (first < 0xE0) return first;
    return first < 0xF0 ? odd_numbers[first - 0xE0] : word();
  }
  std::span<const std::uint8_t> rest() const { return bytes_.subspan(at_); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

class ByteWriter {
 public:
  void byte(unsigned value) { bytes_.push_back(static_cast<std::uint8_t>(value)); }
  void word(std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) byte(value >> shift & 0xFF);
  }
  void number(std::uint32_t value) {
    if (value < 0xE0) return byte(value);
    byte(0xF0);
    word(value);
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// What is unusual about a tensor: a bit each.
enum TensorBits : unsigned {
  null_tensor = 1,
  null_desc = 2,
  null_sizes = 4,
  has_strides = 8,
  has_total_size = 16,   // else the least
  has_type = 32,         // else BUFFER
  has_flags = 64,        // and an alignment; else none
  like_the_first = 128,  // DataType and Sizes are those of the operator's first tensor
};
/// Of any other pointer: the one that is unusual, null for arrays and given for activations and their tensors; and
/// whether what a given activation leads to is null.
enum PointerBits : unsigned { unusual = 1, null_inner = 2 };

/// A value of any of these types at an offset of a struct.
template <class T>
void store(void* to, std::size_t offset, T value) {
  std::memcpy(static_cast<char*>(to) + offset, &value, sizeof(value));
}
template <class T>
T load(const void* from, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + offset, sizeof(value));
  return value;
}

inline bool readable(std::uint32_t count) { return count >= 1 && count <= 8; }

/// Structs in memory of just their size, so that the address sanitizer sees a read beyond.
class OperatorFromBytes {
 public:
  explicit OperatorFromBytes(ByteReader& reader) : reader_(reader) {
    using dmlref::tool::operators;
    const std::uint32_t which = reader.number();
    if (which >= operators().size()) {  // the library must not read behind a type that it does not know
      std::uint32_t type = reader.number();
      for (const auto& row : operators()) type = load<std::uint32_t>(&row.type, 0) == type ? 0 : type;
      store(&desc_, offsetof(DML_OPERATOR_DESC, Type), type);
      desc_.Desc = (reader.byte() & unusual) != 0 ? allocate(1) : nullptr;
      return;
    }
    const auto& row = operators()[which];
    desc_.Type = row.type;
    desc_.Desc = read(row);
  }
  OperatorFromBytes(const OperatorFromBytes&) = delete;
  OperatorFromBytes& operator=(const OperatorFromBytes&) = delete;

  const DML_OPERATOR_DESC& desc() const { return desc_; }

 private:
  using FieldInfo = dmlref::FieldInfo;
  using FieldKind = dmlref::FieldKind;

  void* allocate(std::size_t bytes) {
    memory_.push_back(std::make_unique<unsigned char[]>(bytes));
    return memory_.back().get();
  }

  void* read(const dmlref::tool::OperatorFields& row) {
    void* const to = allocate(row.size);
    for (const FieldInfo& field : row.fields) read(row, field, to);
    return to;
  }
  void read(const dmlref::tool::OperatorFields& row, const FieldInfo& field, void* to) {
    if (row.fused && is_tensor(field.kind)) {
      const bool given = (reader_.byte() & unusual) != 0;
      return store(to, field.offset, given ? allocate(sizeof(DML_TENSOR_DESC)) : nullptr);
    }
    switch (field.kind) {
      case FieldKind::input_tensor:
      case FieldKind::optional_input_tensor:
      case FieldKind::output_tensor: return store(to, field.offset, tensor());
      case FieldKind::array_count:
      case FieldKind::uint:
      case FieldKind::boolean: return store(to, field.offset, reader_.number());
      case FieldKind::real: return store(to, field.offset, reader_.word());
      case FieldKind::uint_array:
      case FieldKind::int_array: {
        const bool null = (reader_.byte() & unusual) != 0;
        return store(to, field.offset, null ? nullptr : numbers(load<std::uint32_t>(to, field.count_offset)));
      }
      case FieldKind::activation: return store(to, field.offset, fusion());
    }
  }

  /// An array of `count` numbers; of none where that many are never read.
  const UINT* numbers(std::uint32_t count) {
    auto* const array = static_cast<UINT*>(allocate(readable(count) ? count * sizeof(UINT) : 1));
    for (std::uint32_t i = 0; readable(count) && i < count; ++i) array[i] = reader_.number();
    return array;
  }

  const DML_TENSOR_DESC* tensor() {
    const unsigned bits = reader_.byte();
    if ((bits & null_tensor) != 0) return nullptr;
    auto* const to = static_cast<DML_TENSOR_DESC*>(allocate(sizeof(DML_TENSOR_DESC)));
    store(to, offsetof(DML_TENSOR_DESC, Type), (bits & has_type) != 0 ? reader_.number() : 1);
    if ((bits & null_desc) != 0) return to;
    auto* const buffer = static_cast<DML_BUFFER_TENSOR_DESC*>(allocate(sizeof(DML_BUFFER_TENSOR_DESC)));
    to->Desc = buffer;
    if ((bits & like_the_first) != 0 && first_ != nullptr) {
      *buffer = *first_;
    } else {
      store(buffer, offsetof(DML_BUFFER_TENSOR_DESC, DataType), reader_.number());
      buffer->DimensionCount = reader_.number();
      buffer->Sizes = (bits & null_sizes) != 0 ? nullptr : numbers(buffer->DimensionCount);
    }
    buffer->Strides = (bits & has_strides) != 0 ? numbers(buffer->DimensionCount) : nullptr;
    store(buffer, offsetof(DML_BUFFER_TENSOR_DESC, Flags), (bits & has_flags) != 0 ? reader_.number() : 0);
    buffer->GuaranteedBaseOffsetAlignment = (bits & has_flags) != 0 ? reader_.number() : 0;
    buffer->TotalTensorSizeInBytes = least(*buffer);
    if ((bits & has_total_size) != 0) {
      const std::uint64_t low = reader_.number();
      buffer->TotalTensorSizeInBytes = std::uint64_t{reader_.number()} << 32 | low;
    }
    if (first_ == nullptr) first_ = buffer;
    return to;
  }
  static std::uint64_t least(const DML_BUFFER_TENSOR_DESC& buffer) {
    if (!readable(buffer.DimensionCount) || buffer.Sizes == nullptr) return 0;
    const std::span<const UINT> sizes(buffer.Sizes, buffer.DimensionCount);
    const std::span<const UINT> strides(buffer.Strides, buffer.Strides == nullptr ? 0 : buffer.DimensionCount);
    const auto type = static_cast<dmlref::DataType>(load<std::uint32_t>(&buffer.DataType, 0));
    return dmlref::buffer_tensor_size(type, sizes, strides).value_or(0);
  }

  const DML_OPERATOR_DESC* fusion() {
    const unsigned bits = reader_.byte();
    if ((bits & unusual) == 0) return nullptr;
    auto* const to = static_cast<DML_OPERATOR_DESC*>(allocate(sizeof(DML_OPERATOR_DESC)));
    const std::uint32_t type = reader_.number();
    store(to, offsetof(DML_OPERATOR_DESC, Type), type);
    to->Desc = nullptr;
    if ((bits & null_inner) != 0) return to;
    for (const auto& row : dmlref::tool::fusable_operators()) {
      if (load<std::uint32_t>(&row.type, 0) != type) continue;
      const auto& last = row.fields.back();
      const std::size_t used = last.offset + (last.kind == FieldKind::real ? sizeof(float) : sizeof(void*));
      const std::unique_ptr<unsigned char[]> whole(new unsigned char[row.size]());
      for (const FieldInfo& field : row.fields) read(row, field, whole.get());
      void* const desc = allocate(used);
      std::memcpy(desc, whole.get(), used);
      to->Desc = desc;
      return to;
    }
    to->Desc = allocate(1);
    return to;
  }

  ByteReader& reader_;
  std::vector<std::unique_ptr<unsigned char[]>> memory_;
  const DML_BUFFER_TENSOR_DESC* first_ = nullptr;
  DML_OPERATOR_DESC desc_{};
};

/// The bytes of a desc of one of our operators whose pointers may be followed: `OperatorFromBytes` gives it back.
class OperatorToBytes {
 public:
  OperatorToBytes(const DML_OPERATOR_DESC& desc, ByteWriter& writer) : writer_(writer) {
    const auto list = dmlref::tool::operators();
    for (std::uint32_t which = 0; which < list.size(); ++which) {
      if (list[which].type != desc.Type) continue;
      writer.number(which);
      write(list[which], desc.Desc);
    }
  }

 private:
  using FieldInfo = dmlref::FieldInfo;
  using FieldKind = dmlref::FieldKind;

  void write(const dmlref::tool::OperatorFields& row, const void* from) {
    for (const FieldInfo& field : row.fields) {
      if (row.fused && is_tensor(field.kind)) {
        writer_.byte(load<const void*>(from, field.offset) != nullptr ? 1 : 0);
        continue;
      }
      switch (field.kind) {
        case FieldKind::input_tensor:
        case FieldKind::optional_input_tensor:
        case FieldKind::output_tensor: tensor(load<const DML_TENSOR_DESC*>(from, field.offset)); break;
        case FieldKind::array_count:
        case FieldKind::uint:
        case FieldKind::boolean: writer_.number(load<std::uint32_t>(from, field.offset)); break;
        case FieldKind::real: writer_.word(load<std::uint32_t>(from, field.offset)); break;
        case FieldKind::uint_array:
        case FieldKind::int_array: {
          const auto* array = load<const UINT*>(from, field.offset);
          writer_.byte(array == nullptr ? 1 : 0);
          if (array != nullptr) numbers(array, load<std::uint32_t>(from, field.count_offset));
          break;
        }
        case FieldKind::activation: fusion(load<const DML_OPERATOR_DESC*>(from, field.offset)); break;
      }
    }
  }
  void numbers(const UINT* array, std::uint32_t count) {
    for (std::uint32_t i = 0; readable(count) && i < count; ++i) writer_.number(array[i]);
  }
  void tensor(const DML_TENSOR_DESC* tensor) {
    if (tensor == nullptr) return writer_.byte(null_tensor);
    const auto& buffer = *static_cast<const DML_BUFFER_TENSOR_DESC*>(tensor->Desc);
    writer_.byte(has_flags | has_total_size | (buffer.Strides != nullptr ? has_strides : 0u));
    writer_.number(load<std::uint32_t>(&buffer.DataType, 0));
    writer_.number(buffer.DimensionCount);
    numbers(buffer.Sizes, buffer.DimensionCount);
    if (buffer.Strides != nullptr) numbers(buffer.Strides, buffer.DimensionCount);
    writer_.number(load<std::uint32_t>(&buffer.Flags, 0));
    writer_.number(buffer.GuaranteedBaseOffsetAlignment);
    writer_.number(static_cast<std::uint32_t>(buffer.TotalTensorSizeInBytes));
    writer_.number(static_cast<std::uint32_t>(buffer.TotalTensorSizeInBytes >> 32));
  }
  void fusion(const DML_OPERATOR_DESC* desc) {
    if (desc == nullptr) return writer_.byte(0);
    writer_.byte(unusual);
    writer_.number(load<std::uint32_t>(&desc->Type, 0));
    for (const auto& row : dmlref::tool::fusable_operators()) {
      if (row.type == desc->Type) return write(row, desc->Desc);
    }
  }

  ByteWriter& writer_;
};

}  // namespace dmlref_test
