// isa_in_use.hpp: the instruction set that a test is about.
#pragma once

#include <cstdlib>

#include "dmlref/isa/cpu.hpp"

namespace dmlref::test {

/// What DMLREF_ISA names, else the best of this CPU.
inline Isa isa_in_use() {
  const char* name = std::getenv("DMLREF_ISA");
  return name != nullptr ? isa_from_name(name).value_or(Isa::scalar) : best_isa();
}

}  // namespace dmlref::test
