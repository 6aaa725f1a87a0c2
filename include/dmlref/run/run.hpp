// run.hpp: one call with the native desc of any operator: validate, compile, run.
#pragma once

#include <span>

#include "dmlref/config.hpp"
#include "dmlref/run/compile.hpp"

DMLREF_BEGIN

/// One call: validate, compile, run. Buffers in the order of the desc's tensors, one per tensor, absent ones empty,
/// those owned by DML among the inputs. Allocates the persistent and temporary memory that the operator needs. Nothing
/// is written where the Report is not ok.
[[nodiscard]] inline Report run(const OperatorDesc& desc, FeatureLevel level, std::span<const InputBuffer> inputs,
                                std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_to_run(desc, level, options), inputs, outputs, options);
}
/// The same with braced lists of arrays, vectors and spans.
[[nodiscard]] inline Report run(const OperatorDesc& desc, FeatureLevel level, InputList inputs, OutputList outputs,
                                const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_to_run(desc, level, options), inputs, outputs, options);
}

DMLREF_END
