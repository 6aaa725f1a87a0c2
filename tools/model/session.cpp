#include "model/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "dmlref/thread_pool.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<const std::byte*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

/// a * b, or the largest number where that is too large.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = (std::numeric_limits<std::uint64_t>::max)();
  return b != 0 && a > most / b ? most : a * b;
}

}  // namespace

Isa chosen_isa(const std::optional<Isa>& isa) {
  if (isa) return *isa;
  const char* name = std::getenv("DMLREF_ISA");
  if (name == nullptr || *name == '\0') return best_isa();
  std::string found;
  std::string all;
  for (const IsaName& row : isa_table) {
    all.append(all.empty() ? "" : ", ").append(row.name);
    if (supported(row.isa)) found.append(found.empty() ? "" : ", ").append(row.name);
  }
  const std::optional<Isa> asked = isa_from_name(name);
  if (!asked) throw Failure("DMLREF_ISA", fmt::format("is \"{}\", expected one of {}", name, all));
  if (!supported(*asked)) {
    throw Failure("DMLREF_ISA", fmt::format("is {}, which this CPU does not run, expected one of {}", name, found));
  }
  return *asked;
}

bool report_violations(const Model& model, FeatureLevel level) {
  bool all = true;
  for (const auto& [name, dispatchable] : model.dispatchables) {
    const Report report = validate(dispatchable.op.desc(), level);
    for (const Violation& violation : report.violations()) {
      fmt::print(stderr, "dmlref: {}: {}.{}: {} at feature level {} [{}]{}\n", model.file, dispatchable.op.desc_path(),
                 violation.field, violation.message, to_string(level), to_string(violation.rule),
                 violation.available_from
                     ? fmt::format(" (accepted from feature level {})", to_string(*violation.available_from))
                     : "");
    }
    all = all && report.ok();
  }
  return all;
}

/// As many threads as asked for; one is the calling thread.
class Session::Threads {
 public:
  explicit Threads(unsigned count) {
    if (count >= 2) pool_ = std::make_unique<ThreadPool>(count);
  }
  Executor& executor() noexcept { return pool_ ? static_cast<Executor&>(*pool_) : sequential(); }

 private:
  std::unique_ptr<ThreadPool> pool_;
};

Session::~Session() = default;

Session::Session(const Model& model, const SessionOptions& options)
    : model_(model), threads_(std::make_unique<Threads>(options.threads)) {
  Faults unreadable;
  for (const auto& [name, desc] : model.resources) {
    unreadable.collect([&, &key = name, &of = desc] { resources_.emplace(key, Resource(of)); });
  }
  unreadable.raise();
  for (const auto& [name, dispatchable] : model.dispatchables) prepared_.emplace(name, compile(dispatchable, options));

  Faults faults;
  for (const auto& [name, dispatchable] : model.dispatchables) {
    Prepared& ready = prepared_.find(name)->second;
    for (const TensorSlot& slot : ready.op.input_slots()) {
      const auto binding = dispatchable.owned.find(slot.name);
      if (binding != dispatchable.owned.end()) faults.collect([&] { tensor_bytes(binding->second, slot); });
    }
  }
  for (const Command& command : model.commands) {
    if (const auto* dispatch = std::get_if<DispatchCommand>(&command.what)) {
      check_dispatch(command.path, *dispatch, faults);
    }
  }
  faults.raise();

  for (const auto& [name, dispatchable] : model.dispatchables) {
    Prepared& ready = prepared_.find(name)->second;
    check(
        ready.op.initialize(inputs_of(ready.op, dispatchable.owned), ready.persistent.bytes(), ready.temporary.bytes()),
        dispatchable.path);
  }
}

/// What the library finds, which the checks above have told already.
void Session::check(const Report& report, const std::string& path) const {
  if (!report) fail(path, report.violations().front().message);
}

/// The bytes that a binding gives to its tensor.
std::span<std::byte> Session::bytes_of(const Binding& binding) {
  Resource& from = resource(binding.resource);
  std::uint64_t element = binding.element_size;
  if (element == 0) element = from.type() == DataType::unknown ? 1 : size_of(from.type());
  const std::span<std::byte> memory = from.memory();
  const std::uint64_t offset = product(binding.element_offset, element);
  if (offset >= memory.size()) {
    fail(binding.path, fmt::format("begins at byte {}, expected it within the {} bytes of resource {}", offset,
                                   memory.size(), binding.resource));
  }
  const std::span<std::byte> rest = memory.subspan(static_cast<std::size_t>(offset));
  if (binding.element_count == 0) return rest;
  const std::uint64_t asked = product(binding.element_count, element);
  if (asked > rest.size()) {
    fail(binding.path, fmt::format("takes {} bytes from byte {}, expected at most the {} that resource {} has left",
                                   asked, offset, rest.size(), binding.resource));
  }
  // Buffers are multiples of 4 bytes; the elements may end earlier.
  return rest.first((std::min)(rest.size(), (static_cast<std::size_t>(asked) + 3) / 4 * 4));
}

