#include "measure/measurement.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

TEST(Runs, GiveTheBestAndHowFarATypicalOneIsBelowIt) {
  Runs runs;
  for (const double speed : {8.0, 10.0, 9.0}) {
    runs.Add(speed);
  }

  EXPECT_EQ(runs.count(), 3u);
  EXPECT_EQ(runs.best(), 10.0);
  EXPECT_DOUBLE_EQ(runs.spread(), 0.1);
}

TEST(Runs, TheMedianOfAnEvenNumberLiesBetweenTheMiddleTwo) {
  Runs runs;
  for (const double speed : {10.0, 4.0, 8.0, 6.0}) {
    runs.Add(speed);
  }

  EXPECT_DOUBLE_EQ(runs.spread(), 0.3);
}

TEST(Runs, NoneOrOneHaveNoSpread) {
  Runs runs;
  EXPECT_EQ(runs.best(), 0);
  EXPECT_EQ(runs.spread(), 0);

  runs.Add(5);

  EXPECT_EQ(runs.spread(), 0);
}

TEST(Summarize, TheShareIsTheBestRunOfTheBestLimit) {
  Runs runs;
  Runs limits;
  runs.Add(6);
  runs.Add(8);
  limits.Add(10);
  limits.Add(9);

  const Measurement m =
      Summarize("matvec", {{"rows", uint64_t{1}}}, "GB/s", runs, "memory read", limits);

  EXPECT_EQ(m.value, 8);
  EXPECT_EQ(m.limit, (Limit{"memory read", 10, "GB/s"}));
  EXPECT_DOUBLE_EQ(*m.share_of_limit, 0.8);
  EXPECT_EQ(m.runs, 2u);
  EXPECT_DOUBLE_EQ(m.spread, 0.125);
}

TEST(Summarize, ALimitThatWasNotMeasuredIsNone) {
  Runs runs;
  runs.Add(6);

  const Measurement m = Summarize("decode", {}, "tok/s", runs, "memory read", {});

  EXPECT_FALSE(m.limit);
  EXPECT_FALSE(m.share_of_limit);
}

TEST(ParametersText, NamesAndValuesInTheirOrder) {
  EXPECT_EQ(ParametersText({{"rows", uint64_t{16}}, {"format", "int4-row"}}),
            "rows 16, format int4-row");
  EXPECT_EQ(ParametersText({}), "");
}

}  // namespace
}  // namespace coli
