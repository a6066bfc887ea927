#include "store/safetensors_writer.h"

#include <gtest/gtest.h>

#include <array>

#include "store/safetensors.h"
#include "store/testing/write_safetensors.h"

namespace coli {
namespace {

using coli::testing::PatternBytes;
using coli::testing::TempDirectory;

TEST(SafetensorsWriter, TheReaderFindsWhatWasWritten) {
  const TempDirectory directory;
  const std::vector<TensorEntry> tensors = {
      {"a.weight", "U8", {300}, 300}, {"empty", "F32", {0, 4}, 0}, {"b", "F32", {5, 3}, 60}};
  const std::vector<std::byte> data = PatternBytes(360, 1);
  auto writer = SafetensorsWriter::Create(directory / "m.safetensors", tensors, {{"k", "v"}});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Append(std::span(data).first(7)));
  ASSERT_TRUE(writer->Append(std::span(data).subspan(7)));
  ASSERT_TRUE(writer->Finish());

  const auto file = SafetensorsFile::Open(directory / "m.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  const SafetensorsFile& opened = **file;
  EXPECT_EQ(opened.header().metadata().find("k")->second, "v");
  ASSERT_EQ(opened.header().entries().size(), 3U);
  const auto begin = opened.file().size() - 360;
  EXPECT_EQ(begin % 64, 0U);
  std::vector<std::byte> read(360);
  ASSERT_TRUE(opened.file().ReadExact(begin, read));
  EXPECT_EQ(read, data);
}

}  // namespace
}  // namespace coli
