// DMLREF_TARGETS: what is left out is not supported, and units that leave out different sets share no code.
#include "run/targets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace {

const std::vector<std::string> x86{"scalar", "avx2", "avxvnni", "avx512vnni", "amx_int8"};
const std::vector<std::string> arm{"scalar", "neon", "neon_dotprod"};
#if defined(__x86_64__)
const std::vector<std::string>& ours = x86;
#else
const std::vector<std::string>& ours = arm;
#endif

struct Named {
  std::string name;
  Targets targets;
};
const std::vector<Named> units{{"scalar", targets_scalar()},
                               {"avx2", targets_avx2()},
                               {"avxvnni", targets_avxvnni()},
                               {"avx512vnni", targets_avx512vnni()},
                               {"amx_int8", targets_amx_int8()},
                               {"neon", targets_neon()},
                               {"neon_dotprod", targets_neon_dotprod()}};

TEST(Targets, LeaveOutWhatIsAboveTheName) {
  const Targets all = targets_all();
  for (const Named& unit : units) {
    const auto most = std::find(ours.begin(), ours.end(), unit.name);
    for (std::size_t i = 0; i < all.names.size(); ++i) {
      const auto at = std::find(ours.begin(), ours.end(), all.names[i]);
      const bool left_out = most != ours.end() && at != ours.end() && at > most;
      EXPECT_EQ(unit.targets.supported[i], all.supported[i] && !left_out) << unit.name << ": " << all.names[i];
    }
  }
}

TEST(Targets, BestIsTheHighestThatIsLeft) {
  for (const Named& unit : units) {
    std::string best;
    for (std::size_t i = 0; i < unit.targets.names.size(); ++i) {
      if (unit.targets.supported[i]) best = unit.targets.names[i];
    }
    EXPECT_EQ(unit.targets.best, best) << unit.name;
  }
}

TEST(Targets, ArePartOfTheCodeTag) {
  std::set<std::string> tags{targets_all().code_tag};
  for (const Named& unit : units) tags.insert(unit.targets.code_tag);
  EXPECT_EQ(tags.size(), units.size() + 1);
}

}  // namespace
