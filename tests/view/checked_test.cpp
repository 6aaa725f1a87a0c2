// checked_test.cpp: a checked unit tells its handler, or traps; an unchecked one in the same program does neither.
#include "view/checked.hpp"

#include <gtest/gtest.h>

namespace {

constexpr Broken all[] = {Broken::element,   Broken::element_rank, Broken::layout, Broken::flip,
                          Broken::broadcast, Broken::entry,        Broken::erase};

TEST(Checked, TellsTheHandlerWhatIsBroken) {
  EXPECT_EQ(checked::what_is_told(Broken::nothing), nullptr);
  for (const Broken broken : all) EXPECT_NE(checked::what_is_told(broken), nullptr) << static_cast<int>(broken);
  EXPECT_STREQ(checked::what_is_told(Broken::broadcast), "TensorView::broadcast_to");
}

TEST(Checked, TrapsWithoutAHandler) {
  for (const Broken broken : all) EXPECT_DEATH(checked::what_is_told(broken, true), "");
}

TEST(Checked, UncheckedUnitsOfTheSameProgramStayUnchecked) {
  for (const Broken broken : all) {
    EXPECT_EQ(unchecked::what_is_told(broken, true), nullptr);
    EXPECT_EQ(unchecked::what_is_told(broken), nullptr);
  }
  EXPECT_STRNE(checked::tag(), unchecked::tag());
}

}  // namespace
