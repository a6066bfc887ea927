// A small tokenizer.json made by hand, for tests and fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer.h"

namespace coli::testing_tokenizer {

// GLM's pattern.
inline constexpr std::string_view kPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Ids: byte b has id b, then come the results of the merges, from kWords on the added tokens of
// GLM.
inline constexpr int kWords = 272;

inline Json Make() {
  // In the order of their ranks, in the alphabet of the file: \u0120 is a space.
  const std::vector<std::pair<std::string, std::string>> merge_pairs = {
      {"h", "e"},          {"l", "l"},           {"he", "ll"},      {"hell", "o"},
      {"\u0120", "w"},     {"o", "r"},           {"\u0120w", "or"}, {"l", "d"},
      {"\u0120wor", "ld"}, {"a", "b"},           {"b", "c"},        {"0", "0"},
      {"00", "0"},         {"\u0120", "\u0120"}, {"s", "t"},        {"\u00c3", "\u00a9"}};
  const std::vector<std::string> special_tokens = {"<|endoftext|>",  "[gMASK]",  "<sop>",
                                                   "<|system|>",     "<|user|>", "<|assistant|>",
                                                   "<|observation|>"};
  const std::vector<std::string> other_tokens = {
      "<think>",          "</think>",  "<tool_call>", "</tool_call>", "<tool_response>",
      "</tool_response>", "<arg_key>", "</arg_key>",  "<arg_value>",  "</arg_value>"};

  Json vocab = Json::object();
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocab[SpellByte(static_cast<uint8_t>(byte))] = byte;
  }
  Json merges = Json::array();
  for (const auto& [left, right] : merge_pairs) {
    vocab[left + right] = vocab.size();
    merges.push_back(Json::array({left, right}));
  }
  Json added = Json::array();
  const auto add = [&](const std::string& content, bool special) {
    added.push_back({{"id", vocab.size() + added.size()},
                     {"content", content},
                     {"special", special},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false}});
  };
  for (const std::string& content : special_tokens) {
    add(content, true);
  }
  for (const std::string& content : other_tokens) {
    add(content, false);
  }
  return {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"},
           {"pattern", {{"Regex", kPattern}}},
           {"behavior", "Isolated"},
           {"invert", false}},
          {{"type", "ByteLevel"},
           {"add_prefix_space", false},
           {"trim_offsets", true},
           {"use_regex", false}}}}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"ignore_merges", false}, {"vocab", vocab}, {"merges", merges}}}};
}

inline Result<Tokenizer> Parse(const Json& json) { return Tokenizer::Parse(json.dump(), "t.json"); }

}  // namespace coli::testing_tokenizer
