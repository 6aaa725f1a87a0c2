// schema.hpp: an operator's fields, written down once, and the folds over them.
//
// A specialization `Schema<Desc>` has
//   info    the operator's OperatorInfo: type, name, first level
//   fields  a schema::Pack of Field and CountField, in the order of Microsoft's struct
// From it come reading both kinds of descs, facts, binding slots, the tag of persistent memory, the tables of operators
// and support, and what the command, the fuzz targets and the tests know of an operator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_type.hpp"
#include "dmlref/schema/field.hpp"
#include "dmlref/schema/pack.hpp"

DMLREF_BEGIN

/// Specialized for the native desc of each operator.
template <class Desc>
struct Schema;

/// The native desc of one operator. A program that compiles operators by such descs only holds the kernels of just
/// those operators.
template <class Desc>
concept OneOperatorDesc = requires {
  Schema<Desc>::fields;
};

namespace schema {

/// The places of an operator's fields.
template <class Desc>
using Places = typename decltype(Schema<Desc>::fields)::Places;
template <class Desc>
inline constexpr std::size_t field_count = Places<Desc>::size();

/// Bytes of a field of Microsoft's struct, and its alignment.
constexpr std::size_t struct_bytes(FieldKind kind) noexcept {
  switch (kind) {
    case FieldKind::array_count:
    case FieldKind::uint:
    case FieldKind::boolean:
    case FieldKind::real: return sizeof(std::uint32_t);
    default: return sizeof(void*);
  }
}

constexpr void set_offsets(std::span<FieldInfo> fields) noexcept {
  std::size_t offset = 0;
  for (FieldInfo& field : fields) {
    const std::size_t bytes = struct_bytes(field.kind);
    field.offset = (offset + bytes - 1) / bytes * bytes;
    offset = field.offset + bytes;
    for (const FieldInfo& other : fields) {
      if (!field.count.empty() && other.kind == FieldKind::array_count && other.name == field.count) {
        field.count_offset = other.offset;
      }
    }
  }
}

/// Bytes of Microsoft's struct.
constexpr std::size_t struct_size(std::span<const FieldInfo> fields) noexcept {
  std::size_t alignment = 1;
  for (const FieldInfo& field : fields) {
    if (struct_bytes(field.kind) > alignment) alignment = struct_bytes(field.kind);
  }
  const std::size_t end = fields.back().offset + struct_bytes(fields.back().kind);
  return (end + alignment - 1) / alignment * alignment;
}

template <class Desc, std::size_t... At>
constexpr auto fields_with_offsets(std::index_sequence<At...>) noexcept {
  std::array<FieldInfo, sizeof...(At)> fields{value_at<At>(Schema<Desc>::fields).info...};
  set_offsets(fields);
  return fields;
}

/// The fields of an operator without their types, in the order of the struct.
template <class Desc>
inline constexpr auto fields = fields_with_offsets<Desc>(Places<Desc>());

constexpr std::size_t count_tensors(std::span<const FieldInfo> fields, bool inputs) noexcept {
  std::size_t count = 0;
  for (const FieldInfo& field : fields) {
    if (is_tensor(field.kind) && is_input(field.kind) == inputs) ++count;
  }
  return count;
}
/// How many inputs the operator has, absent ones counted.
template <class Desc>
inline constexpr std::size_t input_count = count_tensors(fields<Desc>, true);
/// How many outputs the operator has.
template <class Desc>
inline constexpr std::size_t output_count = count_tensors(fields<Desc>, false);

template <class Visit, class Desc, class Value>
constexpr void visit_member(Visit& visit, const FieldInfo& info, Desc& desc,
                            const Field<std::remove_const_t<Desc>, Value>& field) {
  visit(info, desc.*field.member);
}
template <class Visit, class Desc>
constexpr void visit_member(Visit&, const FieldInfo&, Desc&, const CountField&) {}
template <class Desc, class Visit, std::size_t... At>
constexpr void for_each_member(Desc& desc, Visit& visit, std::index_sequence<At...>) {
  using Native = std::remove_const_t<Desc>;
  (visit_member(visit, fields<Native>[At], desc, value_at<At>(Schema<Native>::fields)), ...);
}
/// Calls `visit(info, member)` for each field that `desc` has, in the order of the struct.
template <class Desc, class Visit>
constexpr void for_each_member(Desc& desc, Visit visit) {
  for_each_member(desc, visit, Places<std::remove_const_t<Desc>>());
}

template <class Desc, class Value>
constexpr bool is_field(const Field<Desc, Value>& field, Value Desc::*member) noexcept {
  return field.member == member;
}
template <class Field, class Member>
constexpr bool is_field(const Field&, Member) noexcept {
  return false;
}
template <class Desc, class Value, std::size_t... At>
consteval std::size_t index_of(Value Desc::*member, std::index_sequence<At...>) noexcept {
  return ((is_field(value_at<At>(Schema<Desc>::fields), member) ? At : 0) + ...);
}
/// The place of a member among the fields.
template <class Desc, class Value>
consteval std::size_t index_of(Value Desc::*member) noexcept {
  return index_of(member, Places<Desc>());
}
/// What is known of it.
template <class Desc, class Value>
consteval const FieldInfo& field_of(Value Desc::*member) noexcept {
  return fields<Desc>[index_of(member)];
}

constexpr std::size_t index_of_count(std::span<const FieldInfo> fields, std::string_view name) noexcept {
  std::size_t index = 0;
  while (fields[index].kind != FieldKind::array_count || fields[index].name != name) ++index;
  return index;
}
/// The place of the field that counts the entries of an array.
template <class Desc, class Value>
consteval std::size_t count_index_of(Value Desc::*array) noexcept {
  return index_of_count(fields<Desc>, field_of(array).count);
}

}  // namespace schema
DMLREF_END
