// targets_unit.cpp: what one DMLREF_TARGETS leaves; linked with the units of all the others.
#include "dmlref/isa/cpu.hpp"
#include "run/targets.hpp"

#define TARGETS_TEXT_IMPL(a) #a
#define TARGETS_TEXT(a) TARGETS_TEXT_IMPL(a)

Targets TARGETS_UNIT() {
  Targets targets;
  targets.code_tag = TARGETS_TEXT(DMLREF_ABI);
  for (const dmlref::IsaName& row : dmlref::isa_table) {
    targets.supported.push_back(dmlref::supported(row.isa));
    targets.names.emplace_back(row.name);
  }
  targets.best = dmlref::to_string(dmlref::best_isa());
  return targets;
}
