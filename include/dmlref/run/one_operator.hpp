// one_operator.hpp: compile and run the desc of one operator: validate, choose an instruction set, plan, bind.
//
// Any desc that has validate and detail::plan: operators/<family>/call.hpp brings what one operator needs, and no more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/run/aligned_buffer.hpp"
#include "dmlref/run/buffers.hpp"
#include "dmlref/run/compiled_operator.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/schema/schema.hpp"
#include "dmlref/validate/one_operator.hpp"
#include "dmlref/validate/report.hpp"

DMLREF_BEGIN

/// Choices of one `compile`.
struct CompileOptions {
  /// Empty: what the environment variable DMLREF_ISA says, else the best this CPU has.
  std::optional<Isa> isa = std::nullopt;
  /// What DirectML demands of bindings and this library otherwise tolerates is a violation: buffers that do not start
  /// at a multiple of GuaranteedBaseOffsetAlignment (of 16 where that is 0), sizes that are no multiple of 4, and
  /// anything but the owned inputs at `initialize`, also where nothing is owned.
  bool strict_bindings = false;
};

/// A compiled operator, or the reasons why there is none.
class CompileResult {
 public:
  /// A failure, whose report is not ok.
  explicit CompileResult(Report report) : report_(std::move(report)) {}
  /// A success.
  explicit CompileResult(CompiledOperator compiled) : compiled_(std::move(compiled)) {}

  /// Whether there is a compiled operator.
  explicit operator bool() const noexcept { return report_.ok(); }
  /// Every rule that the desc breaks at the level, and an instruction set that is unknown or unsupported.
  [[nodiscard]] const Report& report() const& noexcept { return report_; }
  /// The same of a temporary, by value.
  [[nodiscard]] Report report() && noexcept { return std::move(report_); }
  /// Of a failed compile: an operator that answers every call with a violation.
  [[nodiscard]] const CompiledOperator& value() const& noexcept { return compiled_; }
  /// The same of a temporary, by value.
  [[nodiscard]] CompiledOperator value() && noexcept { return std::move(compiled_); }

 private:
  Report report_;
  CompiledOperator compiled_;
};

/// Choices of one `run`, or of one call on views.
struct RunOptions {
  std::optional<Isa> isa = std::nullopt;  ///< empty: as CompileOptions
  Executor* executor = nullptr;           ///< who runs the tasks; null: sequential()
  bool strict_bindings = false;           ///< as CompileOptions; views are no bindings, and do not know it
};

