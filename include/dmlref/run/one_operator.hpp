// one_operator.hpp: compile and run the desc of one operator: validate, choose an instruction set, plan, bind.
//
// Any desc that has validate and detail::plan: operators/<family>/call.hpp brings what one operator needs, and no more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/run/compiled_operator.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/schema/schema.hpp"
#include "dmlref/validate/one_operator.hpp"
#include "dmlref/validate/report.hpp"

DMLREF_BEGIN

/// Choices of one `compile`.
struct CompileOptions {
  std::optional<Isa> isa;  ///< empty: what the environment variable DMLREF_ISA says, else the best this CPU has
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
  const Report& report() const noexcept { return report_; }
  /// Of a failed compile: an operator that answers every call with a violation.
  const CompiledOperator& value() const noexcept { return compiled_; }

 private:
  Report report_;
  CompiledOperator compiled_;
};

/// Choices of one `run`, or of one call on views.
struct RunOptions {
  std::optional<Isa> isa = std::nullopt;  ///< empty: as CompileOptions
  Executor* executor = nullptr;           ///< who runs the tasks; null: sequential()
};

namespace detail {

inline Executor& executor_of(const RunOptions& options) noexcept {
  return options.executor != nullptr ? *options.executor : sequential();
}

/// What asks for an instruction set: `field`, which is what a Report calls `options.isa`, or the environment variable;
/// empty: nothing does.
inline std::string_view asks_for_isa(const CompileOptions& options, std::string_view field) {
  if (options.isa) return field;
  const char* name = std::getenv("DMLREF_ISA");
  return name == nullptr || *name == '\0' ? "" : "DMLREF_ISA";
}

/// The instruction set asked for, or the best one; a name that is unknown, or a set this CPU lacks, is a violation.
inline Isa choose_isa(const CompileOptions& options, Report& report, std::string_view field = "CompileOptions.isa") {
  field = asks_for_isa(options, field);
  if (field.empty()) return best_isa();
  std::optional<Isa> asked = options.isa;
  if (!asked) {
    const char* name = std::getenv("DMLREF_ISA");
    asked = isa_from_name(name);
    if (!asked) {
      std::string known;
      for (const IsaName& row : isa_table) known += (known.empty() ? "" : ", ") + std::string(row.name);
      report.add(RuleId::isa_unknown, field, {"is \"", name, "\", expected one of ", known});
      return Isa::scalar;
    }
  }
  if (isa_from_name(to_string(*asked)) != asked) {
    report.add(RuleId::isa_unknown, field, {"is ", static_cast<int>(*asked), ", expected an enumerator of Isa"});
    return Isa::scalar;
  }
  if (!supported(*asked)) {
    report.add(RuleId::isa_unsupported, field,
               {"is ", to_string(*asked), ", which this CPU does not run; the best it has is ", to_string(best_isa())});
    return Isa::scalar;
  }
  return *asked;
}

/// The only one that makes CompiledOperators.
struct Compiler {
  template <class Desc>
  static CompiledOperator make(const Desc& desc, PlannedOperator planned) {
    CompiledOperator compiled(std::move(planned));
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
/// next lower instruction set, and `report` has a violation where `field` asked for this one.
template <class Make>
auto plan_permitted(Isa isa, Report& report, std::string_view field, const Make& make) {
  auto made = make(isa);
  if (!plan_in(made).uses_tiles() || request_tiles()) return made;
  if (!field.empty()) {
    report.add(RuleId::isa_unsupported, field,
               {"is ", to_string(isa), ", whose tiles this system refuses; expected avx512vnni or less"});
  }
  return make(Isa::avx512vnni);
}

/// `isa_field` is what a Report calls the instruction set that was asked for.
template <class Desc>
CompileResult compile_valid(const Desc& desc, Report report, const CompileOptions& options, const char* isa_field) {
  const Isa isa = choose_isa(options, report, isa_field);
  if (!report) return CompileResult(std::move(report));
  PlannedOperator planned = plan_permitted(isa, report, asks_for_isa(options, isa_field), [&](Isa of) {
    PlannedOperator made = plan(desc, of, this_cpu());
    made.isa = of;
    return made;
  });
  if (!report) return CompileResult(std::move(report));
  return CompileResult(Compiler::make(desc, std::move(planned)));
}

template <class Desc>
CompileResult compile_as(const Desc& desc, FeatureLevel level, const CompileOptions& options, const char* isa_field) {
  return compile_valid(desc, validate(desc, level), options, isa_field);
}

/// Scratch memory of `run`, aligned as DirectML requires.
class AlignedMemory {
 public:
  explicit AlignedMemory(std::uint64_t bytes)
      : size_(bytes),
        data_(bytes == 0 || bytes > (std::numeric_limits<std::size_t>::max)() / 2
                  ? nullptr
                  : static_cast<std::byte*>(::operator new (static_cast<std::size_t>(bytes),
                                                            std::align_val_t{buffer_alignment}, std::nothrow))) {}
  ~AlignedMemory() { ::operator delete (data_, std::align_val_t{buffer_alignment}); }
  AlignedMemory(const AlignedMemory&) = delete;
  AlignedMemory& operator=(const AlignedMemory&) = delete;

  bool ok() const noexcept { return size_ == 0 || data_ != nullptr; }
  std::span<std::byte> span() const noexcept { return {data_, data_ == nullptr ? 0 : static_cast<std::size_t>(size_)}; }

 private:
  std::uint64_t size_;
  std::byte* data_;
};

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
      for (std::size_t o = 0; outputs_given && o < outputs.size(); ++o) {
        check_disjoint(report, results[o].name, outputs[o], tensors[i].name, inputs[i]);
      }
      (tensors[i].owned_by_dml ? owned : rest)[i] = inputs[i];
    }
  }
  if (outputs_given) check_outputs(report, results, outputs);
  if (!report) return report;

  const AlignedMemory persistent(needs.persistent_bytes);
  const AlignedMemory temporary(needs.temporary_bytes);
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

}  // namespace detail

/// Validates at `level`, then fixes everything that does not depend on data: shapes, kernels, memory. The result has
/// the operator, or the violations. Mirrors IDMLDevice::CreateOperator and CompileOperator.
template <OneOperatorDesc Desc>
CompileResult compile(const Desc& desc, FeatureLevel level, const CompileOptions& options = {}) {
  return detail::compile_as(desc, level, options, "CompileOptions.isa");
}

/// One call: validate, compile, run. Buffers in the order of the desc's tensors, one per tensor, absent ones empty,
/// those owned by DML among the inputs. Allocates the persistent and temporary memory that the operator needs. Nothing
/// is written where the Report is not ok.
template <OneOperatorDesc Desc>
Report run(const Desc& desc, FeatureLevel level, std::span<const InputBuffer> inputs,
           std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run_compiled(detail::compile_as(desc, level, {options.isa}, "RunOptions.isa"), inputs, outputs,
                              options);
}

DMLREF_END
