#include "cli/conversation.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "sys/file.h"

namespace coli {
namespace {

constexpr uint64_t kMaxTemplateBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxTokenizerConfigBytes = uint64_t{16} << 20;

// The text of the checkpoint's template, "" when it has none.
Result<std::string> ReadChatTemplate(const std::filesystem::path& directory) {
  auto file = ReadTextFile(directory / "chat_template.jinja", kMaxTemplateBytes);
  if (file || file.error().code != ErrorCode::kNotFound) {
    return file;
  }
  const std::filesystem::path path = directory / "tokenizer_config.json";
  const auto config_text = ReadTextFile(path, kMaxTokenizerConfigBytes);
  if (!config_text) {
    return config_text.error().code == ErrorCode::kNotFound ? Result<std::string>("") : config_text;
  }
  COLI_ASSIGN_OR_RETURN(const Json config, ParseJson(*config_text, path.string()));
  const auto entry = config.find("chat_template");
  return config.is_object() && entry != config.end() && entry->is_string()
             ? entry->get<std::string>()
             : std::string();
}

}  // namespace

Result<ModelText> LoadModelText(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "tokenizer.json";
  auto json = ReadTextFile(path, kMaxTokenizerBytes);
  if (!json && json.error().code == ErrorCode::kNotFound) {
    return Fail(ErrorCode::kNotFound,
                "{}: the model has no tokenizer, so it cannot read or write text", path.string());
  }
  COLI_RETURN_IF_ERROR(json);
  COLI_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::Parse(*json, path.string()));
  COLI_ASSIGN_OR_RETURN(const std::string chat_template, ReadChatTemplate(directory));
  return ModelText{std::move(tokenizer), chat_template.empty()
                                             ? ChatFormat::Glm5()
                                             : ChatFormat::Glm5FromTemplate(chat_template)};
}

Conversation::Conversation(const ModelText& text, ConversationOptions options)
    : text_(text), options_(std::move(options)) {
  AddSystem();
}

Result<std::vector<TokenId>> Conversation::Ask(std::string content) {
  Message message;
  message.role = Role::kUser;
  message.content = std::move(content);
  messages_.push_back(std::move(message));
  auto prompt = Encode();
  if (!prompt) {
    TakeBack();
    return prompt;
  }
  prompt_ = *prompt;
  return prompt;
}

Result<std::vector<TokenId>> Conversation::AskAll(std::vector<Message> messages) {
  messages_.clear();
  if (messages.empty() || messages.front().role != Role::kSystem) {
    AddSystem();
  }
  messages_.insert(messages_.end(), std::make_move_iterator(messages.begin()),
                   std::make_move_iterator(messages.end()));
  COLI_ASSIGN_OR_RETURN(prompt_, Encode());
  return prompt_;
}

void Conversation::TakeBack() {
  if (!messages_.empty() && messages_.back().role == Role::kUser) {
    messages_.pop_back();
  }
}

void Conversation::Answered(const AnswerReader& answer) {
  if (messages_.empty() || messages_.back().role != Role::kAssistant) {
    messages_.emplace_back().role = Role::kAssistant;
  }
  Message& turn = messages_.back();
  turn.content = answer.content();
  turn.reasoning = answer.reasoning();
  // After a stop string the tokens say more than was shown: then the text counts.
  turn.content_ids = answer.stopped() ? std::vector<TokenId>{} : answer.ids();
}

std::optional<std::vector<TokenId>> Conversation::More() const {
  if (messages_.empty() || messages_.back().role != Role::kAssistant ||
      messages_.back().content_ids.empty()) {
    return std::nullopt;
  }
  std::vector<TokenId> prompt = prompt_;
  const std::vector<TokenId>& generated = messages_.back().content_ids;
  prompt.insert(prompt.end(), generated.begin(), generated.end());
  return prompt;
}

void Conversation::Reset() {
  messages_.clear();
  prompt_.clear();
  AddSystem();
}

Result<std::vector<TokenId>> Conversation::Encode() const {
  ChatRequest request;
  request.messages = messages_;
  request.format = text_.format;
  request.options.enable_thinking = options_.think;
  return EncodeChat(text_.tokenizer, request);
}

void Conversation::AddSystem() {
  if (options_.system) {
    Message& message = messages_.emplace_back();
    message.role = Role::kSystem;
    message.content = *options_.system;
  }
}

}  // namespace coli