/// Exactly the tensor's bytes, so that two tensors may share a resource.
std::span<std::byte> Session::tensor_bytes(const Binding& binding, const TensorSlot& slot) {
  const std::span<std::byte> bytes = bytes_of(binding);
  if (bytes.size() < slot.bytes) {
    fail(binding.path, fmt::format("gives {} bytes, expected at least the {} of {}'s TotalTensorSizeInBytes",
                                   bytes.size(), slot.bytes, slot.name));
  }
  return bytes.first(static_cast<std::size_t>(slot.bytes));
}

/// Input buffers in the order of the desc; tensors without a binding here stay empty.
std::vector<InputBuffer> Session::inputs_of(const CompiledOperator& op, const Bindings& bindings) {
  std::vector<InputBuffer> inputs;
  for (const TensorSlot& slot : op.input_slots()) {
    const auto binding = bindings.find(slot.name);
    inputs.push_back(binding == bindings.end() ? InputBuffer() : InputBuffer(tensor_bytes(binding->second, slot)));
  }
  return inputs;
}

Memory Session::allocate(std::uint64_t bytes, const std::string& path, const char* which) {
  try {
    return Memory(bytes, fmt::format("its {} memory", which));
  } catch (const FileError& error) {
    fail(path, error.what());
  }
}

Session::Prepared Session::compile(const Dispatchable& dispatchable, const SessionOptions& options) {
  const CompileResult compiled = dmlref::compile(dispatchable.op.desc(), options.level, CompileOptions{options.isa});
  if (!compiled) {
    const Violation& violation = compiled.report().violations().front();
    if (violation.field == "DMLREF_ISA" || violation.field == "CompileOptions.isa") throw Failure(violation.message);
    fail(dispatchable.op.desc_path(), violation.message);
  }
  Prepared ready{compiled.value(), {}, {}};
  const BindingProperties needs = ready.op.binding_properties();
  ready.persistent = allocate(needs.persistent_bytes, dispatchable.path, "persistent");
  ready.temporary = allocate(needs.temporary_bytes, dispatchable.path, "temporary");
  return ready;
}

/// Sizes and overlaps of a dispatch's buffers.
void Session::check_dispatch(const std::string& path, const DispatchCommand& command, Faults& faults) {
  const CompiledOperator& op = compiled(command.dispatchable);
  std::span<const std::byte> output;
  const Binding& to = command.bindings.find(op.output_slot().name)->second;
  faults.collect([&] { output = tensor_bytes(to, op.output_slot()); });
  for (const TensorSlot& slot : op.input_slots()) {
    const auto binding = command.bindings.find(slot.name);
    if (binding == command.bindings.end()) continue;
    faults.collect([&] {
      if (overlap(output, tensor_bytes(binding->second, slot))) {
        fail(fmt::format("{}.bindings.{}", path, op.output_slot().name),
             fmt::format("overlaps {} in resource {}, expected memory of its own: no operator works in place",
                         slot.name, to.resource));
      }
    });
  }
}

void Session::dispatch(const std::string& path, const DispatchCommand& command) {
  Prepared& ready = prepared_.find(command.dispatchable)->second;
  const std::vector<InputBuffer> inputs = inputs_of(ready.op, command.bindings);
  const TensorSlot& slot = ready.op.output_slot();
  const OutputBuffer output = tensor_bytes(command.bindings.find(slot.name)->second, slot);
  check(ready.op.execute(inputs, {&output, 1}, ready.persistent.bytes(), ready.temporary.bytes(), threads_->executor()),
        path);
}

BoundTensors Session::tensors_of(const DispatchCommand& command) {
  const CompiledOperator& op = compiled(command.dispatchable);
  Bindings all = command.bindings;
  const Bindings& owned = dispatchable(command.dispatchable).owned;
  all.insert(owned.begin(), owned.end());
  const TensorSlot& slot = op.output_slot();
  return {inputs_of(op, all), tensor_bytes(command.bindings.find(slot.name)->second, slot)};
}

}  // namespace dmlref::tool
