// isa_main.cpp: runs the tests under the instruction set that DMLREF_ISA names; exit 77 (skipped) where the CPU lacks
// it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "dmlref/isa/cpu.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* name = std::getenv("DMLREF_ISA")) {
    const auto isa = dmlref::isa_from_name(name);
    if (!isa) {
      std::printf("DMLREF_ISA=%s names no instruction set\n", name);
      return 1;
    }
    if (!dmlref::supported(*isa)) {
      std::printf("skipped: this CPU does not run %s\n", name);
      return 77;
    }
    if (*isa == dmlref::Isa::amx_int8 && !dmlref::detail::request_tiles()) {
      std::printf("skipped: this system refuses AMX's tiles\n");
      return 77;
    }
    std::printf("instruction set: %s\n", name);
  } else if (dmlref::supported(dmlref::Isa::amx_int8)) {
    static_cast<void>(dmlref::detail::request_tiles());  // for tests that run plans themselves
  }
  return RUN_ALL_TESTS();
}
