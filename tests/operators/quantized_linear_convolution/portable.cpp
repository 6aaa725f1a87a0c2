// portable.cpp: the convolutions of every instruction set that this CPU has against the
// reference, without a test framework: it is compiled by cross compilers and run in emulators, of CPUs of either byte
// order. Prints what was done; 1 on the first difference. An argument is the number of cases.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "support/quantized_linear_convolution_run.hpp"
#include "support/reference_run.cpp"  // the program is one source
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

QlcShape random_shape(Random& random) {
  QlcShape shape;
  do {
    const bool depthwise = chance(random, 30);
    shape.batch = pick(random, 1, 2);
    shape.groups = depthwise ? pick(random, 2, 40) : chance(random, 30) ? pick(random, 2, 5) : 1;
    shape.in_channels = depthwise ? 1 : pick(random, 1, shape.groups > 1 ? 8 : 40);
    shape.out_channels = depthwise ? 1 : pick(random, 1, shape.groups > 1 ? 8 : 40);
    shape.flat = chance(random, 10);
    for (std::size_t d = 0; d < 2; ++d) {
      const bool used = d == 1 || !shape.flat;
      shape.in[d] = used ? pick(random, 1, 20) : 1;
      shape.kernel[d] = used && !chance(random, 30) ? pick(random, 1, 5) : 1;
      shape.stride[d] = used && !chance(random, 60) ? pick(random, 1, 3) : 1;
      shape.dilation[d] = used && !chance(random, 75) ? pick(random, 1, 3) : 1;
      shape.start[d] = used ? pick(random, 0, 3) : 0;
      shape.end[d] = used ? pick(random, 0, 3) : 0;
    }
  } while (!shape.fits());
  return shape;
}

bool check(const detail::Plan& plan, const QlcCase& test, Random& random, const std::string& what) {
  const std::string differs =
      difference(test, run_plan(plan, test, random, sequential(), test.desc.filter.owned_by_dml));
  if (!differs.empty()) std::printf("differs: %s: %s\n", what.c_str(), differs.c_str());
  return differs.empty();
}

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 300;
  constexpr QlcData all[] = {QlcData::random, QlcData::ties, QlcData::extremes, QlcData::random, QlcData::huge_bias};
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any};
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    Random random(dmlref_test::test_seed());
    const std::string name(row.name);
    int direct = 0;
    for (int i = 0; i < cases; ++i) {
      const QlcShape shape = random_shape(random);
      QlcCase test = make_qlc_case(random, shape, all[i % 5], layouts[i % 3]);
      test.desc.filter.owned_by_dml = chance(random, 60);
      if (test.desc.filter.owned_by_dml && chance(random, 50)) own_constants(test.desc);
      const Tuning& tuning = tuning_table[static_cast<std::size_t>(i) % tuning_table.size()];
      const std::string what =
          name + ", " + std::string(tuning.name) + ", case " + std::to_string(i) + ": " + describe(shape);
      const std::shared_ptr<const detail::Plan> chosen = detail::plan(test.desc, row.isa, tuning).plan;
      const std::string_view strategy = chosen->strategy_name();
      if (strategy.starts_with("staged") || strategy.ends_with("in place")) ++direct;
      const fast::qlc::Problem problem = detail::qlc_problem(test.desc);
      const auto tiled = tiled_plan(problem, fast::qlc::kernels_of(row.isa).tiled);
      if (tiled == nullptr) return 1;
      if (!check(*chosen, test, random, "chosen, " + what)) return 1;
      if (!check(*tiled, test, random, "tiled, " + what)) return 1;
    }
    std::printf("%s: %d cases agree, %d of them direct\n", name.c_str(), cases, direct);
  }
  return 0;
}
