#include "support/driver.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "peers/versions.hpp"
#include "support/clock.hpp"
#include "support/limits.hpp"
#include "support/module.hpp"
#include "support/ours.hpp"
#include "support/threads.hpp"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  bool side_by_side = false, limits = false, errors = false, quick = false, tiny = false, list = false,
       all_isas = false;
  std::string filter = ".*", peers = ".*", json, isa;
  std::vector<std::string> modules;
  unsigned threads = 1;
  double budget = 0.25;  // seconds per runner and case
};

struct Timing {
  double median = 0, least = 0, noise = 0;  // seconds; noise: half the distance of the quartiles over the median
  int rounds = 0;
};

// One runner's clock: calls per repetition so that the clock's resolution does not matter, repetitions by budget.
class Stopwatch {
 public:
  /// `alone`: everything happens on the calling thread.
  Stopwatch(const Runner& runner, double budget, bool alone) : runner_(runner), alone_(alone) {
    double start = now();
    runner.run();
    double once = now() - start;
    if (once < 0.02) {
      for (int warm = 0; warm < 3; ++warm) runner.run();
      start = now();
      runner.run();
      once = std::min(once, now() - start);
    }
    calls_ = std::clamp(static_cast<int>(std::ceil(250e-6 / std::max(once, 1e-9))), 1, 20000);
    warm_ = once < 0.05 ? std::clamp(static_cast<int>(4e-3 / std::max(once, 1e-9)), 1, 8) : 0;
    start = now();
    for (int i = 0; i < calls_; ++i) runner.run();
    const double repetition = std::max(now() - start, 1e-7);
    rounds_ = std::clamp(static_cast<int>(budget / repetition), once > 0.3 ? 1 : once > 0.03 ? 3 : 7, 24);
  }
  int rounds() const { return rounds_; }
  void repeat() {
    // So that the data are where repeated calls leave them, not where the others did: a last-level cache that keeps
    // what was reused needs a few of them (Zen 3 with 11 MB in use: eight).
    for (int i = 0; i < warm_; ++i) runner_.run();
    const long before = preemptions();
    const double start = now(), thread_start = thread_now();
    for (int i = 0; i < calls_; ++i) runner_.run();
    const double wall = (now() - start) / calls_, thread = (thread_now() - thread_start) / calls_;
    if (preemptions() == before) {
      seconds_.push_back(wall);
    } else {
      preempted_.push_back(alone_ ? thread : wall);
    }
  }
  Timing timing() {
    // A repetition during which another program ran on this CPU counts only where few others are; on one thread with
    // the time that we really ran.
    if (seconds_.size() < 5) seconds_.insert(seconds_.end(), preempted_.begin(), preempted_.end());
    std::sort(seconds_.begin(), seconds_.end());
    const std::size_t n = seconds_.size();
    Timing t;
    t.median = n % 2 == 1 ? seconds_[n / 2] : (seconds_[n / 2 - 1] + seconds_[n / 2]) / 2;
    t.least = seconds_.front();
    t.noise = (seconds_[(n * 3) / 4 == n ? n - 1 : (n * 3) / 4] - seconds_[n / 4]) / 2 / t.median;
    t.rounds = static_cast<int>(n);
    return t;
  }

 private:
  const Runner& runner_;
  int calls_ = 1, rounds_ = 1;
  int warm_ = 1;
  bool alone_ = true;
  std::vector<double> seconds_, preempted_;
};

// Everybody in turn, so that a disturbance hits all alike. `alone` as for Stopwatch.
std::vector<Timing> in_turn(const std::vector<Runner>& runners, double budget, bool alone) {
  std::vector<Stopwatch> watches;
  int most = 0;
  for (const Runner& runner : runners) {
    watches.emplace_back(runner, budget, alone);
    most = std::max(most, watches.back().rounds());
  }
  for (int round = 0; round < most; ++round) {
    for (Stopwatch& watch : watches) {
      if (round < watch.rounds()) watch.repeat();
    }
  }
  std::vector<Timing> timings;
  for (Stopwatch& watch : watches) timings.push_back(watch.timing());
  return timings;
}

