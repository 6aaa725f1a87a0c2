// limits_test.cpp: random descriptors that validation accepts, with few products and extreme numbers: every operator
// gives the right bytes, touches nothing else, and costs what its work is worth.
//
//   test_limits [--isa NAME] [--seed N] [--cases N] [--case I] [--operator NAME]
//
// --case: this one alone; --operator: cases of this one alone, e.g. SLICE1.
//
// Cases run in child processes. A crash, a time-out or too much memory ends the child, is one failure, and the next
// child goes on after it. A failure is repeated with ever smaller descriptors, the last of which is printed.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limits/draw.hpp"
#include "limits/shrink.hpp"
#include "limits/text.hpp"
#include "limits/trial.hpp"
#include "support/exhaustive.hpp"
#include "support/isa_in_use.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref_test;
using namespace dmlref_test::limits;

constexpr std::uint64_t cases_per_child = 256;
constexpr long most_heap = 1l << 30;
constexpr std::chrono::seconds most_shrinking(20);
constexpr int exit_heap = 98;
constexpr std::span<const dmlref::OperatorInfo> operators = dmlref::operator_table;

/// How much slower than an optimized build on a CPU of its own this may be.
#if DMLREF_TEST_EMULATED
constexpr double slowness = 60;
#else
constexpr double slowness = sanitized ? 40 : 4;
#endif

/// What a child leaves behind. In memory that it shares with its parent, so that it is there after a crash.
struct Record {
  std::uint64_t index;        // of the case that runs, or that has failed
  char stage[32];             // what the case is at
  char kind[64], text[1024];  // of a failure; kind[0] == 0: none
  struct Count {
    char name[48];
    std::uint64_t planned, executed;
  } strategies[64];
};
Record* record = nullptr;

void copy_text(char* to, std::size_t size, const std::string& from) {
  const std::size_t length = std::min(size - 1, from.size());
  std::memcpy(to, from.data(), length);
  to[length] = 0;
}
/// What comes next has so much CPU time from now on, and more of any time. Preparing data has more than the library
/// has.
void set_stage(const char* stage) {
  copy_text(record->stage, sizeof(record->stage), stage);
  const auto whole = static_cast<time_t>(std::string_view(stage) == "data" ? 20 * slowness : slowness);
  itimerval limit{};
  limit.it_value.tv_sec = whole;
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  limit.it_value.tv_sec = 30 * whole;
  ::setitimer(ITIMER_REAL, &limit, nullptr);
}

void count(const dmlref::OperatorDesc& desc, const Outcome& outcome) {
  const std::string name = std::string(operators[desc.index()].name) + ": " + outcome.strategy;
  for (Record::Count& row : record->strategies) {
    if (row.name[0] == 0) copy_text(row.name, sizeof(row.name), name);
    if (name.compare(0, sizeof(row.name) - 1, row.name) != 0) continue;
    ++row.planned;
    row.executed += outcome.executed ? 1 : 0;
    return;
  }
}

struct Options {
  dmlref::Isa isa = dmlref::Isa::scalar;
  std::uint64_t seed = 0;
  std::uint64_t cases = 0;
  std::optional<std::uint64_t> only;
  std::optional<std::size_t> only_operator;  // index in OperatorDesc
};

std::uint64_t seed_of(const Options& options, std::uint64_t index) {
  return options.seed * 0x9E3779B97F4A7C15u + index * 0xD1B54A32D192ED03u;
}

/// The case's descriptor: the first that validation accepts.
dmlref::OperatorDesc draw_valid(const Options& options, std::uint64_t index) {
  ExtremeRandom random(seed_of(options, index));
  for (;;) {
    dmlref::OperatorDesc desc = draw(random);
    if (options.only_operator && desc.index() != *options.only_operator) continue;
    if (dmlref::validate(desc, dmlref::latest_feature_level)) return desc;
  }
}

Outcome try_desc(const Options& options, const dmlref::OperatorDesc& desc, std::uint64_t seed) {
  const Outcome outcome = Trial(options.isa, slowness, set_stage).run(desc, seed);
  copy_text(record->text, sizeof(record->text), outcome.text);
  copy_text(record->kind, sizeof(record->kind), outcome.kind);
  return outcome;
}

/// Runs `body` in a child; what ended it, where it did not end as it should.
std::string in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("fork");
    std::exit(3);
  }
  if (child == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    allocations.limit = most_heap;
    allocations.beyond_limit = [] { ::_exit(exit_heap); };
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGPROF || signal == SIGALRM ? "time-out" : std::string("crash: ") + ::strsignal(signal);
  }
  if (WEXITSTATUS(status) == exit_heap) return "more than 1 GiB of heap";
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