namespace detail {

inline Executor& executor_of(const RunOptions& options) noexcept {
  return options.executor != nullptr ? *options.executor : sequential();
}

/// An instruction set, and what requests it: the field of the options or DMLREF_ISA; empty: it is the best one.
struct ChosenIsa {
  Isa isa = Isa::scalar;
  std::string_view requested_by = {};
};

/// The instruction set requested, or the best one; a name that is unknown, or a set this CPU lacks, is a violation.
/// `field` is what a Report calls `requested`. The only reader of the environment, once per call.
inline ChosenIsa choose_isa(std::optional<Isa> requested, Report& report, std::string_view field) {
  if (!requested) {
    const char* name = std::getenv("DMLREF_ISA");
    if (name == nullptr || *name == '\0') return {best_isa()};
    field = "DMLREF_ISA";
    requested = isa_from_name(name);
    if (!requested) {
      std::string known;
      for (const IsaName& row : isa_table) known += (known.empty() ? "" : ", ") + std::string(row.name);
      report.add(RuleId::isa_unknown, field, {"is \"", name, "\", expected one of ", known});
      return {};
    }
  }
  if (isa_from_name(to_string(*requested)) != requested) {
    report.add(RuleId::isa_unknown, field, {"is ", static_cast<int>(*requested), ", expected an enumerator of Isa"});
    return {};
  }
  if (!supported(*requested)) {
    report.add(
        RuleId::isa_unsupported, field,
        {"is ", to_string(*requested), ", which this CPU does not run; the best it has is ", to_string(best_isa())});
    return {};
  }
  return {*requested, field};
}

inline BindingRules rules_of(bool strict_bindings) noexcept {
  return strict_bindings ? BindingRules::strict : BindingRules::tolerant;
}

/// The only one that makes CompiledOperators.
struct Compiler {
  template <class Desc>
  static CompiledOperator make(const Desc& desc, PlannedOperator planned,
                               BindingRules binding_rules = BindingRules::tolerant) {
    CompiledOperator compiled(std::move(planned));
    compiled.binding_rules_ = binding_rules;
    if (compiled.properties_.persistent_bytes > 0) {
      compiled.tag_ =
          PersistentTag(desc, compiled.planned_.isa, compiled.strategy_name(), compiled.properties_.persistent_bytes);
    }
    return compiled;
  }
};

inline const Plan& plan_in(const PlannedOperator& planned) noexcept { return *planned.plan; }
inline const Plan& plan_in(const std::shared_ptr<const Plan>& plan) noexcept { return *plan; }

/// What `make(isa)` plans. Where that uses AMX's tiles, the system is asked for them; if it refuses, the plan is of the
/// next lower instruction set, and `report` has a violation where this one was requested.
template <class Make>
auto plan_permitted(ChosenIsa chosen, Report& report, const Make& make) {
  auto made = make(chosen.isa);
  if (!plan_in(made).uses_tiles() || request_tiles()) return made;
  if (!chosen.requested_by.empty()) {
    report.add(RuleId::isa_unsupported, chosen.requested_by,
               {"is ", to_string(chosen.isa), ", whose tiles this system refuses; expected avx512vnni or less"});
  }
  return make(Isa::avx512vnni);
}

/// `isa_field` is what a Report calls the instruction set that is requested.
template <class Desc>
CompileResult compile_valid(const Desc& desc, Report report, const CompileOptions& options, const char* isa_field) {
  const ChosenIsa chosen = choose_isa(options.isa, report, isa_field);
  if (!report) return CompileResult(std::move(report));
  PlannedOperator planned = plan_permitted(chosen, report, [&](Isa of) {
    PlannedOperator made = plan(desc, of, this_cpu());
    made.isa = of;
    return made;
  });
  if (!report) return CompileResult(std::move(report));
  return CompileResult(Compiler::make(desc, std::move(planned), rules_of(options.strict_bindings)));
}

/// Binds a compiled operator with every tensor in `inputs`, owned by DML or not.
inline Report run_compiled(const CompileResult& compiled, std::span<const InputBuffer> inputs,
                           std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  if (!compiled) return compiled.report();
  const CompiledOperator& op = compiled.value();
  const BindingProperties needs = op.binding_properties();
  const std::span<const TensorSlot> tensors = op.input_slots();

  std::array<InputBuffer, max_inputs> owned{};
  std::array<InputBuffer, max_inputs> rest{};
  Report report;
  check_count(report, "inputs", inputs.size(), tensors.size());
  const std::span<const TensorSlot> results = op.output_slots();
  check_count(report, "outputs", outputs.size(), results.size());
  const bool outputs_given = outputs.size() == results.size();
  if (inputs.size() == tensors.size()) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      check_buffer(report, tensors[i], inputs[i]);
      if (options.strict_bindings) check_strictly(report, tensors[i], inputs[i]);
      for (std::size_t o = 0; outputs_given && o < outputs.size(); ++o) {
        check_disjoint(report, results[o].name, outputs[o], tensors[i].name, inputs[i]);
      }
      (tensors[i].owned_by_dml ? owned : rest)[i] = inputs[i];
    }
  }
  if (outputs_given) check_outputs(report, results, outputs, rules_of(options.strict_bindings));
  if (!report) return report;

  const AlignedBuffer persistent(needs.persistent_bytes);
  const AlignedBuffer temporary(needs.temporary_bytes);
  if (!persistent.ok() || !temporary.ok()) {
    report.add(
        RuleId::out_of_memory, !persistent.ok() ? "persistent" : "temporary",
        {"of ", !persistent.ok() ? needs.persistent_bytes : needs.temporary_bytes, " bytes could not be allocated"});
    return report;
  }
  report = op.initialize({owned.data(), tensors.size()}, persistent.span(), temporary.span());
  if (!report) return report;
  return op.execute({rest.data(), tensors.size()}, outputs, persistent.span(), temporary.span(), executor_of(options));
}

/// The same with braced lists.
inline Report run_compiled(const CompileResult& compiled, InputList inputs, OutputList outputs,
                           const RunOptions& options) {
  const ListedBuffers<InputBuffer> in(inputs);
  const ListedBuffers<OutputBuffer> out(outputs);
  return run_compiled(compiled, in.buffers(), out.buffers(), options);
}

/// A compile within a `run`.
template <class Desc>
CompileResult compile_to_run(const Desc& desc, FeatureLevel level, const RunOptions& options) {
  return compile_valid(desc, validate(desc, level), {options.isa, options.strict_bindings}, "RunOptions.isa");
}

}  // namespace detail

/// Validates at `level`, then fixes everything that does not depend on data: shapes, kernels, memory. The result has
/// the operator, or the violations. Mirrors IDMLDevice::CreateOperator and CompileOperator.
template <OneOperatorDesc Desc>
[[nodiscard]] CompileResult compile(const Desc& desc, FeatureLevel level, const CompileOptions& options = {}) {
  return detail::compile_valid(desc, validate(desc, level), options, "CompileOptions.isa");
}

/// One call: validate, compile, run. Buffers in the order of the desc's tensors, one per tensor, absent ones empty,
/// those owned by DML among the inputs. Allocates the persistent and temporary memory that the operator needs. Nothing
/// is written where the Report is not ok.
template <OneOperatorDesc Desc>
[[nodiscard]] Report run(const Desc& desc, FeatureLevel level, std::span<const InputBuffer> inputs,
                         std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_to_run(desc, level, options), inputs, outputs, options);
}
/// The same with braced lists of arrays, vectors and spans: run(desc, level, {input, scale, {}}, {output}).
template <OneOperatorDesc Desc>
[[nodiscard]] Report run(const Desc& desc, FeatureLevel level, InputList inputs, OutputList outputs,
                         const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_to_run(desc, level, options), inputs, outputs, options);
}

DMLREF_END
