#include "text/split_pattern.h"

#include <array>

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
    if (c == 's' || c == 'S') {
      at_ += 2;
      if (in_class_) {
        out_ += c == 's' ? WhiteSpaceInClass() : std::string(kNotWhiteSpaceInClass);
      } else {
        out_ += fmt::format("[{}{}]", c == 's' ? "" : "^", WhiteSpaceInClass());
      }
      return Ok();
    }
    // These mean the same in both libraries, and so does any escaped punctuation.
    constexpr std::string_view kShared = "dDpPrntfx";
    if (IsLetterOrDigit(c) && kShared.find(c) == std::string_view::npos) {
      return Refuse(fmt::format("\\{}", c));
    }
    Copy(2);
    if ((c == 'p' || c == 'P' || c == 'x') && Rest().starts_with('{')) {
      const size_t length = Rest().find('}');
      if (length == std::string_view::npos) {
        return Refuse("a { without }");
      }
      Copy(length + 1);
    }
    return Ok();
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
