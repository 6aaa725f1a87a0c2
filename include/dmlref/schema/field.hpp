// field.hpp: the fields of an operator's struct: what kind each is, what it is called, and which member of the native
// desc holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/schema/support.hpp"

DMLREF_BEGIN

/// What a field of Microsoft's struct is.
enum class FieldKind : std::uint8_t {
  input_tensor,           ///< const DML_TENSOR_DESC*
  optional_input_tensor,  ///< the same, may be null
  output_tensor,          ///< const DML_TENSOR_DESC*
  array_count,            ///< UINT: entries of the arrays that name it; the native desc's arrays know their lengths
  uint,                   ///< UINT
  boolean,                ///< BOOL
  real,                   ///< FLOAT
  uint_array,             ///< const UINT*
  int_array,              ///< const INT*
  activation,             ///< const DML_OPERATOR_DESC*, may be null
};

/// Whether the field is a tensor.
constexpr bool is_tensor(FieldKind kind) noexcept { return kind <= FieldKind::output_tensor; }
/// Whether the field is a tensor that is read.
constexpr bool is_input(FieldKind kind) noexcept { return kind <= FieldKind::optional_input_tensor; }

/// One field of an operator, without its type.
struct FieldInfo {
  std::string_view name;         ///< in Microsoft's struct: "InputTensor"
  FieldKind kind;                ///< what it is
  std::string_view count = {};   ///< of an array: the field that counts its entries; it stands before
  SupportRows support = {};      ///< of a tensor: what the operator accepts
  std::size_t offset = 0;        ///< in Microsoft's struct
  std::size_t count_offset = 0;  ///< there, of the field that counts the entries
};

/// A field and the member of the native desc that holds it.
template <class Desc, class Value>
struct Field {
  FieldInfo info;
  Value Desc::*member;
};
/// A field that a native desc does not have: the length of an array.
struct CountField {
  FieldInfo info;
};

namespace schema {

template <class Desc>
constexpr auto input(std::string_view name, TensorDesc Desc::*member, SupportRows support) noexcept {
  return Field<Desc, TensorDesc>{{name, FieldKind::input_tensor, {}, support}, member};
}
template <class Desc>
constexpr auto input(std::string_view name, std::optional<TensorDesc> Desc::*member, SupportRows support) noexcept {
  return Field<Desc, std::optional<TensorDesc>>{{name, FieldKind::optional_input_tensor, {}, support}, member};
}
template <class Desc>
constexpr auto output(std::string_view name, TensorDesc Desc::*member, SupportRows support) noexcept {
  return Field<Desc, TensorDesc>{{name, FieldKind::output_tensor, {}, support}, member};
}
constexpr CountField count(std::string_view name) noexcept { return {{name, FieldKind::array_count}}; }
template <class Desc>
constexpr auto array(std::string_view name, Dimensions Desc::*member, std::string_view count) noexcept {
  return Field<Desc, Dimensions>{{name, FieldKind::uint_array, count}, member};
}
template <class Desc>
constexpr auto array(std::string_view name, std::vector<std::int32_t> Desc::*member, std::string_view count) noexcept {
  return Field<Desc, std::vector<std::int32_t>>{{name, FieldKind::int_array, count}, member};
}
template <class Desc>
constexpr auto number(std::string_view name, std::uint32_t Desc::*member) noexcept {
  return Field<Desc, std::uint32_t>{{name, FieldKind::uint}, member};
}
template <class Desc>
constexpr auto number(std::string_view name, bool Desc::*member) noexcept {
  return Field<Desc, bool>{{name, FieldKind::boolean}, member};
}
template <class Desc>
constexpr auto number(std::string_view name, float Desc::*member) noexcept {
  return Field<Desc, float>{{name, FieldKind::real}, member};
}
template <class Desc>
constexpr auto activation(std::string_view name, std::optional<Activation> Desc::*member) noexcept {
  return Field<Desc, std::optional<Activation>>{{name, FieldKind::activation}, member};
}

}  // namespace schema

DMLREF_END
