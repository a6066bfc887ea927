#include "tensor/format_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coli {
namespace {

TEST(FormatName, NamesTheGroup) {
  EXPECT_EQ(FormatName({FormatId::kBf16}), "bf16");
  EXPECT_EQ(FormatName({FormatId::kInt8Row}), "int8-row");
  EXPECT_EQ(FormatName({FormatId::kInt4Grouped, 64}), "int4-g64");
}

TEST(FormatName, ReadsWhatItWrites) {
  for (const Format format :
       {Format{FormatId::kF32}, Format{FormatId::kF16}, Format{FormatId::kInt4Row},
        Format{FormatId::kInt4Grouped, 16}, Format{FormatId::kInt4Grouped, 256}}) {
    EXPECT_EQ(ParseFormat(FormatName(format)), format);
    EXPECT_THAT(FormatNames(), ::testing::HasSubstr(FormatName(format)));
  }
}

TEST(FormatName, OtherNamesMeanNothing) {
  for (const char* name :
       {"", "keep", "int4", "int4-grouped", "int4-g", "int4-g65", "int4-g064", "f32 ", "F32"}) {
    EXPECT_FALSE(ParseFormat(name)) << name;
  }
}

}  // namespace
}  // namespace coli
