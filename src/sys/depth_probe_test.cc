#include "sys/depth_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <semaphore>
#include <thread>

#include "sys/io_threads.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;

TEST(ChooseDepth, TakesTheLargestOfThoseThatAreAboutTheBest) {
  using Speeds = std::vector<DepthSpeed>;
  EXPECT_EQ(ChooseDepth(Speeds{{1, 100}, {2, 180}, {4, 196}, {8, 200}, {16, 181}}), 16U);
  EXPECT_EQ(ChooseDepth(Speeds{{1, 100}, {2, 180}, {4, 193}, {8, 200}, {16, 179}}), 8U);
  EXPECT_EQ(ChooseDepth(Speeds{{1, 200}, {2, 100}}), 1U) << "a disk that has to seek";
  EXPECT_EQ(ChooseDepth(Speeds{{16, 199}, {8, 200}}), 16U) << "in any order";
  EXPECT_EQ(ChooseDepth(Speeds{{4, 0}}), 4U);
}

class MeasureDepthsTest : public ::testing::Test {
 protected:
  // A file of so many pieces and a bit.
  const File* Write(size_t pieces) {
    WriteFile(directory_ / "f", PatternBytes(pieces * DepthProbe::kPieceBytes + 5, 1));
    file_.emplace(File::OpenRead(directory_ / "f").value());
    return &*file_;
  }
  static MakeEngineOfDepth ThreadsThat(DescriptorRead read) {
    return [read](size_t depth) -> Result<std::unique_ptr<IoEngine>> {
      return MakeIoThreads(IoThreadsOptions{.threads = depth, .read = read});
    };
  }

  TempDirectory directory_;
  std::optional<File> file_;
};

// A drive that takes 2 ms for each read and four of them at a time.
TEST_F(MeasureDepthsTest, ADeeperQueueIsFasterUpToWhatTheDriveTakes) {
  const File* file = Write(20);
  std::counting_semaphore<4> drive(4);
  const auto make = ThreadsThat([&](int, std::span<std::byte> destination, uint64_t) {
    drive.acquire();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    drive.release();
    return std::ssize(destination);
  });

  const auto speeds = MeasureDepths({{file}}, make, {.time = std::chrono::milliseconds(300)});

  ASSERT_TRUE(speeds);
  ASSERT_EQ(speeds->size(), std::size(DepthProbe::kDepths));
  const auto speed = [&](size_t i) { return speeds->at(i).bytes_per_second; };
  EXPECT_LT(speed(0), 1.1 * DepthProbe::kPieceBytes / 0.002);
  EXPECT_GT(speed(2), 1.5 * speed(0));
  EXPECT_LT(speed(4), 4.4 * DepthProbe::kPieceBytes / 0.002);
}

TEST_F(MeasureDepthsTest, AShortFileTellsNothing) {
  const File* file = Write(1);
  const auto speeds = MeasureDepths({{file}}, ThreadsThat(ReadDescriptor), {});

  ASSERT_TRUE(speeds);
  EXPECT_TRUE(speeds->empty());
}

TEST_F(MeasureDepthsTest, AReadThatFailsIsAnError) {
  const File* file = Write(20);
  const auto make =
      ThreadsThat([](int, std::span<std::byte>, uint64_t) -> ssize_t { return -EIO; });

  const auto speeds = MeasureDepths({{file}}, make, {});

  ASSERT_FALSE(speeds);
  EXPECT_THAT(speeds.error().message, ::testing::HasSubstr("Input/output error"));
}

}  // namespace
}  // namespace coli
