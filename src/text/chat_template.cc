#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "text/python_json.h"
#include "text/tags.h"
#include "text/tool_words.h"
#include "text/utf8.h"

namespace coli {
namespace {

constexpr std::array<std::string_view, 2> kBeginning = {"[gMASK]", "<sop>"};
constexpr std::array<std::string_view, 5> kStopTokens = {
    "<|user|>", "<|observation|>", "<|endoftext|>", "<|system|>", "<|assistant|>"};

// Reasoning and content of an assistant's turn, which clients may send as one text.
struct Answer {
  std::string_view reasoning;
  std::string_view content;
};

// As the checkpoint's template does: of several tags the outermost text is the answer and the
// innermost the reasoning.
Answer SplitAnswer(const Message& message) {
  constexpr std::string_view kOpen = TextOf(Tag::kThink);
  constexpr std::string_view kClose = TextOf(Tag::kThinkEnd);
  const std::string_view text = message.content;
  const size_t close = text.find(kClose);
  if (!message.reasoning.empty() || close == std::string_view::npos) {
    return {message.reasoning, text};
  }
  std::string_view reasoning = text.substr(0, close);
  if (const size_t open = reasoning.rfind(kOpen); open != std::string_view::npos) {
    reasoning.remove_prefix(open + kOpen.size());
  }
  return {reasoning, text.substr(text.rfind(kClose) + kClose.size())};
}

// Writes a conversation as segments, as the checkpoint's chat_template.jinja does.
class Renderer {
 public:
  // think_end: the token "</think>", where `content_ids` are to be used.
  Renderer(const ChatRequest& request, std::optional<TokenId> think_end, bool use_ids)
      : request_(request), think_end_(think_end), use_ids_(use_ids) {}

  Result<std::vector<ChatSegment>> Run() {
    if (request_.messages.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "messages: expected at least one");
    }
    std::ranges::for_each(kBeginning, [&](std::string_view token) { Control(token); });
    if (request_.format.StartsInReasoning(request_.options.enable_thinking)) {
      Effort();
    }
    if (!request_.tools.empty()) {
      Tools();
    }
    const size_t loop_begin = AfterLastUser();
    for (size_t i = 0; i < request_.messages.size(); ++i) {
      const bool shows_reasoning = i >= loop_begin || !request_.options.clear_thinking;
      if (Status status = OneMessage(i, shows_reasoning); !status) {
        return Wrap(std::move(status).error(), fmt::format("messages[{}]", i));
      }
    }
    if (request_.options.add_generation_prompt) {
      GenerationPrompt();
    }
    return std::move(segments_);
  }

 private:
  void Control(std::string_view token) {
    segments_.push_back({ChatSegment::Kind::kControl, std::string(token), {}});
  }

  // Neighbouring plain texts are encoded as one, since tokens may reach across.
  void Plain(std::string_view text) {
    if (text.empty()) {
      return;
    }
    if (!segments_.empty() && segments_.back().kind == ChatSegment::Kind::kPlain) {
      segments_.back().text += text;
    } else {
      segments_.push_back({ChatSegment::Kind::kPlain, std::string(text), {}});
    }
  }

  void Ready(std::span<const TokenId> ids) {
    if (!ids.empty()) {
      segments_.push_back({ChatSegment::Kind::kReady, {}, {ids.begin(), ids.end()}});
    }
  }

  void Effort() {
    Control("<|system|>");
    Plain(request_.options.reasoning_effort == "high" ? "Reasoning Effort: High"
                                                      : "Reasoning Effort: Max");
  }

  void Tools() {
    Control("<|system|>");
    TextWithTags(request_.format.tools_before);
    Plain("<tools>\n");
    for (const Tool& tool : request_.tools) {
      if (!tool.deferred) {
        Plain(tool.definition);
        Plain("\n");
      }
    }
    Plain("</tools>\n");
    TextWithTags(request_.format.tools_after);
  }

  // The family's own words: tags in them are control tokens, as where the model was trained.
  void TextWithTags(std::string_view text) {
    size_t done = 0;
    for (size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
      const auto tag = std::find_if(kTagTexts.begin(), kTagTexts.end(), [&](std::string_view name) {
        return text.substr(at).starts_with(name);
      });
      if (tag == kTagTexts.end()) {
        ++at;
        continue;
      }
      Plain(text.substr(done, at - done));
      Control(*tag);
      at += tag->size();
      done = at;
    }
    Plain(text.substr(done));
  }

