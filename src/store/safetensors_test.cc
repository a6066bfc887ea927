#include "store/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "store/testing/write_safetensors.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::SafetensorsBytes;
using coli::testing::TempDirectory;
using coli::testing::TensorToWrite;
using coli::testing::WriteFile;
using coli::testing::WriteSafetensors;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<SafetensorsHeader> Parse(std::string_view header, uint64_t data_bytes) {
  // A block of exactly the header's size, so that AddressSanitizer sees a step beyond.
  const std::vector<char> text(header.begin(), header.end());
  return SafetensorsHeader::Parse(std::as_bytes(std::span(text)), 8 + text.size() + data_bytes,
                                  "f");
}

void ExpectRefused(std::string_view header, uint64_t data_bytes, const std::string& message) {
  const auto result = Parse(header, data_bytes);
  ASSERT_FALSE(result) << header;
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("f: "), HasSubstr(message)));
}

std::string One(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST(SafetensorsHeader, DescribesTensorsInTheOrderOfTheirBytes) {
  const auto header = Parse(
      R"({"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"empty":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
      R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[16,20]}}   )",
      20);

  ASSERT_TRUE(header) << header.error().message;
  std::vector<std::string> names;
  for (const auto& entry : header->entries()) {
    names.push_back(entry.name);
  }
  EXPECT_THAT(names, ElementsAre("a", "empty", "b", "scalar"));
  EXPECT_EQ(header->entries()[2].dtype, DType::kBf16);
  EXPECT_THAT(header->entries()[2].shape, ElementsAre(2, 3));
  EXPECT_EQ(header->metadata().at("format"), "pt");
}

TEST(SafetensorsHeader, AllDTypesOfTheFormatAreKnownAndMeasured) {
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, int>>{
           {"F32", 96},     {"BF16", 48},    {"F16", 48},     {"U8", 24},      {"I8", 24},
           {"F8_E4M3", 24}, {"F8_E5M2", 24}, {"F8_E8M0", 24}, {"F6_E2M3", 18}, {"F6_E3M2", 18},
           {"F4", 12},      {"BOOL", 24},    {"I16", 48},     {"U16", 48},     {"I32", 96},
           {"U32", 96},     {"I64", 192},    {"U64", 192},    {"F64", 192},    {"C64", 192}}) {
    const auto header = Parse(One(name, "[4,6]", "[0," + std::to_string(bytes) + "]"),
                              static_cast<uint64_t>(bytes));
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(Name(header->entries()[0].dtype), name);
  }
  EXPECT_EQ(Parse(One("F8_E4M3FN", "[1]", "[0,1]"), 1)->entries()[0].dtype, DType::kF8E4m3);
}

TEST(SafetensorsHeader, AnEmptyObjectIsAFileWithoutTensors) {
  EXPECT_TRUE(Parse("{}", 0));
  ExpectRefused("{}", 1, "expected 0 bytes of tensors after the header, found 1");
}

