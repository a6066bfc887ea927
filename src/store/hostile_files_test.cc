// Model directories as an unlucky download or an attacker makes them: each ends in an error that
// says what, where, expected and found, without waiting for anything.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <string>
#include <vector>

#include "store/container.h"
#include "store/testing/read_floats.h"
#include "store/testing/write_safetensors.h"
#include "sys/file.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::FloatTensor;
using coli::testing::LittleEndian;
using coli::testing::QuantizedMatrix;
using coli::testing::ReadFloats;
using coli::testing::SafetensorsBytes;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using coli::testing::WriteSafetensors;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::string_view kShard = "out-00001.safetensors";

// Two tensors of four bytes at the given places, with `data_bytes` bytes behind the header.
std::string TwoTensors(const std::string& a, const std::string& b, size_t data_bytes) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
                             R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  return SafetensorsBytes(header, std::string(data_bytes, 'd'));
}

// A whole shard beside the one that a test damages.
class HostileFiles : public ::testing::Test {
 protected:
  HostileFiles() {
    WriteSafetensors(directory_ / "out-00000.safetensors", {FloatTensor("t", {1}, {1})});
  }

  void ExpectRefused(ErrorCode code, const std::vector<std::string>& parts) {
    const auto container = Container::Open(directory_.path());
    ASSERT_FALSE(container.has_value()) << parts.back();
    EXPECT_EQ(container.error().code, code) << container.error().message;
    for (const std::string& part : parts) {
      EXPECT_THAT(container.error().message, HasSubstr(part));
    }
  }
  // The damaged shard is named, too.
  void ExpectShardRefused(std::string_view bytes, std::vector<std::string> parts) {
    WriteFile(directory_ / kShard, bytes);
    parts.emplace_back((directory_ / kShard).string() + ": ");
    ExpectRefused(ErrorCode::kCorrupt, parts);
  }
  void WriteIndex(std::string_view text) {
    WriteFile(directory_ / "model.safetensors.index.json", text);
  }

  TempDirectory directory_;
};

// --- headers ---

TEST_F(HostileFiles, AHeaderLengthBeyondTheFile) {
  for (const uint64_t length : {uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7,
                                uint64_t{1} << 32, uint64_t{33}, uint64_t{0}}) {
    ExpectShardRefused(LittleEndian(length) + "{}" + std::string(30, ' '),
                       {"expected a header of 2 to 32 bytes",
                        "found a length of " + std::to_string(length) + " in a file of 40"});
  }
}

// A file of a terabyte without blocks: its size may not become an allocation.
TEST_F(HostileFiles, ALargeFileOfNothing) {
  WriteFile(directory_ / kShard, LittleEndian((uint64_t{128} << 20) + 1));
  fs::resize_file(directory_ / kShard, uint64_t{1} << 40);

  ExpectRefused(ErrorCode::kCorrupt, {std::string(kShard), "expected a header of 2 to 134217728",
                                      "found a length of 134217729"});
}

TEST_F(HostileFiles, TensorsThatOverlapLeaveAHoleOrLieOutside) {
  ExpectShardRefused(TwoTensors("[0,4]", "[3,7]", 7),
                     {"tensor b: expected its bytes at 4", "found 3 (an overlap)"});
  ExpectShardRefused(TwoTensors("[0,4]", "[0,4]", 4), {"tensor b", "(an overlap)"});
  ExpectShardRefused(TwoTensors("[0,4]", "[5,9]", 9),
                     {"tensor b: expected its bytes at 4", "found 5 (a hole)"});
  ExpectShardRefused(TwoTensors("[4,8]", "[8,12]", 12),
                     {"tensor a: expected its bytes at 0", "found 4 (a hole)"});
  ExpectShardRefused(TwoTensors("[0,4]", "[4,8]", 7),
                     {"expected 8 bytes of tensors", "found 7 (the file is cut short)"});
  ExpectShardRefused(TwoTensors("[0,4]", "[4,8]", 9), {"expected 8 bytes", "found 9"});
  ExpectShardRefused(TwoTensors("[0,4]", "[9223372036854775804,9223372036854775808]", 8),
                     {"tensor b: expected its bytes at 4", "found 9223372036854775804 (a hole)"});
  ExpectShardRefused(TwoTensors("[0,4]", "[4,1099511627776]", 8),
                     {"tensor b: expected 4 bytes (U8 [4])", "found 1099511627772"});
}

TEST_F(HostileFiles, TheSameKeyTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  ExpectShardRefused(SafetensorsBytes(R"({"a":)" + entry + R"(,"a":)" + entry + "}", ""),
                     {"the same key twice", "\"a\""});
  ExpectShardRefused(
      SafetensorsBytes(R"({"a":{"dtype":"U8","dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                       ""),
      {"the same key twice", "\"dtype\""});
  ExpectShardRefused(SafetensorsBytes(R"({"__metadata__":{"k":"1","k":"2"}})", ""),
                     {"the same key twice", "\"k\""});
}

