// trial.hpp: one descriptor compiled and executed: its bytes, what it must leave alone, and what it costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "dmlref/directml.hpp"
#include "dmlref/thread_pool.hpp"
#include "limits/problem.hpp"
#include "limits/work.hpp"
#include "support/counted_new.hpp"

namespace dmlref_test::limits {

/// What came of it. `kind` is empty where nothing is wrong.
struct Outcome {
  std::string kind, text;
  std::string strategy;
  bool executed = false;
};

/// What a descriptor may cost, from its work. Times are those of an optimized build; `slowness` stretches them.
struct Budget {
  double compile_seconds, execute_seconds;
  std::uint64_t compile_bytes, working_bytes;

  explicit Budget(const Work& work, double slowness)
      : compile_seconds(slowness * (0.02 + 2e-8 * static_cast<double>(work.weights))),
        execute_seconds(slowness * (0.02 + 1e-7 * static_cast<double>(work.products + work.weights) +
                                    5e-6 * static_cast<double>(work.outputs))),
        compile_bytes((std::uint64_t{1} << 20) + 16 * work.packed),
        // Filters are packed for whole vectors of output channels: of one group with few of them that is much.
        working_bytes((std::uint64_t{work.grouped ? 16u : 4u} << 20) + (work.grouped ? 8 : 36) * work.weights +
                      4 * work.packed + 64 * work.channels +
                      8 * (work.outputs + std::min<std::uint64_t>(work.products, 1u << 20)) + 4 * work.kept) {}
};

/// Says that `tasks` can run at once; they run here, the last one first.
class Backwards final : public dmlref::Executor {
 public:
  explicit Backwards(std::size_t tasks) : tasks_(tasks) {}
  std::size_t concurrency() const noexcept override { return tasks_; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    while (count-- > 0) task(context, count);
  }

