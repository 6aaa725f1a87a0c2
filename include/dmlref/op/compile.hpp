// compile.hpp: validate, choose an instruction set, plan.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/compiled_operator.hpp"
#include "dmlref/op/plans.hpp"
#include "dmlref/validate/read_directml.hpp"
#include "dmlref/validate/validate.hpp"

DMLREF_BEGIN

struct CompileOptions {
  std::optional<Isa> isa;  ///< empty: what the environment variable DMLREF_ISA says, else the best this CPU has
};

/// A compiled operator, or the reasons why there is none.
class CompileResult {
 public:
  explicit CompileResult(Report report) : report_(std::move(report)) {}
  explicit CompileResult(CompiledOperator compiled) : compiled_(std::move(compiled)) {}

  explicit operator bool() const noexcept { return report_.ok(); }
  const Report& report() const noexcept { return report_; }
  /// Of a failed compile: an operator that answers every call with a violation.
  const CompiledOperator& value() const noexcept { return compiled_; }

 private:
  Report report_;
  CompiledOperator compiled_;
};

namespace detail {

/// The instruction set asked for, or the best one; a name that is unknown, or a set this CPU lacks, is a violation.
/// `field` is what a Report calls `options.isa`.
inline Isa choose_isa(const CompileOptions& options, Report& report, const char* field = "CompileOptions.isa") {
  std::optional<Isa> asked = options.isa;
  if (!asked) {
    const char* name = std::getenv("DMLREF_ISA");
    if (name == nullptr || *name == '\0') return best_isa();
    field = "DMLREF_ISA";
    asked = isa_from_name(name);
    if (!asked) {
      std::string known;
      for (const IsaName& row : isa_table) known += (known.empty() ? "" : ", ") + std::string(row.name);
      report.add(RuleId::isa_unknown, field, "is \"" + std::string(name) + "\", expected one of " + known);
      return Isa::scalar;
    }
  }
  if (isa_from_name(to_string(*asked)) != asked) {
    report.add(RuleId::isa_unknown, field,
               "is " + std::to_string(static_cast<int>(*asked)) + ", expected an enumerator of Isa");
    return Isa::scalar;
  }
  if (!supported(*asked)) {
    report.add(RuleId::isa_unsupported, field,
               "is " + std::string(to_string(*asked)) + ", which this CPU does not run; the best it has is " +
                   std::string(to_string(best_isa())));
    return Isa::scalar;
  }
  return *asked;
}

/// What makes CompiledOperators. `isa_field` is what a Report calls the instruction set that was asked for.
struct Compiler {
  template <class Desc>
  static CompileResult compile_valid(const Desc& desc, Report report, const CompileOptions& options,
                                     const char* isa_field) {
    const Isa isa = choose_isa(options, report, isa_field);
    if (!report) return CompileResult(std::move(report));
    return CompileResult(CompiledOperator(plan(desc, isa, this_cpu())));
  }

  static CompileResult compile(const OperatorDesc& desc, FeatureLevel level, const CompileOptions& options,
                               const char* isa_field) {
    return compile_valid(desc, validate(desc, level), options, isa_field);
  }
  template <OneOperatorDesc Desc>
  static CompileResult compile(const Desc& desc, FeatureLevel level, const CompileOptions& options,
                               const char* isa_field) {
    return compile_valid(desc, rules::validate_one(desc, level), options, isa_field);
  }
  static CompileResult compile(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level, const CompileOptions& options,
                               const char* isa_field) {
    Report report = validate(desc, level);
    const std::optional<OperatorDesc> value = report ? read_directml(desc) : std::nullopt;
    if (value) return compile_valid(*value, std::move(report), options, isa_field);
    if (report) report.add(RuleId::not_compiled, "Desc", "could not be read, expected one of this library's operators");
    choose_isa(options, report, isa_field);
    return CompileResult(std::move(report));
  }
};

}  // namespace detail

/// Validates at `level`, then fixes everything that does not depend on data: shapes, kernels, memory.
inline CompileResult compile(const OperatorDesc& desc, FeatureLevel level, const CompileOptions& options = {}) {
  return detail::Compiler::compile(desc, level, options, "CompileOptions.isa");
}
template <OneOperatorDesc Desc>
CompileResult compile(const Desc& desc, FeatureLevel level, const CompileOptions& options = {}) {
  return detail::Compiler::compile(desc, level, options, "CompileOptions.isa");
}
/// The same for Microsoft's structs.
inline CompileResult compile(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level,
                             const CompileOptions& options = {}) {
  return detail::Compiler::compile(desc, level, options, "CompileOptions.isa");
}

DMLREF_END
