// A pattern and a text: the first line is the pattern of a tokenizer file, or a digit for one of
// the patterns of real models; the text is all that follows. Refused, or cut without loss.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "text/pre_tokenizer.h"
#include "text/utf8.h"

namespace {

constexpr std::string_view kField = "fuzz: pattern";

// GLM and Llama 3, GPT-2, Qwen, GPT-4o, and the three steps of DeepSeek V3.
constexpr std::array<std::string_view, 7> kRealPatterns = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|)"
    R"('m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"(\p{N}{1,3})",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

std::string_view PatternOf(std::string_view line) {
  const bool is_digit = line.size() == 1 && line[0] >= '0' && line[0] <= '9';
  const auto digit = is_digit ? static_cast<size_t>(line[0] - '0') : kRealPatterns.size();
  return digit < kRealPatterns.size() ? kRealPatterns[digit] : line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\n');
  if (end == std::string_view::npos || coli::FindInvalidUtf8(input)) {
    return 0;  // JSON strings and texts are UTF-8 before they come here
  }
  const std::string_view line = input.substr(0, end);
  const std::string_view pattern = PatternOf(line);
  const std::string_view text = input.substr(end + 1);
  const auto splitter = coli::PreTokenizer::Create(
      {{.pattern = std::string(pattern), .literal = false, .field = std::string(kField)}});
  if (!splitter) {
    COLI_CHECK(pattern == line);
    COLI_CHECK(splitter.error().message.starts_with(kField));
    return 0;
  }
  std::vector<std::string_view> words;
  if (const auto status = splitter->Split(text, words); !status) {
    COLI_CHECK(pattern == line);  // no text is too much for a real pattern
    COLI_CHECK(status.error().message.starts_with(kField));
    return 0;
  }
  std::string joined;
  for (const std::string_view word : words) {
    COLI_CHECK(!word.empty() && !coli::FindInvalidUtf8(word));
    joined += word;
  }
  COLI_CHECK(joined == text);
  return 0;
}
