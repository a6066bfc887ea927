#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coli {
namespace {

// Reads bytes and keeps count of them where the parser's callbacks can see it.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* count) : at_(at), count_(count) {}

  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  size_t* count_;
};

// A container whose end has not come yet.
template <class Value>
struct OpenContainer {
  Value* value;
  // Ordered objects only: growing an ordered_map copies its values instead of moving them, and its
  // own emplace looks through all members, so the members are collected here first.
  std::vector<std::pair<std::string, Value>> members;
  std::set<std::string> keys;
};

// Adds a member; the place of its value, or null when the object has the key already.
Json* AddMember(OpenContainer<Json>& object, std::string key) {
  const auto [place, is_new] =
      object.value->get_ref<Json::object_t&>().emplace(std::move(key), nullptr);
  return is_new ? &place->second : nullptr;
}

OrderedJson* AddMember(OpenContainer<OrderedJson>& object, std::string key) {
  if (!object.keys.insert(key).second) {
    return nullptr;
  }
  return &object.members.emplace_back(std::move(key), nullptr).second;
}

void CloseContainer(OpenContainer<Json>&) {}

void CloseContainer(OpenContainer<OrderedJson>& container) {
  if (container.members.empty()) {
    return;
  }
  OrderedJson::object_t::Container& object = container.value->get_ref<OrderedJson::object_t&>();
  object.reserve(container.members.size());
  for (auto& [key, value] : container.members) {
    object.emplace_back(std::move(key), std::move(value));
  }
}

// Builds the value from the parser's events and stops at the first one that breaks a limit.
template <class Value>
class Builder {
 public:
  using number_integer_t = typename Value::number_integer_t;
  using number_unsigned_t = typename Value::number_unsigned_t;
  using number_float_t = typename Value::number_float_t;
  using string_t = typename Value::string_t;
  using binary_t = typename Value::binary_t;

  // With `take`, the members of the outermost object are given away and not kept; only their keys
  // stay, which must not come twice.
  explicit Builder(const JsonLimits& limits, const MemberTaker* take = nullptr)
      : limits_(limits), take_(take) {}

  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(number_integer_t value) { return Add(value); }
  bool number_unsigned(number_unsigned_t value) { return Add(value); }
  bool string(string_t& value) { return Add(std::move(value)); }
  bool binary(binary_t&) { return Stop("binary values are not JSON"); }

  bool number_float(number_float_t value, const string_t& digits) {
    // The parser turns integers that do not fit 64 bits into floats.
    if (digits.find_first_of(".eE") == string_t::npos) {
      return Stop("integer does not fit 64 bits");
    }
    if (!std::isfinite(value)) {
      return Stop("number does not fit a double");
    }
    return Add(value);
  }

  bool start_object(size_t) { return Open(Value::object()); }
  bool end_object() { return Close(); }
  bool start_array(size_t) { return Open(Value::array()); }
  bool end_array() { return Close(); }

  bool key(string_t& name) {
    if (!Count()) {
      return false;
    }
    const bool given_away = take_ != nullptr && open_.size() == 1;
    if (given_away) {
      key_ = name;
    }
    member_ = AddMember(open_.back(), name);
    if (given_away) {
      outer_member_ = member_;
    }
    return member_ != nullptr ||
           Stop(fmt::format("the same key twice in one object: {}", Json(name).dump()));
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    // "[json.exception...] parse error at line 1, column 2: <reason>; last read: '<bytes>'"
    std::string_view reason = error.what();
    reason = reason.substr(std::min(reason.find(']'), reason.size() - 1) + 1);
    if (const size_t place = reason.find(", column "); place != std::string_view::npos) {
      reason = reason.substr(std::min(reason.find(": ", place), reason.size()));
    }
    reason = reason.substr(0, reason.find("; last read"));
    reason.remove_prefix(std::min(reason.find_first_not_of(": "), reason.size()));
    error_offset_ = position == 0 ? 0 : position - 1;
    return Stop(std::string(reason.substr(0, 200)));
  }

  Value& value() { return root_; }
  // Why the taker of members ended the parsing, if it did.
  std::optional<Error>& refusal() { return refusal_; }
  const std::string& problem() const { return problem_; }
  // Where the parser found a mistake; nothing when a limit was broken.
  std::optional<size_t> error_offset() const { return error_offset_; }

