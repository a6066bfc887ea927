// A small but complete model directory of which single bits can be flipped, and what a program
// makes of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sys/testing/temp_directory.h"

namespace coli::testing {

// What the bytes of a model directory are for.
enum class Part : uint8_t {
  kConfig,
  kGeneration,
  kTokenizer,
  kIndex,
  kHeader,
  kCodes,
  kScales,
  kFloats
};
inline constexpr size_t kParts = 8;
// The parts that are text: they say what the others mean.
inline constexpr size_t kTextParts = 5;
std::string_view Name(Part part);

// A byte range of one file, all of one part.
struct Segment {
  Part part;
  std::filesystem::path file;
  uint64_t begin;
  uint64_t bytes;
};

struct Bit {
  const Segment* segment;
  uint64_t byte;  // of the segment
  unsigned bit;
  std::string Text() const;  // "out-00000.safetensors, byte 17, bit 3"
};

// A copy of a golden model with a tokenizer, an index and a generation_config.json beside it.
class FlippedModel {
 public:
  explicit FlippedModel(const std::filesystem::path& golden);

  const std::filesystem::path& path() const { return directory_.path(); }
  uint64_t bytes(Part part) const { return bytes_[static_cast<size_t>(part)]; }
  uint64_t total_bytes() const;

  // Half of all numbers draw from the bits of the whole directory, all equally likely; the other
  // half first draw a text part. The same seed and number give the same bit.
  Bit Draw(uint64_t seed, uint64_t number) const;
  void Flip(const Bit& bit) const;  // in place; twice is nothing

 private:
  void AddFile(Part part, const std::string& name);
  void AddShards();

  TempDirectory directory_;
  std::vector<Segment> segments_;
  std::array<uint64_t, kParts> bytes_{};
};

// What became of loading a directory and answering a prompt with a few tokens.
struct Outcome {
  enum class Kind : char {
    kRefused = 'r',
    kFailed = 'f',
    kAnswered = 'a'
  };  // before, after loading
  Kind kind;
  std::string text;  // the error, or the ids of prompt and answer and the decoded text
};
Outcome LoadAndAnswer(const std::filesystem::path& directory, uint64_t ram_bytes);

}  // namespace coli::testing
