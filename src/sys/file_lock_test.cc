#include "sys/file_lock.h"

#include <gtest/gtest.h>

#include <optional>

#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

TEST(FileLock, OneHolderMayTakeItAlone) {
  const testing::TempDirectory directory;
  std::optional<FileLock> first = FileLock::Share(directory / "lock").value();
  std::optional<FileLock> second = FileLock::Share(directory / "lock").value();
  EXPECT_FALSE(first->TakeAlone());
  EXPECT_FALSE(second->TakeAlone());

  second.reset();

  EXPECT_TRUE(first->TakeAlone());
}

TEST(FileLock, WhoComesLaterWaitsAndGivesUp) {
  const testing::TempDirectory directory;
  std::optional<FileLock> first = FileLock::Share(directory / "lock").value();
  ASSERT_TRUE(first->TakeAlone());

  const auto second = FileLock::Share(directory / "lock");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another process keeps it locked"), std::string::npos);

  first.reset();
  EXPECT_TRUE(FileLock::Share(directory / "lock"));
}

TEST(FileLock, AFolderThatIsNotThereIsAnError) {
  const testing::TempDirectory directory;
  EXPECT_EQ(FileLock::Share(directory / "no" / "lock").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace coli
