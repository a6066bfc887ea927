#include "cli/config_file.h"

#include <toml++/toml.h>

#include <utility>
#include <vector>

#include "cli/human.h"
#include "sys/file.h"

namespace coli {
namespace {

constexpr uint64_t kMaxConfigBytes = 1 << 20;

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

Result<toml::table> ParseToml(std::string_view text, std::string_view path) {
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
