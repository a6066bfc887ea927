#include "store/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "store/testing/read_floats.h"
#include "store/testing/write_safetensors.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::FloatTensor;
using coli::testing::Metadata;
using coli::testing::PatternBytes;
using coli::testing::PatternFloats;
using coli::testing::QuantizedMatrix;
using coli::testing::ReadFloats;
using coli::testing::TempDirectory;
using coli::testing::TensorToWrite;
using coli::testing::WriteFile;
using coli::testing::WriteSafetensors;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class ContainerTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::vector<TensorToWrite>& tensors,
             const Metadata& metadata = {}) {
    WriteSafetensors(directory_ / file, tensors, metadata);
  }
  void WriteQuantized(const std::string& file, Format format, uint32_t rows, uint32_t cols,
                      const Metadata& metadata = {}) {
    const auto matrix = QuantizedMatrix("w", format, rows, cols, 1);
    Write(file, {matrix.scales, matrix.codes}, metadata);
  }
  Container Open() {
    auto container = Container::Open(directory_.path());
    EXPECT_TRUE(container) << container.error().message;
    return *std::move(container);
  }
  template <class T>
  void ExpectError(const Result<T>& result, ErrorCode code, const std::vector<std::string>& texts) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().message;
    for (const std::string& text : texts) {
      EXPECT_THAT(result.error().message, HasSubstr(text));
    }
  }
  void ExpectOpenFails(ErrorCode code, const std::vector<std::string>& texts) {
    ExpectError(Container::Open(directory_.path()), code, texts);
  }

  TempDirectory directory_;
};

// --- opening ---

TEST_F(ContainerTest, AllFilesOfTheDirectoryTogetherAreTheModel) {
  Write("out-00000.safetensors", {FloatTensor("a", {2}, {1, 2})});
  Write("out-mtp-00000.safetensors", {FloatTensor("b", {1}, {3})});
  Write("reference.safetensors", {FloatTensor("a", {2}, {9, 9})});
  WriteFile(directory_ / "._out-00000.safetensors", "not one of ours");
  WriteFile(directory_ / "config.json", "{}");

  const Container container = Open();

  EXPECT_TRUE(container.Has("a"));
  EXPECT_TRUE(container.Has("b"));
  EXPECT_FALSE(container.Has("c"));
  EXPECT_THAT(container.ReadVector("a", 2).value(), ElementsAre(1, 2));
  EXPECT_EQ(container.files().size(), 2U);
  EXPECT_EQ(container.total_bytes(), fs::file_size(directory_ / "out-00000.safetensors") +
                                         fs::file_size(directory_ / "out-mtp-00000.safetensors"));
}

TEST_F(ContainerTest, NoWeightsIsAnErrorThatSaysWhatWasLookedFor) {
  ExpectOpenFails(ErrorCode::kNotFound, {directory_.path().string(),
                                         "expected weights in *.safetensors files, found none"});
  WriteFile(directory_ / "pytorch_model.bin", "x");
  ExpectOpenFails(ErrorCode::kNotFound, {"only pytorch_model.bin, which is not read"});
  WriteFile(directory_ / "reference.safetensors", "x");
  ExpectOpenFails(ErrorCode::kNotFound, {"found none"});

  ExpectError(Container::Open(directory_ / "missing"), ErrorCode::kNotFound,
              {"missing", "expected a model directory"});
  ExpectError(Container::Open(directory_ / "pytorch_model.bin"), ErrorCode::kInvalidArgument,
              {"found a file"});
}

TEST_F(ContainerTest, TheSameTensorInTwoFilesIsRefusedNamingBoth) {
  Write("a.safetensors", {FloatTensor("t", {1}, {1})});
  Write("b.safetensors", {FloatTensor("t", {1}, {1})});

  ExpectOpenFails(ErrorCode::kCorrupt, {"a.safetensors", "b.safetensors", "tensor t"});
}

