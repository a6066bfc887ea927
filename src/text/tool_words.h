// The words with which a checkpoint introduces tools.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coli {

struct ToolWords {
  std::string before;  // up to "<tools>\n"
  std::string after;   // from behind "</tools>\n"
};

// Reads them out of a chat template in Jinja: the literal text between "<|system|>" and the loop
// over the tools, and from the loop's "</tools>" to the next statement. Nothing when code other
// than string literals is mixed in, or when the template has no such loop. Jinja's trim_blocks and
// lstrip_blocks are on, as everywhere in the field.
std::optional<ToolWords> FindToolWords(std::string_view chat_template);

}  // namespace coli
