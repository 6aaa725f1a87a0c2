// targets.hpp: what a translation unit with some DMLREF_TARGETS tells about itself.
#pragma once

#include <string>
#include <vector>

struct Targets {
  std::string code_tag;
  std::vector<std::string> names;  // in the order of isa_table
  std::vector<bool> supported;
  std::string best;
};

Targets targets_all();
Targets targets_scalar();
Targets targets_avx2();
Targets targets_avxvnni();
Targets targets_avx512vnni();
Targets targets_amx_int8();
Targets targets_neon();
Targets targets_neon_dotprod();
