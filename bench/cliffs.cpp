// cliffs.cpp: how much longer an operator takes on adversarial data than on random data: interleaved, on one thread
// or more. bench/cliffs makes a page of it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "support/cliffs.hpp"
#include "support/clock.hpp"
#include "support/ours.hpp"
#include "support/threads.hpp"

namespace bench {
namespace {

constexpr const char* help = R"(bench_cliffs [REGEX] [OPTION…]: cases whose operator/workload/data matches
  --isa=NAME     one instruction set (default: the best of this CPU)
  --threads=N    default 1
  --budget=MS    time per case (default 100); a run that takes longer is run once
  --json=FILE    the rows
  --tiny         the self-test's cases instead
  --list         names of the cases
)";

/// One operator that is ready to run, and the least time it took.
class Timed {
 public:
  Timed(Subject subject, dmlref::Isa isa, const std::shared_ptr<dmlref::Executor>& executor)
      : subject_(std::move(subject)),
        ours_(subject_.desc, isa, spans(subject_.inputs), subject_.output_bytes, executor) {}

  const std::string& fault() const { return ours_.fault(); }
  std::string strategy() const { return ours_.strategy(); }
  double best() const { return best_; }
  /// `alone`: on this thread, whose own clock runs; other programs do not count then.
  double run(bool alone) {
    const double start = alone ? thread_now() : now();
    ours_.execute();
    const double took = (alone ? thread_now() : now()) - start;
    best_ = std::min(best_, took);
    return took;
  }

 private:
  static std::vector<std::span<const std::byte>> spans(const std::vector<Memory>& inputs) {
    std::vector<std::span<const std::byte>> all;
    for (const Memory& input : inputs) {
      all.push_back(input.size() == 0 ? std::span<const std::byte>{}
                                      : std::span<const std::byte>{input.data(), (input.size() + 3) / 4 * 4});
    }
    return all;
  }

  Subject subject_;
  Ours ours_;
  double best_ = std::numeric_limits<double>::infinity();
};

struct Options {
  std::string filter = ".*", json, isa;
  double budget = 0.1;
  unsigned threads = 1;
  bool tiny = false, list = false;
};

int run(const std::vector<Cliff>& cliffs, const Options& options) {
  const dmlref::Isa isa = dmlref::isa_from_name(options.isa).value_or(supported_isas().back());
  if (options.threads == 1) pin_caller();
  const auto executor = make_executor(options.threads);
  nlohmann::json rows = nlohmann::json::array();
  int faults = 0;
  for (const Cliff& cliff : cliffs) {
    Timed random(cliff.random(), isa, executor);
    Timed adversarial(cliff.adversarial(), isa, executor);
    if (!random.fault().empty() || !adversarial.fault().empty()) {
      std::printf("%s/%s: %s\n", cliff.op.c_str(), cliff.workload.c_str(),
                  (random.fault() + adversarial.fault()).c_str());
      ++faults;
      continue;
    }
    double spent = 0;
    for (int turn = 0; turn < 3 || (spent < options.budget && turn < 1000); ++turn) {
      spent += random.run(options.threads == 1) + adversarial.run(options.threads == 1);
      if (options.tiny || spent > 10 * options.budget) break;
    }
    const double ratio = adversarial.best() / random.best();
    std::printf("%-8s %-44s %-44s %-16s %10.1f us %12.1f us  x%.2f\n", cliff.op.c_str(), cliff.workload.c_str(),
                cliff.data.c_str(), random.strategy().c_str(), random.best() * 1e6, adversarial.best() * 1e6, ratio);
    std::fflush(stdout);
    rows.push_back({{"operator", cliff.op},
                    {"workload", cliff.workload},
                    {"data", cliff.data},
                    {"strategy", random.strategy()},
                    {"random_us", random.best() * 1e6},
                    {"adversarial_us", adversarial.best() * 1e6}});
  }
  if (!options.json.empty()) {
    std::ofstream(options.json) << nlohmann::json{{"isa", to_string(isa)}, {"threads", options.threads}, {"rows", rows}}
                                << '\n';
  }
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::size_t equals = arg.find('=');
    const std::string key = arg.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : arg.substr(equals + 1);
    if (key == "--isa") {
      options.isa = value;
    } else if (key == "--threads") {
      options.threads = static_cast<unsigned>(std::max(1, std::atoi(value.c_str())));
    } else if (key == "--budget") {
      options.budget = std::atof(value.c_str()) * 1e-3;
    } else if (key == "--json") {
      options.json = value;
    } else if (key == "--tiny") {
      options.tiny = true;
    } else if (key == "--list") {
      options.list = true;
    } else if (key.rfind("--", 0) == 0) {
      std::fputs(bench::help, key == "--help" ? stdout : stderr);
      return key == "--help" ? 0 : 2;
    } else {
      options.filter = arg;
    }
  }
  std::vector<bench::Cliff> all, chosen;
  bench::add_normalization_cliffs(all);
  bench::add_convolution_cliffs(all);
  bench::add_slice_cliffs(all);
  bench::add_quantize_linear_cliffs(all);
  bench::add_matrix_multiply_cliffs(all);
  bench::add_convolution_integer_cliffs(all);
  const std::regex filter(options.filter);
  for (bench::Cliff& cliff : all) {
    const std::string name = cliff.op + "/" + cliff.workload + "/" + cliff.data;
    if (cliff.tiny != options.tiny || !std::regex_search(name, filter)) continue;
    if (options.list) std::printf("%s\n", name.c_str());
    chosen.push_back(std::move(cliff));
  }
  return options.list ? 0 : bench::run(chosen, options);
}
