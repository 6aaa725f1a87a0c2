// directml.hpp: compile and run Microsoft's structs; and native descs at Microsoft's levels.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/directml_types.hpp"
#include "dmlref/run/run.hpp"
#include "dmlref/validate/read_directml.hpp"

DMLREF_BEGIN
namespace detail {

inline CompileResult compile_as(const DML_OPERATOR_DESC& desc, FeatureLevel level, const CompileOptions& options,
                                const char* isa_field) {
  Report report = validate(desc, level);
  const std::optional<OperatorDesc> value = report ? read_directml(desc) : std::nullopt;
  if (value) return compile_valid(*value, std::move(report), options, isa_field);
  if (report) report.add(RuleId::not_compiled, "Desc", {"could not be read, expected one of this library's operators"});
  static_cast<void>(choose_isa(options.isa, report, isa_field));  // its faults, too
  return CompileResult(std::move(report));
}

inline CompileResult compile_to_run(const DML_OPERATOR_DESC& desc, FeatureLevel level, const RunOptions& options) {
  return compile_as(desc, level, {options.isa, options.strict_bindings}, "RunOptions.isa");
}

/// A desc of this library or Microsoft's.
template <class Desc>
concept AnyDesc = NativeDesc<Desc> || std::is_same_v<Desc, DML_OPERATOR_DESC>;

}  // namespace detail

/// Validates at `level`, then fixes everything that does not depend on data: shapes, kernels, memory. The result has
/// the operator, or the violations: null pointers and unknown types, too. The structs may end after the call.
[[nodiscard]] inline CompileResult compile(const DML_OPERATOR_DESC& desc, FeatureLevel level,
                                           const CompileOptions& options = {}) {
  return detail::compile_as(desc, level, options, "CompileOptions.isa");
}
/// The same at a level of Microsoft's, for any desc.
template <detail::AnyDesc Desc>
[[nodiscard]] CompileResult compile(const Desc& desc, const DML_FEATURE_LEVEL& level,
                                    const CompileOptions& options = {}) {
  return compile(desc, feature_level(level), options);
}

/// One call: validate, compile, run. Buffers in the order of the desc's tensors, one per tensor, absent ones empty,
/// those owned by DML among the inputs. Allocates the persistent and temporary memory that the operator needs. Nothing
/// is written where the Report is not ok.
[[nodiscard]] inline Report run(const DML_OPERATOR_DESC& desc, FeatureLevel level, std::span<const InputBuffer> inputs,
                                std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_to_run(desc, level, options), inputs, outputs, options);
}
/// The same with braced lists of arrays, vectors and spans.
[[nodiscard]] inline Report run(const DML_OPERATOR_DESC& desc, FeatureLevel level, InputList inputs, OutputList outputs,
                                const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_to_run(desc, level, options), inputs, outputs, options);
}
/// The same at a level of Microsoft's, for any desc.
template <detail::AnyDesc Desc>
[[nodiscard]] Report run(const Desc& desc, const DML_FEATURE_LEVEL& level, std::span<const InputBuffer> inputs,
                         std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return run(desc, feature_level(level), inputs, outputs, options);
}
/// The same with braced lists of arrays, vectors and spans.
template <detail::AnyDesc Desc>
[[nodiscard]] Report run(const Desc& desc, const DML_FEATURE_LEVEL& level, InputList inputs, OutputList outputs,
                         const RunOptions& options = {}) {
  return run(desc, feature_level(level), inputs, outputs, options);
}

DMLREF_END
