// compile.hpp: compile the native desc of any operator.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plans.hpp"
#include "dmlref/validate/validate.hpp"

DMLREF_BEGIN

/// Validates at `level`, then fixes everything that does not depend on data: shapes, kernels, memory. The result has
/// the operator, or the violations.
[[nodiscard]] inline CompileResult compile(const OperatorDesc& desc, FeatureLevel level,
                                           const CompileOptions& options = {}) {
  return detail::compile_valid(desc, validate(desc, level), options, "CompileOptions.isa");
}

DMLREF_END
