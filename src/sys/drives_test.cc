#include "sys/drives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <deque>
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
  std::unique_ptr<IoEngine> Make(DescriptorRead first, DescriptorRead copy,
                                 milliseconds patience = kMirrorPatience) {
    const File* const file = files_[0].get();
    const File* const other = files_[2].get();
    std::vector<Drive> drives;
    drives.push_back({.name = "model",
                      .engine = Engine(std::move(first)),
                      .files = {{file, file}, {other, other}}});
    drives.push_back({.name = "mirror",
                      .engine = Engine(std::move(copy)),
                      .files = {{file, files_[1].get()}},
                      .is_mirror = true});
    return MakeDrives(
        std::move(drives), [this](const std::string& line) { lines_.push_back(line); }, patience);
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

TEST_F(DrivesTest, WhatTheModelsDriveCannotReadComesFromItsCopy) {
  std::atomic<int> good = 5;
  const auto io = Make(
      [&](int descriptor, std::span<std::byte> destination, uint64_t offset) -> ssize_t {
        return good-- > 0 ? ReadDescriptor(descriptor, destination, offset) : -EIO;
      },
      ReadDescriptor);

  SubmitAll(*io);
  AwaitAll(*io);

  EXPECT_EQ(bytes_, content_);
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("model fails, so copies are read"),
                                        HasSubstr("Input/output error"))));
  good = 1'000;
  SubmitAll(*io);
  AwaitAll(*io);
  EXPECT_LT(good, 1'000) << "it is asked again";
}

TEST_F(DrivesTest, IfAllFailTheErrorIsThatOfTheFilesOwnDrive) {
  const auto failing = [](int, std::span<std::byte>, uint64_t) -> ssize_t { return -EIO; };
  const auto io = Make(failing, failing);
  std::vector<std::byte> bytes(8);

  for (uint64_t tag = 0; tag < 2; ++tag) {
    io->Submit({files_[0].get(), 0, std::span(bytes).subspan(tag * 4, 4), tag});
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

TEST_F(DrivesTest, AMirrorThatHangsIsDroppedAndItsReadsAreGivenUp) {
  std::latch gate(1);
  const auto hanging = [&](int, std::span<std::byte> destination, uint64_t) -> ssize_t {
    gate.wait();
    return static_cast<ssize_t>(destination.size());
  };
  const auto io = Make(ReadDescriptor, hanging, milliseconds(30));
  std::vector<std::byte> bytes(16);
  const auto submit = [&] {
    for (uint64_t tag = 0; tag < 4; ++tag) {
      io->Submit({files_[0].get(), 0, std::span(bytes).subspan(tag * 4, 4), tag});
    }
  };

  submit();
  size_t given_up = 0;
  while (io->in_flight() > 0) {
    const ReadCompletion done = io->Wait(kPatience).value();
    EXPECT_EQ(done.hangs, !done.status.has_value());
    given_up += done.hangs ? 1U : 0U;
  }
  submit();  // the same names again
  gate.count_down();
  while (io->in_flight() > 0) {
    EXPECT_TRUE(io->Wait(kPatience).value().status);
  }

  EXPECT_EQ(given_up, 1U) << "the one that had begun";
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("mirror is not read any more: none of its reads has "
                                            "ended for 0.03 s")));
}

// --- drives of known speed ---

// Time that passes only in waits for simulated drives.
struct Clock {
  uint64_t now_us = 0;
};

// Reads nothing, one request after the other, and takes the time that a drive of this speed would.
class SimulatedDrive final : public IoEngine {
 public:
  SimulatedDrive(Clock& clock, uint64_t bytes_per_us) : clock_(clock), speed_(bytes_per_us) {}