 private:
  std::size_t tasks_;
};

/// CPU time of the calling thread.
inline double seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Trial {
 public:
  /// `stage` is told what comes next, so that whoever watches knows where a crash was.
  Trial(dmlref::Isa isa, double slowness, void (*stage)(const char*)) : isa_(isa), slowness_(slowness), stage_(stage) {}

  /// What one execution may take of the machine.
  static bool affordable(const dmlref::OperatorDesc& desc, const Work& work) {
    if (work.outputs > 1u << 18 || work.products > 1u << 25 || work.weights > 1u << 25) return false;
    if (work.outputs > 64 && work.products > 1u << 21) return false;  // only few sums are deep
    if (work.kept > 1u << 24) return false;
    const auto tensors = tensors_of(desc);
    std::uint64_t touched = pages_of(*tensors.output), reserved = tensors.output->total_size_in_bytes;
    for (const dmlref::TensorDesc* tensor : tensors.inputs) {
      if (tensor == nullptr) continue;
      // (initialize reads all of it, execute no more than the products tell)
      const std::uint64_t read = std::max(work.products, work.outputs);
      touched += tensor->owned_by_dml ? pages_of(*tensor) : std::min(pages_of(*tensor), read);
      reserved += tensor->total_size_in_bytes;
    }
    return touched < 1u << 15 && reserved < std::uint64_t{1} << 37;
  }

  Outcome run(const dmlref::OperatorDesc& desc, std::uint64_t seed) {
    outcome_ = Outcome{};
    const Work work = work_of(desc);
    const Budget budget(work, slowness_);
    stage_("compile");
    allocations.peak = allocations.live.load();
    const long before = allocations.live.load();
    double began = seconds();
    const dmlref::CompileResult compiled =
        dmlref::compile(desc, dmlref::latest_feature_level, dmlref::CompileOptions{isa_});
    double taken = seconds() - began;
    if (!compiled) return failed("refused by compile", compiled.report().to_string());
    const auto planned = static_cast<std::uint64_t>(allocations.peak.load() - before);
    outcome_.strategy = std::string(compiled.value().strategy_name());
    if (planned > budget.compile_bytes) fail("memory of compile", std::to_string(planned) + " bytes");
    if (taken > budget.compile_seconds) {
      began = seconds();
      static_cast<void>(dmlref::compile(desc, dmlref::latest_feature_level, dmlref::CompileOptions{isa_}));
      taken = std::min(taken, seconds() - began);
      if (taken > budget.compile_seconds) fail("time of compile", std::to_string(taken) + " s");
    }
    const dmlref::BindingProperties needs = compiled.value().binding_properties();
    for (const auto& [name, bytes] :
         {std::pair("temporary", needs.temporary_bytes), std::pair("persistent", needs.persistent_bytes)}) {
      if (bytes <= budget.working_bytes) continue;
      fail(std::string(name) + " memory",
           std::to_string(bytes) + " bytes, expected at most " + std::to_string(budget.working_bytes));
    }
    if (!affordable(desc, work) || needs.temporary_bytes + needs.persistent_bytes > std::uint64_t{1} << 28) {
      return outcome_;
    }

    stage_("data");
    const Problem problem(desc, seed);
    data_ = problem.data();
    if (!problem.doubt().empty()) fail("doubt", problem.doubt());
    ExtremeRandom random(seed);
    staged(compiled.value(), problem, dmlref::sequential(), "", budget.execute_seconds);
    switch (random.from(0, 5)) {
      case 0: {
        dmlref::ThreadPool pool(3);
        staged(compiled.value(), problem, pool, "pool", 0);
        break;
      }
      case 1:
      case 2: one_call(desc, problem); break;
      default: {
        constexpr std::size_t numbers[] = {0, 2, 3, 64, 1000, static_cast<std::size_t>(-1)};
        Backwards backwards(numbers[random.from(0, 5)]);
        staged(compiled.value(), problem, backwards, std::to_string(backwards.concurrency()) + " tasks backwards", 0);
        break;
      }
    }
    outcome_.executed = true;
    return outcome_;
  }

 private:
  static std::uint64_t pages_of(const dmlref::TensorDesc& tensor) {
    const std::uint64_t pages = span_of(tensor) * size_of(tensor.data_type) / 4096 + 2;
    return std::min(pages, element_count(tensor));
  }
  const Outcome& failed(const char* kind, const std::string& text) {
    fail(kind, text);
    return outcome_;
  }
  void fail(const std::string& kind, const std::string& text) {
    if (!outcome_.kind.empty()) return;
    outcome_.kind = kind;
    outcome_.text = text + (data_.empty() ? "" : " (" + data_ + ")");
  }

  static std::unique_ptr<GuardedBuffer> region(std::uint64_t bytes) {  // ends at the guard, begins at a multiple of 256
    return std::make_unique<GuardedBuffer>(static_cast<std::size_t>((bytes + 255) / 256 * 256),
                                           GuardedBuffer::Side::end);
  }
  /// `most_seconds`: of one execution; 0: not measured.
  void staged(const dmlref::CompiledOperator& compiled, const Problem& problem, dmlref::Executor& executor,
              const std::string& how, double most_seconds) {
    const dmlref::BindingProperties needs = compiled.binding_properties();
    const auto persistent = region(needs.persistent_bytes), temporary = region(needs.temporary_bytes);
    std::memset(temporary->data(), 0xCD, std::min<std::size_t>(temporary->span().size(), 1u << 16));
    stage_("initialize");
    double began = seconds();
    dmlref::Report report = compiled.initialize(problem.bound(true), persistent->span(), temporary->span());
    double taken = seconds() - began;
    const dmlref::OutputBuffer outputs[] = {problem.output().span()};
    for (int times = 0; report && times < 2; ++times) {
      const std::byte fill{times == 0 ? std::uint8_t{0xA5} : std::uint8_t{0x5A}};
      const std::vector<dmlref::InputBuffer> inputs = problem.bound(false);
      problem.output().wipe(fill);
      stage_(("execute " + how).c_str());
      began = seconds();
      const long calls = allocations.calls.load();
      report = compiled.execute(inputs, outputs, persistent->span(), temporary->span(), executor);
      const bool allocated = allocations.calls.load() != calls;
      taken = std::max(taken, seconds() - began);
      if (!report) break;
      stage_("compare");
      if (allocated) fail("allocates in execute", "");
      const std::string wrong = problem.output().difference(problem.expected(), fill);
      if (!wrong.empty()) fail("wrong bytes", how + (how.empty() ? "" : ": ") + wrong);
      if (most_seconds == 0 || taken <= most_seconds) break;  // else once more: it may have been the machine
      if (times == 1) {
        fail("time of execute", std::to_string(taken) + " s, expected at most " + std::to_string(most_seconds) + " s");
      }
      taken = 0;
    }
    if (!report) fail("refused by execute", report.to_string());
  }
  void one_call(const dmlref::OperatorDesc& desc, const Problem& problem) {
    stage_("run");
    const dmlref::OutputBuffer outputs[] = {problem.output().span()};
    const std::byte fill{0x5A};
    problem.output().wipe(fill);
    dmlref::RunOptions options;
    options.isa = isa_;
    const dmlref::Report report = dmlref::run(desc, dmlref::latest_feature_level, problem.bound(), outputs, options);
    if (!report) return fail("refused by run", report.to_string());
    stage_("compare");
    const std::string wrong = problem.output().difference(problem.expected(), fill);
    if (!wrong.empty()) fail("wrong bytes", "run: " + wrong);
  }

  dmlref::Isa isa_;
  double slowness_;
  void (*stage_)(const char*);
  Outcome outcome_;
  std::string data_;
};

}  // namespace dmlref_test::limits
