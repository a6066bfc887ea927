#include "kernels/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/format.h"

namespace coli {
namespace {

TEST(Dispatch, AutoIsTheBestThatRunsHere) {
  const Result<const KernelTable*> chosen = SelectKernels("auto");

  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(*chosen, AvailableKernels().back());
}

TEST(Dispatch, ScalarIsAlwaysThereAndFirst) {
  ASSERT_FALSE(AvailableKernels().empty());
  EXPECT_EQ(AvailableKernels().front()->name, "scalar");
  EXPECT_EQ(AvailableKernels().front()->isa, Isa::kScalar);
}

TEST(Dispatch, AForcedInstructionSetIsTheOneThatRuns) {
  for (const KernelTable* table : AvailableKernels()) {
    EXPECT_EQ(*SelectKernels(table->name), table);
  }
  if (AvailableKernels().size() > 1) {
    const Format int4{FormatId::kInt4Row};
    EXPECT_NE(AvailableKernels().front()->For(int4).multiply,
              AvailableKernels().back()->For(int4).multiply);
  }
}

TEST(Dispatch, UnknownNameIsAnErrorThatListsWhatThereIs) {
  const Result<const KernelTable*> chosen = SelectKernels("sse9");

  ASSERT_FALSE(chosen.has_value());
  EXPECT_EQ(chosen.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(chosen.error().message, ::testing::HasSubstr("sse9"));
  EXPECT_THAT(chosen.error().message, ::testing::HasSubstr("auto, scalar"));
}

TEST(Dispatch, EveryTableIsComplete) {
  for (const KernelTable* table : AvailableKernels()) {
    for (const FormatInfo& info : AllFormats()) {
      const MatrixKernels& kernels = table->For({info.id, info.grouped ? 64U : 0U});
      EXPECT_NE(kernels.prepared_bytes, nullptr) << table->name << " " << info.name;
      EXPECT_NE(kernels.prepare, nullptr);
      EXPECT_NE(kernels.multiply, nullptr);
      EXPECT_NE(kernels.multiply_transposed, nullptr);
    }
    EXPECT_NE(table->vector.dot, nullptr);
    EXPECT_NE(table->vector.rotate_pairs, nullptr);
  }
}

}  // namespace
}  // namespace coli