 private:
  bool Stop(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool Count() {
    if (++count_ <= limits_.max_values) {
      return true;
    }
    return Stop(fmt::format("more than {} values", limits_.max_values));
  }

  // Puts `value` where the next value belongs; null after a problem.
  template <class T>
  Value* Place(T&& value) {
    if (!Count()) {
      return nullptr;
    }
    if (open_.empty()) {
      root_ = Value(std::forward<T>(value));
      return &root_;
    }
    if (Value& parent = *open_.back().value; parent.is_array()) {
      return &parent.template get_ref<typename Value::array_t&>().emplace_back(
          std::forward<T>(value));
    }
    *member_ = Value(std::forward<T>(value));
    return member_;
  }

  template <class T>
  bool Add(T&& value) {
    return Place(std::forward<T>(value)) != nullptr && GiveAway();
  }

  // After a value has ended: gives it away if it is a member of the outermost object.
  bool GiveAway() {
    if constexpr (std::is_same_v<Value, Json>) {
      if (take_ != nullptr && open_.size() == 1 && outer_member_ != nullptr) {
        const Value member = std::exchange(*std::exchange(outer_member_, nullptr), nullptr);
        if (Status taken = (*take_)(key_, member); !taken) {
          refusal_ = std::move(taken).error();
          return false;
        }
      }
    }
    return true;
  }

  bool Open(Value container) {
    if (open_.size() == limits_.max_depth) {
      return Stop(fmt::format("nested deeper than {} levels", limits_.max_depth));
    }
    Value* const place = Place(std::move(container));
    if (place == nullptr) {
      return false;
    }
    open_.push_back({place, {}, {}});
    return true;
  }

  bool Close() {
    CloseContainer(open_.back());
    open_.pop_back();
    return GiveAway();
  }

  const JsonLimits& limits_;
  const MemberTaker* take_;
  Value root_;
  std::vector<OpenContainer<Value>> open_;  // around the current place, outermost first
  Value* member_ = nullptr;                 // the value of the last key
  std::string key_;                         // of the member that is to be given away
  Value* outer_member_ = nullptr;           // that member's value
  size_t count_ = 0;
  std::string problem_;
  std::optional<size_t> error_offset_;
  std::optional<Error> refusal_;
};

// The bytes around an offset, printable: "..."
std::string Excerpt(std::string_view text, size_t offset) {
  constexpr size_t kBefore = 16;
  constexpr size_t kAfter = 16;
  const size_t begin = offset - std::min(offset, kBefore);
  std::string excerpt;
  for (const char c : text.substr(begin, offset - begin + kAfter)) {
    if (c >= ' ' && c <= '~') {
      excerpt.push_back(c);
    } else {
      excerpt += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return excerpt;
}

template <class Value>
Result<Value> Parse(std::string_view text, std::string_view source, const JsonLimits& limits,
                    const MemberTaker* take = nullptr) {
  const auto corrupt = [&](size_t offset, std::string_view problem) {
    return Fail(ErrorCode::kCorrupt, "{}: byte {}: {}, near `{}`", source, offset, problem,
                Excerpt(text, offset));
  };
  if (text.size() > limits.max_bytes) {
    return Fail(ErrorCode::kCorrupt, "{}: expected at most {} bytes of JSON, found {}", source,
                limits.max_bytes, text.size());
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Fail(ErrorCode::kCorrupt, "{}: expected JSON, found {}", source,
                text.empty() ? "nothing (0 bytes)" : "white space only");
  }
  // The parser would skip a byte-order mark and take a zero byte for the end.
  if (text.starts_with("\xEF\xBB\xBF")) {
    return corrupt(0, "a byte-order mark, which JSON must not have");
  }
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return corrupt(zero, "a zero byte");
  }

  size_t count = 0;
  Builder<Value> builder(limits, take);
  const CountingIterator begin(text.data(), &count);
  const CountingIterator end(text.data() + text.size(), &count);
  if (!Value::sax_parse(begin, end, &builder)) {
    if (builder.refusal()) {
      return tl::unexpected<Error>(*std::move(builder.refusal()));
    }
    const size_t last_read = count == 0 ? 0 : count - 1;
    return corrupt(std::min(builder.error_offset().value_or(last_read), text.size()),
                   builder.problem());
  }
  return std::move(builder.value());
}

template <class Value>
const Value* Find(const Value& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view source, const JsonLimits& limits) {
  return Parse<Json>(text, source, limits);
}

Result<OrderedJson> ParseOrderedJson(std::string_view text, std::string_view source,
                                     const JsonLimits& limits) {
  return Parse<OrderedJson>(text, source, limits);
}

Status ParseJsonMembers(std::string_view text, std::string_view source, const JsonLimits& limits,
                        MemberTaker take) {
  COLI_ASSIGN_OR_RETURN(const Json rest, Parse<Json>(text, source, limits, &take));
  return rest.is_object() ? Ok()
                          : Fail(ErrorCode::kCorrupt, "{}: expected an object, found {}", source,
                                 rest.type_name());
}

const Json* FindMember(const Json& object, std::string_view key) { return Find(object, key); }
const OrderedJson* FindMember(const OrderedJson& object, std::string_view key) {
  return Find(object, key);
}

}  // namespace coli
