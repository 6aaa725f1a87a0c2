// compiled_operator.hpp: binding: buffers checked, owned tensors kept, then the plan runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/run/buffers.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/persistent_tag.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/validate/report.hpp"

DMLREF_BEGIN

/// What a CompiledOperator demands of the buffers that it is given.
enum class BindingRules {
  tolerant,  ///< any address, any size that is large enough
  strict,    ///< as DirectML: see CompileOptions::strict_bindings
};

namespace detail {

inline bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  const auto begin_a = reinterpret_cast<std::uintptr_t>(a.data()), begin_b = reinterpret_cast<std::uintptr_t>(b.data());
  return !a.empty() && !b.empty() && begin_a < begin_b + b.size() && begin_b < begin_a + a.size();
}

inline void check_count(Report& report, const char* field, std::size_t given, std::size_t expected) {
  if (given == expected) return;
  report.add(RuleId::binding_count, field,
             {"has ", given, " buffers, expected ", expected, ", one per tensor of the desc, empty for absent ones"});
}

inline void check_buffer(Report& report, const TensorSlot& slot, std::span<const std::byte> buffer) {
  if (!slot.present) {
    if (!buffer.empty()) {
      report.add(RuleId::buffer_unexpected, slot.name,
                 {"is absent from the desc but has a buffer of ", buffer.size(), " bytes, expected none"});
    }
    return;
  }
  if (buffer.data() == nullptr || buffer.empty()) {
    report.add(RuleId::buffer_missing, slot.name, {"has no buffer, expected ", slot.bytes, " bytes"});
  } else if (buffer.size() < slot.bytes) {
    report.add(
        RuleId::buffer_too_small, slot.name,
        {"has a buffer of ", buffer.size(), " bytes, expected at least its TotalTensorSizeInBytes of ", slot.bytes});
  }
}

/// An input that belongs to the other call (owned at execute, not owned at initialize) must not be given.
inline void check_given_elsewhere(Report& report, const TensorSlot& slot, InputBuffer buffer, const char* where) {
  if (buffer.empty()) return;
  report.add(slot.present ? RuleId::buffer_owned_by_dml : RuleId::buffer_unexpected, slot.name,
             {"has a buffer of ", buffer.size(),
              " bytes, expected none: ", (slot.present ? where : "the tensor is absent from the desc")});
}

/// What DirectML demands of a binding, and this library only where strict_bindings is set. An address stands for the
/// offset in a resource, which starts at a multiple of every alignment.
inline void check_strictly(Report& report, const TensorSlot& slot, std::span<const std::byte> buffer) {
  if (!slot.present || buffer.empty()) return;
  const auto past = reinterpret_cast<std::uintptr_t>(buffer.data()) % slot.offset_alignment;
  if (past != 0) {
    report.add(RuleId::binding_offset, slot.name,
               {"starts at an address that is ", past, " bytes past a multiple of ", slot.offset_alignment,
                ", expected a multiple of ", slot.offset_alignment, " with strict_bindings"});
  }
  if (buffer.size() % 4 != 0) {
    report.add(RuleId::binding_size, slot.name,
               {"has a buffer of ", buffer.size(), " bytes, expected a multiple of 4 with strict_bindings"});
  }
}

inline bool region_fits(std::span<const std::byte> region, std::uint64_t bytes) noexcept {
  return region.size() >= bytes &&
         (region.empty() || reinterpret_cast<std::uintptr_t>(region.data()) % buffer_alignment == 0);
}

inline void check_region(Report& report, const char* field, std::span<const std::byte> region, std::uint64_t bytes) {
  if (region.size() < bytes) {
    report.add(RuleId::buffer_too_small, field, {"has ", region.size(), " bytes, expected at least ", bytes});
  }
  if (!region.empty() && reinterpret_cast<std::uintptr_t>(region.data()) % buffer_alignment != 0) {
    report.add(RuleId::buffer_misaligned, field,
               {"starts at an address that is ", reinterpret_cast<std::uintptr_t>(region.data()) % buffer_alignment,
                " bytes past a multiple of 256, expected a multiple of 256"});
  }
}

inline void check_initialized(Report& report, std::span<const std::byte> persistent, std::uint64_t bytes,
                              const PersistentTag& tag) {
  if (bytes == 0 || !region_fits(persistent, bytes) || tag.is_in(persistent)) return;
  report.add(
      RuleId::persistent_uninitialized, "persistent",
      {"was not initialized for this operator, expected what initialize writes for this desc and instruction set"});
}

