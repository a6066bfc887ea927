#include "text/output_parser.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "text/argument_types.h"
#include "text/tags.h"
#include "text/utf8.h"

namespace coli {
namespace {

// Where the parser is; text before the next tag belongs to this place.
enum class Place { kReasoning, kContent, kName, kBetween, kKey, kValue };

bool InCall(Place place) { return place != Place::kReasoning && place != Place::kContent; }

// The tags that mean something at a place; everything else there is text.
std::span<const Tag> TagsAt(Place place, bool tools_offered) {
  static constexpr std::array kReasoning = {Tag::kThinkEnd, Tag::kToolCall};
  static constexpr std::array kContent = {Tag::kToolCall};
  static constexpr std::array kName = {Tag::kKey, Tag::kValue, Tag::kToolCallEnd};
  static constexpr std::array kBetween = {Tag::kKey, Tag::kValue, Tag::kToolCallEnd,
                                          Tag::kToolCall};
  static constexpr std::array kKey = {Tag::kKeyEnd};
  static constexpr std::array kValue = {Tag::kValueEnd};
  switch (place) {
    case Place::kReasoning:
      return std::span(kReasoning).first(tools_offered ? 2 : 1);
    case Place::kContent:
      return kContent;
    case Place::kName:
      return kName;
    case Place::kBetween:
      return kBetween;
    case Place::kKey:
      return kKey;
    case Place::kValue:
      return kValue;
  }
  return {};
}

bool IsSpaceOnly(std::string_view text) { return StripWhiteSpace(text).empty(); }

// The call being read.
struct OpenCall {
  std::string raw;    // everything from "<tool_call>" on, to give back
  std::string field;  // the text of the current place
  std::string name;
  std::string key;
  bool has_key = false;
  bool malformed = false;
  OrderedJson arguments = OrderedJson::object();
};

}  // namespace

struct OutputParser::State {
  State(bool starts_in_reasoning, std::span<const Tool> tools)
      : types(tools),
        tools_offered(!tools.empty()),
        place(starts_in_reasoning ? Place::kReasoning : Place::kContent),
        trims(starts_in_reasoning) {}

  // Takes what is certain out of `pending` and `text`.
  void Feed(std::string_view text, OutputDelta& delta) {
    const std::string joined = std::exchange(pending, {}).append(text);
    std::string_view rest = joined;
    while (TakeTag(rest, delta)) {
    }
    pending = rest;
  }

  // Takes one tag and the text before it; false when no complete tag is left: then text that cannot
  // begin one is taken.
  bool TakeTag(std::string_view& rest, OutputDelta& delta) {
    size_t at = rest.find('<');
    for (; at != std::string_view::npos; at = rest.find('<', at + 1)) {
      bool may_begin = false;
      for (const Tag tag : TagsAt(place, tools_offered)) {
        if (rest.substr(at).starts_with(TextOf(tag))) {
          Text(rest.substr(0, at), delta);
          rest.remove_prefix(at + TextOf(tag).size());
          OnTag(tag, delta);
          return true;
        }
        may_begin |= TextOf(tag).starts_with(rest.substr(at));
      }
      if (may_begin) {
        break;
      }
    }
    const size_t certain = std::min(at, rest.size());
    Text(rest.substr(0, certain), delta);
    rest.remove_prefix(certain);
    return false;
  }

  void Text(std::string_view text, OutputDelta& delta) {
    if (text.empty()) {
      return;
    }
    switch (place) {
      case Place::kReasoning:
        Shown(text, delta.reasoning);
        return;
      case Place::kContent:
        Shown(text, delta.content);
        return;
      case Place::kName:
      case Place::kBetween:
      case Place::kKey:
      case Place::kValue:
        call.raw += text;
        call.field += text;
        return;
    }
  }

