// case.hpp: what a benchmark case is: a problem with known right answers, and the runners that may solve it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// How far one result is from the right answers.
struct Outcome {
  std::uint64_t wrong = 0;       ///< outputs beyond what the operator allows: not equal, or further than one ulp
  std::uint64_t outputs = 0;     ///< outputs compared
  double worst = 0;              ///< largest distance: units of the output (integers), ulps at max(|right|, 1) (floats)
  std::uint64_t not_finite = 0;  ///< NaN or infinity where the right answer is finite
};

/// One implementation made ready for one case.
struct Runner {
  std::string who;                   ///< "dmlref", "oneDNN", …
  std::string how;                   ///< the primitive, layout or instruction set
  bool rival = true;                 ///< reads and writes the case's own layout, so it counts for the best peer
  std::function<void()> run;         ///< computes the whole output once
  std::function<Outcome()> compare;  ///< compares the output of the last run with the right answers
};

/// A peer that does not take a case, and why.
struct Refusal {
  std::string who;
  std::string why;
};

struct Runners {
  std::vector<Runner> ready;
  std::vector<Refusal> refused;
};

}  // namespace bench
