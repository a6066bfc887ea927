#include "sys/drives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <latch>
#include <thread>

#include "sys/io_threads.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};  // more than any read takes

TEST(ChooseDrive, TakesTheOneThatIsExpectedToEndFirst) {
  const DriveLoad idle_slow{0, 0, 1e9};
  const DriveLoad busy_fast{1, 3'000'000, 4e9};
  const DriveLoad busier_fast{1, 3'000'001, 4e9};

  EXPECT_EQ(ChooseDrive(std::vector{idle_slow, busy_fast}, 1'000'000), 0U)
      << "1 ms each: the first";
  EXPECT_EQ(ChooseDrive(std::vector{busy_fast, idle_slow}, 1'000'000), 1U);
  EXPECT_EQ(ChooseDrive(std::vector{busier_fast, idle_slow}, 1'000'000), 0U);
  EXPECT_EQ(ChooseDrive(std::vector{idle_slow, busy_fast}, 2'000'000), 1U);
}

class DrivesTest : public ::testing::Test {
 protected:
  static constexpr size_t kPiece = 10'000;
  static constexpr size_t kPieces = 60;

  DrivesTest() {
    for (const char* name : {"first", "copy", "other"}) {
      WriteFile(directory_ / name, content_);
      files_.push_back(std::make_unique<File>(File::OpenRead(directory_ / name).value()));
    }
  }

  // An engine that makes one read at a time, each as `read` says.
  static std::unique_ptr<IoEngine> Engine(DescriptorRead read) {
    return MakeIoThreads(IoThreadsOptions{.threads = 1, .read = std::move(read)});
  }
  // A read takes so long, and counts.
  static DescriptorRead Slow(milliseconds time, std::atomic<int>& count) {
    return [time, &count](int descriptor, std::span<std::byte> destination, uint64_t offset) {
      std::this_thread::sleep_for(time);
      ++count;
      return ReadDescriptor(descriptor, destination, offset);
    };
  }
  Mirror Copy(DescriptorRead read) const {
    return {"mirror", Engine(std::move(read)), {{files_[0].get(), files_[1].get()}}};
  }
  std::unique_ptr<IoEngine> Make(DescriptorRead first, DescriptorRead copy) {
    std::vector<Mirror> mirrors;
    mirrors.push_back(Copy(std::move(copy)));
    return MakeDrives(Engine(std::move(first)), std::move(mirrors),
                      [this](const std::string& line) { lines_.push_back(line); });
  }
  void SubmitAll(IoEngine& io) {
    bytes_.assign(content_.size(), std::byte{0});
    for (size_t i = 0; i < kPieces; ++i) {
      io.Submit({files_[0].get(), i * kPiece, std::span(bytes_).subspan(i * kPiece, kPiece), i});
    }
  }
  // All succeed, each once.
  static void AwaitAll(IoEngine& io) {
    std::vector<int> seen(kPieces, 0);
    while (io.in_flight() > 0) {
      const ReadCompletion done = io.Wait(kPatience).value();
      EXPECT_TRUE(done.status) << done.status.error().message;
      ++seen.at(done.tag);
    }
    EXPECT_THAT(seen, ::testing::Each(1));
  }

  TempDirectory directory_;
  std::vector<std::byte> content_ = PatternBytes(kPieces * kPiece, 1);
  std::vector<std::unique_ptr<File>> files_;
  std::vector<std::byte> bytes_;
  std::vector<std::string> lines_;
  std::atomic<int> on_first_ = 0;
  std::atomic<int> on_copy_ = 0;
};