  // Appends text for the user, without white space in front where that belongs to the tags.
  void Shown(std::string_view text, std::string& out) {
    held += text;
    const size_t begin = trims ? held.find_first_not_of(" \t\r\n") : 0;
    if (begin == std::string::npos) {
      return;
    }
    out.append(held, begin);
    held.clear();
    trims = false;
  }

  void Go(Place next) {
    place = next;
    held.clear();
    trims = true;
  }

  void OnTag(Tag tag, OutputDelta& delta) {
    if (InCall(place)) {
      call.raw += TextOf(tag);
    }
    switch (tag) {
      case Tag::kThink:
        return;
      case Tag::kThinkEnd:
        return Go(Place::kContent);
      case Tag::kToolCall:
        return StartCall(delta);
      case Tag::kToolCallEnd:
        return EndCall(delta);
      case Tag::kKey:
        EndName();
        return Enter(Place::kKey);
      case Tag::kKeyEnd:
        call.key = StripWhiteSpace(call.field);
        call.has_key = true;
        return Enter(Place::kBetween);
      case Tag::kValue:
        call.malformed |= !call.has_key || !IsSpaceOnly(call.field);
        return Enter(Place::kValue);
      case Tag::kValueEnd:
        call.arguments[call.key] = types.Value(call.name, call.key, call.field);
        call.has_key = false;
        return Enter(Place::kBetween);
    }
  }

  void Enter(Place next) {
    call.field.clear();
    place = next;
  }

  void StartCall(OutputDelta& delta) {
    if (InCall(place)) {  // the last call was not closed
      call.raw.resize(call.raw.size() - TextOf(Tag::kToolCall).size());
      FinishCall(delta);
    }
    call = OpenCall{};
    call.raw = TextOf(Tag::kToolCall);
    Enter(Place::kName);
  }

  // The name ends where the first key begins or the call ends; later keys must follow a value at
  // once.
  void EndName() {
    if (place == Place::kName) {
      call.name = StripWhiteSpace(call.field);
    } else {
      call.malformed |= call.has_key || !IsSpaceOnly(call.field);
    }
  }

  void EndCall(OutputDelta& delta) {
    EndName();
    FinishCall(delta);
  }

  void FinishCall(OutputDelta& delta) {
    const bool ends_well = place == Place::kName || (place == Place::kBetween && !call.has_key);
    if (ends_well && !call.malformed && !call.name.empty()) {
      const auto replace = OrderedJson::error_handler_t::replace;
      delta.tool_calls.push_back(
          {"", std::move(call.name), call.arguments.dump(-1, ' ', false, replace)});
      Go(Place::kContent);
    } else {
      GiveBack(delta);
    }
  }

  // The call turned out to be none: its text is content.
  void GiveBack(OutputDelta& delta) {
    delta.content += std::exchange(held, {}) + call.raw;
    place = Place::kContent;
    trims = false;
  }

  void Finish(OutputDelta& delta) {
    Text(pending, delta);
    pending.clear();
    if (place == Place::kBetween) {
      call.malformed |= !IsSpaceOnly(call.field);
      FinishCall(delta);
    } else if (InCall(place)) {
      GiveBack(delta);
    }
  }

  ArgumentTypes types;
  bool tools_offered;
  Place place;
  bool trims;           // white space at this point is dropped
  std::string held;     // white space that is dropped if nothing brings it back
  std::string pending;  // may be the beginning of a tag
  OpenCall call;
};

OutputParser::OutputParser(bool starts_in_reasoning, std::span<const Tool> tools)
    : state_(std::make_unique<State>(starts_in_reasoning, tools)) {}
OutputParser::OutputParser(OutputParser&&) noexcept = default;
OutputParser& OutputParser::operator=(OutputParser&&) noexcept = default;
OutputParser::~OutputParser() = default;

OutputDelta OutputParser::Feed(std::string_view text) {
  OutputDelta delta;
  state_->Feed(text, delta);
  return delta;
}

OutputDelta OutputParser::Finish() {
  OutputDelta delta;
  state_->Finish(delta);
  return delta;
}

}  // namespace coli
