// Compiled against the headers of the revision that is measured: bench/versus.
#include "support/module.hpp"

#include "support/ours.hpp"

namespace {

void* open(const dmlref::OperatorDesc& desc, dmlref::Isa isa, const std::vector<std::span<const std::byte>>& inputs,
           std::span<std::byte> output, unsigned threads, std::string& fault) {
  auto ours = std::make_unique<bench::Ours>(desc, isa, inputs, output, bench::make_executor(threads));
  fault = ours->fault();
  return fault.empty() ? ours.release() : nullptr;
}
void execute(void* opened) { static_cast<bench::Ours*>(opened)->execute(); }
void close(void* opened) { delete static_cast<bench::Ours*>(opened); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const bench::ModuleTable dmlref_bench_module;
extern "C" const bench::ModuleTable dmlref_bench_module = {open, execute, close};
