// support_table.hpp: what each operator accepts for each tensor since which level: what the schemas say, as one table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/operators/list.hpp"

DMLREF_BEGIN

/// From `since` on, `tensor` of `op` has min_rank to max_rank dimensions and one of `types`.
struct SupportRow : TensorSupport {
  OperatorType op;          ///< whose tensor
  std::string_view tensor;  ///< its name in the desc
};

namespace schema {

constexpr std::size_t count_support_rows() noexcept {
  std::size_t count = 0;
  for (const auto& fields : Operators::fields) {
    for (const FieldInfo& field : fields) count += field.support.size();
  }
  return count;
}

constexpr auto support_rows() noexcept {
  std::array<SupportRow, count_support_rows()> table{};
  SupportRow* row = table.data();
  const OperatorInfo* info = Operators::infos;
  for (const auto& fields : Operators::fields) {
    for (const FieldInfo& field : fields) {
      for (const TensorSupport& support : field.support) *row++ = {support, info->type, field.name};
    }
    ++info;
  }
  return table;
}

}  // namespace schema

/// What each tensor may be: a row replaces the older rows of the same tensor, which stand before it.
inline constexpr auto support_table = schema::support_rows();

DMLREF_END
