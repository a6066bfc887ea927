#include "measure/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Measurement MatVec(double value, double spread) {
  return {.scenario = "matvec",
          .params = {{"format", "int4-row"}, {"rows", uint64_t{1}}},
          .value = value,
          .unit = "GB/s",
          .limit = Limit{"memory read", 20, "GB/s"},
          .share_of_limit = value / 20,
          .runs = 5,
          .spread = spread};
}

Measurement MemoryRead(double value) {
  return {.scenario = "memory.read",
          .params = {},
          .value = value,
          .unit = "GB/s",
          .limit = {},
          .share_of_limit = {},
          .runs = 3,
          .spread = 0};
}

BenchReport Report(std::vector<Measurement> results) {
  return {{"Some CPU", 2, uint64_t{24} << 30, "avx2", "0.1.0"}, std::move(results)};
}

std::string ErrorOf(std::string_view text) {
  const auto report = ParseReport(text, "a.json");
  return report ? "no error" : report.error().message;
}

// A report with one result, in which `what` is replaced by `with`.
std::string Changed(std::string_view what, std::string_view with) {
  std::string text = ReportJson(Report({MatVec(15, 0.1)}));
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(ReportJson, IsReadBackAsItWas) {
  const BenchReport report = Report({MatVec(15.25, 0.125), MemoryRead(21)});

  const auto read = ParseReport(ReportJson(report), "a.json");

  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->host, report.host);
  EXPECT_EQ(read->results, report.results);
}

TEST(ParseReport, WhatIsNoReportIsRefusedWithThePlace) {
  EXPECT_EQ(ErrorOf("[]"), "a.json: expected an object, found []");
  EXPECT_THAT(ErrorOf("{"), HasSubstr("a.json: byte"));
  EXPECT_EQ(ErrorOf("{}"), "a.json: host: expected an object, found nothing");
  EXPECT_EQ(ErrorOf(Changed("\"cores\":2", "\"cores\":\"two\"")),
            "a.json: host.cores: expected an integer in [0, 4611686018427387904], found \"two\"");
  EXPECT_THAT(ErrorOf(Changed("\"results\"", "\"result\"")),
              HasSubstr("a.json: results: expected an array, found nothing"));
}

TEST(ParseReport, ResultsThatAreNoneAreRefusedWithTheirNumber) {
  EXPECT_THAT(ErrorOf(Changed("\"value\":15.0", "\"value\":0")),
              HasSubstr("a.json: results[0].value: expected"));
  EXPECT_THAT(ErrorOf(Changed("\"value\":15.0", "\"value\":\"fast\"")),
              HasSubstr("found \"fast\""));
  EXPECT_THAT(ErrorOf(Changed("\"spread\":0.1", "\"spread\":-1")),
              HasSubstr("results[0].spread: expected"));
  EXPECT_THAT(ErrorOf(Changed("\"rows\":1", "\"rows\":[1]")),
              HasSubstr("a.json: results[0].params.rows: expected a text or a count, found"));
  EXPECT_THAT(ErrorOf(Changed("\"share_of_limit\":0.75", "\"share_of_limit\":null")),
              HasSubstr("results[0].share_of_limit: expected a number"));
  EXPECT_THAT(ErrorOf(Changed("\"matvec\"", "\"" + std::string(201, 'm') + "\"")),
              HasSubstr("results[0].scenario: expected at most 200 bytes"));
  EXPECT_THAT(ErrorOf(Changed("\"int4-row\"", "\"" + std::string(201, 'm') + "\"")),
              HasSubstr("results[0].params: expected at most 20 parameters of 200 bytes"));
  EXPECT_THAT(ErrorOf(Changed("{\"scenario\"", "1,{\"scenario\"")),
              HasSubstr("a.json: results[0]: expected an object, found 1"));
}

TEST(ReportTable, ShowsShareAndWhatLimits) {
  const std::string table = ReportTable(Report({MatVec(17, 0.02)}), TableStyle::kMarkdown);

  EXPECT_THAT(table, HasSubstr("Some CPU, 2 cores, 24.0 GiB, avx2; colibri 0.1.0\n"));
  EXPECT_THAT(table, HasSubstr("| matvec | format int4-row, rows 1 | 17.0 | GB/s | memory read "
                               "20.0 | 85 % | 5 | 2 % | memory |\n"));
}

TEST(ReportTable, AScenarioIsATableWithWhatDiffersAsColumns) {
  Measurement batch = MatVec(9, 0);
  batch.params.back().second = uint64_t{16};
  batch.limit.reset();
  batch.share_of_limit.reset();
  const std::string table =
      ReportTable(Report({MemoryRead(20), MatVec(17, 0.02), batch}), TableStyle::kText);

  EXPECT_EQ(table,
            "Some CPU, 2 cores, 24.0 GiB, avx2; colibri 0.1.0\n"
            "\n"
            "memory.read\n"
            "    value  limit  share  spread  limited by\n"
            "20.0 GB/s                   0 %\n"
            "\n"
            "matvec: format int4-row\n"
            "rows      value             limit  share  spread  limited by\n"
            "1     17.0 GB/s  memory read 20.0   85 %     2 %  memory\n"
            "16    9.00 GB/s                              0 %\n");
}

