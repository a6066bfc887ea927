// A conversation as the engine sees it: messages, and the tokens the model really generated for its
// own turns.
//
// Because those tokens are kept, the prompt of the next turn begins exactly with what the session's
// KV cache holds, and only the new message has to be computed. Pure apart from loading;
// thread-compatible.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cli/answer_reader.h"
#include "text/chat_template.h"
#include "text/messages.h"
#include "text/tokenizer.h"

namespace coli {

// The files of a model directory that are about text.
struct ModelText {
  Tokenizer tokenizer;
  ChatFormat format;
};

// Reads tokenizer.json and the chat template (chat_template.jinja, or its entry in
// tokenizer_config.json). Errors name the file.
Result<ModelText> LoadModelText(const std::filesystem::path& directory);

struct ConversationOptions {
  std::optional<std::string> system;
  bool think = false;
};

class Conversation {
 public:
  Conversation(const ModelText& text, ConversationOptions options);

  // Appends a message of the user and gives the prompt that answers it. Errors leave the
  // conversation as it was.
  Result<std::vector<TokenId>> Ask(std::string content);
  // The prompt of messages that end with something to answer; replaces what was there. The system
  // option goes first unless they begin with one of their own.
  Result<std::vector<TokenId>> AskAll(std::vector<Message> messages);
  // Takes the last question back: its answer never began.
  void TakeBack();

  // The answer, complete or not, becomes a turn of the conversation.
  void Answered(const AnswerReader& answer);
  // The prompt that continues the last answer; nothing when there is none.
  std::optional<std::vector<TokenId>> More() const;

  void Reset();
  bool starts_in_reasoning() const { return text_.format.StartsInReasoning(options_.think); }
  const std::vector<Message>& messages() const { return messages_; }

 private:
  Result<std::vector<TokenId>> Encode() const;
  void AddSystem();

  const ModelText& text_;
  ConversationOptions options_;
  std::vector<Message> messages_;
  std::vector<TokenId> prompt_;  // of the last answer
};

}  // namespace coli
