// named_bindings.hpp: the buffers of a compiled operator by the names of its tensors.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/run/compiled_operator.hpp"

DMLREF_BEGIN

/// Buffers for `initialize` and `execute`, bound in any order. Inputs owned by DML go to initialize, all others to
/// execute. A name that is bound again has the new buffer, so that one NamedBindings serves many calls. Does not own
/// the buffers; the operator must outlive it. Allocates only for faults.
class NamedBindings {
 public:
  /// Nothing bound yet. `compiled` must outlive it.
  explicit NamedBindings(const CompiledOperator& compiled) noexcept : compiled_(&compiled) {}
  /// A temporary operator would be gone at the first call.
  explicit NamedBindings(const CompiledOperator&&) = delete;

  /// Binds the bytes of an array, a vector or a span, of elements of a DataType or of std::byte; memory of const only
  /// to inputs. `name` is the tensor's in the desc: "FilterTensor". A name that the operator does not have is reported
  /// by the next initialize or execute, as are an output of const and a tensor without a buffer.
  template <class Range>
  requires detail::BufferRange<Range> NamedBindings& bind(std::string_view name, Range& elements) {
    if constexpr (detail::WritableRange<Range>) {
      return bind_memory(name, std::as_writable_bytes(std::span(elements)));
    } else {
      return bind_constant(name, std::as_bytes(std::span(elements)));
    }
  }
  /// The same for a span that is made in place. (An array or a vector that is made in place would be gone.)
  template <class T, std::size_t N>
  requires detail::BufferRange<std::span<T, N>> NamedBindings& bind(std::string_view name, std::span<T, N>&& elements) {
    return bind(name, elements);
  }

  /// Names that were bound and are none of the operator's.
  [[nodiscard]] const Report& report() const& noexcept { return report_; }
  /// The same, by value.
  [[nodiscard]] Report report() && { return std::move(report_); }

 private:
  friend class CompiledOperator;

  NamedBindings& bind_memory(std::string_view name, OutputBuffer buffer) {
    const auto results = compiled_->output_slots();
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].name == name) return outputs_[i] = buffer, *this;
    }
    return bind_constant(name, buffer);
  }
  NamedBindings& bind_constant(std::string_view name, InputBuffer buffer) {
    const auto tensors = compiled_->input_slots();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].name == name) return inputs_[i] = buffer, *this;
    }
    std::string known;
    for (const TensorSlot& slot : tensors) known += std::string(slot.name) + ", ";
    for (const TensorSlot& slot : compiled_->output_slots()) {
      if (slot.name == name) {
        report_.add(RuleId::binding_name, name, {"is bound to memory of const, expected memory to write to"});
        return *this;
      }
      known += std::string(slot.name) + ", ";
    }
    if (!known.empty()) known.resize(known.size() - 2);
    report_.add(RuleId::binding_name, name, {"is no tensor of the operator, expected one of ", known});
    return *this;
  }

  /// The inputs that DML owns, or all others; the rest of the entries is empty.
  std::array<InputBuffer, detail::max_inputs> inputs(bool owned_by_dml) const noexcept {
    const auto tensors = compiled_->input_slots();
    std::array<InputBuffer, detail::max_inputs> chosen;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].owned_by_dml == owned_by_dml) chosen[i] = inputs_[i];
    }
    return chosen;
  }

  const CompiledOperator* compiled_;
  std::array<InputBuffer, detail::max_inputs> inputs_{};
  std::array<OutputBuffer, detail::max_outputs> outputs_{};
  Report report_;
};

inline Report CompiledOperator::initialize(const NamedBindings& bindings, std::span<std::byte> persistent,
                                           std::span<std::byte> temporary) const {
  if (!bindings.report()) return bindings.report();
  const auto owned = bindings.inputs(true);
  return initialize(std::span(owned).first(planned_.inputs.size()), persistent, temporary);
}

inline Report CompiledOperator::execute(const NamedBindings& bindings, std::span<const std::byte> persistent,
                                        std::span<std::byte> temporary, Executor& executor) const {
  if (!bindings.report()) return bindings.report();
  const auto rest = bindings.inputs(false);
  return execute(std::span(rest).first(planned_.inputs.size()),
                 std::span(bindings.outputs_).first(planned_.outputs.size()), persistent, temporary, executor);
}

DMLREF_END
