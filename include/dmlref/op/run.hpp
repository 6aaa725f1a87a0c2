// run.hpp: one call: validate, compile, run.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/op/compile.hpp"

DMLREF_BEGIN

struct RunOptions {
  std::optional<Isa> isa = std::nullopt;  ///< empty: as CompileOptions
  Executor* executor = nullptr;           ///< who runs the tasks; null: sequential()
};

namespace detail {

/// Scratch memory of `run`, aligned as DirectML wants it.
class AlignedMemory {
 public:
  explicit AlignedMemory(std::uint64_t bytes)
      : size_(bytes),
        data_(bytes == 0
                  ? nullptr
                  : static_cast<std::byte*>(::operator new (bytes, std::align_val_t{buffer_alignment}, std::nothrow))) {
  }
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
                           std::span<const OutputBuffer> outputs, Executor& executor = sequential()) {
  if (!compiled) return compiled.report();
  const CompiledOperator& op = compiled.value();
  const BindingProperties needs = op.binding_properties();
  const std::span<const TensorSlot> slots = op.input_slots();

  std::array<InputBuffer, max_inputs> owned{};
  std::array<InputBuffer, max_inputs> rest{};
  Report report;
  check_count(report, "inputs", inputs.size(), slots.size());
  check_count(report, "outputs", outputs.size(), 1);
  if (inputs.size() == slots.size()) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      check_buffer(report, slots[i], inputs[i]);
      if (outputs.size() == 1) check_disjoint(report, op.output_slot().name, outputs[0], slots[i].name, inputs[i]);
      (slots[i].owned_by_dml ? owned : rest)[i] = inputs[i];
    }
  }
  if (outputs.size() == 1) check_buffer(report, op.output_slot(), outputs[0]);
  if (!report) return report;

  const AlignedMemory persistent(needs.persistent_bytes);
  const AlignedMemory temporary(needs.temporary_bytes);
  if (!persistent.ok() || !temporary.ok()) {
    report.add(RuleId::out_of_memory, !persistent.ok() ? "persistent" : "temporary",
               "of " + std::to_string(!persistent.ok() ? needs.persistent_bytes : needs.temporary_bytes) +
                   " bytes could not be allocated");
    return report;
  }
  report = op.initialize({owned.data(), slots.size()}, persistent.span(), temporary.span());
  if (!report) return report;
  return op.execute({rest.data(), slots.size()}, outputs, persistent.span(), temporary.span(), executor);
}

/// Any form of desc.
template <class Desc>
Report run(const Desc& desc, FeatureLevel level, std::span<const InputBuffer> inputs,
           std::span<const OutputBuffer> outputs, const RunOptions& options) {
  return run_compiled(Compiler::compile(desc, level, CompileOptions{options.isa}, "RunOptions.isa"), inputs, outputs,
                      options.executor != nullptr ? *options.executor : sequential());
}

}  // namespace detail

/// One call: validate, compile, run. Buffers in the order of the desc's tensors, one per tensor, absent ones empty.
inline Report run(const OperatorDesc& desc, FeatureLevel level, std::span<const InputBuffer> inputs,
                  std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run(desc, level, inputs, outputs, options);
}
template <OneOperatorDesc Desc>
Report run(const Desc& desc, FeatureLevel level, std::span<const InputBuffer> inputs,
           std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run(desc, level, inputs, outputs, options);
}
inline Report run(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level, std::span<const InputBuffer> inputs,
                  std::span<const OutputBuffer> outputs, const RunOptions& options = {}) {
  return detail::run(desc, level, inputs, outputs, options);
}

DMLREF_END
