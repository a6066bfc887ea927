#include "synth/synthesize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "store/container.h"
#include "synth/tensors.h"
#include "sys/file.h"
#include "sys/testing/temp_directory.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using coli::testing::TempDirectory;
using coli::testing::WriteFile;
using ::testing::HasSubstr;

SynthOptions Tiny(const fs::path& out, const char* format = "int4-row") {
  SynthOptions options;
  options.shape = *NamedShape("tiny");
  options.shape.vocab_size = 64;
  options.expert_format = format;
  options.out = out;
  return options;
}

std::string ErrorOf(const SynthOptions& options) {
  const auto status = Synthesize(options);
  return status ? std::string() : status.error().message;
}

TEST(Synthesize, TheContainerHasItsTensors) {
  const TempDirectory directory;
  for (const char* format : {"int4-row", "int4-g64", "int3-g64", "fp8-e4m3-b128", "bf16"}) {
    SynthOptions options = Tiny(directory / format, format);
    uint64_t done = 0;
    uint64_t announced = 0;
    options.progress = [&](uint64_t bytes, uint64_t total) {
      EXPECT_GT(bytes, done);
      done = bytes;
      announced = total;
    };
    const auto written = Synthesize(options);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(done, *written);
    EXPECT_EQ(announced, *written);
    const auto container = Container::Open(options.out);
    ASSERT_TRUE(container) << container.error().message;
    const auto expert =
        container->FindMatrix("model.layers.2.mlp.experts.15.down_proj.weight", 256, 128);
    ASSERT_TRUE(expert) << expert.error().message;
    // One group per row is the same as one scale per row.
    EXPECT_EQ(FormatName(expert->format),
              format == std::string_view("int4-row") ? "int4-g128" : format);
    const auto dense = container->FindMatrix("model.layers.0.self_attn.o_proj.weight", 256, 128);
    ASSERT_TRUE(dense) << dense.error().message;
    EXPECT_EQ(FormatName(dense->format), "int8-row");
  }
}

TEST(Synthesize, ADeepModelOpens) {
  const TempDirectory directory;
  SynthOptions options = Tiny(directory / "m");
  options.shape.num_hidden_layers = 600;
  options.shape.n_routed_experts = 1;
  options.shape.hidden_size = options.shape.intermediate_size = 64;
  options.shape.moe_intermediate_size = 16;
  ASSERT_EQ(ErrorOf(options), "");
  const auto container = Container::Open(options.out);
  EXPECT_TRUE(container) << container.error().message;
}

TEST(Synthesize, ASparseModelHasEveryTensorAndTakesNoRoom) {
  const TempDirectory directory;
  SynthOptions options = Tiny(directory / "m");
  options.shape = *NamedShape("glm-5.2");
  options.shape.vocab_size = 64;
  options.shape.num_hidden_layers = 5;
  options.sparse = true;
  const auto written = Synthesize(options);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_GT(*written, uint64_t{10'000'000'000});

  const auto container = Container::Open(options.out);
  ASSERT_TRUE(container) << container.error().message;
  EXPECT_GT(container->total_bytes(), *written);
  EXPECT_TRUE(container->FindMatrix("model.layers.4.mlp.experts.255.up_proj.weight", 2048, 6144));
  struct stat facts{};
  ASSERT_EQ(::stat((options.out / "out-00005.safetensors").c_str(), &facts), 0);
  EXPECT_LT(facts.st_blocks * 512, 1 << 20);
}

TEST(Synthesize, TheSeedDecidesEveryByte) {
  const TempDirectory directory;
  SynthOptions other = Tiny(directory / "c");
  other.seed = 2;
  ASSERT_EQ(ErrorOf(Tiny(directory / "a")), "");
  ASSERT_EQ(ErrorOf(Tiny(directory / "b")), "");
  ASSERT_EQ(ErrorOf(other), "");
  const auto read = [&](const char* name) {
    return ReadTextFile(directory / name / "out-00002.safetensors", 1 << 24).value();
  };
  EXPECT_EQ(read("a"), read("b"));
  EXPECT_NE(read("a"), read("c"));
}

TEST(Synthesize, WhatCannotBeIsRefused) {
  const TempDirectory directory;
  WriteFile(directory / "file", "x");
  EXPECT_THAT(ErrorOf(Tiny(directory.path())), HasSubstr("expected a new or an empty directory"));
  EXPECT_THAT(ErrorOf(Tiny(directory / "file")), HasSubstr("/file: "));
  EXPECT_EQ(ErrorOf(Tiny(directory / "m", "mxfp4")),
            "expert-format: expected a format of files, found \"mxfp4\"");
  EXPECT_FALSE(fs::exists(directory / "m"));
  SynthOptions huge = Tiny(directory / "huge");
  huge.shape = *NamedShape("glm-5.2");
  huge.shape.num_hidden_layers = 1000;
  EXPECT_THAT(ErrorOf(huge), HasSubstr("the drive has"));
  EXPECT_FALSE(fs::exists(directory / "huge"));
}

TEST(Synthesize, AnInterruptedModelIsRemoved) {
  const TempDirectory directory;
  SynthOptions options = Tiny(directory / "m");
  int calls = 0;
  options.cancelled = [&] { return ++calls > 40; };
  EXPECT_EQ(ErrorOf(options), "interrupted");
  EXPECT_FALSE(fs::exists(directory / "m"));
  // A directory that was there stays.
  fs::create_directory(directory / "m");
  calls = 0;
  EXPECT_EQ(ErrorOf(options), "interrupted");
  EXPECT_TRUE(fs::is_empty(directory / "m"));
}

uint64_t Elements(const std::vector<SynthTensor>& tensors) {
  uint64_t elements = 0;
  for (const SynthTensor& tensor : tensors) {
    elements += uint64_t{tensor.rows} * tensor.cols;
  }
  return elements;
}

// With the layer for drafts.
TEST(SynthShape, Glm52HasTheElementsOfThePublishedCheckpoint) {
  SynthShape shape = *NamedShape("glm-5.2");
  shape.vocab_size = PublishedVocabulary("glm-5.2");
  const Format format{FormatId::kInt4Row};
  uint64_t elements = Elements(EndTensors(shape));
  for (uint32_t layer = 0; layer < shape.num_hidden_layers; ++layer) {
    elements += Elements(LayerTensors(shape, layer, format));
  }
  elements += Elements(MtpTensors(shape, format));
  EXPECT_EQ(elements, 753'329'940'480ULL);
}

TEST(SynthShape, NamesAreKnown) {
  EXPECT_FALSE(NamedShape("huge"));
  EXPECT_EQ(ShapeNames(), "glm-5.2, mid, tiny");
}

}  // namespace
}  // namespace coli
