// Conversations as the tokens a GLM-5.2 checkpoint was trained on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/messages.h"
#include "text/tokenizer.h"

namespace coli {

// How a model family writes a conversation down.
struct ChatFormat {
  bool has_thinking =
      true;  // false: a family without <think>; nothing is rendered or parsed as reasoning
  std::string tools_before = {};  // the text before "<tools>"
  std::string tools_after =
      {};  // the text after "</tools>\n"; may spell tags, which are rendered as control tokens

  // GLM-5 and later, with wording of our own around the list of tools.
  static ChatFormat Glm5();

  // GLM-5 with the words around the list of tools taken from the checkpoint's own chat template
  // (the text of chat_template.jinja); Glm5() where that text cannot be told apart from the
  // template's code.
  static ChatFormat Glm5FromTemplate(std::string_view chat_template);

  // The tokens that end an answer: role markers and <|endoftext|>, those that the tokenizer has.
  // Every front end stops at these and at the checkpoint's own eos ids.
  std::vector<TokenId> StopIds(const Tokenizer& tokenizer) const;

  // What every text begins with, a conversation or not; nothing when the tokenizer lacks one of
  // them.
  std::vector<TokenId> BeginningIds(const Tokenizer& tokenizer) const;

  // Whether the answer to a request with this setting begins inside the model's thinking (see
  // OutputParser).
  bool StartsInReasoning(bool enable_thinking) const { return has_thinking && enable_thinking; }
};

struct ChatOptions {
  bool enable_thinking = true;
  std::string reasoning_effort = {};  // "high" asks for less than the default, the maximum
  bool clear_thinking =
      true;  // false: reasoning of turns before the last user message is shown again
  bool add_generation_prompt = true;
};

struct ChatRequest {
  std::vector<Message> messages = {};
  std::vector<Tool> tools = {};
  ChatOptions options = {};
  ChatFormat format = ChatFormat::Glm5();
};

// A piece of a rendered conversation. Only kControl becomes control tokens: what users and tools
// wrote cannot.
struct ChatSegment {
  enum class Kind {
    kControl,  // text: exactly one control token
    kPlain,    // text: encoded without control tokens
    kReady,    // ids: tokens already
  };
  Kind kind;
  std::string text;
  std::vector<TokenId> ids;
};

// The prompt of the conversation. Errors: kInvalidArgument for no messages, text that is not UTF-8
// (naming the message) or a tool call whose arguments are no JSON object; kUnsupported when the
// tokenizer lacks a control token.
Result<std::vector<TokenId>> EncodeChat(const Tokenizer& tokenizer, const ChatRequest& request);

// The same prompt as text, for people and tests; `content_ids` of messages are not looked at.
Result<std::string> RenderChat(const ChatRequest& request);

}  // namespace coli