inline bool check_compiled(Report& report, const PlannedOperator& planned) {
  if (planned.plan != nullptr) return true;
  report.add(RuleId::not_compiled, "Desc", {"was not compiled, expected the value of a successful compile"});
  return false;
}

inline void check_disjoint(Report& report, std::string_view written, std::span<const std::byte> a,
                           std::string_view other, std::span<const std::byte> b) {
  if (!overlap(a, b)) return;
  report.add(RuleId::buffer_overlap, written,
             {"overlaps ", other, ", expected memory that is nothing else's: no operator works in place"});
}

/// Every output has its buffer, apart from the others.
inline void check_outputs(Report& report, std::span<const TensorSlot> tensors, std::span<const OutputBuffer> buffers,
                          BindingRules rules) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    check_buffer(report, tensors[i], buffers[i]);
    if (rules == BindingRules::strict) check_strictly(report, tensors[i], buffers[i]);
    for (std::size_t j = 0; j < i; ++j) {
      check_disjoint(report, tensors[i].name, buffers[i], tensors[j].name, buffers[j]);
    }
  }
}

/// The buffers of a braced list, without allocating. Of more than any operator has there are as many as make a wrong
/// count.
template <class Buffer>
class ListedBuffers {
 public:
  template <class Argument>
  explicit ListedBuffers(std::initializer_list<Argument> arguments) noexcept {
    for (const Argument& argument : arguments) {
      if (size_ < buffers_.size()) buffers_[size_++] = argument;
    }
  }
  std::span<const Buffer> buffers() const noexcept { return std::span(buffers_).first(size_); }

 private:
  std::array<Buffer, max_inputs + 1> buffers_{};
  std::size_t size_ = 0;
};

struct Compiler;

}  // namespace detail

class NamedBindings;

/// An operator made ready to run. Owns copies of all it needs: the desc may die after compile. Copies share the plan.
class CompiledOperator {
 public:
  /// Not compiled: every call is reported as a violation.
  CompiledOperator() = default;

  /// Bytes that `initialize` and `execute` require. No call after compile allocates.
  [[nodiscard]] BindingProperties binding_properties() const { return properties_; }

