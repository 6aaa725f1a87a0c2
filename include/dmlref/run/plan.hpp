// plan.hpp: the seam between the public API and the kernels: what is decided at compile time, and what runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/isa/upper_halves.hpp"
#include "dmlref/run/aligned_buffer.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/kept.hpp"
#include "dmlref/schema/schema.hpp"

DMLREF_BEGIN

/// Sizes of the memory that the caller provides; both buffers start at a multiple of 256. DML_BINDING_PROPERTIES.
struct BindingProperties {
  std::uint64_t temporary_bytes = 0;   ///< of `initialize` and of each `execute`; what it holds before does not matter
  std::uint64_t persistent_bytes = 0;  ///< filled by `initialize`, read by every `execute`; 0: no need of `initialize`
};

/// One tensor of the desc, as far as binding is concerned.
struct TensorSlot {
  std::string_view name;                ///< as in the desc: "FilterTensor"
  bool present = false;                 ///< false: an optional tensor that is null, and has no buffer
  bool owned_by_dml = false;            ///< its buffer goes to `initialize`, else to `execute`
  std::uint64_t bytes = 0;              ///< TotalTensorSizeInBytes
  std::uint32_t offset_alignment = 16;  ///< what DirectML demands of a binding's offset; see strict_bindings
};

namespace detail {

constexpr std::uint64_t align_up(std::uint64_t bytes, std::uint64_t alignment = buffer_alignment) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// The most inputs and outputs that an operator may have.
inline constexpr std::size_t max_inputs = 9, max_outputs = 3;

/// Where the bytes are. Null for absent tensors, and for owned ones that the plan does not keep.
struct Bindings {
  std::array<const std::byte*, max_inputs> inputs;  // as many as the operator has: zeroing all costs 5 ns a call
  std::array<std::byte*, max_outputs> outputs;      // the same
  const std::byte* persistent = nullptr;            // the plan's own part
  std::byte* temporary = nullptr;
};

/// Hands a callable to an executor without allocating.
template <class F>
void parallel_for(Executor& executor, std::size_t count, F&& body) {
  using Body = std::remove_reference_t<F>;
  clear_upper_halves();  // for the executor's own code, and threads that it starts
  executor.parallel_for(
      count,
      [](void* context, std::size_t index) {
        (*static_cast<Body*>(context))(index);
        clear_upper_halves();
      },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

template <class Concrete>
class PlanOf;

/// One operator made ready: shapes resolved, kernels chosen, memory counted. Immutable, so threads may share it.
///
/// Its table of functions is written out: from a virtual call g++ looks at every override that a translation unit
/// defines, with all kernels of operators that the program does not use, and drops them only after it has optimized
/// them in part. A program of one operator took more than twice the time to compile.
class Plan {
 public:
  /// What the plan itself needs, beyond the copies of owned tensors that CompiledOperator keeps for it.
  BindingProperties properties() const noexcept { return calls_->properties(*this); }
  /// Whether `execute` reads the owned input `index`, as `seen` has it. False where `initialize` takes all it needs.
  bool keeps_owned(std::size_t index) const noexcept { return calls_->keeps_owned(*this, index); }
  /// Fills the plan's part of the persistent memory. `owned.inputs` holds the owned tensors, as `seen` has them, the
  /// rest is null.
  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    if (calls_->computes) {
      in_default_environment([&] { calls_->initialize(*this, owned, persistent); });
    } else {
      calls_->initialize(*this, owned, persistent);
    }
    clear_upper_halves();
  }
  /// What the executor throws leaves this as it came.
  void execute(const Bindings& bindings, Executor& executor) const {
    if (calls_->computes) {
      compute(bindings, executor);
    } else {
      calls_->execute(*this, bindings, executor);
    }
    clear_upper_halves();
  }

  /// The strategy chosen for this shape, e.g. "winograd": for tests, and for people who ask why a call is slow.
  std::string_view strategy_name() const noexcept { return calls_->strategy_name(*this); }
  /// Whether `execute` uses AMX's tiles, for which the system must have given its permission.
  bool uses_tiles() const noexcept { return calls_->uses_tiles(*this); }
  /// Whether it is a `Concrete`, for tests of what is chosen.
  template <class Concrete>
  bool is() const noexcept {
    return calls_ == &PlanOf<Concrete>::calls;
  }

 protected:
  struct Calls {
    BindingProperties (*properties)(const Plan&) noexcept;
    bool (*keeps_owned)(const Plan&, std::size_t) noexcept;
    void (*initialize)(const Plan&, const Bindings&, std::byte*) noexcept;
    void (*execute)(const Plan&, const Bindings&, Executor&);
    std::string_view (*strategy_name)(const Plan&) noexcept;
    bool (*uses_tiles)(const Plan&) noexcept;
    bool computes;
  };
  explicit Plan(const Calls* calls) noexcept : calls_(calls) {}
  ~Plan() = default;  // a shared_ptr destroys what it was made of

 private:
  DMLREF_NOINLINE void compute(const Bindings& bindings, Executor& executor) const {
    DefaultEnvironment environment;
    if (&executor == &sequential()) {  // its tasks run here
      call_stage([&] { calls_->execute(*this, bindings, executor); });
    } else {
      ComputingExecutor computing(executor, environment);
      call_stage([&] { calls_->execute(*this, bindings, computing); });
    }
  }

  const Calls* calls_;
};

/// The base of a plan `Concrete`, which defines `execute` and `strategy_name`, and others where they do more than here.
template <class Concrete>
class PlanOf : public Plan {
 public:
  static constexpr bool uses_tiles = false;  ///< or a member, where plans of one type differ
  static constexpr bool computes = true;     ///< in floating point: `initialize` and `execute` need its environment

  BindingProperties properties() const noexcept { return {}; }
  bool keeps_owned(std::size_t index) const noexcept {
    static_cast<void>(index);
    return true;
  }
  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    static_cast<void>(owned);
    static_cast<void>(persistent);
  }

 protected:
  PlanOf() noexcept : Plan(&calls) {}
  ~PlanOf() = default;

 private:
  friend class Plan;
  static const Concrete& of(const Plan& plan) noexcept { return static_cast<const Concrete&>(plan); }
  static constexpr Calls calls{
      [](const Plan& plan) noexcept { return of(plan).properties(); },
      [](const Plan& plan, std::size_t index) noexcept { return of(plan).keeps_owned(index); },
      [](const Plan& plan, const Bindings& owned, std::byte* persistent) noexcept {
        of(plan).initialize(owned, persistent);
      },
      [](const Plan& plan, const Bindings& bindings, Executor& executor) { of(plan).execute(bindings, executor); },
      [](const Plan& plan) noexcept { return of(plan).strategy_name(); },
      [](const Plan& plan) noexcept -> bool { return of(plan).uses_tiles; },
      Concrete::computes,
  };
};

/// A plan with the tensors it binds, in the order of the desc.
struct PlannedOperator {
  std::vector<TensorSlot> inputs;
  std::vector<TensorSlot> outputs;
  std::shared_ptr<const Plan> plan;
  std::vector<KeptInput> kept;  ///< of each input
  Isa isa = Isa::scalar;        ///< that the plan is for

