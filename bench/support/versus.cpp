#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "support/clock.hpp"
#include "support/memory.hpp"
#include "support/module.hpp"
#include "support/threads.hpp"

namespace bench {
namespace {

// One module's operator for the open case, and its clock.
class Contender {
 public:
  Contender(const ModuleTable& module, void* opened) : module_(module), opened_(opened) {}
  ~Contender() { module_.close(opened_); }
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  void execute() { module_.execute(opened_); }
  double execute(int calls) {
    const double start = now();
    for (int i = 0; i < calls; ++i) execute();
    return (now() - start) / calls;
  }
  void repeat(int warm, int calls) {
    for (int i = 0; i < warm; ++i) execute();
    seconds_.push_back(execute(calls));
  }
  double percentile(double share) {
    std::sort(seconds_.begin(), seconds_.end());
    return seconds_[static_cast<std::size_t>(share * static_cast<double>(seconds_.size() - 1))];
  }

 private:
  const ModuleTable& module_;
  void* opened_;
  std::vector<double> seconds_;
};

std::vector<const ModuleTable*> load(const std::vector<std::string>& libraries) {
  std::vector<const ModuleTable*> modules;
  for (const std::string& path : libraries) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const table = library == nullptr ? nullptr : dlsym(library, "dmlref_bench_module");
    if (table == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return {};
    }
    modules.push_back(static_cast<const ModuleTable*>(table));
  }
  return modules;
}

int compare(const CaseName& name, const Operator& op, const std::vector<const ModuleTable*>& modules, dmlref::Isa isa,
            unsigned threads, double budget) {
  const std::unique_ptr<OpenCase> open = op.open(name, "");
  const Memory output((open->output_bytes() + 3) / 4 * 4);  // one for all: the same pages
  int wrong = 0;
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const ModuleTable* module : modules) {
    std::fill(output.span().begin(), output.span().end(), std::byte{0xA5});
    std::string fault;
    void* opened = nullptr;
    try {
      opened = module->open(open->desc(), isa, open->inputs(), output.span(), threads, fault);
    } catch (const std::exception& failure) {  // a revision of before this operator takes its desc for none
      fault = std::string("not known to a revision (") + failure.what() + ')';
    }
    const Outcome outcome = opened == nullptr ? Outcome{} : open->compare(output.span());
    if (opened == nullptr) std::printf("%s: %s\n", name.id().c_str(), fault.c_str());
    if (outcome.wrong != 0) std::printf("%s: outputs wrong\n", name.id().c_str());
    wrong += outcome.wrong != 0 || opened == nullptr;
    if (opened == nullptr) return wrong;
    contenders.push_back(std::make_unique<Contender>(*module, opened));
  }
  threads == 1 ? pin_caller() : pin_pool();
  const double once = std::min(contenders.front()->execute(1), contenders.front()->execute(1));
  const int calls = std::clamp(static_cast<int>(std::ceil(100e-6 / once)), 1, 10000);
  const int rounds = std::clamp(static_cast<int>(budget / (once * (calls + 1))), 9, 2000);
  for (int round = 0; round < rounds; ++round) {
    // Whoever comes first in a round finds the caches and the clock as the one before it left them.
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      contenders[(k + static_cast<std::size_t>(round)) % contenders.size()]->repeat(1, calls);
    }
  }
  unpin_caller();
  std::printf("%-48s", name.id().c_str());
  const double first = contenders.front()->percentile(0.05), first_median = contenders.front()->percentile(0.5);
  for (const auto& contender : contenders) {
    const double least = contender->percentile(0.05), median = contender->percentile(0.5);
    std::printf("  %9.2f (%9.2f) us", least * 1e6, median * 1e6);
    if (contender != contenders.front())
      std::printf(" %5.1f (%5.1f) %%", 100 * least / first, 100 * median / first_median);
  }
  std::printf("%s\n", wrong == 0 ? "" : "  WRONG");
  std::fflush(stdout);
  return wrong;
}

}  // namespace

int compare_modules(const std::vector<CaseName>& cases, const Operator& op, const std::vector<std::string>& libraries,
                    dmlref::Isa isa, unsigned threads, double budget) {
  const std::vector<const ModuleTable*> modules = load(libraries);
  if (modules.empty()) return 1;
  int wrong = 0;
  for (const CaseName& name : cases) wrong += compare(name, op, modules, isa, threads, budget);
  return wrong;
}

}  // namespace bench
