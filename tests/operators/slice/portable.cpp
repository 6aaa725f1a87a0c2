// portable.cpp: the fast slice of every instruction set that this CPU has against the formulas' bytes, without a
// test framework: it is compiled by cross compilers and run in emulators, of CPUs of either byte order. Prints what was
// done; 1 on the first difference.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <variant>

#include "support/guarded_buffer.hpp"
#include "support/seed.hpp"
#include "support/slice_cases.hpp"

namespace {

using namespace dmlref;
using dmlref_test::GuardedBuffer;

bool check(const dmlref_test::SliceCase& it, Isa isa) {
  CompileOptions options;
  options.isa = isa;
  // By the desc of one operator, so that the program holds the kernels of slices only.
  const auto* slice = std::get_if<SliceDesc>(&it.desc);
  const CompileResult compiled = slice != nullptr
                                     ? compile(*slice, latest_feature_level, options)
                                     : compile(std::get<Slice1Desc>(it.desc), latest_feature_level, options);
  if (!compiled) {
    std::printf("%s\n", compiled.report().to_string().c_str());
    return false;
  }
  for (const auto side : {GuardedBuffer::Side::end, GuardedBuffer::Side::begin}) {
    const GuardedBuffer from(it.input.size(), side), to(it.before.size(), side);
    std::memcpy(from.data(), it.input.data(), it.input.size());
    std::memcpy(to.data(), it.before.data(), it.before.size());
    const InputBuffer in(from.span());
    const OutputBuffer out(to.span());
    if (!compiled.value().execute({&in, 1}, {&out, 1}, {}, {})) return false;
    if (dmlref_test::first_difference(to.span(), it.expected) != it.expected.size()) return false;
  }
  return true;
}

}  // namespace

int main() {
  std::mt19937_64 random(dmlref_test::test_seed());
  for (const auto& [isa, name] : isa_table) {
    if (!supported(isa)) continue;
    int cases = 0;
    for (std::size_t rank = 1; rank <= 8; ++rank) {
      for (const std::size_t size : {1u, 2u, 4u, 8u}) {
        for (int round = 0; round < 40; ++round, ++cases) {
          dmlref_test::SliceLimits limits;
          limits.rank = rank;
          limits.element_size = size;
          limits.elements = round % 4 == 0 ? 20000 : 1500;
          const auto it = dmlref_test::random_slice(random, limits);
          if (check(it, isa)) continue;
          std::printf("differs: %s\n", describe(it).c_str());
          return 1;
        }
      }
    }
    std::printf("%s: %d cases agree\n", std::string(name).c_str(), cases);
  }
  return 0;
}
