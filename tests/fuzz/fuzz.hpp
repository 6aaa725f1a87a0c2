// fuzz.hpp: a fuzz target: libFuzzer calls it with inputs of its own, replay_main.cpp with files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

/// Aborts where a promise is broken.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace dmlref_test {

/// `fault`: what is wrong; empty: nothing.
inline void expect_none(const std::string& fault) {
  if (fault.empty()) return;
  std::fprintf(stderr, "fault: %s\n", fault.c_str());
  std::abort();
}

}  // namespace dmlref_test
