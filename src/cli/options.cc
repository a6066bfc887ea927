#include "cli/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "cli/human.h"
#include "engine/options.h"

namespace coli {
namespace {

std::vector<std::string_view> Choices(const OptionSpec& spec) {
  std::vector<std::string_view> choices;
  std::string_view rest = spec.choices;
  while (!rest.empty()) {
    const size_t bar = std::min(rest.find('|'), rest.size());
    choices.push_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return choices;
}

std::optional<bool> ParseSwitch(std::string_view text) {
  for (const std::string_view on : {"on", "true", "yes", "1"}) {
    if (text == on) {
      return true;
    }
  }
  for (const std::string_view off : {"off", "false", "no", "0"}) {
    if (text == off) {
      return false;
    }
  }
  return std::nullopt;
}

// The whole of `text` as a number in the range of the option.
template <class Number>
std::optional<Number> ParseNumber(const OptionSpec& spec, std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const auto value = static_cast<double>(number);
  if (parsed.ec != std::errc{} || parsed.ptr != end || !(value >= spec.min && value <= spec.max)) {
    return std::nullopt;
  }
  return number;
}

std::optional<OptionValue> ParseText(const OptionSpec& spec, std::string_view text) {
  switch (spec.type) {
    case OptionType::kSwitch:
      return ParseSwitch(text);
    case OptionType::kInteger:
      return ParseNumber<uint64_t>(spec, text);
    case OptionType::kReal:
      return ParseNumber<double>(spec, text);
    case OptionType::kBytes: {
      const auto bytes = ParseBytes(text);
      return bytes && static_cast<double>(*bytes) >= spec.min ? std::optional<OptionValue>(*bytes)
                                                              : std::nullopt;
    }
    case OptionType::kText:
      return std::string(text);
    case OptionType::kFormat:
      return IsFormatOption(text) ? std::optional<OptionValue>(std::string(text)) : std::nullopt;
    case OptionType::kChoice: {
      const auto choices = Choices(spec);
      const bool known = std::find(choices.begin(), choices.end(), text) != choices.end();
      return known ? std::optional<OptionValue>(std::string(text)) : std::nullopt;
    }
    case OptionType::kTextList:
      return text.empty() ? std::nullopt
                          : std::optional<OptionValue>(std::vector{std::string(text)});
  }
  return std::nullopt;
}

// Without digits that a double has but nobody typed.
std::string NumberText(double number) { return fmt::format("{}", number); }

}  // namespace

const OptionSpec* FindOption(std::string_view name) {
  const auto table = OptionTable();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const OptionSpec& spec) { return spec.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::string FlagName(const OptionSpec& spec) { return fmt::format("--{}", spec.name); }

std::string EnvironmentName(const OptionSpec& spec) {
  std::string name = fmt::format("COLI_{}", spec.name);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return name;
}

std::string ExpectedValue(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::kSwitch:
      return "on or off";
    case OptionType::kInteger:
      return fmt::format("a whole number from {:.0f} to {:.0f}", spec.min, spec.max);
    case OptionType::kReal:
      return fmt::format("a number from {} to {}", NumberText(spec.min), NumberText(spec.max));
    case OptionType::kBytes:
      return "a size such as 20G or 800M";
    case OptionType::kText:
      return "a text";
    case OptionType::kFormat:
      return FormatOptionNames();
    case OptionType::kTextList:
      return "a text that is not empty";
    case OptionType::kChoice: {
      std::string choices(spec.choices);
      std::replace(choices.begin(), choices.end(), '|', '/');
      return "one of " + choices;
    }
  }
  return {};
}

Result<OptionValue> ParseOption(const OptionSpec& spec, std::string_view text,
                                std::string_view where) {
  if (auto value = ParseText(spec, text)) {
    return *std::move(value);
  }
  return Fail(ErrorCode::kInvalidArgument, "{}: expected {}, found \"{}\"", where,
              ExpectedValue(spec), text);
}

std::string OptionText(const OptionSpec& spec, const OptionValue& value) {
  if (const auto* on = std::get_if<bool>(&value)) {
    return *on ? "on" : "off";
  }
  if (const auto* integer = std::get_if<uint64_t>(&value)) {
    return spec.type == OptionType::kBytes ? FormatBytes(*integer) : fmt::format("{}", *integer);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return NumberText(*real);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  std::string all;
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", text);
  }
  return all;
}

std::string_view OriginName(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kModel:
      return "model";
    case Origin::kFile:
      return "file";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kFlag:
      return "flag";
  }
  return {};
}

OptionValues::OptionValues() {
  for (const OptionSpec& spec : OptionTable()) {
    if (!spec.default_text.empty()) {
      auto value = ParseText(spec, spec.default_text);
      COLI_CHECK(value.has_value());
      Set(spec, *std::move(value), Origin::kDefault);
    }
  }
}

void OptionValues::Set(const OptionSpec& spec, OptionValue value, Origin origin,
                       std::string place) {
  const auto [entry, inserted] = entries_.try_emplace(std::string(spec.name));
  if (inserted || entry->second.origin <= origin) {
    entry->second = {std::move(value), origin, std::move(place)};
  }
}

const OptionValues::Entry* OptionValues::Find(std::string_view name) const {
  COLI_CHECK(FindOption(name) != nullptr);
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

bool OptionValues::On(std::string_view name) const {
  const Entry* entry = Find(name);
  if (entry == nullptr) {
    return false;
  }
  const auto* text = std::get_if<std::string>(&entry->value);
  return text != nullptr ? *text == "on" : std::get<bool>(entry->value);
}

std::optional<uint64_t> OptionValues::Integer(std::string_view name) const {
  const Entry* entry = Find(name);
  return entry == nullptr ? std::nullopt : std::optional(std::get<uint64_t>(entry->value));
}

std::optional<double> OptionValues::Real(std::string_view name) const {
  const Entry* entry = Find(name);
  return entry == nullptr ? std::nullopt : std::optional(std::get<double>(entry->value));
}

std::optional<std::string> OptionValues::Text(std::string_view name) const {
  const Entry* entry = Find(name);
  if (entry == nullptr || std::get<std::string>(entry->value).empty()) {
    return std::nullopt;
  }
  return std::get<std::string>(entry->value);
}

std::vector<std::string> OptionValues::List(std::string_view name) const {
  const Entry* entry = Find(name);
  return entry == nullptr ? std::vector<std::string>{}
                          : std::get<std::vector<std::string>>(entry->value);
}

}  // namespace coli