TEST(SafetensorsHeader, EveryContradictionIsRefusedWithWhereExpectedAndFound) {
  ExpectRefused(One("F33", "[1]", "[0,4]"), 4, R"(tensor t: expected a known dtype, found "F33")");
  ExpectRefused(R"({"t":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4,
                "expected a known dtype, found 7");
  ExpectRefused(One("F32", "[2,2]", "[0,15]"), 15,
                "tensor t: expected 16 bytes (F32 [2, 2]), found 15");
  ExpectRefused(One("F4", "[3]", "[0,1]"), 1, "whose size is a number of bytes");
  ExpectRefused(One("F32", "[1]", "[4,8]"), 8,
                "expected its bytes at 0, where those of the tensor before it end, found 4");
  ExpectRefused(One("F32", "[1]", "[4,0]"), 8, "begin <= end");
  ExpectRefused(One("F32", "[1]", "[0,4,4]"), 4, "data_offsets");
  ExpectRefused(One("F32", "[1]", "[0]"), 4, "data_offsets");
  ExpectRefused(One("F32", "[1]", "[0,4]"), 5,
                "expected 4 bytes of tensors after the header, found 5");
  ExpectRefused(One("F32", "[1]", "[0,4]"), 3, "found 3 (the file is cut short)");
  ExpectRefused(One("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, "a shape of at most 8 integers >= 0");
  for (const char* shape :
       {"[-1]", "[1.0]", "[\"1\"]", "[true]", "[null]", "1", "{}", "[[1]]", "[1e3]", "[-0]"}) {
    ExpectRefused(One("F32", shape, "[0,4]"), 4, "");
  }
  ExpectRefused(R"({"t":{"dtype":"F32","shape":[1]}})", 4,
                "expected an object of dtype, shape and data_offsets");
  ExpectRefused(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4,
                "dtype, shape and data_offsets");
  ExpectRefused(R"({"t":[]})", 0, "expected an object of dtype, shape and data_offsets, found []");
  ExpectRefused(R"({"__metadata__":{"a":1}})", 0, "__metadata__: a: expected a string, found 1");
  ExpectRefused(R"({"__metadata__":[]})", 0, "__metadata__: expected an object of strings");
}

TEST(SafetensorsHeader, HolesAndOverlapsAreRefused) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  EXPECT_TRUE(Parse(two("[4,8]", "[0,4]"), 8));
  ExpectRefused(two("[0,4]", "[5,9]"), 9, "(a hole)");
  ExpectRefused(two("[0,4]", "[3,7]"), 7, "(an overlap)");
  ExpectRefused(two("[0,4]", "[0,4]"), 4, "(an overlap)");
}

TEST(SafetensorsHeader, SizesThatDoNotFit64BitsAreRefused) {
  for (const char* shape :
       {"[18446744073709551615,2]", "[4294967296,4294967296]", "[18446744073709551615]",
        "[9223372036854775808,2]", "[4611686018427387904]", "[18446744073709551616]",
        "[4294967296,4294967296,0]"}) {
    ExpectRefused(One("F32", shape, "[0,0]"), 0, "");
  }
  ExpectRefused(One("U8", "[18446744073709551615]", "[0,18446744073709551615]"), 0, "");
  ExpectRefused(One("F32", "[1]", "[18446744073709551612,18446744073709551616]"), 4, "");
}

// The product of random shapes against 128-bit arithmetic.
TEST(SafetensorsHeader, ByteCountsAgreeWithWideArithmetic) {
  __extension__ using Wide = unsigned __int128;
  constexpr Wide kMax = std::numeric_limits<uint64_t>::max();
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string shape;
    Wide elements = 1;
    bool fits = true;
    const size_t rank = random() % 5;
    for (size_t i = 0; i < rank; ++i) {
      const uint64_t extent = random() >> (random() % 64);
      shape += (i == 0 ? "" : ",") + std::to_string(extent);
      elements *= extent;
      fits = fits && elements <= kMax;
    }
    fits = fits && elements * 32 <= kMax;
    const auto bytes = static_cast<uint64_t>(elements * 4);
    const auto header =
        Parse(One("F32", "[" + shape + "]", "[0," + std::to_string(bytes) + "]"), bytes);
    ASSERT_EQ(header.has_value(), fits) << shape;
  }
}

