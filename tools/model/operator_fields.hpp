// operator_fields.hpp: the members of DirectML's operator structs as data: one row per member.
//
// An operator is added by adding its rows and a line to the list of operators.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "dmlref/desc/directml_types.hpp"

namespace dmlref::tool {

enum class FieldKind {
  input,            // const DML_TENSOR_DESC*, bound to the operator as an input
  optional_input,   // the same, may be null
  output,           // const DML_TENSOR_DESC*
  unused_tensor,    // const DML_TENSOR_DESC* of a fused activation: null
  uint,             // UINT
  boolean,          // BOOL
  real,             // FLOAT
  uint_array,       // const UINT* with as many elements as `count` says
  int_array,        // const INT*
  optional_fusion,  // const DML_OPERATOR_DESC*, may be null
};

struct Field {
  std::string_view name;
  FieldKind kind;
  std::size_t offset;           // in the struct
  std::string_view count = {};  // of arrays: the member that counts the elements; it stands before the array
};

struct OperatorFields {
  std::string_view name;  // without DML_OPERATOR_
  DML_OPERATOR_TYPE type;
  std::size_t size;  // of the struct
  std::span<const Field> fields;
};

/// The operators that a dispatchable may be.
std::span<const OperatorFields> operators();

/// What a FusedActivation may name; some of them only to be refused by the validator.
std::span<const OperatorFields> fusable_operators();

/// By name, with or without DML_OPERATOR_; null where the list has none.
const OperatorFields* find_operator_fields(std::span<const OperatorFields> list, std::string_view name);

}  // namespace dmlref::tool