TEST_F(ContainerTest, WhatIsNotARegularFileIsRefused) {
  Write("a.safetensors", {FloatTensor("t", {1}, {1})});
  fs::create_directory(directory_ / "b.safetensors");
  ExpectOpenFails(ErrorCode::kInvalidArgument, {"b.safetensors", "a directory"});
  fs::remove(directory_ / "b.safetensors");

  ASSERT_EQ(::mkfifo((directory_ / "b.safetensors").c_str(), 0600), 0);
  ExpectOpenFails(ErrorCode::kInvalidArgument, {"b.safetensors", "a FIFO"});
  fs::remove(directory_ / "b.safetensors");

  fs::create_symlink("/dev/zero", directory_ / "b.safetensors");
  ExpectOpenFails(ErrorCode::kInvalidArgument, {"b.safetensors", "a device"});
  fs::remove(directory_ / "b.safetensors");

  fs::create_symlink("b.safetensors", directory_ / "b.safetensors");
  ExpectOpenFails(ErrorCode::kIo, {"b.safetensors", "symbolic links"});
  fs::remove(directory_ / "b.safetensors");

  fs::create_symlink("gone", directory_ / "b.safetensors");
  ExpectOpenFails(ErrorCode::kNotFound, {"b.safetensors"});
}

TEST_F(ContainerTest, LinksToRegularFilesAreFollowedAsInHubCaches) {
  Write("blobs/0123", {FloatTensor("t", {1}, {1})});
  fs::create_directory(directory_ / "snapshot");
  fs::create_symlink("../blobs/0123", directory_ / "snapshot/model.safetensors");

  const auto container = Container::Open(directory_ / "snapshot");

  ASSERT_TRUE(container) << container.error().message;
  EXPECT_TRUE(container->Has("t"));
}

TEST_F(ContainerTest, ADirectoryThatCannotBeWrittenIsEnough) {
  Write("a.safetensors", {FloatTensor("t", {1}, {5})});
  const auto entries_before =
      std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator());
  fs::permissions(directory_.path(), fs::perms::owner_read | fs::perms::owner_exec);

  EXPECT_THAT(Open().ReadVector("t", 1).value(), ElementsAre(5));

  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()),
            entries_before);
  fs::permissions(directory_.path(), fs::perms::owner_all);
}

TEST_F(ContainerTest, ADamagedFileIsNamed) {
  Write("a.safetensors", {FloatTensor("t", {1}, {1})});
  WriteFile(directory_ / "b.safetensors", "\x80\x02 pickle, not safetensors");

  ExpectOpenFails(ErrorCode::kCorrupt, {"b.safetensors", "expected a header of 2 to"});
}

// --- the index ---

TEST_F(ContainerTest, AnIndexMustAgreeWithTheFiles) {
  Write("a.safetensors", {FloatTensor("t", {1}, {1})});
  Write("b.safetensors", {FloatTensor("u", {1}, {1}), FloatTensor("unlisted", {1}, {1})});
  const auto index = [this](const std::string& text) {
    WriteFile(directory_ / "model.safetensors.index.json", text);
  };

  index(R"({"metadata":{"total_size":8},"weight_map":{"t":"a.safetensors","u":"b.safetensors"}})");
  Open();
  index(R"({"weight_map":{"t":"a.safetensors","u":"a.safetensors"}})");
  ExpectOpenFails(ErrorCode::kCorrupt,
                  {"index.json", "tensor u: expected in a.safetensors", "b.safetensors"});
  index(R"({"weight_map":{"v":"a.safetensors"}})");
  ExpectOpenFails(ErrorCode::kCorrupt, {"tensor v: expected in a.safetensors, found in no file"});
  index(R"({"weight_map":{"v":"model-00002-of-00002.safetensors"}})");
  ExpectOpenFails(ErrorCode::kNotFound, {"expected the file model-00002-of-00002.safetensors"});
  index(R"({"weight_map":{"t":"../a.safetensors"}})");
  ExpectOpenFails(ErrorCode::kNotFound, {"../a.safetensors"});
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{"t":1}})", "{\"weight_map\":{"}) {
    index(text);
    EXPECT_FALSE(Container::Open(directory_.path())) << text;
  }
}

// --- matrices ---

TEST_F(ContainerTest, FloatMatricesAreRecognisedByDTypeAndExactShape) {
  Write("a.safetensors", {{"f32", "F32", {3, 4}, PatternBytes(48, 1)},
                          {"bf16", "BF16", {3, 4}, PatternBytes(24, 1)},
                          {"f16", "F16", {3, 4}, PatternBytes(24, 1)}});
  const Container container = Open();

  EXPECT_EQ(container.FindMatrix("f32", 3, 4)->format, Format{FormatId::kF32});
  EXPECT_EQ(container.FindMatrix("bf16", 3, 4)->format, Format{FormatId::kBf16});
  EXPECT_EQ(container.FindMatrix("f16", 3, 4)->format, Format{FormatId::kF16});
  ExpectError(container.FindMatrix("bf16", 4, 3), ErrorCode::kCorrupt,
              {"a.safetensors: tensor bf16: expected shape [4, 3], found BF16 [3, 4]"});
  ExpectError(container.FindMatrix("none", 4, 3), ErrorCode::kNotFound,
              {"tensor none", directory_.path().string()});
}