TEST_F(DrivesTest, EqualDrivesShareTheReads) {
  const auto io = Make(Slow(milliseconds(1), on_first_), Slow(milliseconds(1), on_copy_));

  SubmitAll(*io);
  AwaitAll(*io);

  EXPECT_EQ(bytes_, content_);
  EXPECT_EQ(on_first_ + on_copy_, static_cast<int>(kPieces));
  EXPECT_GE(on_first_, 20);
  EXPECT_GE(on_copy_, 20);
  EXPECT_EQ(io->stats().bytes, content_.size());
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(DrivesTest, ASlowDriveGetsFewReadsOnceItIsKnownToBeSlow) {
  const auto io = Make(Slow(milliseconds(1), on_first_), Slow(milliseconds(20), on_copy_));
  SubmitAll(*io);
  AwaitAll(*io);
  on_first_ = on_copy_ = 0;

  SubmitAll(*io);
  AwaitAll(*io);

  EXPECT_EQ(bytes_, content_);
  EXPECT_GT(on_copy_, 0);
  EXPECT_LT(on_copy_, 15);
}

TEST_F(DrivesTest, AMirrorThatFailsIsDroppedWithOneLineAndItsReadsAreRepeated) {
  std::atomic<int> good = 5;
  const auto io =
      Make(ReadDescriptor,
           [&](int descriptor, std::span<std::byte> destination, uint64_t offset) -> ssize_t {
             return good-- > 0 ? ReadDescriptor(descriptor, destination, offset) : -EIO;
           });

  SubmitAll(*io);
  AwaitAll(*io);

  EXPECT_EQ(bytes_, content_);
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("mirror is not read any more"), HasSubstr("copy"),
                                        HasSubstr("Input/output error"))));
  EXPECT_EQ(io->depth(), 1U);
}

TEST_F(DrivesTest, AFileWithoutACopyIsReadFromTheFirstDrive) {
  const auto io = Make(Slow(milliseconds(0), on_first_), Slow(milliseconds(0), on_copy_));
  std::vector<std::byte> bytes(4);

  for (uint64_t tag = 0; tag < 4; ++tag) {
    io->Submit({files_[2].get(), 0, bytes, tag});
    EXPECT_TRUE(io->Wait(kPatience).value().status);
  }

  EXPECT_EQ(on_first_, 4);
}

TEST_F(DrivesTest, AFailureOfTheFirstDriveIsTheReads) {
  const auto failing = [](int, std::span<std::byte>, uint64_t) -> ssize_t { return -EIO; };
  const auto io = Make(failing, failing);
  std::vector<std::byte> bytes(4);

  for (uint64_t tag = 0; tag < 2; ++tag) {
    io->Submit({files_[0].get(), 0, bytes, tag});
  }
  while (io->in_flight() > 0) {
    const auto done = io->Wait(kPatience);
    ASSERT_TRUE(done);
    ASSERT_FALSE(done->status);
    EXPECT_THAT(done->status.error().message, HasSubstr((directory_ / "first").string()));
  }
}

TEST_F(DrivesTest, ReadsAreCancelledAndPromotedWhereverTheyWait) {
  std::latch gate(1);
  const auto gated = [&](int descriptor, std::span<std::byte> destination, uint64_t offset) {
    gate.wait();
    return ReadDescriptor(descriptor, destination, offset);
  };
  const auto io = Make(gated, gated);
  std::vector<std::vector<std::byte>> bytes(8, std::vector<std::byte>(4));
  for (uint64_t tag = 0; tag < bytes.size(); ++tag) {
    io->Submit({files_[0].get(), 0, bytes[tag], tag, Urgency::kAhead});
  }

  EXPECT_TRUE(io->Promote(7));
  EXPECT_FALSE(io->Promote(7));
  EXPECT_TRUE(io->Cancel(6));
  EXPECT_FALSE(io->Cancel(99));
  const auto cancelled = io->Wait(kPatience);
  EXPECT_FALSE(io->Wait(milliseconds(3)));
  gate.count_down();

  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->tag, 6U);
  EXPECT_EQ(cancelled->status.error().code, ErrorCode::kCancelled);
  size_t ended = 0;
  while (io->in_flight() > 0) {
    ended += io->Wait(kPatience).value().status.has_value() ? 1U : 0U;
  }
  EXPECT_EQ(ended, 7U);
  EXPECT_THAT(lines_, IsEmpty()) << "a cancelled read is no failure";
}

}  // namespace
}  // namespace coli
