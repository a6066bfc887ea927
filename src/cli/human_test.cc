#include "cli/human.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

TEST(FormatBytes, KeepsThreeDigits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(11'744'051), "11.2 MiB");
  EXPECT_EQ(FormatBytes(uint64_t{370} << 30), "370 GiB");
  EXPECT_EQ(FormatBytes((uint64_t{1} << 30) - 1), "1.00 GiB");
}

TEST(FormatDuration, ChangesUnitWithTheSize) {
  EXPECT_EQ(FormatDuration(0), "0 s");
  EXPECT_EQ(FormatDuration(-1), "0 s");
  EXPECT_EQ(FormatDuration(0.214), "0.21 s");
  EXPECT_EQ(FormatDuration(12.4), "12 s");
  EXPECT_EQ(FormatDuration(59.7), "1 min 00 s");
  EXPECT_EQ(FormatDuration(200), "3 min 20 s");
  EXPECT_EQ(FormatDuration(7505), "2 h 05 min");
}

TEST(FormatRate, ReadsWellForSlowMachines) {
  EXPECT_EQ(FormatRate(70, 2), "35.0 tok/s");
  EXPECT_EQ(FormatRate(1, 24), "0.042 tok/s");
  EXPECT_EQ(FormatRate(5, 0), "- tok/s");
}

TEST(ParseBytes, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(ParseBytes("20G").value(), uint64_t{20} << 30);
  EXPECT_EQ(ParseBytes("20GiB").value(), uint64_t{20} << 30);
  EXPECT_EQ(ParseBytes("20 GB").value(), uint64_t{20'000'000'000});
  EXPECT_EQ(ParseBytes("1.5m").value(), uint64_t{3} << 19);
  EXPECT_EQ(ParseBytes("4096").value(), 4096u);
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* text :
       {"", "G", "twenty", "20X", "-1G", "1e3", "nan", "inf", "20G x", "99999999T"}) {
    EXPECT_FALSE(ParseBytes(text)) << text;
  }
}

TEST(NearestName, FindsTyposOnly) {
  const std::initializer_list<std::string_view> names = {"threads", "temp", "top-k"};

  EXPECT_EQ(NearestName("thread", names), "threads");
  EXPECT_EQ(NearestName("tmep", names), "temp");
  EXPECT_EQ(NearestName("banana", names), "");
}

}  // namespace
}  // namespace coli
