// unit.cpp: one of several translation units that are compiled with different flags and linked into one program.
// Everything of its own stands in namespaces that no other unit has; only the library's code is shared.
#define outside DMLREF_ODR_PASTE(outside_, DMLREF_ODR_UNIT)
#define DMLREF_ODR_PASTE_IMPL(a, b) a##b
#define DMLREF_ODR_PASTE(a, b) DMLREF_ODR_PASTE_IMPL(a, b)
#define DMLREF_ODR_TEXT_IMPL(a) #a
#define DMLREF_ODR_TEXT(a) DMLREF_ODR_TEXT_IMPL(a)

#include <cstdio>

#include "dmlref/directml.hpp"
#include "odr/units.hpp"
#include "run/directml_case.hpp"

namespace {

/// Every operator, with every instruction set that this CPU has.
bool run_all() {
  bool good = true;
  for (const auto& row : dmlref::isa_table) {
    if (!dmlref::supported(row.isa)) continue;
    for (const auto& c : outside::all_cases()) {
      dmlref::CompileOptions options;
      options.isa = row.isa;
      const dmlref::CompileResult compiled = dmlref::compile(c->desc, DML_FEATURE_LEVEL_6_4, options);
      const dmlref::CompiledOperator& op = compiled.value();
      outside::Memory persistent(static_cast<std::size_t>(op.binding_properties().persistent_bytes));
      outside::Memory temporary(static_cast<std::size_t>(op.binding_properties().temporary_bytes));
      outside::Memory output(c->output->bytes());
      const dmlref::OutputBuffer outputs[] = {output.span()};
      bool same = compiled && op.initialize(c->buffers(true), persistent.span(), temporary.span()) &&
                  op.execute(c->buffers(false), outputs, persistent.span(), temporary.span());
      for (std::size_t i = 0; i < c->expected.size(); ++i) same = same && output.span()[i] == c->expected[i];
      if (!same) std::printf("  wrong: %s with %s\n", c->name.c_str(), row.name.data());
      good = good && same;
    }
  }
  return good;
}

}  // namespace

Unit DMLREF_ODR_PASTE(unit_, DMLREF_ODR_UNIT)() {
  return {DMLREF_ODR_TEXT(DMLREF_ODR_UNIT), DMLREF_ODR_TEXT(DMLREF_ABI), &run_all};
}