  /// A field of the desc; what is no tensor is not bound.
  template <class Member>
  void add(const FieldInfo&, const Member&) noexcept {}
  DMLREF_NOINLINE void add(const FieldInfo& field, const TensorDesc& tensor) {
    TensorSlot slot{field.name, true, tensor.owned_by_dml, tensor.total_size_in_bytes};
    if (tensor.guaranteed_base_offset_alignment != 0) slot.offset_alignment = tensor.guaranteed_base_offset_alignment;
    if (!is_input(field.kind)) return outputs.push_back(slot);
    inputs.push_back(slot);
    kept.push_back(detail::kept(tensor));
  }
  void add(const FieldInfo& field, const std::optional<TensorDesc>& tensor) {
    if (tensor) return add(field, *tensor);
    inputs.push_back({field.name});
    kept.emplace_back();
  }
};

/// `plan`, made for a valid desc, with the desc's tensors.
template <class Desc>
PlannedOperator planned(const Desc& desc, std::shared_ptr<const Plan> plan) {
  static_assert(schema::input_count<Desc> <= max_inputs && schema::output_count<Desc> <= max_outputs);
  PlannedOperator operation;
  operation.inputs.reserve(schema::input_count<Desc>);
  operation.kept.reserve(schema::input_count<Desc>);
  operation.plan = std::move(plan);
  schema::for_each_member(desc, [&](const FieldInfo& field, const auto& member) { operation.add(field, member); });
  return operation;
}

/// From a valid desc to its plan. operators/<family>/call.hpp specializes it for its descs, run/plans.hpp for
/// OperatorDesc.
template <class Desc>
PlannedOperator plan(const Desc& desc, Isa isa, const Tuning& tuning);

}  // namespace detail

DMLREF_END