TEST(LimitingResource, IsThatOfTheLimitThatIsReached) {
  EXPECT_EQ(LimitingResource(MatVec(19, 0)), "memory");
  Measurement batch = MatVec(19, 0);
  batch.limit->what = kProductsAlone;
  EXPECT_EQ(LimitingResource(batch), "computing");
}

TEST(LimitingResource, IsUnknownFarBelowTheLimitAndWithOthersOrNone) {
  Measurement batch = MatVec(5, 0);
  EXPECT_EQ(LimitingResource(batch), "");
  batch.limit->what = kProductsAlone;
  EXPECT_EQ(LimitingResource(batch), "");
  Measurement disturbed = MatVec(19, 0);
  disturbed.limit->what = "undisturbed";
  EXPECT_EQ(LimitingResource(disturbed), "");
  EXPECT_EQ(LimitingResource(MemoryRead(20)), "");
}

TEST(Compare, MatchesTheSameThingWhateverItsPlace) {
  const BenchReport a = Report({MatVec(10, 0), MemoryRead(20)});
  const BenchReport b = Report({MemoryRead(22), MatVec(11, 0)});

  const ReportComparison comparison = Compare(a, b);

  ASSERT_EQ(comparison.both.size(), 2u);
  EXPECT_DOUBLE_EQ(comparison.both[0].ratio(), 1.1);
  EXPECT_EQ(comparison.both[1].b, b.results.data());
  EXPECT_TRUE(comparison.only_a.empty());
  EXPECT_TRUE(comparison.only_b.empty());
  EXPECT_TRUE(comparison.host_differences.empty());
}

TEST(Compare, OtherParametersAreAnotherThing) {
  Measurement batch = MatVec(10, 0);
  batch.params.back().second = uint64_t{16};
  const BenchReport a = Report({MatVec(10, 0)});
  const BenchReport b = Report({batch});

  const ReportComparison comparison = Compare(a, b);

  EXPECT_TRUE(comparison.both.empty());
  EXPECT_THAT(comparison.only_a, ElementsAre(a.results.data()));
  EXPECT_THAT(comparison.only_b, ElementsAre(b.results.data()));
  EXPECT_THAT(ComparisonTable(comparison, TableStyle::kText), HasSubstr("only in B"));
}

TEST(Compare, ADifferenceBelowTheLargerSpreadIsSaidToBeOne) {
  const BenchReport a = Report({MatVec(10, 0.08)});
  const BenchReport within = Report({MatVec(10.7, 0.01)});
  const BenchReport beyond = Report({MatVec(10.9, 0.01)});

  EXPECT_TRUE(Compare(a, within).both[0].within_spread());
  EXPECT_FALSE(Compare(a, beyond).both[0].within_spread());
  EXPECT_THAT(ComparisonTable(Compare(a, within), TableStyle::kText),
              HasSubstr("1.070  within the spread\n"));
  EXPECT_THAT(ComparisonTable(Compare(a, beyond), TableStyle::kText), HasSubstr("1.090\n"));
}

TEST(Compare, AFewRunsTellNothing) {
  const BenchReport a = Report({MatVec(10, 0)});
  BenchReport b = Report({MatVec(20, 0)});
  b.results[0].runs = 2;

  EXPECT_THAT(ComparisonTable(Compare(a, b), TableStyle::kText),
              HasSubstr("2.000  too few runs to tell\n"));
}

TEST(Compare, TheSameThingTwiceIsMatchedInOrder) {
  const BenchReport a = Report({MemoryRead(10), MemoryRead(20)});
  const BenchReport b = Report({MemoryRead(11), MemoryRead(22), MemoryRead(33)});

  const ReportComparison comparison = Compare(a, b);

  ASSERT_EQ(comparison.both.size(), 2u);
  EXPECT_EQ(comparison.both[0].b, &b.results[0]);
  EXPECT_EQ(comparison.both[1].b, &b.results[1]);
  EXPECT_THAT(comparison.only_b, ElementsAre(&b.results[2]));
}

TEST(Compare, NamesWhatDiffersBetweenTheHosts) {
  const BenchReport a = Report({});
  BenchReport b = Report({});
  b.host.cpu = "Other CPU";
  b.host.cores = 8;
  b.host.version = "9";

  EXPECT_THAT(Compare(a, b).host_differences,
              ElementsAre("cpu: Some CPU and Other CPU", "cores: 2 and 8"));
}

}  // namespace
}  // namespace coli