TEST_F(ContainerTest, QuantisedMatricesMayHaveAnyShapeOfTheRightSize) {
  for (const Format format : {Format{FormatId::kInt8Row}, Format{FormatId::kInt4Row},
                              Format{FormatId::kInt4Grouped, 64}}) {
    auto matrix = QuantizedMatrix("w", format, 6, 200, 1);
    Write("a.safetensors", {matrix.scales, matrix.codes});
    const auto flat = Open().FindMatrix("w", 6, 200);
    matrix.codes.shape = {6, matrix.codes.bytes.size() / 6};
    matrix.codes.dtype = "I8";
    matrix.scales.shape = {6, matrix.scales.bytes.size() / 24};
    Write("a.safetensors", {matrix.codes, matrix.scales});
    const auto shaped = Open().FindMatrix("w", 6, 200);

    ASSERT_TRUE(flat) << flat.error().message;
    ASSERT_TRUE(shaped) << shaped.error().message;
    EXPECT_EQ(flat->format, format);
    EXPECT_EQ(shaped->format, format);
    EXPECT_EQ(flat->bytes(), matrix.codes.bytes.size() + matrix.scales.bytes.size());
  }
}

TEST_F(ContainerTest, CodesAndScalesBelongTogether) {
  const auto matrix = QuantizedMatrix("w", {FormatId::kInt8Row}, 4, 10, 1);
  Write("a.safetensors", {matrix.codes});
  ExpectError(Open().FindMatrix("w", 4, 10), ErrorCode::kCorrupt,
              {"tensor w: expected its scales in a tensor w.qs"});

  Write("a.safetensors", {FloatTensor("w", {4, 10}, PatternFloats(40, 1)), matrix.scales});
  ExpectError(Open().FindMatrix("w", 4, 10), ErrorCode::kCorrupt,
              {"tensor w: expected U8 codes", "w.qs"});

  Write("a.safetensors", {matrix.codes, {"w.qs", "I32", {4}, PatternBytes(16, 1)}});
  ExpectError(Open().FindMatrix("w", 4, 10), ErrorCode::kCorrupt,
              {"tensor w.qs: expected F32 scales, found I32 [4]"});
}

TEST_F(ContainerTest, DTypesAndFormatsThatAreNotImplementedAreNamed) {
  Write("a.safetensors", {{"w", "F8_E5M2", {4, 10}, PatternBytes(40, 1)},
                          {"i", "I64", {4, 10}, PatternBytes(320, 1)},
                          {"e8", "U8", {8 * 98}, PatternBytes(8 * 98, 1)},
                          {"e8.qs", "F32", {1}, PatternBytes(4, 1)}});
  const Container container = Open();

  ExpectError(container.FindMatrix("w", 4, 10), ErrorCode::kUnsupported, {"tensor w", "F8_E5M2"});
  ExpectError(container.FindMatrix("i", 4, 10), ErrorCode::kUnsupported, {"tensor i", "I64"});
  ExpectError(container.FindMatrix("e8", 8, 256), ErrorCode::kUnsupported,
              {"tensor e8", "e8-iq3-lattice"});
  ExpectError(container.FindMatrix("e8", 8, 255), ErrorCode::kCorrupt,
              {"tensor e8", "found 784 + 4 bytes"});
  ExpectError(container.ReadVector("i", 40), ErrorCode::kUnsupported, {"I64"});
}

// --- stamps ---

TEST_F(ContainerTest, StampsMustAgreeWithTheBytes) {
  const Format grouped{FormatId::kInt4Grouped, 64};
  WriteQuantized("a.safetensors", grouped, 4, 200,
                 {{"colibri.fmt", R"({"w":"int4-grouped","other":"int8-row"})"}});
  EXPECT_EQ(Open().FindMatrix("w", 4, 200)->format, grouped);

  WriteQuantized("a.safetensors", grouped, 4, 200, {{"colibri.fmt", R"({"w":"int8-row"})"}});
  ExpectError(Open().FindMatrix("w", 4, 200), ErrorCode::kCorrupt,
              {"expected int8-row as its stamp says"});

  WriteQuantized("a.safetensors", grouped, 4, 200, {{"colibri.fmt", R"({"w":"fp8-e4m3-b128"})"}});
  ExpectError(Open().FindMatrix("w", 4, 200), ErrorCode::kCorrupt,
              {"expected fp8-e4m3-b128 as its stamp says"});

  WriteQuantized("a.safetensors", grouped, 4, 200, {{"colibri.fmt", R"({"w":"e8-iq3-lattice"})"}});
  ExpectError(Open().FindMatrix("w", 4, 200), ErrorCode::kUnsupported, {"e8-iq3-lattice"});
}