  void Submit(const ReadRequest& request) override {
    free_at_us_ = std::max(free_at_us_, clock_.now_us) + request.destination.size() / speed_;
    waiting_.push_back({request.tag, free_at_us_, request.destination.size()});
  }
  std::optional<ReadCompletion> Wait(milliseconds patience) override {
    const uint64_t end_us = clock_.now_us + static_cast<uint64_t>(patience.count()) * 1000;
    const uint64_t next_us = waiting_.empty() ? end_us : waiting_.front().ends_at_us;
    clock_.now_us = std::clamp(next_us, clock_.now_us, end_us);
    return Poll();
  }
  std::optional<ReadCompletion> Poll() override {
    if (waiting_.empty() || waiting_.front().ends_at_us > clock_.now_us) {
      return std::nullopt;
    }
    const Waiting done = waiting_.front();
    waiting_.pop_front();
    stats_.bytes += done.bytes;
    stats_.busy_us += done.bytes / speed_;
    return ReadCompletion{done.tag, Ok()};
  }
  bool Cancel(uint64_t) override { return false; }
  bool Promote(uint64_t) override { return false; }
  bool Close(milliseconds) override { return true; }
  size_t in_flight() const override { return waiting_.size(); }
  IoStats stats() const override { return stats_; }
  std::string_view name() const override { return "simulated"; }
  size_t depth() const override { return 1; }

 private:
  struct Waiting {
    uint64_t tag;
    uint64_t ends_at_us;
    size_t bytes;
  };

  Clock& clock_;
  const uint64_t speed_;
  uint64_t free_at_us_ = 0;
  std::deque<Waiting> waiting_;
  IoStats stats_;
};

// Keeps reads of 2 MB in flight, as decoding does.
class DriveSpeedsTest : public ::testing::Test {
 protected:
  static constexpr size_t kRead = 2'000'000;

  std::unique_ptr<IoEngine> Make(const std::vector<uint64_t>& bytes_per_us) {
    std::vector<Drive> drives;
    for (const uint64_t speed : bytes_per_us) {
      auto engine = std::make_unique<SimulatedDrive>(clock_, speed);
      engines_.push_back(engine.get());
      drives.push_back({.name = "drive",
                        .engine = std::move(engine),
                        .files = {{&file_, drives.empty() ? &file_ : &copy_}},
                        .is_mirror = !drives.empty()});
    }
    return MakeDrives(std::move(drives), {});
  }
  // Microseconds for so many reads, `depth` of them in flight.
  uint64_t Read(IoEngine& io, size_t reads, size_t depth) {
    const uint64_t begin_us = clock_.now_us;
    size_t submitted = 0;
    for (; submitted < depth; ++submitted) {
      io.Submit({&file_, 0, bytes_, submitted});
    }
    while (io.in_flight() > 0) {
      EXPECT_TRUE(io.Wait(kPatience));
      if (submitted < reads) {
        io.Submit({&file_, 0, bytes_, submitted++});
      }
    }
    return clock_.now_us - begin_us;
  }

  TempDirectory directory_;
  Clock clock_;
  std::vector<SimulatedDrive*> engines_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kRead);
  File file_ = Open();
  File copy_ = Open();

 private:
  File Open() {
    WriteFile(directory_ / "file", "x");
    return File::OpenRead(directory_ / "file").value();
  }
};

TEST_F(DriveSpeedsTest, ADriveAndOneOfTwiceItsSpeedAreThreeTimesAsFast) {
  const uint64_t alone_us = Read(*Make({1'000}), 600, 16);
  engines_.clear();
  const auto both = Make({1'000, 2'000});
  Read(*both, 60, 16);
  const uint64_t slow_bytes = engines_[0]->stats().bytes;
  const uint64_t fast_bytes = engines_[1]->stats().bytes;

  const uint64_t both_us = Read(*both, 600, 16);

  EXPECT_EQ(alone_us, 1'200'000U);
  EXPECT_NEAR(static_cast<double>(alone_us) / static_cast<double>(both_us), 3, 0.1);
  EXPECT_NEAR(static_cast<double>(engines_[1]->stats().bytes - fast_bytes) /
                  static_cast<double>(engines_[0]->stats().bytes - slow_bytes),
              2, 0.1);
}

TEST_F(DriveSpeedsTest, AlsoFromTheFirstReadOnTheyAreFasterThanOneAlone) {
  EXPECT_LT(Read(*Make({1'000, 2'000}), 60, 16), 60 * kRead / 2'000);
}

// What an expert of 18.9 MB is read in: ten pieces at once, and nothing else waits.
TEST_F(DriveSpeedsTest, OneExpertIsStripedOverTheDrives) {
  const auto both = Make({1'000, 1'000});
  EXPECT_EQ(Read(*both, 10, 10), 5 * kRead / 1'000);
}

}  // namespace
}  // namespace coli
