#include "store/usage.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "store/testing/write_safetensors.h"
#include "sys/file_lock.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using testing::TempDirectory;

const std::vector<size_t> kShape = {0, 3, 3};
constexpr int64_t kModel = -77;

UsageFile File(const TempDirectory& directory, int64_t model = kModel) {
  return {directory.path() / "state", model, kShape};
}

UsageTable Work(uint64_t uses, double score) {
  UsageTable work = EmptyUsage(kShape);
  work[1][2] = {uses, score};
  return work;
}

std::vector<std::string> Names(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST(Usage, WorthIsScoreThenUses) {
  UsageTable usage = EmptyUsage(kShape);
  usage[1][0] = {.uses = 9, .score = 0.1};
  usage[2][0] = {.uses = 1, .score = 0.5};
  usage[2][1] = {.uses = 2, .score = 0.5};
  usage[2][2] = {.uses = 3, .score = 0};
  const std::vector<ExpertKey> expected = {{LayerId{2}, ExpertId{1}},
                                           {LayerId{2}, ExpertId{0}},
                                           {LayerId{1}, ExpertId{0}},
                                           {LayerId{2}, ExpertId{2}}};
  EXPECT_EQ(InOrderOfWorth(usage), expected);
}

TEST(UsageFile, KnowsNothingAtFirst) {
  const TempDirectory directory;
  EXPECT_EQ(File(directory).Load().value(), EmptyUsage(kShape));
}

TEST(UsageFile, SumsUsesAndAveragesScores) {
  const TempDirectory directory;
  ASSERT_TRUE(File(directory).Add(Work(5, 0.5), 1.0));
  ASSERT_TRUE(File(directory).Add(Work(2, 0.25), 0.5));

  const UsageTable usage = File(directory).Load().value();

  EXPECT_EQ(usage[1][2], (ExpertUsage{7, 0.375}));
  EXPECT_EQ(usage[1][1], ExpertUsage{});
}

TEST(UsageFile, ModelsAreKeptApart) {
  const TempDirectory directory;
  ASSERT_TRUE(File(directory).Add(Work(5, 0.5), 1.0));
  EXPECT_EQ(File(directory, 78).Load().value(), EmptyUsage(kShape));
}

TEST(UsageFile, ForgetsTheModelsSavedLongestAgo) {
  const TempDirectory directory;
  for (int64_t model = 0; model <= UsageFile::kModels; ++model) {
    ASSERT_TRUE(File(directory, model).Add(Work(1, 0.5), 1.0));
    ASSERT_TRUE(File(directory, 0).Add(Work(1, 0.5), 1.0));
  }
  EXPECT_EQ(File(directory, 0).Load().value()[1][2].uses, uint64_t{UsageFile::kModels} + 2);
  EXPECT_EQ(File(directory, 1).Load().value(), EmptyUsage(kShape));
  EXPECT_EQ(File(directory, 2).Load().value()[1][2].uses, 1U);
}

TEST(UsageFile, IsForItsOwnerOnly) {
  const TempDirectory directory;
  ASSERT_TRUE(File(directory).Add(Work(1, 0.5), 1.0));
  struct stat facts = {};
  ASSERT_EQ(::stat((directory / "state").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  for (const std::string& name : Names(directory / "state")) {
    ASSERT_EQ(::stat((directory / "state" / name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U) << name;
  }
}

TEST(UsageFile, ADamagedFileIsSetAsideOnce) {
  const TempDirectory directory;
  ASSERT_TRUE(File(directory).Add(Work(5, 0.5), 1.0));
  testing::WriteFile(directory / "state" / "usage.db", std::string(9000, 'x'));

  const auto damaged = File(directory).Load();

  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(damaged.error().message.find("kept as usage.db.damaged"), std::string::npos);
  EXPECT_EQ(File(directory).Load().value(), EmptyUsage(kShape));
  EXPECT_TRUE(std::filesystem::exists(directory / "state" / "usage.db.damaged"));
}

TEST(UsageFile, ADamagedFileThatSomebodyUsesStays) {
  const TempDirectory directory;
  ASSERT_TRUE(File(directory).Add(Work(5, 0.5), 1.0));
  const std::filesystem::path path = File(directory).path();
  const FileLock other = FileLock::Share(path.string() + ".lock").value();
  testing::WriteFile(path, std::string(9000, 'x'));
  EXPECT_EQ(File(directory).Load().error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(std::filesystem::file_size(path), 9000U);
}

// Every change of the database that `statement` makes has to be refused without touching the file.
void ExpectRefused(const std::string& statement, ErrorCode code) {
  const TempDirectory directory;
  ASSERT_TRUE(File(directory).Add(Work(5, 0.5), 1.0));
  ASSERT_TRUE(Database::Open(File(directory).path())->Run(statement.c_str())) << statement;

  const auto usage = File(directory).Load();

  ASSERT_FALSE(usage) << statement;
  EXPECT_EQ(usage.error().code, code) << usage.error().message;
  EXPECT_EQ(usage.error().message.find(File(directory).path().string()), 0U);
  EXPECT_EQ(std::filesystem::exists(File(directory).path()), code == ErrorCode::kUnsupported);
}

TEST(UsageFile, OtherDatabasesAreLeftAlone) {
  ExpectRefused("PRAGMA user_version = 2", ErrorCode::kUnsupported);
  ExpectRefused("PRAGMA application_id = 1", ErrorCode::kUnsupported);
  ExpectRefused("CREATE TABLE z(n)", ErrorCode::kUnsupported);
  ExpectRefused("DROP TABLE usage", ErrorCode::kUnsupported);
}

TEST(UsageFile, NumbersOutOfTheirRangesAreDamage) {
  for (const char* change :
       {"layer = 0", "layer = 3", "layer = -1", "expert = 3", "expert = -1", "uses = -1",
        "uses = 9007199254740993", "score = -0.5", "score = 9e999", "score = -9e999"}) {
    ExpectRefused(fmt::format("UPDATE usage SET {} WHERE layer = 1 AND expert = 2", change),
                  ErrorCode::kCorrupt);
  }
}

TEST(UsageFile, UsesStopAtTheirLimit) {
  const TempDirectory directory;
  constexpr uint64_t kMost = uint64_t{1} << 53;
  ASSERT_TRUE(File(directory).Add(Work(kMost, 0), 1.0));
  ASSERT_TRUE(File(directory).Add(Work(kMost, 0), 1.0));
  EXPECT_EQ(File(directory).Load().value()[1][2].uses, kMost);
}

TEST(UsageFile, ADirectoryThatCannotBeMadeIsAnError) {
  const TempDirectory directory;
  testing::WriteFile(directory / "file", "");
  const UsageFile file(directory / "file" / "state", kModel, kShape);
  EXPECT_EQ(file.Load().error().code, ErrorCode::kIo);
  EXPECT_EQ(file.Add(Work(1, 1), 1).error().code, ErrorCode::kIo);
}

TEST(UsageFile, TwoWritersLoseNothing) {
  const TempDirectory directory;
  constexpr int kSaves = 30;
  const auto write = [&] {
    for (int i = 0; i < kSaves; ++i) {
      ASSERT_TRUE(File(directory).Add(Work(1, 0.5), 0.5));
    }
  };
  std::thread other(write);
  write();
  other.join();
  EXPECT_EQ(File(directory).Load().value()[1][2].uses, 2U * kSaves);
}

// A process that saves all the time, and tells how often it has through a pipe.
[[noreturn]] void SaveForEver(const TempDirectory& directory, int told) {
  UsageTable all = EmptyUsage(kShape);
  for (auto& layer : all) {
    std::ranges::fill(layer, ExpertUsage{1, 0.5});
  }
  while (File(directory).Add(all, 0.5) && ::write(told, "s", 1) == 1) {
  }
  ::kill(::getpid(), SIGKILL);
  while (true) {
  }
}

TEST(UsageFile, AKilledProcessLosesNothingThatWasSavedAndLeavesNothingHalf) {
  const TempDirectory directory;
  uint64_t saved = 0;
  for (int round = 0; round < 40; ++round) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      SaveForEver(directory, pipe[1]);
    }
    ::close(pipe[1]);
    std::array<char, 4096> tells{};
    ASSERT_EQ(::read(pipe[0], tells.data(), 1), 1);  // somewhere behind the first save
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const ssize_t more = ::read(pipe[0], tells.data(), tells.size());
    saved += 1 + static_cast<uint64_t>(std::max<ssize_t>(more, 0));
    ::close(pipe[0]);

    const UsageTable usage = File(directory).Load().value();

    // The last save may have been made without being told.
    EXPECT_GE(usage[1][0].uses, saved);
    EXPECT_LE(usage[1][0].uses, saved + 1);
    saved = usage[1][0].uses;
    for (const size_t layer : {1U, 2U}) {
      for (const ExpertUsage& expert : usage[layer]) {
        EXPECT_EQ(expert.uses, saved);
      }
    }
  }
  EXPECT_LE(Names(directory / "state").size(), 2U);  // the database and its lock
}

// The fingerprint of a model of one file with these tensors.
int64_t FingerprintOf(const std::vector<testing::TensorToWrite>& tensors,
                      const char* file = "model.safetensors") {
  const TempDirectory directory;
  testing::WriteSafetensors(directory / file, tensors);
  return ModelFingerprint(Container::Open(directory.path()).value());
}

testing::TensorToWrite Bytes(std::string name, const char* dtype, std::vector<uint64_t> shape,
                             size_t bytes) {
  return {std::move(name), dtype, std::move(shape), std::vector<std::byte>(bytes)};
}

TEST(ModelFingerprint, IsThatOfTheHeaders) {
  const int64_t original = FingerprintOf({Bytes("a", "F32", {2, 3}, 24), Bytes("b", "U8", {8}, 8)});
  EXPECT_EQ(FingerprintOf({Bytes("a", "F32", {2, 3}, 24), Bytes("b", "U8", {8}, 8)}), original);

  EXPECT_NE(FingerprintOf({Bytes("a", "F32", {3, 2}, 24), Bytes("b", "U8", {8}, 8)}), original);
  EXPECT_NE(FingerprintOf({Bytes("a", "F32", {2, 3}, 24), Bytes("b", "I8", {8}, 8)}), original);
  EXPECT_NE(FingerprintOf({Bytes("a", "F32", {2, 3}, 24), Bytes("c", "U8", {8}, 8)}), original);
  EXPECT_NE(FingerprintOf({Bytes("a", "F32", {2, 3}, 24)}), original);
  EXPECT_NE(
      FingerprintOf({Bytes("a", "F32", {2, 3}, 24), Bytes("b", "U8", {8}, 8)}, "other.safetensors"),
      original);
}

}  // namespace
}  // namespace coli