TEST_F(ContainerTest, StampsThatSayNothingSensibleAreRefusedAtOpen) {
  for (const auto& [text, code] : std::vector<std::pair<std::string, ErrorCode>>{
           {"", ErrorCode::kCorrupt},
           {"[]", ErrorCode::kCorrupt},
           {"{", ErrorCode::kCorrupt},
           {R"({"w":"int8-row","w":"int8-row"})", ErrorCode::kCorrupt},
           {R"({"w":"int5"})", ErrorCode::kUnsupported},
           {R"({"w":4})", ErrorCode::kUnsupported}}) {
    WriteQuantized("a.safetensors", {FormatId::kInt8Row}, 4, 200, {{"colibri.fmt", text}});
    ExpectOpenFails(code, {"a.safetensors: colibri.fmt"});
  }
}

TEST_F(ContainerTest, StampsOfSeveralFilesMustAgreeAndBeFew) {
  WriteQuantized("a.safetensors", {FormatId::kInt8Row}, 4, 200,
                 {{"colibri.fmt", R"({"w":"int8-row"})"}});
  Write("b.safetensors", {FloatTensor("t", {1}, {1})}, {{"colibri.fmt", R"({"w":"int8-row"})"}});
  Open();
  Write("b.safetensors", {FloatTensor("t", {1}, {1})}, {{"colibri.fmt", R"({"w":"int4-row"})"}});
  ExpectOpenFails(
      ErrorCode::kCorrupt,
      {"b.safetensors", "tensor w: expected int8-row as another file says, found int4-row"});

  nlohmann::json many;
  for (int i = 0; i < 4'096; ++i) {
    many["t" + std::to_string(i)] = "int8-row";
  }
  Write("b.safetensors", {FloatTensor("t", {1}, {1})}, {{"colibri.fmt", many.dump()}});
  ExpectOpenFails(ErrorCode::kCorrupt, {"at most 4096 stamps in all files, found 4097"});
}

TEST_F(ContainerTest, StampsAreNotUsedForRoutedExperts) {
  const std::string name = "model.layers.3.mlp.experts.0.up_proj.weight";
  const auto matrix = QuantizedMatrix(name, {FormatId::kInt8Row}, 4, 200, 1);
  Write("a.safetensors", {matrix.scales, matrix.codes},
        {{"colibri.fmt", R"({")" + name + R"(":"int4-row"})"}});

  EXPECT_EQ(Open().FindMatrix(name, 4, 200)->format, Format{FormatId::kInt8Row});
}

// --- reading ---

TEST_F(ContainerTest, VectorsAreWidened) {
  Write(
      "a.safetensors",
      {FloatTensor("f32", {3}, {1.5F, -2, 0.25F}),
       {"bf16", "BF16", {2}, {std::byte{0xC0}, std::byte{0x3F}, std::byte{0x00}, std::byte{0xC0}}},
       {"f16", "F16", {2}, {std::byte{0x00}, std::byte{0x3E}, std::byte{0x00}, std::byte{0xC0}}}});
  const Container container = Open();

  EXPECT_THAT(container.ReadVector("f32", 3).value(), ElementsAre(1.5F, -2, 0.25F));
  EXPECT_THAT(container.ReadVector("bf16", 2).value(), ElementsAre(1.5F, -2));
  EXPECT_THAT(container.ReadVector("f16", 2).value(), ElementsAre(1.5F, -2));
  ExpectError(container.ReadVector("f32", 4), ErrorCode::kCorrupt,
              {"tensor f32: expected shape [4], found F32 [3]"});
  ExpectError(container.ReadVector("none", 4), ErrorCode::kNotFound, {"tensor none"});
}

