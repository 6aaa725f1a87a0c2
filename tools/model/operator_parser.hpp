// operator_parser.hpp: from "desc" objects to DirectML's structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "dmlref/desc/directml_types.hpp"
#include "model/document.hpp"
#include "model/operator_fields.hpp"

namespace dmlref::tool {

/// A tensor member of the operator, in the struct's order.
struct TensorRole {
  std::string_view name;
  bool output = false;
  bool present = false;
  bool owned_by_dml = false;
};

/// A DML_OPERATOR_DESC and everything it points to. Moves, never copies: the addresses stay.
class ParsedOperator {
 public:
  /// `dispatchable` is {"type": ..., "desc": {...}}, or the desc's members beside the type; `settings` are keys that it
  /// may have besides. `known`: the operators that it may be.
  explicit ParsedOperator(const Node& dispatchable, std::initializer_list<std::string_view> settings = {},
                          std::span<const OperatorFields> known = operators());

  const DML_OPERATOR_DESC& desc() const noexcept { return desc_; }
  std::string_view name() const noexcept { return fields_->name; }
  const std::vector<TensorRole>& tensors() const noexcept { return tensors_; }
  /// Where the desc's members stand: "$.dispatchables.x.desc".
  const std::string& desc_path() const noexcept { return desc_path_; }

 private:
  struct TensorStorage {
    DML_TENSOR_DESC tensor{};
    DML_BUFFER_TENSOR_DESC buffer{};
    std::vector<UINT> sizes;
    std::vector<UINT> strides;
  };

  /// `keys_known`: no key of the object is unknown; else what seems to be missing may be misspelt, and is not told.
  const void* parse_struct(const Node& object, const OperatorFields& row, bool keys_known);
  void parse_field(const Node& object, const FieldInfo& field, void* to, bool keys_known);
  const DML_TENSOR_DESC* parse_tensor(const Node& node);
  static void parse_buffer(const Node& members, TensorStorage& storage, bool keys_known);
  const DML_OPERATOR_DESC* parse_fusion(const Node& node);

  const OperatorFields* fields_ = nullptr;
  std::string desc_path_;
  DML_OPERATOR_DESC desc_{};
  std::vector<TensorRole> tensors_;
  std::deque<TensorStorage> tensor_storage_;
  std::deque<std::vector<UINT>> uint_arrays_;
  std::deque<std::vector<INT>> int_arrays_;
  std::deque<DML_OPERATOR_DESC> fusions_;
  std::deque<std::vector<std::uint64_t>> structs_;  // 8 bytes at a time: as aligned as a pointer, and without padding
};

}  // namespace dmlref::tool
