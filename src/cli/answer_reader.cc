#include "cli/answer_reader.h"

#include <utility>

namespace coli {

AnswerReader::AnswerReader(const Tokenizer& tokenizer, const Options& options)
    : tokenizer_(tokenizer),
      raw_(options.raw),
      reasoning_end_(tokenizer.FindToken("</think>")),
      in_reasoning_(options.starts_in_reasoning),
      parser_(options.starts_in_reasoning, {}),
      stop_(options.stops) {}

AnswerDelta AnswerReader::Feed(TokenId token) {
  ids_.push_back(token);
  in_reasoning_ = in_reasoning_ && token != reasoning_end_;
  if (stop_.matched() || tokenizer_.IsSpecial(token)) {
    return {};
  }
  return Keep(Split(characters_.Feed(tokenizer_.TokenBytes(token))));
}

AnswerDelta AnswerReader::Finish(bool cut) {
  AnswerDelta delta = cut ? AnswerDelta{} : Split(characters_.Flush());
  if (!raw_) {
    OutputDelta rest = parser_.Finish();
    delta.reasoning += rest.reasoning;
    delta.content += stop_.Push(rest.content);
    parser_ = OutputParser(in_reasoning_, {});  // a finished parser takes no more
  }
  delta.content += stop_.Flush();
  return Keep(std::move(delta));
}

AnswerDelta AnswerReader::Split(const std::string& text) {
  if (raw_) {
    return {{}, stop_.Push(text)};
  }
  OutputDelta delta = parser_.Feed(text);
  return {std::move(delta.reasoning), stop_.Push(delta.content)};
}

AnswerDelta AnswerReader::Keep(AnswerDelta delta) {
  reasoning_ += delta.reasoning;
  content_ += delta.content;
  return delta;
}

}  // namespace coli