std::vector<Timing> on_one_thread(const std::vector<Runner>& runners, double budget) {
  pin_caller();
  std::vector<Timing> timings = in_turn(runners, budget, true);
  unpin_caller();
  return timings;
}

// One pool at a time, because idle ones spin and disturb one another. The first runner's; others have none.
std::vector<Timing> on_a_pool(const std::vector<Runner>& runners, double budget) {
  runners.front().run();
  pin_pool();
  std::vector<Timing> timings = in_turn(runners, budget, false);
  unpin_caller();
  return timings;
}

Runner runner_of(const std::shared_ptr<Ours>& ours, dmlref::Isa isa, const OpenCase& open) {
  return {"dmlref", std::string(to_string(isa)), false, [ours] { ours->execute(); },
          [ours, &open] { return open.compare(ours->output()); }};
}

std::shared_ptr<Ours> make_ours(const OpenCase& open, dmlref::Isa isa, unsigned threads) {
  return std::make_shared<Ours>(open.desc(), isa, open.inputs(), open.output_bytes(), make_executor(threads));
}

double stage_seconds(const std::function<void()>& stage) {
  stage();
  std::vector<double> seconds;
  const double begin = now();
  do {
    const double start = now();
    stage();
    seconds.push_back(now() - start);
  } while (seconds.size() < 15 && now() - begin < 0.02);
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 4 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

struct Measured {
  std::string who, how;
  bool rival;
  Timing timing;
  Outcome outcome;
  double one_thread = 0;  // seconds: ours on several threads, measured in turn with them
};

Json json_of(const Measured& m, double limit) {
  return {{"who", m.who},
          {"how", m.how},
          {"rival", m.rival},
          {"us", rounded(m.timing.median * 1e6)},
          {"min_us", rounded(m.timing.least * 1e6)},
          {"noise", rounded(m.timing.noise)},
          {"limit_fraction", rounded(limit / m.timing.median)},
          {"wrong", m.outcome.wrong},
          {"worst", rounded(m.outcome.worst)},
          {"not_finite", m.outcome.not_finite}};
}

void print_line(const Measured& m, double limit, double ours) {
  std::printf("  %-12s %-22s %11.2f us (min %10.2f, noise %4.1f %%) %6.1f %% of limit", m.who.c_str(), m.how.c_str(),
              m.timing.median * 1e6, m.timing.least * 1e6, m.timing.noise * 100, 100 * limit / m.timing.median);
  if (m.who != "dmlref" && ours > 0) std::printf("  x%-6.2f", m.timing.median / ours);
  if (m.outcome.wrong != 0) {
    std::printf("  %llu wrong, worst %.3g", static_cast<unsigned long long>(m.outcome.wrong), m.outcome.worst);
  }
  if (m.outcome.not_finite != 0) {
    std::printf(", %llu not finite", static_cast<unsigned long long>(m.outcome.not_finite));
  }
  if (m.who != "dmlref" && !m.rival) std::printf("  (another layout)");
  if (m.one_thread > 0) std::printf("  x%-6.2f of one thread", m.one_thread / m.timing.median);
  std::printf("\n");
}

Json versions() {
  Json list;
#if defined(__clang__)
  list["clang"] = __clang_version__;
#elif defined(__GNUC__)
  list["g++"] = __VERSION__;
#endif
#if defined(DMLREF_BENCH_ONEDNN)
  list["oneDNN"] = onednn_version();
#endif
#if defined(DMLREF_BENCH_XNNPACK)
  list["XNNPACK"] = xnnpack_version();
#endif
#if defined(DMLREF_BENCH_EIGEN)
  list["Eigen"] = eigen_version();
#endif
#if defined(DMLREF_BENCH_ONNXRUNTIME)
  list["ONNX Runtime"] = onnxruntime_version();
#endif
#if defined(DMLREF_BENCH_TORCH)
  list["PyTorch"] = torch_version();
#endif
  return list;
}

class SideBySide {
 public:
  SideBySide(const Operator& op, const Options& options) : op_(op), options_(options) {
    out_["operator"] = op.name;
    out_["threads"] = options.threads;
    out_["versions"] = versions();
    out_["rows"] = Json::array();
    out_["errors"] = Json::array();
  }

  int run(const std::vector<CaseName>& cases) {
    if (options_.limits) measure_copies();
    for (const Int8Peak& peak : int8_peaks()) {
      std::printf("int8 peak %-12s %-14s %8.1f Gop/s per core\n", std::string(to_string(peak.isa)).c_str(),
                  peak.instruction.c_str(), peak.macs_per_second * 2e-9);
    }
    std::size_t at = 0;
    for (const CaseName& name : cases) {
      std::fprintf(stderr, "CASE %zu/%zu %s\n", ++at, cases.size(), name.id().c_str());
      std::fflush(stderr);
      measure(name);
    }
    finish();
    return faults_ == 0 ? 0 : 1;
  }

 private:
  // From the first-level cache to memory.
  void measure_copies() {
    for (std::size_t footprint = 16u << 10; footprint <= (512u << 20); footprint *= 2) {
      const CopyBandwidth& row = copy_bandwidth(footprint, options_.threads);
      std::printf("copy of %7zu KiB: plain %6.1f, streaming %6.1f, memcpy %6.1f GB/s\n", footprint >> 10,
                  row.plain * 1e-9, row.streaming * 1e-9, row.memcpy * 1e-9);
    }
  }

  void fault(const CaseName& name, const std::string& who, const std::string& what) {
    ++faults_;
    std::printf("  ERROR %s: %s\n", who.c_str(), what.c_str());
    out_["errors"].push_back({{"operator", op_.name}, {"case", name.id()}, {"who", who}, {"what", what}});
  }

  std::vector<dmlref::Isa> isas() const {
    std::vector<dmlref::Isa> list = supported_isas();
    if (!options_.isa.empty()) return {dmlref::isa_from_name(options_.isa).value_or(list.back())};
    if (!options_.all_isas) list.erase(list.begin(), list.end() - 1);
    std::reverse(list.begin(), list.end());
    return list;
  }

  void measure(const CaseName& name) {
    const std::unique_ptr<OpenCase> open = op_.open(name, "");
    const unsigned threads = options_.threads;
    const double budget = options_.budget;
    double best_limit = open->limit(supported_isas().back(), threads);

    std::vector<dmlref::Isa> sets;
    std::vector<std::shared_ptr<Ours>> ours;
    std::vector<Runner> runners;
    std::vector<Measured> measured;
    std::vector<Refusal> refused;
    for (const dmlref::Isa isa : isas()) {
      const auto one = make_ours(*open, isa, threads);
      if (!one->fault().empty()) {
        fault(name, "dmlref " + std::string(to_string(isa)), one->fault());
        continue;
      }
      const Runner runner = runner_of(one, isa, *open);
      const Outcome outcome = runner.compare();
      if (outcome.wrong != 0) {
        fault(name, "dmlref " + std::string(to_string(isa)),
              std::to_string(outcome.wrong) + " of " + std::to_string(outcome.outputs) + " outputs wrong, worst by " +
                  std::to_string(outcome.worst));
        continue;
      }
      sets.push_back(isa);
      ours.push_back(one);
      if (threads == 1) {
        runners.push_back(runner);
      } else {
        const Runner one_thread = runner_of(make_ours(*open, isa, 1), isa, *open);
        const std::vector<Timing> timings = on_a_pool({runner, one_thread}, budget);
        measured.push_back({runner.who, runner.how, false, timings[0], outcome, timings[1].median});
      }
    }
    const std::regex wanted(options_.peers);
    for (const Peer& peer : open->peers()) {
      if (!std::regex_search(peer.who, wanted)) continue;
      Runners made = peer.make(threads);
      for (Refusal& refusal : made.refused) refused.push_back(std::move(refusal));
      for (Runner& runner : made.ready) {
        if (threads == 1) {
          runners.push_back(std::move(runner));
        } else {
          const Timing timing = on_a_pool({runner}, budget).front();
          measured.push_back({runner.who, runner.how, runner.rival, timing, runner.compare()});
        }
      }
    }
    // The limit takes its turn too: the copy, or the dot products of the best set.
    double slowdown = 1;
    if (threads == 1) {
      const bool dots = open->macs() > 0;
      const CopyOnce copy = dots ? CopyOnce{} : make_copy(static_cast<std::size_t>(open->bytes()));
      const DotOnce dot = dots ? make_dot() : DotOnce{};
      runners.push_back({"limit", "", false, dots ? dot.run : copy.run, {}});
      const std::vector<Timing> timings = on_one_thread(runners, budget);
      const double share = dots ? open->macs() / dot.macs : open->bytes() / copy.bytes;
      slowdown = timings.back().median * share / best_limit;
      runners.pop_back();
      for (std::size_t i = 0; i < runners.size(); ++i) {
        measured.push_back({runners[i].who, runners[i].how, runners[i].rival, timings[i], runners[i].compare()});
      }
    }

    best_limit *= slowdown;
    std::printf("%s/%s, %u thread%s: limit %.2f us\n", op_.name.c_str(), name.id().c_str(), threads,
                threads == 1 ? "" : "s", best_limit * 1e6);
    const Measured* best = nullptr;
    Json peers = Json::array(), absent = Json::array();
    for (const Measured& m : measured) {
      if (m.who == "dmlref") continue;
      peers.push_back(json_of(m, best_limit));
      if (m.rival && (best == nullptr || m.timing.median < best->timing.median)) best = &m;
    }
    for (const Refusal& refusal : refused) absent.push_back({{"who", refusal.who}, {"why", refusal.why}});

    std::size_t k = 0;
    double best_ours = 0;
    for (const Measured& m : measured) {
      if (m.who != "dmlref") continue;
      const dmlref::Isa isa = sets[k];
      const std::shared_ptr<Ours> one = ours[k++];
      if (best_ours == 0) best_ours = m.timing.median;
      const double limit = open->limit(isa, threads) * slowdown;
      print_line(m, limit, 0);
      Json row{{"operator", op_.name},
               {"case", name.name},
               {"type", name.type},
               {"layout", name.layout},
               {"variant", name.variant},
               {"isa", to_string(isa)},
               {"threads", threads},
               {"ours_us", rounded(m.timing.median * 1e6)},
               {"ours_min_us", rounded(m.timing.least * 1e6)},
               {"noise", rounded(m.timing.noise)},
               {"gain", m.one_thread > 0 ? Json(rounded(m.one_thread / m.timing.median)) : Json()},
               {"best_peer", best == nullptr ? Json() : Json(best->who + " " + best->how)},
               {"best_peer_us", best == nullptr ? Json() : Json(rounded(best->timing.median * 1e6))},
               {"best_peer_noise", best == nullptr ? Json() : Json(rounded(best->timing.noise))},
               {"ratio", best == nullptr ? Json() : Json(rounded(best->timing.median / m.timing.median))},
               {"limit_us", rounded(limit * 1e6)},
               {"limit_fraction", rounded(limit / m.timing.median)},
               {"wrong", m.outcome.wrong},
               {"worst", rounded(m.outcome.worst)},
               {"macs", open->macs()},
               {"bytes", open->bytes()},
               {"elements", open->elements()},
               {"temporary_bytes", one->properties().temporary_bytes},
               {"persistent_bytes", one->properties().persistent_bytes},
               {"compile_us", rounded(stage_seconds([&] { one->compile(); }) * 1e6)},
               {"initialize_us", rounded(stage_seconds([&] { one->initialize(); }) * 1e6)},
               {"peers", peers},
               {"refused", absent}};
      out_["rows"].push_back(std::move(row));
    }
    for (const Measured& m : measured) {
      if (m.who != "dmlref") print_line(m, best_limit, best_ours);
    }
    for (const Refusal& refusal : refused) std::printf("  %-12s -- %s\n", refusal.who.c_str(), refusal.why.c_str());
    std::fflush(stdout);
  }

  void finish() {
    Json peaks = Json::array(), copies = Json::array();
    for (const Int8Peak& peak : int8_peaks()) {
      peaks.push_back({{"isa", to_string(peak.isa)},
                       {"instruction", peak.instruction},
                       {"gops", rounded(peak.macs_per_second * 2e-9)}});
    }
    for (const CopyBandwidth& copy : copy_bandwidths(options_.threads)) {
      copies.push_back({{"footprint", copy.footprint},
                        {"plain_gbs", rounded(copy.plain * 1e-9)},
                        {"streaming_gbs", rounded(copy.streaming * 1e-9)},
                        {"memcpy_gbs", rounded(copy.memcpy * 1e-9)}});
    }
    out_["int8_peaks"] = peaks;
    out_["copy_bandwidths"] = copies;
    if (!options_.json.empty()) std::ofstream(options_.json) << out_.dump(1) << "\n";
  }

  const Operator& op_;
  const Options& options_;
  Json out_;
  int faults_ = 0;
};

// The error table: worst distance and wrong outputs of everybody, per data regime.
int error_table(const Operator& op, const Options& options) {
  Json out{{"operator", op.name}, {"accuracy", Json::array()}};
  const std::regex filter(options.filter), wanted(options.peers);
  std::vector<Regime> chosen;
  for (const Regime& r : op.regimes) {
    if ((!options.quick || r.name.quick) && std::regex_search(op.name + "/" + r.name.id() + "/" + r.regime, filter)) {
      chosen.push_back(r);
    }
  }
  if (options.list) {
    for (const Regime& r : chosen) std::printf("%s/%s/%s\n", op.name.c_str(), r.name.id().c_str(), r.regime.c_str());
    return 0;
  }
  std::size_t at = 0;
  for (const Regime& r : chosen) {
    std::fprintf(stderr, "CASE %zu/%zu %s/%s\n", ++at, chosen.size(), r.name.id().c_str(), r.regime.c_str());
    std::printf("%s/%s, %s\n", op.name.c_str(), r.name.id().c_str(), r.regime.c_str());
    const std::unique_ptr<OpenCase> open = op.open(r.name, r.regime);
    std::vector<Runner> runners;
    const dmlref::Isa isa = supported_isas().back();
    const auto ours = make_ours(*open, isa, 1);
    if (ours->fault().empty()) {
      runners.push_back(runner_of(ours, isa, *open));
    } else {
      std::printf("  ERROR dmlref: %s\n", ours->fault().c_str());
    }
    for (const Peer& peer : open->peers()) {
      if (!std::regex_search(peer.who, wanted)) continue;
      for (Runner& runner : peer.make(1).ready) runners.push_back(std::move(runner));
    }
    for (const Runner& runner : runners) {
      runner.run();
      const Outcome o = runner.compare();
      std::printf("  %-12s %-22s worst %10.4g, wrong %llu of %llu, not finite %llu\n", runner.who.c_str(),
                  runner.how.c_str(), o.worst, static_cast<unsigned long long>(o.wrong),
                  static_cast<unsigned long long>(o.outputs), static_cast<unsigned long long>(o.not_finite));
      out["accuracy"].push_back({{"operator", op.name},
                                 {"case", r.name.name},
                                 {"type", r.name.type},
                                 {"variant", r.name.variant},
                                 {"regime", r.regime},
                                 {"who", runner.who},
                                 {"how", runner.how},
                                 {"worst", rounded(o.worst)},
                                 {"wrong", o.wrong},
                                 {"outputs", o.outputs},
                                 {"not_finite", o.not_finite}});
    }
  }
  if (!options.json.empty()) std::ofstream(options.json) << out.dump(1) << "\n";
  return 0;
}

// The case that is open: neighbours in the list are mostly the same case with another stage or instruction set.
struct Current {
  std::string id;
  std::unique_ptr<OpenCase> open;
};
OpenCase& opened(const Operator& op, const CaseName& name) {
  static Current current;
  if (current.id != name.id()) {
    current.open.reset();
    current.open = op.open(name, "");
    current.id = name.id();
  }
  return *current.open;
}

// The timed loop with its counters.
void measure(benchmark::State& state, const OpenCase& open, double limit, unsigned threads,
             const std::function<void()>& run) {
  using benchmark::Counter;
  threads == 1 ? pin_caller() : pin_pool();
  const double start = now();
  for (auto _ : state) run();
  const double elapsed = now() - start;
  unpin_caller();
  state.counters["of_limit"] = limit * static_cast<double>(state.iterations()) / elapsed;
  if (open.macs() > 0) state.counters["MAC/s"] = Counter(open.macs(), Counter::kIsIterationInvariantRate);
  if (open.bytes() > 0) state.counters["B/s"] = Counter(open.bytes(), Counter::kIsIterationInvariantRate);
  state.counters["elements/s"] = Counter(open.elements(), Counter::kIsIterationInvariantRate);
}

void execute_ours(benchmark::State& state, const Operator& op, const CaseName& name, dmlref::Isa isa,
                  unsigned threads) {
  OpenCase& open = opened(op, name);
  const auto ours = make_ours(open, isa, threads);
  if (!ours->fault().empty()) return state.SkipWithError(ours->fault().c_str());
  const Outcome outcome = open.compare(ours->output());
  if (outcome.wrong != 0) return state.SkipWithError((std::to_string(outcome.wrong) + " outputs wrong").c_str());
  measure(state, open, open.limit(isa, threads), threads, [&] { ours->execute(); });
  state.counters["temporary"] = static_cast<double>(ours->properties().temporary_bytes);
  state.counters["persistent"] = static_cast<double>(ours->properties().persistent_bytes);
}

void stage_ours(benchmark::State& state, const Operator& op, const CaseName& name, dmlref::Isa isa, bool compile) {
  OpenCase& open = opened(op, name);
  const auto ours = make_ours(open, isa, 1);
  if (!ours->fault().empty()) return state.SkipWithError(ours->fault().c_str());
  for (auto _ : state) compile ? ours->compile() : ours->initialize();
}

void execute_peer(benchmark::State& state, const Operator& op, const CaseName& name, const std::string& who,
                  unsigned threads) {
  OpenCase& open = opened(op, name);
  for (const Peer& peer : open.peers()) {
    if (peer.who != who) continue;
    Runners made = peer.make(threads);
    for (const Runner& runner : made.ready) {
      if (!runner.rival) continue;
      runner.run();
      measure(state, open, open.limit(supported_isas().back(), threads), threads, runner.run);
      const Outcome outcome = runner.compare();
      state.counters["wrong"] = static_cast<double>(outcome.wrong);
      state.SetLabel(runner.how);
      return;
    }
    return state.SkipWithError(made.refused.empty() ? "does not take this case" : made.refused.front().why.c_str());
  }
  state.SkipWithError("not built");
}

std::vector<std::string> built_peers() {
  return {
#if defined(DMLREF_BENCH_ONEDNN)
    "oneDNN",
#endif
#if defined(DMLREF_BENCH_XNNPACK)
        "XNNPACK",
#endif
#if defined(DMLREF_BENCH_EIGEN)
        "Eigen",
#endif
#if defined(DMLREF_BENCH_ONNXRUNTIME)
        "ONNX Runtime",
#endif
#if defined(DMLREF_BENCH_TORCH)
        "PyTorch",
#endif
        "loops"
  };
}

void register_all(const Operator& op, const Options& options) {
  const unsigned most = std::max(2u, options.threads > 1 ? options.threads : available_cpus());
  const auto enlist = [&](const std::string& name, auto&& body) {
    return benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMicrosecond)->UseRealTime();
  };
  for (const CaseName& name : op.cases) {
    if (name.tiny != options.tiny) continue;
    const std::string base = op.name + "/" + name.id() + "/";
    for (const dmlref::Isa isa : supported_isas()) {
      for (const bool compile : {true, false}) {
        auto* const stage =
            enlist(base + (compile ? "compile/" : "initialize/") + std::string(to_string(isa)),
                   [&op, name, isa, compile](auto& state) { stage_ours(state, op, name, isa, compile); });
        if (options.tiny) stage->Iterations(2);
      }
    }
    for (const unsigned threads : {1u, most}) {
      const std::string tail = "/threads:" + std::to_string(threads);
      for (const dmlref::Isa isa : supported_isas()) {
        auto* const entry =
            enlist(base + "execute/" + std::string(to_string(isa)) + tail,
                   [&op, name, isa, threads](auto& state) { execute_ours(state, op, name, isa, threads); });
        if (options.tiny) entry->Iterations(2);
      }
      for (const std::string& who : built_peers()) {
        if (std::find(op.without.begin(), op.without.end(), who) != op.without.end()) continue;
        auto* const entry = enlist(base + "execute/" + who + tail, [&op, name, who, threads](auto& state) {
          execute_peer(state, op, name, who, threads);
        });
        if (options.tiny) entry->Iterations(2);
      }
    }
  }
}