TEST_F(HostileFiles, TheSameShardTwice) {
  fs::copy_file(directory_ / "out-00000.safetensors", directory_ / kShard);
  ExpectRefused(ErrorCode::kCorrupt, {"tensor t", "out-00000.safetensors", std::string(kShard)});
  fs::remove(directory_ / kShard);

  fs::create_hard_link(directory_ / "out-00000.safetensors", directory_ / kShard);
  ExpectRefused(ErrorCode::kCorrupt, {"tensor t", "out-00000.safetensors", std::string(kShard)});
  fs::remove(directory_ / kShard);

  fs::create_symlink("out-00000.safetensors", directory_ / kShard);
  ExpectRefused(ErrorCode::kCorrupt, {"tensor t", "out-00000.safetensors", std::string(kShard)});
}

// Every byte of a header in turn takes every value: refused, or a description that covers the data
// exactly.
TEST_F(HostileFiles, AnySingleByteOfAHeaderMayBeAnything) {
  const std::string valid = TwoTensors("[0,4]", "[4,8]", 8);
  size_t accepted = 0;
  for (size_t at = 0; at < valid.size() - 8; ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = valid;
      bytes[at] = static_cast<char>(value);
      const auto file = std::as_bytes(std::span(bytes));
      const auto length = SafetensorsHeader::Length(file, file.size(), "f");
      if (!length) {
        continue;
      }
      const auto header = SafetensorsHeader::Parse(file.subspan(8, *length), file.size(), "f");
      if (!header) {
        continue;
      }
      ++accepted;
      ASSERT_FALSE(header->entries().empty());
      ASSERT_EQ(header->entries().front().begin, 0U);
      ASSERT_EQ(header->entries().back().end, 8U);
    }
  }
  EXPECT_GT(accepted, 0U);  // another letter in a name is another valid header
}

// --- what is not a file ---

TEST_F(HostileFiles, AnIndexThatIsNoRegularFile) {
  const fs::path index = directory_ / "model.safetensors.index.json";
  ASSERT_EQ(::mkfifo(index.c_str(), 0600), 0);
  ExpectRefused(ErrorCode::kInvalidArgument, {index.string(), "a FIFO"});
  fs::remove(index);

  fs::create_directory(index);
  ExpectRefused(ErrorCode::kInvalidArgument, {index.string(), "a directory"});
  fs::remove(index);

  fs::create_symlink(index.filename(), index);
  ExpectRefused(ErrorCode::kIo, {index.string(), "symbolic links"});
  fs::remove(index);

  fs::create_symlink("/dev/zero", index);
  ExpectRefused(ErrorCode::kInvalidArgument, {index.string(), "a device"});
}

TEST_F(HostileFiles, TwoLinksThatPointAtEachOther) {
  fs::create_symlink("b.safetensors", directory_ / "a.safetensors");
  fs::create_symlink("a.safetensors", directory_ / "b.safetensors");

  ExpectRefused(ErrorCode::kIo, {"a.safetensors: cannot be opened", "symbolic links"});
}

// Names in an index are compared, never opened: a FIFO outside would be waited for.
TEST_F(HostileFiles, AnIndexThatNamesFilesElsewhere) {
  const TempDirectory outside;
  ASSERT_EQ(::mkfifo((outside / "x.safetensors").c_str(), 0600), 0);
  const std::string absolute = (outside / "x.safetensors").string();
  const std::string upwards = "../" + outside.path().filename().string() + "/x.safetensors";
  for (const std::string& name :
       {absolute, upwards, std::string("./out-00000.safetensors"), std::string("..")}) {
    WriteIndex(R"({"weight_map":{"t":")" + name + "\"}}");
    ExpectRefused(
        ErrorCode::kNotFound,
        {"index.json: tensor t: expected the file " + name + " in the directory", "found none"});
  }
}

// --- a drive that fails ---

// The system itself refuses to read address 0 of this process.
TEST(HostileDrive, AnErrorOfTheSystemNamesFilePlaceAndReason) {
  const auto file = File::OpenRead("/proc/self/mem");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  std::vector<std::byte> bytes(16);

  const Status status = file->ReadExact(0, bytes);

  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr("/proc/self/mem: reading 16 bytes at byte 0"));
  EXPECT_THAT(status.error().message, HasSubstr("Input/output error"));
}

// --- numbers ---

// A row of zeros may have any scale, and some writers give it 0.
TEST_F(HostileFiles, AScaleOfZeroMakesARowOfZeros) {
  auto matrix = QuantizedMatrix("w", {FormatId::kInt8Row}, 3, 32, 1);
  const float zero = 0;
  std::memcpy(matrix.scales.bytes.data() + sizeof(float), &zero, sizeof(zero));
  WriteSafetensors(directory_ / kShard, {matrix.scales, matrix.codes});

  const auto values = ReadFloats(*Container::Open(directory_.path()), "w", 3, 32);

  ASSERT_TRUE(values.has_value()) << values.error().message;
  EXPECT_THAT(std::vector<float>(values->begin() + 32, values->begin() + 64), Each(0.0F));
  EXPECT_NE((*values)[0], 0.0F);
}

}  // namespace
}  // namespace coli
