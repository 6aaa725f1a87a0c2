// run.hpp: one call with the desc of any operator, ours or Microsoft's: validate, compile, run.
#pragma once

#include <span>

#include "dmlref/config.hpp"
#include "dmlref/run/compile.hpp"

DMLREF_BEGIN

/// One call: validate, compile, run. Buffers in the order of the desc's tensors, one per tensor, absent ones empty,
/// those owned by DML among the inputs. Allocates the persistent and temporary memory that the operator needs. Nothing
/// is written where the Report is not ok.
inline Report run(const OperatorDesc& desc, FeatureLevel level, std::span<const InputBuffer> inputs,
                  std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_as(desc, level, {options.isa}, "RunOptions.isa"), inputs, outputs,
                              options);
}
/// The same for Microsoft's structs.
inline Report run(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level, std::span<const InputBuffer> inputs,
                  std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_as(desc, level, {options.isa}, "RunOptions.isa"), inputs, outputs,
                              options);
}

DMLREF_END
