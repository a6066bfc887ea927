#include "text/tokenizer_pipeline.h"

#include <nlohmann/json.hpp>

#include "base/shown.h"

namespace coli {
namespace {

// What ByteLevel splits by when it is told to (use_regex). Source: GPT-2.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

bool IsAbsent(const Json* value) { return value == nullptr || value->is_null(); }

// The "type" of a section, or "" if it has none.
std::string TypeOf(const Json& section) {
  const Json* const type = FindMember(section, "type");
  return type != nullptr && type->is_string() ? type->get<std::string>() : "";
}

// The steps of a section that may be a Sequence, with their names.
struct Step {
  const Json* section;
  std::string where;
};

Result<std::vector<Step>> StepsOf(const Json* section, const std::string& where, const char* list) {
  if (IsAbsent(section)) {
    return std::vector<Step>{};
  }
  if (TypeOf(*section) != "Sequence") {
    return std::vector<Step>{{section, where}};
  }
  const Json* const steps = FindMember(*section, list);
  if (steps == nullptr || !steps->is_array()) {
    return Fail(ErrorCode::kCorrupt, "{}.{}: expected an array, found {}", where, list,
                Shown(steps));
  }
  std::vector<Step> result;
  for (const Json& step : *steps) {
    result.push_back({&step, fmt::format("{}.{}[{}]", where, list, result.size())});
  }
  return result;
}

tl::unexpected<Error> WrongType(const Step& step, std::string_view expected) {
  return Fail(ErrorCode::kUnsupported, "{}.type: expected {}, found {}", step.where, expected,
              Shown(FindMember(*step.section, "type")));
}

// The flag of a ByteLevel section; `otherwise` is what a file without it means.
Result<bool> ReadFlag(const Step& step, const char* key, bool otherwise) {
  const Json* const value = FindMember(*step.section, key);
  if (IsAbsent(value)) {
    return otherwise;
  }
  if (value->is_boolean()) {
    return value->get<bool>();
  }
  return Fail(ErrorCode::kCorrupt, "{}.{}: expected true or false, found {}", step.where, key,
              Shown(value));
}

Result<SplitStep> ReadSplit(const Step& step) {
  const Json* const behavior = FindMember(*step.section, "behavior");
  if (behavior == nullptr || *behavior != "Isolated") {
    return Fail(ErrorCode::kUnsupported, "{}.behavior: expected \"Isolated\", found {}", step.where,
                Shown(behavior));
  }
  const Json* const pattern = FindMember(*step.section, "pattern");
  for (const char* kind : {"Regex", "String"}) {
    const Json* const text = pattern == nullptr ? nullptr : FindMember(*pattern, kind);
    if (text != nullptr && text->is_string()) {
      return SplitStep{.pattern = text->get<std::string>(),
                       .literal = kind == std::string_view("String"),
                       .field = step.where + ".pattern"};
    }
  }
  return Fail(ErrorCode::kCorrupt,
              "{}.pattern: expected {{\"Regex\": string}} or {{\"String\": string}}, found {}",
              step.where, Shown(pattern));
}

}  // namespace

Result<bool> ReadNormalizer(const Json* section, const std::string& where) {
  COLI_ASSIGN_OR_RETURN(const std::vector<Step> steps, StepsOf(section, where, "normalizers"));
  for (const Step& step : steps) {
    if (TypeOf(*step.section) != "NFC") {
      return WrongType(step, "\"NFC\"");
    }
  }
  return !steps.empty();
}

Result<std::vector<SplitStep>> ReadPreTokenizer(const Json* section, const std::string& where) {
  COLI_ASSIGN_OR_RETURN(const std::vector<Step> steps, StepsOf(section, where, "pretokenizers"));
  std::vector<SplitStep> splits;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const std::string type = TypeOf(*step.section);
    if (type == "Split") {
      COLI_ASSIGN_OR_RETURN(SplitStep split, ReadSplit(step));
      splits.push_back(std::move(split));
      continue;
    }
    if (type != "ByteLevel") {
      return WrongType(step, "\"Split\" or \"ByteLevel\"");
    }
    COLI_ASSIGN_OR_RETURN(const bool add_prefix_space, ReadFlag(step, "add_prefix_space", true));
    COLI_ASSIGN_OR_RETURN(const bool use_regex, ReadFlag(step, "use_regex", true));
    if (add_prefix_space) {
      return Fail(ErrorCode::kUnsupported, "{}.add_prefix_space: expected false, found true",
                  step.where);
    }
    if (use_regex) {
      splits.push_back(
          {.pattern = std::string(kByteLevelPattern), .literal = false, .field = step.where});
    }
    if (i + 1 == steps.size()) {
      return splits;
    }
    return Fail(ErrorCode::kUnsupported,
                "{}: expected ByteLevel as the last step, found one after it", step.where);
  }
  return Fail(ErrorCode::kUnsupported, "{}: expected a ByteLevel step at the end, found none",
              where);
}

Status CheckDecoder(const Json* section, const std::string& where) {
  COLI_ASSIGN_OR_RETURN(const std::vector<Step> steps, StepsOf(section, where, "decoders"));
  for (const Step& step : steps) {
    if (TypeOf(*step.section) != "ByteLevel") {
      return WrongType(step, "\"ByteLevel\"");
    }
  }
  return Ok();
}

}  // namespace coli
