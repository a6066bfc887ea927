#include "text/tool_words.h"

#include <algorithm>

namespace coli {
namespace {

constexpr size_t kNotFound = std::string_view::npos;
constexpr std::string_view kSpace = " \t\r\n";

// The start of the statement "{% for tool in tools %}".
size_t FindLoop(std::string_view text) {
  for (size_t at = text.find("{%"); at != kNotFound; at = text.find("{%", at + 2)) {
    const size_t end = text.find("%}", at);
    if (end == kNotFound) {
      return kNotFound;
    }
    if (text.substr(at, end - at).find("for tool in tools") != kNotFound) {
      return at;
    }
  }
  return kNotFound;
}

// The value of an expression that is one string literal, such as "'\n'".
std::optional<std::string> StringLiteral(std::string_view expression) {
  expression.remove_prefix(std::min(expression.find_first_not_of(kSpace), expression.size()));
  expression = expression.substr(0, expression.find_last_not_of(kSpace) + 1);
  if (expression.size() < 2 || (expression[0] != '\'' && expression[0] != '"') ||
      expression.back() != expression[0]) {
    return std::nullopt;
  }
  std::string value;
  const std::string_view body = expression.substr(1, expression.size() - 2);
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == expression[0]) {
      return std::nullopt;
    }
    if (body[i] != '\\') {
      value += body[i];
      continue;
    }
    const char c = ++i < body.size() ? body[i] : '\0';
    if (c != 'n' && c != 't' && c != '\\' && c != '\'' && c != '"') {
      return std::nullopt;
    }
    value += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return value;
}

// Literal text in front of a statement, without the white space that the statement takes away.
std::string_view BeforeStatement(std::string_view literal, std::string_view statement) {
  if (statement.starts_with("{%-")) {
    return literal.substr(0, literal.find_last_not_of(kSpace) + 1);
  }
  const size_t line = literal.rfind('\n');
  const bool only_space =
      line != kNotFound && literal.find_first_not_of(" \t", line + 1) == kNotFound;
  return only_space ? literal.substr(0, line + 1) : literal;
}

// What text[begin, end) prints, where a statement stands at `end`.
std::optional<std::string> Print(std::string_view text, size_t begin, size_t end) {
  std::string printed;
  size_t at = begin;
  while (at < end) {
    const size_t next = std::min(text.find("{{", at), end);
    const std::string_view literal = text.substr(at, next - at);
    if (literal.find("{#") != kNotFound || literal.find("{%") != kNotFound) {
      return std::nullopt;
    }
    printed += next == end ? BeforeStatement(literal, text.substr(end)) : literal;
    if (next == end) {
      break;
    }
    const size_t close = text.find("}}", next);
    if (close == kNotFound || close > end) {
      return std::nullopt;
    }
    const auto value = StringLiteral(text.substr(next + 2, close - next - 2));
    if (!value) {
      return std::nullopt;
    }
    printed += *value;
    at = close + 2;
  }
  return printed;
}

}  // namespace

std::optional<ToolWords> FindToolWords(std::string_view chat_template) {
  constexpr std::string_view kSystem = "<|system|>";
  constexpr std::string_view kOpen = "<tools>\n";
  constexpr std::string_view kClose = "</tools>\n";
  const size_t loop = FindLoop(chat_template);
  if (loop == kNotFound) {
    return std::nullopt;
  }
  const size_t system = chat_template.rfind(kSystem, loop);
  const size_t close = chat_template.find("</tools>", loop);
  const size_t end = chat_template.find("{%", close);
  if (system == kNotFound || close == kNotFound || end == kNotFound) {
    return std::nullopt;
  }

  const auto before = Print(chat_template, system + kSystem.size(), loop);
  const auto after = Print(chat_template, close, end);
  if (!before || !after || !before->ends_with(kOpen) || !after->starts_with(kClose)) {
    return std::nullopt;
  }
  return ToolWords{before->substr(0, before->size() - kOpen.size()), after->substr(kClose.size())};
}

}  // namespace coli
