// ours.hpp: dmlref as one of the runners, stage by stage. The library's kernels are compiled in ours.cpp alone.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"
#include "support/memory.hpp"

namespace bench {

/// The instruction sets that this CPU runs, the best one last.
std::vector<dmlref::Isa> supported_isas();

/// The executor of that many threads: dmlref::sequential(), or Eigen's pool through dmlref::ThreadPoolExecutor. The
/// pool lives as long as the pointer. Null where there is no Eigen and threads > 1.
std::shared_ptr<dmlref::Executor> make_executor(unsigned threads);

/// One operator, compiled and initialized.
class Ours {
 public:
  /// `inputs` in the order of the desc, owned ones too, and `output`; they must outlive this object.
  Ours(const dmlref::OperatorDesc& desc, dmlref::Isa isa, std::vector<std::span<const std::byte>> inputs,
       std::span<std::byte> output, std::shared_ptr<dmlref::Executor> executor);
  /// With an output of its own.
  Ours(const dmlref::OperatorDesc& desc, dmlref::Isa isa, std::vector<std::span<const std::byte>> inputs,
       std::size_t output_bytes, std::shared_ptr<dmlref::Executor> executor);
  ~Ours();

  /// Empty, or why there is no operator.
  const std::string& fault() const;
  void compile();     ///< again, and throws the result away
  void initialize();  ///< again
  void execute();
  std::span<const std::byte> output() const;
  dmlref::BindingProperties properties() const;
  std::string strategy() const;  ///< which way the operator goes

 private:
  Ours(const dmlref::OperatorDesc& desc, dmlref::Isa isa, std::vector<std::span<const std::byte>> inputs, Memory output,
       std::shared_ptr<dmlref::Executor> executor);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bench