constexpr const char* help = R"(Two faces:
  (no option of ours)       Google Benchmark over every case, stage, instruction set and peer; --benchmark_filter=REGEX
  --side-by-side[=REGEX]    cases whose operator/case/type/layout/variant matches, with every peer, round robin in one
                            process for one thread; prints a block per case
  --errors[=REGEX]          distance from the right answers per data regime
  --versus=LIBRARY,…        the cases of --side-by-side by these builds of dmlref in turns: see bench/versus
  --limits                  int8 peaks, and copy bandwidth by footprint from 16 KiB to 512 MiB; before the cases, or alone
Options of --side-by-side and --errors:
  --threads=N    threads of everybody (default 1; above 1 each runs alone, dmlref in turn with itself on one)
  --isa=NAME     one instruction set, or all (default: the best of this CPU)
  --peers=REGEX  only those peers; --peers=none for none
  --budget=MS    time per runner and case (default 250)
  --quick        only the cases of the quick set
  --json=FILE    the rows
  --tiny         the self-test's cases instead (both faces)
  --list         names of the cases
)";

}  // namespace

int drive(int argc, char** argv, const Operator& op) {
  Options options;
  std::vector<char*> rest{argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::size_t equals = arg.find('=');
    const std::string key = arg.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : arg.substr(equals + 1);
    if (key == "--side-by-side" || key == "--errors") {
      (key == "--errors" ? options.errors : options.side_by_side) = true;
      if (!value.empty()) options.filter = value;
    } else if (key == "--versus") {
      std::stringstream list(value);
      for (std::string path; std::getline(list, path, ',');) options.modules.push_back(path);
    } else if (key == "--limits") {
      options.limits = true;
    } else if (key == "--threads") {
      options.threads = static_cast<unsigned>(std::max(1, std::atoi(value.c_str())));
    } else if (key == "--isa") {
      options.all_isas = value == "all";
      if (!options.all_isas) options.isa = value;
      if (!options.all_isas && !dmlref::isa_from_name(value)) {
        std::fprintf(stderr, "--isa=%s names no instruction set\n", value.c_str());
        return 2;
      }
    } else if (key == "--peers") {
      options.peers = value;
    } else if (key == "--budget") {
      options.budget = std::atof(value.c_str()) * 1e-3;
    } else if (key == "--json") {
      options.json = value;
    } else if (key == "--quick") {
      options.quick = true;
    } else if (key == "--tiny") {
      options.tiny = true;
    } else if (key == "--list") {
      options.list = true;
    } else if (key == "--help") {
      std::fputs(help, stdout);
      return 0;
    } else {
      rest.push_back(argv[i]);
    }
  }
  available_cpus();  // as we were started, before anything is pinned

  const std::regex filter(options.filter);
  std::vector<CaseName> chosen;
  for (const CaseName& name : op.cases) {
    if (name.tiny != options.tiny || (options.quick && !name.quick)) continue;
    if (std::regex_search(op.name + "/" + name.id(), filter)) chosen.push_back(name);
  }
  if (options.errors) return error_table(op, options);
  if (options.list) {
    for (const CaseName& name : chosen) std::printf("%s/%s\n", op.name.c_str(), name.id().c_str());
    return 0;
  }
  if (!options.modules.empty()) {
    const dmlref::Isa isa = dmlref::isa_from_name(options.isa).value_or(supported_isas().back());
    return compare_modules(chosen, op, options.modules, isa, options.threads, options.budget) == 0 ? 0 : 1;
  }
  if (options.limits && !options.side_by_side) chosen.clear();
  if (options.side_by_side || options.limits) return SideBySide(op, options).run(chosen);

  register_all(op, options);
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace bench
