// exact_quotient.hpp: an accumulator times two scales over a third, without rounding, and how it rounds.
#pragma once

#include <cstdint>
#include <string>

namespace dmlref::tool {

struct ExactQuotient {
  std::string fraction;      ///< "-119/100" in lowest terms; "0", "infinite", "undefined" where that is what it is
  std::string decimal;       ///< 20 digits after the point, "..." where there are more; "inf", "-inf", "nan"
  bool tie = false;          ///< exactly between two integers
  std::string integer;       ///< rounded, half to even, in full; "inf", "-inf"; "0" of NaN
  std::int64_t rounded = 0;  ///< the same, but no further from 0 than 2^40, which no output type reaches
};

/// accumulator * input_scale * filter_scale / output_scale. Scales that are 0, infinite or NaN count as the library
/// defines it: see RequantizeScale.
ExactQuotient exact_quotient(std::int64_t accumulator, float input_scale, float filter_scale, float output_scale);

}  // namespace dmlref::tool