  // The place behind the last user message: from there on the model is in one loop of calls and
  // results.
  size_t AfterLastUser() const {
    for (size_t i = request_.messages.size(); i > 0; --i) {
      if (request_.messages[i - 1].role == Role::kUser) {
        return i;
      }
    }
    return 0;
  }

  Status OneMessage(size_t i, bool shows_reasoning) {
    const Message& message = request_.messages[i];
    switch (message.role) {
      case Role::kSystem:
        Control("<|system|>");
        Plain(message.content);
        return Ok();
      case Role::kUser:
        Control("<|user|>");
        Plain(message.content);
        return Ok();
      case Role::kAssistant:
        return Assistant(message, shows_reasoning);
      case Role::kTool:
        if (i == 0 || request_.messages[i - 1].role != Role::kTool) {
          Control("<|observation|>");
        }
        Control("<tool_response>");
        Plain(message.content);
        Control("</tool_response>");
        return Ok();
    }
    return Ok();
  }

  Status Assistant(const Message& message, bool shows_reasoning) {
    Control("<|assistant|>");
    if (use_ids_ && !message.content_ids.empty()) {
      Generated(message, shows_reasoning);
      return Ok();
    }
    const Answer answer = SplitAnswer(message);
    if (request_.format.has_thinking) {
      Control("<think>");
      if (shows_reasoning) {
        Plain(answer.reasoning);
      }
      Control("</think>");
    }
    Plain(StripWhiteSpace(answer.content));
    for (size_t i = 0; i < message.tool_calls.size(); ++i) {
      if (Status status = Call(message.tool_calls[i]); !status) {
        return Wrap(std::move(status).error(), fmt::format("tool_calls[{}]", i));
      }
    }
    return Ok();
  }

  // Exactly what the model generated, as far as it is shown. The generation prompt before it was
  // "<think>" or, with thinking off, "<think></think>".
  void Generated(const Message& message, bool shows_reasoning) {
    const std::span<const TokenId> ids = message.content_ids;
    if (!request_.format.has_thinking) {
      return Ready(ids);
    }
    const auto close = think_end_ ? std::find(ids.begin(), ids.end(), *think_end_) : ids.end();
    const bool closed = close != ids.end();
    const bool all_reasoning = !closed && !message.reasoning.empty();  // cut off while thinking
    const size_t answer = closed          ? static_cast<size_t>(close - ids.begin()) + 1
                          : all_reasoning ? ids.size()
                                          : 0;
    Control("<think>");
    if (shows_reasoning) {
      Ready(ids.first(answer));
    }
    if (!shows_reasoning || !closed) {
      Control("</think>");
    }
    Ready(ids.subspan(answer));
  }

  Status Call(const ToolCall& call) {
    const auto arguments = ParseOrderedJson(call.arguments, "arguments");
    if (!arguments) {
      return Fail(ErrorCode::kInvalidArgument, "{}", arguments.error().message);
    }
    if (!arguments->is_object()) {
      return Fail(ErrorCode::kInvalidArgument, "arguments: expected an object");
    }
    Control("<tool_call>");
    Plain(call.name);
    for (const auto& [key, value] : arguments->get_ref<const OrderedJson::object_t&>()) {
      Control("<arg_key>");
      Plain(key);
      Control("</arg_key>");
      Control("<arg_value>");
      Plain(value.is_string() ? value.get<std::string>() : DumpPythonJson(value));
      Control("</arg_value>");
    }
    Control("</tool_call>");
    return Ok();
  }

  void GenerationPrompt() {
    Control("<|assistant|>");
    if (!request_.format.has_thinking) {
      return;
    }
    Control("<think>");
    if (!request_.options.enable_thinking) {
      Control("</think>");
    }
  }

