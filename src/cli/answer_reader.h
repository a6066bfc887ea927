// Tokens of an answer to what people read: whole characters, reasoning apart from content, stop
// strings applied.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "cli/stop_matcher.h"
#include "text/output_parser.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace coli {

// What one step added.
struct AnswerDelta {
  std::string reasoning;
  std::string content;
};

// Keeps its state between the parts of an answer that is continued. Thread-compatible; the
// tokenizer outlives it.
class AnswerReader {
 public:
  struct Options {
    bool raw = false;  // everything is content, nothing is parsed
    bool starts_in_reasoning = false;
    std::vector<std::string> stops;  // looked for in the content only
  };
  AnswerReader(const Tokenizer& tokenizer, const Options& options);

  AnswerDelta Feed(TokenId token);
  // The end of a part: gives what was held back. The reader can go on afterwards. `cut`: the model
  // had not ended its answer; then half a character is neither shown nor lost.
  AnswerDelta Finish(bool cut);

  const std::vector<TokenId>& ids() const { return ids_; }     // everything fed
  const std::string& reasoning() const { return reasoning_; }  // everything given out
  const std::string& content() const { return content_; }
  bool stopped() const { return stop_.matched(); }  // by a stop string

 private:
  AnswerDelta Split(const std::string& text);
  AnswerDelta Keep(AnswerDelta delta);

  const Tokenizer& tokenizer_;
  bool raw_;
  std::optional<TokenId> reasoning_end_;  // the token </think>
  bool in_reasoning_;
  Utf8Stream characters_;
  OutputParser parser_;
  StopMatcher stop_;
  std::vector<TokenId> ids_;
  std::string reasoning_;
  std::string content_;
};

}  // namespace coli