TEST_F(ContainerTest, NumbersThatAreNotFiniteAreRefusedWithTheirPlace) {
  Write("a.safetensors", {FloatTensor("v", {3}, {1, 2, kNan}),
                          FloatTensor("m", {2, 3}, {0, 0, 0, 0, -kInf, 0}),
                          {"b", "BF16", {1}, {std::byte{0x80}, std::byte{0x7F}}},
                          {"h", "F16", {1}, {std::byte{0x00}, std::byte{0xFC}}}});
  const Container container = Open();

  ExpectError(container.ReadVector("v", 3), ErrorCode::kCorrupt,
              {"a.safetensors: tensor v", "at index 2"});
  ExpectError(container.ReadVector("b", 1), ErrorCode::kCorrupt, {"tensor b", "at index 0"});
  ExpectError(container.ReadVector("h", 1), ErrorCode::kCorrupt, {"tensor h", "at index 0"});
  ExpectError(ReadFloats(container, "m", 2, 3), ErrorCode::kCorrupt,
              {"tensor m", "at row 1, column 1"});
}

TEST_F(ContainerTest, ReadGivesCodesAndScalesOfEveryFormat) {
  for (const Format format : {Format{FormatId::kInt8Row}, Format{FormatId::kFp8E4m3B128},
                              Format{FormatId::kInt4Row}, Format{FormatId::kInt4Grouped, 32}}) {
    const auto matrix = QuantizedMatrix("w", format, 5, 99, 1);
    Write("a.safetensors",
          {{"pad", "U8", {3}, PatternBytes(3, 1)}, matrix.codes, matrix.scales});  // misaligned
    const Container container = Open();
    const StoredMatrix stored = container.FindMatrix("w", 5, 99).value();
    const auto buffer = AlignedBuffer::Allocate(Container::PackedBytes(stored)).value();

    const auto view = container.Read(stored, buffer.bytes());

    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(view->format, format);
    EXPECT_EQ(view->rows, 5U);
    EXPECT_EQ(view->cols, 99U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view->scales) % 64, 0U);
    EXPECT_EQ(std::memcmp(view->codes, matrix.codes.bytes.data(), matrix.codes.bytes.size()), 0);
    EXPECT_EQ(std::memcmp(view->scales, matrix.scales.bytes.data(), matrix.scales.bytes.size()), 0);
  }
}

TEST_F(ContainerTest, QuantisedMatricesAreReadAsFloatsToo) {
  const Format format{FormatId::kInt8Row};
  WriteQuantized("a.safetensors", format, 4, 50);

  const auto values = ReadFloats(Open(), "w", 4, 50);

  ASSERT_TRUE(values) << values.error().message;
  for (uint32_t row = 0; row < 4; ++row) {
    const auto original = PatternFloats(50, 1 + row);
    for (size_t col = 0; col < 50; ++col) {
      EXPECT_NEAR((*values)[row * 50 + col], original[col],
                  1.0 / 127 / 2 + 1e-6);  // half a step of at most 1/127
    }
  }
}

TEST_F(ContainerTest, ScalesMustBeFiniteAndNotNegative) {
  for (const float bad : {kNan, kInf, -kInf, -1.0F}) {
    const auto codes = QuantizedMatrix("w", {FormatId::kInt4Grouped, 64}, 4, 128, 1).codes;
    Write("a.safetensors", {codes, FloatTensor("w.qs", {8}, {1, 0, -0.0F, 1, 1, bad, 1, 1})});
    const Container container = Open();
    const StoredMatrix stored = container.FindMatrix("w", 4, 128).value();
    const auto buffer = AlignedBuffer::Allocate(Container::PackedBytes(stored)).value();

    ExpectError(container.Read(stored, buffer.bytes()), ErrorCode::kCorrupt,
                {"a.safetensors: tensor w: expected finite scales >= 0", "at row 2"});
  }
}

TEST_F(ContainerTest, Fp8WeightsMustBeFinite) {
  const auto refused = [&](const TensorToWrite& codes, float scale, const std::string& text) {
    Write("a.safetensors", {codes, FloatTensor("w.qs", {4}, {1, 1, scale, 1})});
    const Container container = Open();
    const StoredMatrix stored = container.FindMatrix("w", 200, 130).value();
    const auto buffer = AlignedBuffer::Allocate(Container::PackedBytes(stored)).value();
    ExpectError(container.Read(stored, buffer.bytes()), ErrorCode::kCorrupt,
                {"a.safetensors: tensor w: expected finite", text});
  };
  TensorToWrite codes = QuantizedMatrix("w", {FormatId::kFp8E4m3B128}, 200, 130, 1).codes;

  refused(codes, 1e36F, "at row 128");  // 448 times this is infinite
  codes.bytes[150 * 130 + 7] = std::byte{0xff};
  refused(codes, 1, "at row 150, column 7");
}

