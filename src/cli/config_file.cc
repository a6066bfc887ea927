#include "cli/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/human.h"
#include "sys/file.h"

namespace coli {
namespace {

constexpr uint64_t kMaxConfigBytes = 64 << 10;
// Every dot of a key is a table inside a table, which toml++ destroys by recursion. Its own limit
// counts brackets only, and no key of ours has a dot.
constexpr uint32_t kMaxKeyDots = 8;

std::vector<std::string_view> FileKeys() {
  std::vector<std::string_view> keys;
  for (const OptionSpec& spec : OptionTable()) {
    if (!spec.flag_only) {
      keys.push_back(spec.name);
    }
  }
  return keys;
}

// The value as a user would write it for a flag, so that there is one parser; nothing for tables,
// arrays and dates.
std::optional<std::string> ScalarText(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* integer = node.as_integer()) {
    return fmt::format("{}", integer->get());
  }
  if (const auto* real = node.as_floating_point()) {
    return fmt::format("{}", real->get());
  }
  if (const auto* on = node.as_boolean()) {
    return on->get() ? "on" : "off";
  }
  return std::nullopt;
}

Result<OptionValue> ReadValue(const OptionSpec& spec, const toml::node& node,
                              const std::string& where) {
  const auto* array = node.as_array();
  if (array != nullptr && spec.type == OptionType::kTextList) {
    std::vector<std::string> texts;
    for (const toml::node& element : *array) {
      const auto* text = element.as_string();
      if (text == nullptr || text->get().empty()) {
        return Fail(ErrorCode::kInvalidArgument,
                    "{}: expected an array of texts that are not empty", where);
      }
      texts.push_back(text->get());
    }
    return OptionValue(std::move(texts));
  }
  const auto text = ScalarText(node);
  if (!text) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected {}", where, ExpectedValue(spec));
  }
  return ParseOption(spec, *text, where);
}

// The text after the string that `text` begins with: of one line, or of several after a triple
// quote.
std::string_view SkipString(std::string_view text) {
  const char quote = text.front();
  const std::string triple(3, quote);
  const bool several_lines = text.starts_with(triple);
  const std::string_view end = several_lines ? std::string_view(triple) : text.substr(0, 1);
  text.remove_prefix(end.size());
  while (!text.empty() && !text.starts_with(end) && (several_lines || text.front() != '\n')) {
    const bool escape = quote == '"' && text.front() == '\\';
    text.remove_prefix(std::min<size_t>(escape ? 2 : 1, text.size()));
  }
  text.remove_prefix(text.starts_with(end) ? end.size() : 0);
  return text;
}

// Refuses keys with many dots. Anything else that is wrong is the parser's business.
Status CheckKeyDots(std::string_view text, std::string_view path) {
  const std::string_view whole = text;
  uint32_t dots = 0;
  while (!text.empty()) {
    const char next = text.front();
    if (next == '"' || next == '\'') {
      text = SkipString(text);
      continue;
    }
    if (next == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
      continue;
    }
    if (next == '.' && ++dots > kMaxKeyDots) {
      const auto line =
          1 + std::count(whole.begin(), whole.end() - static_cast<ptrdiff_t>(text.size()), '\n');
      return Fail(ErrorCode::kCorrupt, "{}:{}: expected a key with at most {} dots", path, line,
                  kMaxKeyDots);
    }
    if (std::string_view("\n=,{[").find(next) != std::string_view::npos) {
      dots = 0;
    }
    text.remove_prefix(1);
  }
  return Ok();
}

Result<toml::table> ParseToml(std::string_view text, std::string_view path) {
  COLI_RETURN_IF_ERROR(CheckKeyDots(text, path));
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kCorrupt, "{}:{}: {}", path, error.source().begin.line,
                std::string(error.description()));
  }
}

}  // namespace

Status ApplyConfigText(std::string_view text, std::string_view path, OptionValues& values) {
  COLI_ASSIGN_OR_RETURN(const toml::table table, ParseToml(text, path));
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string place = fmt::format("{}:{}", path, key.source().begin.line);
    const OptionSpec* spec = FindOption(name);
    if (spec == nullptr || spec->flag_only) {
      const std::string nearest = NearestName(name, FileKeys());
      const std::string hint =
          nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest);
      return Fail(ErrorCode::kInvalidArgument, "{}: unknown key \"{}\"{}", place, name, hint);
    }
    COLI_ASSIGN_OR_RETURN(OptionValue value,
                          ReadValue(*spec, node, fmt::format("{}: {}", place, name)));
    values.Set(*spec, std::move(value), Origin::kFile, place);
  }
  return Ok();
}

Status ApplyConfigFile(const Environment& environment, OptionValues& values) {
  const auto folder = ConfigFolder(environment);
  if (!folder) {
    return Ok();
  }
  const std::filesystem::path path = *folder / "config.toml";
  const auto text = ReadTextFile(path, kMaxConfigBytes);
  if (!text) {
    return text.error().code == ErrorCode::kNotFound ? Ok()
                                                     : Status(tl::unexpected<Error>(text.error()));
  }
  return ApplyConfigText(*text, path.string(), values);
}

Status ApplyEnvironment(const Environment& environment, OptionValues& values) {
  for (const OptionSpec& spec : OptionTable()) {
    const std::string name = EnvironmentName(spec);
    const auto text = spec.flag_only ? std::nullopt : environment(name);
    if (text) {
      COLI_ASSIGN_OR_RETURN(OptionValue value, ParseOption(spec, *text, name));
      values.Set(spec, std::move(value), Origin::kEnvironment, name);
    }
  }
  return Ok();
}

}  // namespace coli
