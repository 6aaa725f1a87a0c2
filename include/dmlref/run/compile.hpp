// compile.hpp: compile the desc of any operator, ours or Microsoft's.
#pragma once

#include <optional>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plans.hpp"
#include "dmlref/validate/read_directml.hpp"
#include "dmlref/validate/validate.hpp"

DMLREF_BEGIN
namespace detail {

inline CompileResult compile_as(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level, const CompileOptions& options,
                                const char* isa_field) {
  Report report = validate(desc, level);
  const std::optional<OperatorDesc> value = report ? read_directml(desc) : std::nullopt;
  if (value) return compile_valid(*value, std::move(report), options, isa_field);
  if (report) report.add(RuleId::not_compiled, "Desc", {"could not be read, expected one of this library's operators"});
  choose_isa(options, report, isa_field);
  return CompileResult(std::move(report));
}

}  // namespace detail

/// Validates at `level`, then fixes everything that does not depend on data: shapes, kernels, memory. The result has
/// the operator, or the violations.
inline CompileResult compile(const OperatorDesc& desc, FeatureLevel level, const CompileOptions& options = {}) {
  return detail::compile_as(desc, level, options, "CompileOptions.isa");
}
/// The same for Microsoft's structs, which may end after the call. Null pointers and unknown types are violations.
inline CompileResult compile(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level,
                             const CompileOptions& options = {}) {
  return detail::compile_as(desc, level, options, "CompileOptions.isa");
}

DMLREF_END
