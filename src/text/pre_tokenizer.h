// Cuts text into the words inside which byte-pair merging happens.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coli {

// One step: cuts every piece at the matches of a pattern; matches and the text between them become
// pieces.
struct SplitStep {
  std::string pattern;
  bool literal = false;  // the pattern is a string to find, not a regular expression
  std::string field;     // its place in the file, for errors
};

// A sequence of SplitSteps. Immutable, thread-safe.
//
// General categories such as \p{L} are those of Unicode 16 (split_pattern.h). Characters assigned
// later, and scripts such as \p{Han}, depend on the regular-expression library: words with them may
// be cut elsewhere, which changes ids, never the decoded text.
class PreTokenizer {
 public:
  // Errors: kUnsupported for a pattern that does not compile or is not understood, with the pattern
  // shown.
  static Result<PreTokenizer> Create(const std::vector<SplitStep>& steps);

  // Replaces `words` by the pieces of `text`, which is valid UTF-8 and outlives them. Nothing is
  // dropped: the pieces joined are the text. Errors: kUnsupported when a pattern exceeds its limit
  // of steps or of processor time on this text.
  Status Split(std::string_view text, std::vector<std::string_view>& words) const;

 private:
  class Pattern;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
};

}  // namespace coli
