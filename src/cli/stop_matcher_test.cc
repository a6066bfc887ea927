#include "cli/stop_matcher.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

// Feeds `text` in pieces of `size` bytes and gives everything that was shown.
std::string Shown(StopMatcher& matcher, std::string_view text, size_t size) {
  std::string shown;
  for (size_t i = 0; i < text.size(); i += size) {
    shown += matcher.Push(text.substr(i, size));
  }
  return shown + matcher.Flush();
}

TEST(StopMatcher, WithoutStopStringsNothingIsHeldBack) {
  StopMatcher matcher({""});

  EXPECT_EQ(matcher.Push("abc"), "abc");
  EXPECT_FALSE(matcher.matched());
}

TEST(StopMatcher, HidesTheStopStringHoweverItIsCut) {
  for (size_t size = 1; size < 12; ++size) {
    StopMatcher matcher({"END", "\n\n"});

    EXPECT_EQ(Shown(matcher, "one ENE END two", size), "one ENE ") << size;
    EXPECT_TRUE(matcher.matched());
  }
}

TEST(StopMatcher, TheEarliestMatchWins) {
  StopMatcher matcher({"cd", "bcde"});

  EXPECT_EQ(matcher.Push("abcdef"), "a");
}

TEST(StopMatcher, HoldsBackOnlyWhatMayBecomeAStopString) {
  StopMatcher matcher({"aab"});

  EXPECT_EQ(matcher.Push("xaa"), "x");
  EXPECT_EQ(matcher.Push("a"), "a");
  EXPECT_EQ(matcher.Push("c"), "aac");
  EXPECT_FALSE(matcher.matched());
}

TEST(StopMatcher, FlushGivesAnUnfinishedPrefix) {
  StopMatcher matcher({"STOP"});

  EXPECT_EQ(Shown(matcher, "a STO", 2), "a STO");
}

TEST(StopMatcher, NothingComesAfterAMatch) {
  StopMatcher matcher({"."});

  EXPECT_EQ(matcher.Push("a.b"), "a");
  EXPECT_EQ(matcher.Push("c"), "");
  EXPECT_EQ(matcher.Flush(), "");
}

}  // namespace
}  // namespace coli