TEST_F(ContainerTest, AFileThatIsReplacedKeepsItsBytesAndOneCutShortIsAnError) {
  Write("a.safetensors", {FloatTensor("t", {2}, {1, 2})});
  Write("b.safetensors", {FloatTensor("u", {2}, {3, 4})});
  const Container container = Open();
  Write("new", {FloatTensor("t", {2}, {8, 9})});
  fs::rename(directory_ / "new", directory_ / "a.safetensors");
  fs::resize_file(directory_ / "b.safetensors", fs::file_size(directory_ / "b.safetensors") - 3);

  EXPECT_THAT(container.ReadVector("t", 2).value(), ElementsAre(1, 2));
  ExpectError(container.ReadVector("u", 2), ErrorCode::kCorrupt,
              {"b.safetensors", "unexpected end of file", "wanted 3 more"});
}

// --- FP8 ---

TensorToWrite Fp8Codes(const std::string& name, std::vector<uint64_t> shape) {
  uint64_t bytes = 1;
  for (const uint64_t size : shape) {
    bytes *= size;
  }
  return {name, "F8_E4M3", std::move(shape), std::vector<std::byte>(bytes, std::byte{0x38})};  // 1
}

TEST_F(ContainerTest, Fp8HasAScalePerBlock) {
  Write("a.safetensors",
        {FloatTensor("w_scale_inv", {2, 2}, {1, 2, 4, 8}), Fp8Codes("w", {130, 136})});
  const Container container = Open();

  const auto matrix = container.FindMatrix("w", 130, 136);
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->format, Format{FormatId::kFp8E4m3B128});
  const auto values = ReadFloats(container, "w", 130, 136);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->at(127 * 136 + 127), 1.0F);
  EXPECT_EQ(values->at(127 * 136 + 128), 2.0F);
  EXPECT_EQ(values->at(128 * 136 + 127), 4.0F);
  EXPECT_EQ(values->at(129 * 136 + 135), 8.0F);
}

TEST_F(ContainerTest, Fp8WithoutFittingScalesIsRefused) {
  Write("a.safetensors", {Fp8Codes("w", {130, 8})});
  ExpectError(Open().FindMatrix("w", 130, 8), ErrorCode::kCorrupt,
              {"tensor w", "expected its scales in a tensor w_scale_inv"});

  Write("a.safetensors", {FloatTensor("w_scale_inv", {1, 1}, {1}), Fp8Codes("w", {130, 8})});
  ExpectError(Open().FindMatrix("w", 130, 8), ErrorCode::kCorrupt,
              {"tensor w_scale_inv", "expected shape [2, 1], found F32 [1, 1]"});

  Write("a.safetensors",
        {{"w_scale_inv", "BF16", {2, 1}, PatternBytes(4, 1)}, Fp8Codes("w", {130, 8})});
  ExpectError(Open().FindMatrix("w", 130, 8), ErrorCode::kUnsupported,
              {"tensor w_scale_inv", "expected F32 scales, found BF16 [2, 1]"});

  Write("a.safetensors", {FloatTensor("w_scale_inv", {2, 1}, {1, 1}), Fp8Codes("w", {8, 130})});
  ExpectError(Open().FindMatrix("w", 130, 8), ErrorCode::kCorrupt,
              {"tensor w", "expected shape [130, 8], found F8_E4M3 [8, 130]"});
}

TEST_F(ContainerTest, FloatsBesideFp8ScalesAreRefused) {
  Write("a.safetensors",
        {FloatTensor("w_scale_inv", {1, 1}, {1}), FloatTensor("w", {2, 2}, PatternFloats(4, 1))});

  ExpectError(Open().FindMatrix("w", 2, 2), ErrorCode::kCorrupt,
              {"tensor w", "expected F8_E4M3 codes because there is a tensor w_scale_inv"});
}

TEST_F(ContainerTest, Fp8NumbersMustBeFinite) {
  TensorToWrite codes = Fp8Codes("w", {3, 5});
  codes.bytes[2 * 5 + 4] = std::byte{0x7f};
  Write("a.safetensors", {FloatTensor("w_scale_inv", {1, 1}, {1}), codes});
  ExpectError(ReadFloats(Open(), "w", 3, 5), ErrorCode::kCorrupt, {"tensor w", "row 2, column 4"});

  Write("a.safetensors", {FloatTensor("w_scale_inv", {1, 1}, {kNan}), Fp8Codes("w", {3, 5})});
  ExpectError(ReadFloats(Open(), "w", 3, 5), ErrorCode::kCorrupt, {"tensor w", "finite scales"});
}

}  // namespace
}  // namespace coli
