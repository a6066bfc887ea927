#include "text/letter_case.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

TEST(LowerCase, MapsLettersOfAnyScriptAndKeepsTheRest) {
  EXPECT_EQ(LowerCase("Canberra, 42!"), "canberra, 42!");
  EXPECT_EQ(LowerCase("\u00C4\u00D6\u00DC \u0391\u0416 \u4E2D\U0001F600"),
            "\u00E4\u00F6\u00FC \u03B1\u0436 \u4E2D\U0001F600");
  EXPECT_EQ(LowerCase(""), "");
}

}  // namespace
}  // namespace coli
