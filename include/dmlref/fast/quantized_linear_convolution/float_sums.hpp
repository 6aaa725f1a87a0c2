// float_sums.hpp: what a kernel's sums are in the end.
#pragma once

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// Floats are those of rounded_sums.hpp: one multiply-add leaves their results in the low halves.
enum class SumsAre { integers, floats };

}  // namespace fast::qlc
DMLREF_END