  /// Takes the inputs flagged DML_TENSOR_FLAG_OWNED_BY_DML (other entries empty) and packs them into `persistent`.
  /// Needed only where persistent_bytes > 0; called otherwise it does nothing, but checks strict bindings. The Report
  /// has wrong counts, sizes, alignments and overlaps; then nothing is written.
  [[nodiscard]] Report initialize(std::span<const InputBuffer> owned_inputs, std::span<std::byte> persistent,
                                  std::span<std::byte> temporary) const {
    Report report;
    if (!detail::check_compiled(report, planned_)) return report;
    const bool strict = binding_rules_ == BindingRules::strict;
    if (properties_.persistent_bytes == 0 && !strict) return report;
    const auto& tensors = planned_.inputs;
    detail::check_count(report, "owned_inputs", owned_inputs.size(), tensors.size());
    detail::check_region(report, "persistent", persistent, properties_.persistent_bytes);
    detail::check_region(report, "temporary", temporary, properties_.temporary_bytes);
    detail::check_disjoint(report, "persistent", persistent, "temporary", temporary);
    if (owned_inputs.size() != tensors.size()) return report;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].owned_by_dml) {
        detail::check_buffer(report, tensors[i], owned_inputs[i]);
        if (strict) detail::check_strictly(report, tensors[i], owned_inputs[i]);
      } else {
        detail::check_given_elsewhere(report, tensors[i], owned_inputs[i],
                                      "it is not owned by DML and belongs to execute");
      }
      detail::check_disjoint(report, "persistent", persistent, tensors[i].name, owned_inputs[i]);
      detail::check_disjoint(report, "temporary", temporary, tensors[i].name, owned_inputs[i]);
    }
    if (!report || properties_.persistent_bytes == 0) return report;

    detail::PersistentTag::erase(persistent);
    detail::Bindings bindings;
    bindings.temporary = temporary.data();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      bindings.inputs[i] = tensors[i].owned_by_dml ? owned_inputs[i].data() : nullptr;
      if (!places_[i].kept && !places_[i].packed) continue;
      std::byte* const copy = (places_[i].kept ? persistent : temporary).data() + places_[i].kept_offset;
      detail::keep(planned_.kept[i], owned_inputs[i].data(), copy);
      if (places_[i].packed) bindings.inputs[i] = copy;
    }
    planned_.plan->initialize(bindings, persistent.data() + plan_offset_);
    tag_.write(persistent);
    return report;
  }

  /// Runs the operator. Inputs and outputs in the order of the desc, entries of owned and absent inputs empty.
  /// Thread-safe: several threads may execute one CompiledOperator, each with its own temporary. The Report is as that
  /// of `initialize`, and has persistent memory that `initialize` of an equal operator (the same desc and instruction
  /// set) has not filled; a copy of such memory is as good. Where the Report is not ok, nothing is written. Only what
  /// the executor throws is thrown: see Executor.
  [[nodiscard]] Report execute(std::span<const InputBuffer> inputs, std::span<const OutputBuffer> outputs,
                               std::span<const std::byte> persistent, std::span<std::byte> temporary,
                               Executor& executor = sequential()) const {
    Report report;
    if (binding_rules_ == BindingRules::strict || !sound(inputs, outputs, persistent, temporary)) {
      explain(report, inputs, outputs, persistent, temporary);
      if (!report) return report;
    }
    detail::Bindings bindings;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::byte* bound = places_[i].bound_bytes != 0 ? inputs[i].data() : nullptr;
      bindings.inputs[i] = places_[i].kept ? persistent.data() + places_[i].kept_offset : bound;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) bindings.outputs[i] = outputs[i].data();
    bindings.persistent = persistent.data() + plan_offset_;
    bindings.temporary = temporary.data();
    planned_.plan->execute(bindings, executor);
    return report;
  }

  /// The same with braced lists of arrays, vectors and spans.
  [[nodiscard]] Report initialize(InputList owned_inputs, std::span<std::byte> persistent,
                                  std::span<std::byte> temporary) const {
    const detail::ListedBuffers<InputBuffer> in(owned_inputs);
    return initialize(in.buffers(), persistent, temporary);
  }
  /// The same with braced lists of arrays, vectors and spans.
  [[nodiscard]] Report execute(InputList inputs, OutputList outputs, std::span<const std::byte> persistent,
                               std::span<std::byte> temporary, Executor& executor = sequential()) const {
    const detail::ListedBuffers<InputBuffer> in(inputs);
    const detail::ListedBuffers<OutputBuffer> out(outputs);
    return execute(in.buffers(), out.buffers(), persistent, temporary, executor);
  }

  /// The same with buffers by the tensors' names: see named_bindings.hpp.
  [[nodiscard]] Report initialize(const NamedBindings& bindings, std::span<std::byte> persistent,
                                  std::span<std::byte> temporary) const;
  /// The same with buffers by the tensors' names.
  [[nodiscard]] Report execute(const NamedBindings& bindings, std::span<const std::byte> persistent,
                               std::span<std::byte> temporary, Executor& executor = sequential()) const;

  /// The strategy chosen for this descriptor, e.g. "winograd"; "" where there is none (compile failed).
  std::string_view strategy_name() const noexcept {
    return planned_.plan == nullptr ? std::string_view{} : planned_.plan->strategy_name();
  }
  /// The input tensors of the desc, in order, absent ones too; empty where compile failed.
  std::span<const TensorSlot> input_slots() const& noexcept { return planned_.inputs; }
  std::span<const TensorSlot> input_slots() && = delete;  ///< of a temporary they would be gone
  /// The output tensors of the desc, in order; empty where compile failed.
  std::span<const TensorSlot> output_slots() const& noexcept { return planned_.outputs; }
  std::span<const TensorSlot> output_slots() && = delete;  ///< of a temporary they would be gone
  /// The first output tensor of the desc; an absent one where compile failed.
  TensorSlot output_slot() const noexcept { return planned_.outputs.empty() ? TensorSlot{} : planned_.outputs.front(); }

 private:
  friend struct detail::Compiler;
  explicit CompiledOperator(detail::PlannedOperator planned) : planned_(std::move(planned)) {
    if (planned_.plan == nullptr) return;
    std::uint64_t end = detail::PersistentTag::bytes;  // in the persistent memory,
    std::uint64_t packed_bytes = 0;                    // in the temporary one at initialize
    for (std::size_t i = 0; i < planned_.inputs.size(); ++i) {
      const TensorSlot& slot = planned_.inputs[i];
      Place& place = places_[i];
      if (!slot.present) continue;
      if (!slot.owned_by_dml) {
        place.bound_bytes = slot.bytes;
      } else {
        const detail::KeptInput& input = planned_.kept[i];
        place.kept = planned_.plan->keeps_owned(i);
        place.packed = input.packed;
        std::uint64_t& bytes = place.kept ? end : packed_bytes;
        place.kept_offset = bytes;
        if (place.kept || place.packed) bytes += detail::align_up(input.bytes);
      }
    }
    properties_ = planned_.plan->properties();
    if (end > detail::PersistentTag::bytes || properties_.persistent_bytes > 0) {
      properties_.persistent_bytes += end;
      plan_offset_ = end;
    }
    if (properties_.temporary_bytes < packed_bytes) properties_.temporary_bytes = packed_bytes;
  }

  /// What execute does with an input.
  struct Place {
    std::uint64_t bound_bytes = 0;  // 0: no buffer is given to execute (absent, or owned)
    std::uint64_t kept_offset = 0;  // in the persistent memory if kept, else in the temporary one
    bool kept = false;
    bool packed = false;  // a plan sees the copy, not the buffer that is bound at initialize
  };

  /// Whether explain() would find nothing, in a few nanoseconds.
  bool sound(std::span<const InputBuffer> inputs, std::span<const OutputBuffer> outputs,
             std::span<const std::byte> persistent, std::span<const std::byte> temporary) const noexcept {
    if (planned_.plan == nullptr || inputs.size() != planned_.inputs.size()) return false;
    if (outputs.size() != planned_.outputs.size()) return false;
    if (!detail::region_fits(persistent, properties_.persistent_bytes)) return false;
    if (properties_.persistent_bytes != 0 && !tag_.is_in(persistent)) return false;
    if (!detail::region_fits(temporary, properties_.temporary_bytes)) return false;
    if (detail::overlap(persistent, temporary)) return false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::span<const std::byte> output = outputs[i];
      if (output.data() == nullptr || output.size() < planned_.outputs[i].bytes) return false;
      if (detail::overlap(output, persistent) || detail::overlap(output, temporary)) return false;
      for (std::size_t j = 0; j < i; ++j) {
        if (detail::overlap(output, outputs[j])) return false;
      }
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const InputBuffer input = inputs[i];
      if (places_[i].bound_bytes == 0) {
        if (!input.empty()) return false;
        continue;
      }
      if (input.data() == nullptr || input.size() < places_[i].bound_bytes) return false;
      if (detail::overlap(temporary, input)) return false;
      for (const OutputBuffer output : outputs) {
        if (detail::overlap(output, input)) return false;
      }
    }
    return true;
  }

  /// Every fault of one execute's buffers. Inlined, it would cost a call of 30 ns a fifth more.
  DMLREF_NOINLINE void explain(Report& report, std::span<const InputBuffer> inputs,
                               std::span<const OutputBuffer> outputs, std::span<const std::byte> persistent,
                               std::span<const std::byte> temporary) const {
    const auto& tensors = planned_.inputs;
    if (!detail::check_compiled(report, planned_)) return;
    detail::check_count(report, "inputs", inputs.size(), tensors.size());
    detail::check_count(report, "outputs", outputs.size(), planned_.outputs.size());
    detail::check_region(report, "persistent", persistent, properties_.persistent_bytes);
    detail::check_initialized(report, persistent, properties_.persistent_bytes, tag_);
    detail::check_region(report, "temporary", temporary, properties_.temporary_bytes);
    detail::check_disjoint(report, "temporary", temporary, "persistent", persistent);
    if (inputs.size() == tensors.size()) {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].owned_by_dml) {
          detail::check_given_elsewhere(report, tensors[i], inputs[i], "it is owned by DML and belongs to initialize");
        } else {
          detail::check_buffer(report, tensors[i], inputs[i]);
          if (binding_rules_ == BindingRules::strict) detail::check_strictly(report, tensors[i], inputs[i]);
        }
        detail::check_disjoint(report, "temporary", temporary, tensors[i].name, inputs[i]);
      }
    }
    if (outputs.size() != planned_.outputs.size()) return;
    detail::check_outputs(report, planned_.outputs, outputs, binding_rules_);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const std::string_view name = planned_.outputs[o].name;
      detail::check_disjoint(report, name, outputs[o], "persistent", persistent);
      detail::check_disjoint(report, name, outputs[o], "temporary", temporary);
      for (std::size_t i = 0; i < tensors.size() && i < inputs.size(); ++i) {
        detail::check_disjoint(report, name, outputs[o], tensors[i].name, inputs[i]);
      }
    }
  }

  detail::PlannedOperator planned_;
  std::array<Place, detail::max_inputs> places_{};
  std::uint64_t plan_offset_ = 0;  // of the plan's part in the persistent memory, behind the tag and what is kept
  BindingProperties properties_;
  detail::PersistentTag tag_;
  BindingRules binding_rules_ = BindingRules::tolerant;
};

DMLREF_END
