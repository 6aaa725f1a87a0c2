// session.hpp: a model made ready to run: resources loaded, operators compiled, every binding checked.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dmlref/directml.hpp"
#include "model/model.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {

struct SessionOptions {
  FeatureLevel level = latest_feature_level;
  std::optional<Isa> isa;
  unsigned threads = 1;
};

/// The instruction set that the options choose. Throws Failure where the variable DMLREF_ISA names none of this CPU.
Isa chosen_isa(const std::optional<Isa>& isa);

/// One line per broken rule on standard error; whether the level accepts all operators.
bool report_violations(const Model& model, FeatureLevel level);

/// The buffers of one dispatch, in the order of the desc.
struct BoundTensors {
  std::vector<InputBuffer> inputs;  ///< empty: absent, or owned by DML
  OutputBuffer output;
};

class Session {
 public:
  /// Operators that the level accepts. Throws Failure with the faults of all bindings; no resource has changed then.
  Session(const Model& model, const SessionOptions& options);
  ~Session();

  const Model& model() const noexcept { return model_; }
  Resource& resource(const std::string& name) { return resources_.find(name)->second; }
  const CompiledOperator& compiled(const std::string& dispatchable) const {
    return prepared_.find(dispatchable)->second.op;
  }
  /// `path` is the command's.
  void dispatch(const std::string& path, const DispatchCommand& command);
  /// All inputs of a dispatch, those owned by DML too.
  BoundTensors tensors_of(const DispatchCommand& command);

  [[noreturn]] void fail(const std::string& path, const std::string& what) const {
    throw Failure(model_.file + ": " + path, what);
  }

 private:
  /// A compiled operator and the memory that it keeps.
  struct Prepared {
    CompiledOperator op;
    Memory persistent;
    Memory temporary;
  };
  class Threads;

  const Dispatchable& dispatchable(const std::string& name) const { return model_.dispatchables.find(name)->second; }
  void check(const Report& report, const std::string& path) const;
  std::span<std::byte> bytes_of(const Binding& binding);
  std::span<std::byte> tensor_bytes(const Binding& binding, const TensorSlot& slot);
  std::vector<InputBuffer> inputs_of(const CompiledOperator& op, const Bindings& bindings);
  Memory allocate(std::uint64_t bytes, const std::string& path, const char* which);
  Prepared compile(const Dispatchable& dispatchable, const SessionOptions& options);
  void check_dispatch(const std::string& path, const DispatchCommand& command, Faults& faults);

  const Model& model_;
  std::unique_ptr<Threads> threads_;
  std::map<std::string, Resource, std::less<>> resources_;
  std::map<std::string, Prepared, std::less<>> prepared_;
};

}  // namespace dmlref::tool