  const ChatRequest& request_;
  std::optional<TokenId> think_end_;
  bool use_ids_;
  std::vector<ChatSegment> segments_;
};

// The messages and tools must be UTF-8; the error names the one that is not.
Status CheckUtf8(const ChatRequest& request) {
  const auto check = [](std::string_view text, std::string_view list, size_t i,
                        std::string_view field) -> Status {
    const auto offset = FindInvalidUtf8(text);
    if (!offset) {
      return Ok();
    }
    return Fail(ErrorCode::kInvalidArgument,
                "{}[{}].{}: expected UTF-8, found byte {:#04x} at offset {}", list, i, field,
                static_cast<unsigned char>(text[*offset]), *offset);
  };
  for (size_t i = 0; i < request.messages.size(); ++i) {
    const Message& message = request.messages[i];
    COLI_RETURN_IF_ERROR(check(message.content, "messages", i, "content"));
    COLI_RETURN_IF_ERROR(check(message.reasoning, "messages", i, "reasoning_content"));
    for (const ToolCall& call : message.tool_calls) {
      COLI_RETURN_IF_ERROR(check(call.name, "messages", i, "tool_calls.name"));
    }
  }
  for (size_t i = 0; i < request.tools.size(); ++i) {
    COLI_RETURN_IF_ERROR(check(request.tools[i].definition, "tools", i, "definition"));
  }
  return Ok();
}

}  // namespace

ChatFormat ChatFormat::Glm5() {
  return {.has_thinking = true,
          .tools_before =
              "# Tools\n\nYou may call one or more functions to help with the user's question.\n\n",
          .tools_after =
              "For each function call, write the function name and its arguments in the tool call "
              "format:\n"
              "<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>"};
}

ChatFormat ChatFormat::Glm5FromTemplate(std::string_view chat_template) {
  ChatFormat format = Glm5();
  if (auto words = FindToolWords(chat_template)) {
    format.tools_before = std::move(words->before);
    format.tools_after = std::move(words->after);
  }
  return format;
}

std::vector<TokenId> ChatFormat::StopIds(const Tokenizer& tokenizer) const {
  std::vector<TokenId> ids;
  for (const std::string_view name : kStopTokens) {
    if (const auto id = tokenizer.FindToken(name)) {
      ids.push_back(*id);
    }
  }
  return ids;
}

std::vector<TokenId> ChatFormat::BeginningIds(const Tokenizer& tokenizer) const {
  std::vector<TokenId> ids;
  for (const std::string_view name : kBeginning) {
    const auto id = tokenizer.FindToken(name);
    if (!id) {
      return {};
    }
    ids.push_back(*id);
  }
  return ids;
}

Result<std::vector<TokenId>> EncodeChat(const Tokenizer& tokenizer, const ChatRequest& request) {
  COLI_RETURN_IF_ERROR(CheckUtf8(request));
  Renderer renderer(request, tokenizer.FindToken("</think>"), /*use_ids=*/true);
  COLI_ASSIGN_OR_RETURN(const std::vector<ChatSegment> segments, renderer.Run());
  std::vector<TokenId> ids;
  for (const ChatSegment& segment : segments) {
    switch (segment.kind) {
      case ChatSegment::Kind::kControl: {
        const auto token = tokenizer.FindToken(segment.text);
        if (!token) {
          return Fail(ErrorCode::kUnsupported,
                      "tokenizer: expected the control token {} of this chat format, found none",
                      segment.text);
        }
        ids.push_back(*token);
        break;
      }
      case ChatSegment::Kind::kPlain: {
        COLI_ASSIGN_OR_RETURN(const auto plain,
                              tokenizer.Encode(segment.text, SpecialTokens::kPlain));
        ids.insert(ids.end(), plain.begin(), plain.end());
        break;
      }
      case ChatSegment::Kind::kReady:
        ids.insert(ids.end(), segment.ids.begin(), segment.ids.end());
        break;
    }
  }
  return ids;
}

Result<std::string> RenderChat(const ChatRequest& request) {
  COLI_RETURN_IF_ERROR(CheckUtf8(request));
  COLI_ASSIGN_OR_RETURN(const auto segments,
                        Renderer(request, std::nullopt, /*use_ids=*/false).Run());
  std::string text;
  for (const ChatSegment& segment : segments) {
    text += segment.text;
  }
  return text;
}

}  // namespace coli
