// portable.cpp: integer convolutions by every instruction set that this CPU has against sums written a second way,
// without a test framework: it is compiled by cross compilers and run in emulators, of CPUs of either byte order.
// Prints what was done; 1 on the first difference.
#include <cstdio>
#include <string>

#include "dmlref/convolution_integer.hpp"
#include "support/convolution_integer_case.hpp"
#include "support/seed.hpp"

int main() {
  using namespace dmlref;
  using namespace dmlref::test;
  Random random(dmlref_test::test_seed());
  for (const auto& [isa, name] : isa_table) {
    if (!supported(isa)) continue;
    for (int round = 0; round < 200; ++round) {
      const QlcShape shape = random_integer_shape(random);
      if (is_right(make_integer_case(random, shape, QlcData::random, QlcLayout::any), isa)) continue;
      std::printf("%s differs in round %d: %s\n", std::string(name).c_str(), round, describe(shape).c_str());
      return 1;
    }
    std::printf("%s: 200 integer convolutions as expected\n", std::string(name).c_str());
  }
}
