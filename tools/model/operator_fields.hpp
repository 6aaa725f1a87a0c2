// operator_fields.hpp: the fields of operators and of what they fuse: the library's schemas by name.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "dmlref/desc/directml_types.hpp"
#include "dmlref/operators/list.hpp"
#include "dmlref/schema/field.hpp"

namespace dmlref::tool {

struct OperatorFields {
  std::string_view name;  // without DML_OPERATOR_
  DML_OPERATOR_TYPE type;
  std::size_t size;  // of the struct
  std::span<const FieldInfo> fields;
  FeatureLevel introduced{};
  bool fused = false;  // in an operator: its tensors are null, whatever stands there, as for DxDispatch
};

/// Those of a schema::OperatorList, in its order.
template <class List>
std::vector<OperatorFields> operator_fields() {
  std::vector<OperatorFields> list;
  for (std::size_t i = 0; i < std::size(List::infos); ++i) {
    const OperatorInfo& info = List::infos[i];
    const std::span<const FieldInfo> fields = List::fields[i];
    list.push_back(
        {info.name, static_cast<DML_OPERATOR_TYPE>(info.type), schema::struct_size(fields), fields, info.introduced});
  }
  return list;
}

/// The operators that a dispatchable may be.
std::span<const OperatorFields> operators();

/// What a FusedActivation may name; some of them only to be refused by the validator.
std::span<const OperatorFields> fusable_operators();

/// By name, with or without DML_OPERATOR_; null where the list has none.
const OperatorFields* find_operator_fields(std::span<const OperatorFields> list, std::string_view name);

}  // namespace dmlref::tool