/// What is wrong with `desc`, found by a child: kind and text.
std::pair<std::string, std::string> verdict(const Options& options, const dmlref::OperatorDesc& desc,
                                            std::uint64_t seed) {
  record->kind[0] = record->text[0] = 0;
  const std::string end = in_child([&] { try_desc(options, desc, seed); });
  if (!end.empty()) return {end + " in " + record->stage, ""};
  return {record->kind, record->text};
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  /// Whether nothing failed.
  bool all() {
    const std::uint64_t first = options_.only.value_or(0);
    const std::uint64_t last = options_.only ? *options_.only + 1 : options_.cases;
    for (std::uint64_t next = first; next < last;) {
      const std::uint64_t end = std::min(last, next + cases_per_child);
      record->index = next;
      record->kind[0] = 0;
      const std::string fate = in_child([&] {
        for (; record->index < end; ++record->index) {
          const std::uint64_t seed = seed_of(options_, record->index);
          set_stage("draw");
          const dmlref::OperatorDesc desc = draw_valid(options_, record->index);
          const Outcome outcome = try_desc(options_, desc, seed);
          count(desc, outcome);
          if (!outcome.kind.empty()) return;
        }
      });
      next = record->index;
      if (fate.empty() && next == end) continue;
      fail(next, fate.empty() ? std::string(record->kind) : fate + " in " + record->stage, record->text);
      ++next;
    }
    summarize();
    return failures_ == 0;
  }

 private:
  void fail(std::uint64_t index, const std::string& kind, const std::string& text) {
    ++failures_;
    const std::uint64_t seed = seed_of(options_, index);
    const dmlref::OperatorDesc desc = draw_valid(options_, index);
    const std::string name(operators[desc.index()].name);
    std::printf("FAILED: %s, %s\n  repeat: test_limits --isa %s --seed %llu --case %llu%s\n", kind.c_str(),
                name.c_str(), std::string(to_string(options_.isa)).c_str(),
                static_cast<unsigned long long>(options_.seed), static_cast<unsigned long long>(index),
                options_.only_operator ? (" --operator " + name).c_str() : "");
    int& of_kind = kinds_[name + ": " + kind];
    if (++of_kind > 3) return;  // enough is known of it
    std::printf("  %s\n  %s\n", text.c_str(), text_of(desc).c_str());
    if (verdict(options_, desc, seed).first != kind) {
      std::printf("  alone it does not fail so: only after the cases before it\n");
      return;
    }
    std::string words = text;
    const auto began = std::chrono::steady_clock::now();
    const dmlref::OperatorDesc least = shrink(desc, [&](const dmlref::OperatorDesc& next) {
      if (std::chrono::steady_clock::now() - began > most_shrinking) return Answer::enough;
      const auto [next_kind, next_text] = verdict(options_, next, seed);
      if (next_kind != kind) return Answer::no;
      words = next_text;
      return Answer::yes;
    });
    std::printf("  with the least that fails so: %s\n  %s\n", words.c_str(), text_of(least).c_str());
  }
  void summarize() const {
    for (const Record::Count& row : record->strategies) {
      if (row.name[0] == 0) break;
      std::printf("%s: %llu planned, %llu executed\n", row.name, static_cast<unsigned long long>(row.planned),
                  static_cast<unsigned long long>(row.executed));
    }
    for (const auto& [kind, times] : kinds_) std::printf("failed %d times: %s\n", times, kind.c_str());
  }

  Options options_;
  int failures_ = 0;
  std::map<std::string, int> kinds_;
};

[[noreturn]] void usage(const char* wrong) {
  std::fprintf(stderr, "%s\nusage: test_limits [--isa NAME] [--seed N] [--cases N] [--case I] [--operator NAME]\n",
               wrong);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  options.isa = dmlref::test::isa_in_use();
  options.cases = exhaustive() ? 100000 : static_cast<std::uint64_t>(rounds(1000));
  std::optional<std::uint64_t> seed;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (i + 1 == argc) usage("a flag has no value");
    const char* value = argv[i + 1];
    if (flag == "--isa") {
      const auto isa = dmlref::isa_from_name(value);
      if (!isa) usage("--isa names no instruction set");
      options.isa = *isa;
      continue;
    }
    if (flag == "--operator") {
      const auto named = std::find_if(operators.begin(), operators.end(),
                                      [&](const dmlref::OperatorInfo& info) { return info.name == value; });
      if (named == operators.end()) usage("--operator names none");
      options.only_operator = static_cast<std::size_t>(named - operators.begin());
      continue;
    }
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(value, &end, 10);
    if (end == value || *end != 0) usage("a value is no number");
    if (flag == "--seed") {
      seed = number;
    } else if (flag == "--cases") {
      options.cases = number;
    } else if (flag == "--case") {
      options.only = number;
    } else {
      usage("an unknown flag");
    }
  }
  options.seed = seed ? *seed : test_seed();
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string name(to_string(options.isa));
  if (!dmlref::supported(options.isa)) {
    std::printf("skipped: this CPU does not run %s\n", name.c_str());
    return 77;
  }
  if (options.isa == dmlref::Isa::amx_int8 && !dmlref::detail::request_tiles()) {
    std::printf("skipped: this system refuses AMX's tiles\n");
    return 77;
  }
  std::printf("instruction set %s, seed %llu, %llu cases\n", name.c_str(),
              static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(options.cases));
  void* const shared = ::mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    std::perror("mmap");
    return 3;
  }
  record = static_cast<Record*>(shared);
  return Run(options).all() ? 0 : 1;
}
