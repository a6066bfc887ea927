#include "store/lookahead.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

void PassLayers(Lookahead& lookahead, int layers) {
  for (int i = 0; i < layers; ++i) {
    lookahead.NextLayer();
  }
}

// Trials of 256 layers, whatever their outcome.
void FailTrial(Lookahead& lookahead) {
  lookahead.Wasted(3, 1'000);
  lookahead.Useful(0, 10);
  PassLayers(lookahead, 256);
}

TEST(Lookahead, GoesOnWhileItPays) {
  Lookahead lookahead(true);
  for (int trial = 0; trial < 50; ++trial) {
    EXPECT_TRUE(lookahead.on());
    lookahead.Useful(0, 100);
    lookahead.Wasted(1, 99);
    PassLayers(lookahead, 256);
  }
  EXPECT_EQ(lookahead.counters().useful[0], 50U);
  EXPECT_EQ(lookahead.counters().wasted[1], 50U);
  EXPECT_EQ(lookahead.counters().saved_bytes, 5'000U);
  EXPECT_EQ(lookahead.counters().lost_bytes, 4'950U);
}

TEST(Lookahead, PausesWhenItDoesNotPayAndTriesAgain) {
  Lookahead lookahead(true);
  FailTrial(lookahead);
  EXPECT_FALSE(lookahead.on());
  PassLayers(lookahead, 1'023);
  EXPECT_FALSE(lookahead.on());
  PassLayers(lookahead, 1);
  EXPECT_TRUE(lookahead.on());
}

TEST(Lookahead, PausesGrowUntilATrialPays) {
  Lookahead lookahead(true);
  const auto pause = [&lookahead] {
    FailTrial(lookahead);
    int layers = 0;
    for (; !lookahead.on(); ++layers) {
      lookahead.NextLayer();
    }
    return layers;
  };
  EXPECT_EQ(pause(), 1'024);
  EXPECT_EQ(pause(), 2'048);
  EXPECT_EQ(pause(), 4'096);
  lookahead.Useful(0, 1);
  PassLayers(lookahead, 256);
  EXPECT_EQ(pause(), 1'024);
  for (int i = 0; i < 20; ++i) {
    pause();
  }
  EXPECT_EQ(pause(), 65'536);
}

TEST(Lookahead, RanksBeyondTheLastCountAsTheLast) {
  Lookahead lookahead(true);
  lookahead.Useful(1'000, 1);
  EXPECT_EQ(lookahead.counters().useful[Lookahead::kRanks - 1], 1U);
}

TEST(Lookahead, SwitchedOffItStaysOff) {
  Lookahead lookahead(false);
  EXPECT_FALSE(lookahead.on());
  PassLayers(lookahead, 100'000);
  EXPECT_FALSE(lookahead.on());
}

}  // namespace
}  // namespace coli
