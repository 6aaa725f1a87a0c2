// validate.hpp: may we, at this level: every rule for every operator.
//
// read() turns a descriptor into facts, reporting what cannot be read; check() applies the rules. A program that
// validates the desc of one operator holds that operator's rules alone (rules/<operator>.hpp).
#pragma once

#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/rules/mean_variance_normalization.hpp"
#include "dmlref/rules/quantized_linear_convolution.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/rules/slice.hpp"

DMLREF_BEGIN

/// All rules that `desc` breaks at `level`; a value that is no level breaks one too. Touches no tensor memory.
inline Report validate(const OperatorDesc& desc, FeatureLevel level) {
  return std::visit([&](const auto& d) { return validate(d, level); }, desc);
}

DMLREF_END
