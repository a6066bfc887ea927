// The tags around reasoning and tool calls in what the model reads and writes.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace coli {

enum class Tag {
  kThink,
  kThinkEnd,
  kToolCall,
  kToolCallEnd,
  kKey,
  kKeyEnd,
  kValue,
  kValueEnd,
};

// By Tag.
inline constexpr std::array<std::string_view, 8> kTagTexts = {
    "<think>",   "</think>",   "<tool_call>", "</tool_call>",
    "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"};

constexpr std::string_view TextOf(Tag tag) { return kTagTexts[static_cast<size_t>(tag)]; }

}  // namespace coli
