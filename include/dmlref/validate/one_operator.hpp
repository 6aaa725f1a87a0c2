// one_operator.hpp: validate the desc of one operator.
//
// read() turns a descriptor into facts, reporting what cannot be read; check_facts() of operators/<family>/rules.hpp
// applies the rules. A separate program has them where its kernels are.
#pragma once

#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "dmlref/schema/facts.hpp"
#include "dmlref/schema/schema.hpp"
#include "dmlref/validate/level.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/validate/seam.hpp"

DMLREF_BEGIN
namespace rules {

/// Whether this translation unit has the rules of an operator.
template <class Desc>
concept HasRules = requires(Report& report, FeatureLevel level, Facts<Desc> facts) {
  check_facts(report, level, facts);
};

/// Applies the rules of an operator.
template <class Desc>
void apply_rules(Report& report, FeatureLevel level, Facts<Desc> facts) {
#if DMLREF_HAS_KERNELS
  check_facts(report, level, std::move(facts));
#else
  if constexpr (HasRules<Desc>) {
    check_facts(report, level, std::move(facts));
  } else {
    DMLREF_SEAM(check_facts)(Schema<Desc>::info.type, level, &facts, &report, add_found);
  }
#endif
}

}  // namespace rules

/// All rules that `desc` breaks at `level`; a value that is no level breaks one too. Touches no tensor memory.
template <OneOperatorDesc Desc>
[[nodiscard]] Report validate(const Desc& desc, FeatureLevel level) {
  Report report;
  level = rules::check_level(report, Schema<Desc>::info, level);
  rules::apply_rules(report, level, rules::read(report, desc));
  return report;
}

DMLREF_END
