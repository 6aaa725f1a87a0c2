// portable.cpp: integer convolutions by every instruction set that this CPU has against sums written a second way,
// without a test framework: it is compiled by cross compilers and run in emulators, of CPUs of either byte order.
// Prints what was done; 1 on the first difference.
#include <cstdio>
#include <string>
#include <vector>

#include "dmlref/convolution_integer.hpp"
#include "support/convolution_integer_case.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

bool convolves(Isa isa, const IntegerConvolutionCase& c) {
  const std::vector<InputBuffer> inputs(c.inputs.begin(), c.inputs.end());
  std::vector<std::byte> output = c.output;
  const OutputBuffer outputs[] = {output};
  RunOptions options;
  options.isa = isa;
  return run(c.desc, latest_feature_level, inputs, outputs, options).ok() && output == expected_output(c);
}

}  // namespace

int main() {
  Random random(dmlref_test::test_seed());
  for (const auto& [isa, name] : isa_table) {
    if (!supported(isa)) continue;
    for (int round = 0; round < 200; ++round) {
      const QlcShape shape = random_integer_shape(random);
      if (convolves(isa, make_integer_case(random, shape, QlcData::random, QlcLayout::any))) continue;
      std::printf("%s differs in round %d: %s\n", std::string(name).c_str(), round, describe(shape).c_str());
      return 1;
    }
    std::printf("%s: 200 integer convolutions as expected\n", std::string(name).c_str());
  }
}
