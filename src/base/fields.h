// Typed, ranged access to the members of a JSON object that comes from outside.
//
// Every error names the place, the member, what is accepted and what was found:
//   config.json: index_topk: expected an integer in [1, 1048576], found "many"
// Nothing is converted: an integer is a JSON integer (not 1.5, 64.0, "64" or true). Three forms of
// each accessor:
//   Int(names, range)             the member must be there
//   IntOr(names, range, value)    absent: `value`; null is an error
//   MaybeInt(names, range)        absent or null: nothing
// Members that nobody asks for are ignored.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace coli {

// The spellings of one member, the usual one first. Where several are present they must agree.
class FieldNames {
 public:
  static constexpr size_t kMaxSpellings = 4;

  // NOLINTBEGIN(google-explicit-constructor)
  constexpr FieldNames(const char* name) : names_{name}, count_(1) {}
  constexpr FieldNames(std::string_view name) : names_{name}, count_(1) {}
  template <size_t kCount>
    requires(kCount <= kMaxSpellings)
  constexpr FieldNames(const std::string_view (&names)[kCount]) : count_(kCount) {
    std::copy(names, names + kCount, names_.begin());
  }
  // NOLINTEND(google-explicit-constructor)

  constexpr std::string_view usual() const { return names_[0]; }
  constexpr std::span<const std::string_view> all() const { return {names_.data(), count_}; }

 private:
  std::array<std::string_view, kMaxSpellings> names_{};
  size_t count_ = 0;
};

struct IntRange {
  int64_t min;
  int64_t max;
};
struct FloatRange {
  double min;
  double max;
};
using Words = std::initializer_list<std::string_view>;

// A view of one object; the JSON must outlive it. Thread-safe (const).
class Fields {
 public:
  // `source` names the file or request, `path` the place of the object in it ("" or
  // "rope_parameters."). Errors have the code `code`, unless a function says otherwise, here
  // already if `value` is not an object.
  static Result<Fields> Of(const Json& value, std::string_view source, std::string_view path = "",
                           ErrorCode code = ErrorCode::kCorrupt);

  // These fields, and those of `outer` for members that are absent here.
  Fields Within(const Fields& outer) const;

  // Present and not null.
  bool Has(const FieldNames& names) const;
  // Present, with the value null.
  bool IsNull(const FieldNames& names) const;
  // The name of a member that starts with `prefix` and is neither null nor false.
  std::optional<std::string> FindPrefix(std::string_view prefix) const;

  Result<int64_t> Int(const FieldNames& names, IntRange range) const;
  Result<int64_t> IntOr(const FieldNames& names, IntRange range, int64_t value) const;
  Result<std::optional<int64_t>> MaybeInt(const FieldNames& names, IntRange range) const;

  // Any JSON number.
  Result<double> Float(const FieldNames& names, FloatRange range) const;
  Result<double> FloatOr(const FieldNames& names, FloatRange range, double value) const;
  Result<std::optional<double>> MaybeFloat(const FieldNames& names, FloatRange range) const;

  Result<bool> BoolOr(const FieldNames& names, bool value) const;
  Result<std::string> String(const FieldNames& names) const;
  Result<std::optional<std::string>> MaybeString(const FieldNames& names) const;

  // Lists; a list of integers may be written as one integer, too.
  Result<std::optional<std::vector<int64_t>>> MaybeInts(const FieldNames& names,
                                                        IntRange range) const;
  // Each element one of `words`.
  Result<std::optional<std::vector<std::string>>> MaybeWords(const FieldNames& names,
                                                             Words words) const;

  Result<std::optional<Fields>> MaybeObject(const FieldNames& names) const;

  // For values with one meaning that is implemented: absent, null or exactly `only`. Else
  // kUnsupported.
  Status Only(const FieldNames& names, std::string_view only) const;
  Status Only(const FieldNames& names, const char* only) const {
    return Only(names, std::string_view(only));
  }
  Status Only(const FieldNames& names, bool only) const;
  Status Only(const FieldNames& names, int64_t only) const;
  // The same for lists: each element one of `words`.
  Status OnlyWords(const FieldNames& names, Words words) const;

  // The error for a member whose value breaks a rule that the caller knows:
  // "<source>: <path><name>: expected <expected>, found <value>"; of a list the element `index`, if
  // given.
  Error Mismatch(const FieldNames& names, std::string_view expected,
                 std::optional<size_t> index = {}) const;
  // The same with the code kUnsupported.
  Error Unsupported(const FieldNames& names, std::string_view expected) const;

  const std::string& source() const { return source_; }

 private:
  struct Place {
    const Json* object;
    std::string path;
  };
  struct Member {
    const Json* value = nullptr;  // null: absent
    std::string name;             // "<source>: <path><name>"
  };

  Fields(Place place, std::string source, ErrorCode code);

  Result<Member> Find(const FieldNames& names) const;
  // The member if it is there and not null.
  Result<std::optional<Member>> FindValue(const FieldNames& names) const;
  tl::unexpected<Error> Bad(const Member& member, std::string_view expected) const;
  template <class T>
  Status Is(const FieldNames& names, const T& only) const;

  std::vector<Place> places_;  // the first that has a member counts
  std::string source_;
  ErrorCode code_;
};

}  // namespace coli