TEST(SafetensorsHeader, NamesArePrintableShortAndDistinct) {
  const auto named = [](const std::string& name) {
    return "{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  };
  EXPECT_TRUE(Parse(named(std::string(512, 'x')), 1));
  ExpectRefused(named(std::string(513, 'x')), 1,
                "a name of 1 to 512 printable ASCII bytes, found 513 bytes");
  ExpectRefused(named(""), 1, "a name of 1 to 512");
  ExpectRefused(named("a\\nb"), 1, "tensor a\\x0ab:");
  ExpectRefused(named("\u00e9"), 1, "a name of 1 to 512");
  ExpectRefused(
      R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
      0, "the same key twice");
}

TEST(SafetensorsHeader, TextThatIsNoHeaderIsRefused) {
  for (const std::string& text : {std::string(""), std::string("[]"), std::string(" {}"),
                                  std::string("{"), std::string("{\"a\":"), std::string("{}x"),
                                  std::string("{\"a"), std::string("{\"\xff\":1}"),
                                  std::string("{}\0", 3), "{\"a\":" + std::string(100'000, '[')}) {
    const auto header = Parse(text, 0);
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, ErrorCode::kCorrupt);
  }
}

TEST(SafetensorsHeader, TheLengthMustFitTheFile) {
  const auto length = [](uint64_t value, uint64_t file_size) {
    const std::string prefix = testing::LittleEndian(value);
    return SafetensorsHeader::Length(std::as_bytes(std::span(prefix)), file_size, "f");
  };
  EXPECT_EQ(length(2, 10).value(), 2U);
  EXPECT_EQ(length(uint64_t{128} << 20, uint64_t{1} << 40).value(), uint64_t{128} << 20);
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{93}, (uint64_t{128} << 20) + 1, uint64_t{1} << 32,
        uint64_t{1} << 63, std::numeric_limits<uint64_t>::max(),
        std::numeric_limits<uint64_t>::max() - 7}) {
    EXPECT_FALSE(length(value, 100)) << value;
  }
  EXPECT_FALSE(length((uint64_t{128} << 20) + 1, uint64_t{1} << 40));
  EXPECT_FALSE(length(2, 9));
}

TEST(SafetensorsFile, EveryCutIsRefusedAtOpen) {
  const TempDirectory directory;
  WriteSafetensors(directory / "whole", {{"a", "U8", {40}, PatternBytes(40, 1)},
                                         {"b", "F32", {5}, PatternBytes(20, 2)}});
  const std::string whole = ReadTextFile(directory / "whole", 10'000).value();

  for (size_t size = 0; size < whole.size(); ++size) {
    WriteFile(directory / "cut", std::string_view(whole).substr(0, size));
    const auto file = SafetensorsFile::Open(directory / "cut");
    ASSERT_FALSE(file) << size;
    EXPECT_THAT(file.error().message, HasSubstr("cut: "));
  }
  WriteFile(directory / "longer", whole + "x");
  EXPECT_FALSE(SafetensorsFile::Open(directory / "longer"));
}

TEST(SafetensorsFile, TensorsLieWhereTheirBytesAre) {
  const TempDirectory directory;
  const std::vector<TensorToWrite> tensors = {{"a", "U8", {40}, PatternBytes(40, 1)},
                                              {"b", "F32", {5}, PatternBytes(20, 2)}};
  WriteSafetensors(directory / "f", tensors);

  const auto file = SafetensorsFile::Open(directory / "f");

  ASSERT_TRUE(file) << file.error().message;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const StoredTensor tensor = (*file)->Tensor((*file)->header().entries()[i]);
    std::vector<std::byte> bytes(tensor.bytes);
    ASSERT_TRUE(tensor.file->ReadExact(tensor.offset, bytes));
    EXPECT_EQ(bytes, tensors[i].bytes);
  }
}

// Whatever bytes stand where a valid file stood, there is an answer, and an accepted header lies
// inside the file.
TEST(SafetensorsFile, RandomDamageIsAnswered) {
  const std::string valid = SafetensorsBytes(
      testing::SafetensorsHeaderText(
          {{"a", "U8", {40}, PatternBytes(40, 1)}, {"b", "F32", {5}, PatternBytes(20, 2)}},
          {{"k", "v"}}),
      std::string(60, 'd'));
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = valid;
    for (uint64_t i = 0; i <= random() % 4; ++i) {
      bytes[random() % (bytes.size() - 60)] = static_cast<char>(random());
    }
    const auto prefix = std::as_bytes(std::span(bytes));
    const auto length = SafetensorsHeader::Length(prefix, bytes.size(), "f");
    if (!length) {
      continue;
    }
    const auto header = SafetensorsHeader::Parse(prefix.subspan(8, *length), bytes.size(), "f");
    if (!header) {
      continue;
    }
    for (const auto& entry : header->entries()) {
      ASSERT_LE(entry.begin, entry.end);
      ASSERT_LE(8 + *length + entry.end, bytes.size());
    }
  }
}

}  // namespace
}  // namespace coli
