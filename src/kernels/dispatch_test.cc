#include "kernels/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/testing/tested_kernels.h"
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
}

// Also of the sets that build on another one: their products are not those of the other.
TEST(Dispatch, EveryInstructionSetHasIntegerProductsOfItsOwn) {
  std::vector<const KernelTable*> tables = testing::TestedKernels();
  tables.push_back(AvailableKernels().front());
  for (const FormatId id : {FormatId::kInt8Row, FormatId::kInt4Row, FormatId::kInt4Grouped}) {
    std::map<decltype(MatrixKernels::multiply), std::string_view> owner;
    for (const KernelTable* table : tables) {
      const auto [other, is_new] =
          owner.emplace(table->matrix[static_cast<size_t>(id)].multiply, table->name);
      EXPECT_TRUE(is_new) << table->name << " has those of " << other->second;
    }
  }
}

TEST(Dispatch, EveryKnownInstructionSetIsChosenOrNamedAsLacking) {
  for (const std::string name : {
#define COLI_ISA(id, name, ...) name,
#include "kernels/isas.def"
#undef COLI_ISA
       }) {
    const Result<const KernelTable*> chosen = SelectKernels(name);

    if (chosen.has_value()) {
      EXPECT_EQ((*chosen)->name, name);
    } else {
      EXPECT_EQ(chosen.error().code, ErrorCode::kUnsupported);
      EXPECT_THAT(chosen.error().message, ::testing::HasSubstr("'" + name + "'"));
      EXPECT_THAT(chosen.error().message, ::testing::HasSubstr("auto, scalar"));
    }
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
