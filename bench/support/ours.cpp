#include "support/ours.hpp"

#include "dmlref/dmlref.hpp"
#if defined(DMLREF_BENCH_POOL)
#include "dmlref/eigen.hpp"
#endif

namespace bench {

std::vector<dmlref::Isa> supported_isas() {
  std::vector<dmlref::Isa> isas;
  for (const dmlref::IsaName& row : dmlref::isa_table) {
    if (dmlref::supported(row.isa)) isas.push_back(row.isa);
  }
  return isas;
}

std::shared_ptr<dmlref::Executor> make_executor(unsigned threads) {
  if (threads <= 1) return {&dmlref::sequential(), [](dmlref::Executor*) {}};
#if defined(DMLREF_BENCH_POOL)
  struct Pooled final : dmlref::Executor {
    explicit Pooled(unsigned count) : pool(static_cast<int>(count)), inner(pool) {}
    std::size_t concurrency() const noexcept override { return inner.concurrency(); }
    void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
      inner.parallel_for(count, task, context);
    }
    Eigen::ThreadPool pool;
    dmlref::ThreadPoolExecutor inner;
  };
  return std::make_shared<Pooled>(threads);
#else
  return nullptr;
#endif
}

struct Ours::State {
  dmlref::OperatorDesc desc;
  dmlref::Isa isa;
  std::vector<dmlref::InputBuffer> all, owned, rest;
  std::shared_ptr<dmlref::Executor> executor;
  std::string fault;
  dmlref::CompiledOperator compiled;
  std::span<std::byte> output;
  Memory own_output, persistent, temporary;
};

Ours::Ours(const dmlref::OperatorDesc& desc, dmlref::Isa isa, std::vector<std::span<const std::byte>> inputs,
           std::size_t output_bytes, std::shared_ptr<dmlref::Executor> executor)
    : Ours(desc, isa, std::move(inputs), Memory((output_bytes + 3) / 4 * 4), std::move(executor)) {}

Ours::Ours(const dmlref::OperatorDesc& desc, dmlref::Isa isa, std::vector<std::span<const std::byte>> inputs,
           Memory output, std::shared_ptr<dmlref::Executor> executor)
    : Ours(desc, isa, std::move(inputs), output.span(), std::move(executor)) {
  state_->own_output = std::move(output);
}

Ours::Ours(const dmlref::OperatorDesc& desc, dmlref::Isa isa, std::vector<std::span<const std::byte>> inputs,
           std::span<std::byte> output, std::shared_ptr<dmlref::Executor> executor)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.desc = desc;
  s.isa = isa;
  s.all = std::move(inputs);
  s.executor = std::move(executor);
  if (s.executor == nullptr) {
    s.fault = "no executor for several threads: built without Eigen";
    return;
  }
  const dmlref::CompileResult result = dmlref::compile(desc, dmlref::latest_feature_level, {isa});
  if (!result) {
    s.fault = result.report().to_string();
    return;
  }
  s.compiled = result.value();
  const auto slots = s.compiled.input_slots();
  if (slots.size() != s.all.size()) {
    s.fault = "the operator is not there yet";
    return;
  }
  s.owned.resize(slots.size());
  s.rest.resize(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) (slots[i].owned_by_dml ? s.owned : s.rest)[i] = s.all[i];
  s.output = output;
  const dmlref::BindingProperties needs = s.compiled.binding_properties();
  s.persistent = Memory(needs.persistent_bytes);
  s.temporary = Memory(needs.temporary_bytes);
  dmlref::Report report = s.compiled.initialize(s.owned, s.persistent.span(), s.temporary.span());
  if (report) {
    const dmlref::OutputBuffer out = s.output;
    report = s.compiled.execute(s.rest, {&out, 1}, s.persistent.span(), s.temporary.span(), *s.executor);
  }
  if (!report) s.fault = report.to_string();
}

Ours::~Ours() = default;

const std::string& Ours::fault() const { return state_->fault; }

void Ours::compile() {
  const dmlref::CompileResult result = dmlref::compile(state_->desc, dmlref::latest_feature_level, {state_->isa});
  __asm__ volatile("" : : "r"(&result) : "memory");
}

void Ours::initialize() {
  State& s = *state_;
  static_cast<void>(s.compiled.initialize(s.owned, s.persistent.span(), s.temporary.span()));
}

void Ours::execute() {
  State& s = *state_;
  const dmlref::OutputBuffer out = s.output;
  static_cast<void>(s.compiled.execute(s.rest, {&out, 1}, s.persistent.span(), s.temporary.span(), *s.executor));
}

std::span<const std::byte> Ours::output() const { return state_->output; }

dmlref::BindingProperties Ours::properties() const { return state_->compiled.binding_properties(); }

std::string Ours::strategy() const { return std::string(state_->compiled.strategy_name()); }

}  // namespace bench
