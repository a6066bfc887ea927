#include "text/split_pattern.h"

#include <array>

#include "text/unicode_additions.h"
#include "text/utf8.h"

namespace coli {
namespace {

// White_Space, to stand in a character class. The library's own \s has U+180E too.
std::string WhiteSpaceInClass() {
  std::string items;
  for (const auto& [first, last] : kWhiteSpace) {
    items += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", first, last);
  }
  return items;
}

// The library's \S plus the one character that its \s has too much.
constexpr std::string_view kNotWhiteSpaceInClass = R"(\S\x{180e})";

constexpr std::array<std::string_view, 7> kGroups = {
    "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};

bool IsLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> Run() {
    while (at_ < pattern_.size()) {
      COLI_RETURN_IF_ERROR(in_class_ ? ClassItem() : Item());
    }
    return std::move(out_);
  }

 private:
  std::string_view Rest() const { return pattern_.substr(at_); }

  void Copy(size_t bytes) {
    out_ += pattern_.substr(at_, bytes);
    at_ += bytes;
  }

  Status Refuse(std::string_view construct) const {
    return Fail(ErrorCode::kUnsupported, "byte {} of the pattern: {} is not supported, in `{}`",
                at_, construct, pattern_.substr(0, 500));
  }

  Status Item() {
    switch (pattern_[at_]) {
      case '\\':
        return Escape();
      case '[':
        return OpenClass();
      case '(':
        return OpenGroup();
      case '^':
      case '$':
        return Refuse("an anchor (^ or $)");
      case '{':
        return Repeat();
      default:
        Copy(1);
        return Ok();
    }
  }

  Status OpenClass() {
    Copy(1);
    in_class_ = true;
    if (Rest().starts_with('^')) {
      Copy(1);
    }
    if (Rest().starts_with(']')) {
      return Refuse("a character class that begins with ]");
    }
    return Ok();
  }

  Status ClassItem() {
    const std::string_view rest = Rest();
    if (rest[0] == '\\') {
      return Escape();
    }
    if (rest[0] == '[') {
      return Refuse("a [ inside a character class");
    }
    if (rest.starts_with("&&")) {
      return Refuse("an intersection of character classes (&&)");
    }
    if (rest[0] == ']') {
      in_class_ = false;
    }
    Copy(1);
    return Ok();
  }

  Status OpenGroup() {
    const std::string_view rest = Rest();
    if (!rest.starts_with("(?") && !rest.starts_with("(*")) {
      Copy(1);
      return Ok();
    }
    for (const std::string_view group : kGroups) {
      if (rest.starts_with(group)) {
        Copy(group.size());
        return Ok();
      }
    }
    return Refuse(fmt::format("the group {}", rest.substr(0, 4)));
  }

  // {n}, {n,} and {n,m}; the libraries disagree about {,m} and {n,m}+.
  Status Repeat() {
    const size_t length = Rest().find('}');
    if (length == std::string_view::npos || Rest()[1] < '0' || Rest()[1] > '9') {
      return Refuse("a { that counts nothing");
    }
    if (Rest().substr(length + 1).starts_with('+')) {
      return Refuse("a + after {}");
    }
    Copy(length + 1);
    return Ok();
  }

  Status Escape() {
    if (Rest().size() < 2) {
      return Refuse("a \\ at the end");
    }
    const char c = Rest()[1];
    switch (c) {
      case 's':
      case 'S':
        at_ += 2;
        return c == 'S' && in_class_ ? Append(kNotWhiteSpaceInClass)
                                     : Characters(WhiteSpaceInClass(), c == 'S');
      case 'd':
      case 'D':
        return Category("Nd", c == 'D', 2);
      case 'p':
      case 'P':
        return Property();
    }
    // These mean the same in both libraries, and so does any escaped punctuation.
    constexpr std::string_view kShared = "rntfx";
    if (IsLetterOrDigit(c) && kShared.find(c) == std::string_view::npos) {
      return Refuse(fmt::format("\\{}", c));
    }
    Copy(2);
    if (c == 'x' && Rest().starts_with('{')) {
      COLI_ASSIGN_OR_RETURN(const size_t length, LengthOfBraces(0));
      Copy(length);
    }
    return Ok();
  }

  // \p{..}, \P{..}, \p{^..}.
  Status Property() {
    if (!Rest().substr(2).starts_with('{')) {
      return Refuse("\\p without {}");
    }
    COLI_ASSIGN_OR_RETURN(const size_t length, LengthOfBraces(2));
    std::string_view name = Rest().substr(3, length - 2);
    const bool inverted = name.starts_with('^');
    name.remove_prefix(inverted ? 1 : 0);
    return Category(name, inverted != (Rest()[1] == 'P'), 2 + length);
  }

  // An escape of `length` bytes that stands for a general category, or for some other property as
  // the library knows it.
  Status Category(std::string_view name, bool inverted, size_t length) {
    const auto items = GeneralCategoryInClass(name);
    if (!items) {
      Copy(length);
      return Ok();
    }
    if (inverted && in_class_) {
      return Refuse(fmt::format("{} inside a character class", Rest().substr(0, length)));
    }
    at_ += length;
    return Characters(*items, inverted);
  }

  // `items` are the inside of a class; not inverted inside a class.
  Status Characters(std::string_view items, bool inverted) {
    return Append(in_class_ ? std::string(items)
                            : fmt::format("[{}{}]", inverted ? "^" : "", items));
  }

  Status Append(std::string_view translated) {
    out_ += translated;
    return Ok();
  }

  // From the { at Rest()[at] up to its }, both included.
  Result<size_t> LengthOfBraces(size_t at) const {
    const size_t close = Rest().find('}', at);
    if (close == std::string_view::npos) {
      return tl::unexpected(Refuse("a { without }").error());
    }
    return close + 1 - at;
  }

  std::string_view pattern_;
  std::string out_;
  size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

Result<std::string> TranslateSplitPattern(std::string_view pattern) {
  return Translator(pattern).Run();
}

}  // namespace coli
