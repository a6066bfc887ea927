#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/shown.h"

namespace coli {
namespace {

std::string Expected(IntRange range) {
  return fmt::format("an integer in [{}, {}]", range.min, range.max);
}

std::string Expected(FloatRange range) {
  return fmt::format("a number in [{}, {}]", range.min, range.max);
}

std::string Expected(Words words) { return fmt::format("\"{}\"", fmt::join(words, "\" or \"")); }

std::optional<int64_t> AsInt(const Json& value, IntRange range) {
  if (!value.is_number_integer()) {
    return std::nullopt;
  }
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return std::nullopt;
  }
  const auto number = value.get<int64_t>();
  if (number < range.min || number > range.max) {
    return std::nullopt;
  }
  return number;
}

std::optional<double> AsFloat(const Json& value, FloatRange range) {
  if (!value.is_number()) {
    return std::nullopt;
  }
  const auto number = value.get<double>();
  if (!(number >= range.min && number <= range.max)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

Fields::Fields(Place place, std::string source, ErrorCode code)
    : places_{std::move(place)}, source_(std::move(source)), code_(code) {}

Result<Fields> Fields::Of(const Json& value, std::string_view source, std::string_view path,
                          ErrorCode code) {
  if (!value.is_object()) {
    const std::string_view name = path.substr(0, path.empty() ? 0 : path.size() - 1);
    return Fail(code, "{}: {}{}expected an object, found {}", source, name,
                name.empty() ? "" : ": ", Shown(&value));
  }
  return Fields({&value, std::string(path)}, std::string(source), code);
}

Fields Fields::Within(const Fields& outer) const {
  Fields both = *this;
  both.places_.insert(both.places_.end(), outer.places_.begin(), outer.places_.end());
  return both;
}

// Of several spellings the first that is not null is the member; the others must equal it.
Result<Fields::Member> Fields::Find(const FieldNames& names) const {
  for (const Place& place : places_) {
    Member member;
    for (const std::string_view name : names.all()) {
      const auto found = place.object->find(name);
      if (found == place.object->end()) {
        continue;
      }
      if (member.value == nullptr || member.value->is_null()) {
        member = {&*found, fmt::format("{}: {}{}", source_, place.path, name)};
      } else if (!found->is_null() && *found != *member.value) {
        return Bad({&*found, fmt::format("{}: {}{}", source_, place.path, name)},
                   fmt::format("the same value as in {}, {}",
                               member.name.substr(source_.size() + 2), Shown(member.value)));
      }
    }
    if (member.value != nullptr) {
      return member;
    }
  }
  return Member{nullptr, fmt::format("{}: {}{}", source_, places_.front().path, names.usual())};
}

Result<std::optional<Fields::Member>> Fields::FindValue(const FieldNames& names) const {
  COLI_ASSIGN_OR_RETURN(Member member, Find(names));
  if (member.value == nullptr || member.value->is_null()) {
    return std::nullopt;
  }
  return member;
}

tl::unexpected<Error> Fields::Bad(const Member& member, std::string_view expected) const {
  return Fail(code_, "{}: expected {}, found {}", member.name, expected, Shown(member.value));
}

Error Fields::Mismatch(const FieldNames& names, std::string_view expected,
                       std::optional<size_t> index) const {
  Result<Member> member = Find(names);
  if (!member) {
    return member.error();
  }
  if (index && member->value != nullptr && member->value->is_array() &&
      *index < member->value->size()) {
    return Bad({&(*member->value)[*index], fmt::format("{}[{}]", member->name, *index)}, expected)
        .value();
  }
  return Bad(*member, expected).value();
}

Error Fields::Unsupported(const FieldNames& names, std::string_view expected) const {
  return {ErrorCode::kUnsupported, Mismatch(names, expected).message};
}

bool Fields::Has(const FieldNames& names) const {
  const auto member = FindValue(names);
  return !member || member->has_value();  // spellings that disagree are there
}

bool Fields::IsNull(const FieldNames& names) const {
  const auto member = Find(names);
  return member && member->value != nullptr && member->value->is_null();
}

std::optional<std::string> Fields::FindPrefix(std::string_view prefix) const {
  for (const Place& place : places_) {
    for (const auto& [name, value] : place.object->items()) {
      if (name.starts_with(prefix) && !value.is_null() && value != false) {
        return name;
      }
    }
  }
  return std::nullopt;
}

Result<int64_t> Fields::Int(const FieldNames& names, IntRange range) const {
  COLI_ASSIGN_OR_RETURN(const Member member, Find(names));
  const auto number = member.value == nullptr ? std::nullopt : AsInt(*member.value, range);
  if (!number) {
    return Bad(member, Expected(range));
  }
  return *number;
}

Result<int64_t> Fields::IntOr(const FieldNames& names, IntRange range, int64_t value) const {
  COLI_ASSIGN_OR_RETURN(const Member member, Find(names));
  if (member.value == nullptr) {
    return value;
  }
  return Int(names, range);
}

Result<std::optional<int64_t>> Fields::MaybeInt(const FieldNames& names, IntRange range) const {
  COLI_ASSIGN_OR_RETURN(const auto member, FindValue(names));
  if (!member) {
    return std::nullopt;
  }
  return Int(names, range);
}

Result<double> Fields::Float(const FieldNames& names, FloatRange range) const {
  COLI_ASSIGN_OR_RETURN(const Member member, Find(names));
  const auto number = member.value == nullptr ? std::nullopt : AsFloat(*member.value, range);
  if (!number) {
    return Bad(member, Expected(range));
  }
  return *number;
}

Result<double> Fields::FloatOr(const FieldNames& names, FloatRange range, double value) const {
  COLI_ASSIGN_OR_RETURN(const Member member, Find(names));
  if (member.value == nullptr) {
    return value;
  }
  return Float(names, range);
}

Result<std::optional<double>> Fields::MaybeFloat(const FieldNames& names, FloatRange range) const {
  COLI_ASSIGN_OR_RETURN(const auto member, FindValue(names));
  if (!member) {
    return std::nullopt;
  }
  return Float(names, range);
}

Result<bool> Fields::BoolOr(const FieldNames& names, bool value) const {
  COLI_ASSIGN_OR_RETURN(const Member member, Find(names));
  if (member.value == nullptr) {
    return value;
  }
  if (!member.value->is_boolean()) {
    return Bad(member, "true or false");
  }
  return member.value->get<bool>();
}

Result<std::string> Fields::String(const FieldNames& names) const {
  COLI_ASSIGN_OR_RETURN(const Member member, Find(names));
  if (member.value == nullptr || !member.value->is_string()) {
    return Bad(member, "a string");
  }
  return member.value->get<std::string>();
}

Result<std::optional<std::string>> Fields::MaybeString(const FieldNames& names) const {
  COLI_ASSIGN_OR_RETURN(const auto member, FindValue(names));
  if (!member) {
    return std::nullopt;
  }
  return String(names);
}

Result<std::optional<std::vector<int64_t>>> Fields::MaybeInts(const FieldNames& names,
                                                              IntRange range) const {
  COLI_ASSIGN_OR_RETURN(const auto member, FindValue(names));
  if (!member) {
    return std::nullopt;
  }
  if (!member->value->is_array()) {
    COLI_ASSIGN_OR_RETURN(const int64_t number, Int(names, range));
    return std::vector<int64_t>{number};
  }

  std::vector<int64_t> numbers;
  for (const Json& element : *member->value) {
    const auto number = AsInt(element, range);
    if (!number) {
      return Bad({&element, fmt::format("{}[{}]", member->name, numbers.size())}, Expected(range));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::optional<std::vector<std::string>>> Fields::MaybeWords(const FieldNames& names,
                                                                   Words words) const {
  COLI_ASSIGN_OR_RETURN(const auto member, FindValue(names));
  if (!member) {
    return std::nullopt;
  }
  if (!member->value->is_array()) {
    return Bad(*member, fmt::format("a list of {}", Expected(words)));
  }

  std::vector<std::string> found;
  for (const Json& element : *member->value) {
    if (!element.is_string() ||
        std::ranges::find(words, element.get_ref<const std::string&>()) == words.end()) {
      return Bad({&element, fmt::format("{}[{}]", member->name, found.size())}, Expected(words));
    }
    found.push_back(element.get<std::string>());
  }
  return found;
}

Status Fields::OnlyWords(const FieldNames& names, Words words) const {
  const auto found = MaybeWords(names, words);
  return found ? Ok() : Fail(ErrorCode::kUnsupported, "{}", found.error().message);
}

Result<std::optional<Fields>> Fields::MaybeObject(const FieldNames& names) const {
  COLI_ASSIGN_OR_RETURN(const auto member, FindValue(names));
  if (!member) {
    return std::nullopt;
  }
  const std::string path = member->name.substr(source_.size() + 2) + '.';
  return Of(*member->value, source_, path, code_);
}

template <class T>
Status Fields::Is(const FieldNames& names, const T& only) const {
  COLI_ASSIGN_OR_RETURN(const auto member, FindValue(names));
  const Json accepted(only);
  // Equality alone would take 1.0 for 1.
  if (!member || (*member->value == accepted &&
                  member->value->is_number_float() == accepted.is_number_float())) {
    return Ok();
  }
  return tl::unexpected(Unsupported(names, accepted.dump()));
}

Status Fields::Only(const FieldNames& names, std::string_view only) const {
  return Is(names, std::string(only));
}
Status Fields::Only(const FieldNames& names, bool only) const { return Is(names, only); }
Status Fields::Only(const FieldNames& names, int64_t only) const { return Is(names, only); }

}  // namespace coli
