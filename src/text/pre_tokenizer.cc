#include "text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <time.h>

#include <array>
#include <cstdint>

#include "base/check.h"
#include "text/split_pattern.h"
#include "text/utf8.h"

namespace coli {
namespace {

constexpr size_t kMaxPatternBytes = 64 << 10;
// Steps of one match. Sensible patterns need a few per character of a run of white space; a run of
// 16 MiB passes.
constexpr uint32_t kMaxMatchSteps = 100'000'000;
constexpr uint32_t kMaxMatchDepth = 100'000;  // of the interpreter
constexpr uint32_t kMaxMatchHeapKib = 64 << 10;
// Processor time for the matches of one text, hundreds of times what a sensible pattern takes.
// Steps alone are no bound: a hostile pattern costs almost all of them at every position, and PCRE2
// does not count the scans of a repeated class such as [^b]*.
constexpr double kMatchTime_s = 2.0;
constexpr double kMatchTimePerByte_s = 5e-6;
constexpr uint32_t kMatchesPerTimeCheck = 16;  // reading the clock takes longer than a match

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Code = std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;

PCRE2_SPTR Units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string ReasonOf(int error) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

Result<Code> Compile(const SplitStep& step) {
  if (step.pattern.empty() || step.pattern.size() > kMaxPatternBytes) {
    return Fail(ErrorCode::kUnsupported, "{}: expected a pattern of 1 to {} bytes, found {}",
                step.field, kMaxPatternBytes, step.pattern.size());
  }
  std::string pattern = step.pattern;
  if (!step.literal) {
    auto translated = TranslateSplitPattern(step.pattern);
    if (!translated) {
      return Wrap(std::move(translated).error(), step.field);
    }
    pattern = *std::move(translated);
  }
  const CompileContext context(pcre2_compile_context_create(nullptr));
  COLI_CHECK(context != nullptr);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  const uint32_t options =
      PCRE2_UTF |
      (step.literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C);
  int error = 0;
  size_t offset = 0;
  Code code(pcre2_compile(Units(pattern), pattern.size(), options, &error, &offset, context.get()));
  if (code == nullptr) {
    return Fail(ErrorCode::kUnsupported, "{}: the pattern does not compile ({} at byte {}): `{}`",
                step.field, ReasonOf(error), offset, pattern.substr(0, 500));
  }
  // Without a compiler for this processor the pattern is interpreted: slower, same result.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

// Of this thread: a busy machine or a stopped process must not make text unreadable.
double ProcessorTime_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// What one thread needs to run patterns on one text.
struct Matcher {
  explicit Matcher(size_t text_bytes)
      : deadline_s(ProcessorTime_s() + kMatchTime_s +
                   kMatchTimePerByte_s * static_cast<double>(text_bytes)) {
    COLI_CHECK(context != nullptr && match != nullptr);
    pcre2_set_match_limit(context.get(), kMaxMatchSteps);
    pcre2_set_depth_limit(context.get(), kMaxMatchDepth);
    pcre2_set_heap_limit(context.get(), kMaxMatchHeapKib);
  }

  // To be asked once per match.
  bool OutOfTime() {
    return ++matches % kMatchesPerTimeCheck == 0 && ProcessorTime_s() > deadline_s;
  }

  double deadline_s;
  uint32_t matches = 0;
  MatchContext context{pcre2_match_context_create(nullptr)};
  MatchData match{pcre2_match_data_create(1, nullptr)};
};

}  // namespace

class PreTokenizer::Pattern {
 public:
  Pattern(Code code, const SplitStep& step) : code_(std::move(code)), step_(step) {}

  // Appends the pieces of `text` to `words`.
  Status Split(std::string_view text, Matcher& matcher,
               std::vector<std::string_view>& words) const {
    size_t done = 0;  // pieces before this offset are out
    size_t at = 0;    // matches are looked for from here
    while (at < text.size()) {
      const int found = matcher.OutOfTime() ? PCRE2_ERROR_MATCHLIMIT : Match(text, at, matcher);
      if (found == PCRE2_ERROR_NOMATCH) {
        break;
      }
      if (found < 0) {
        return Fail(ErrorCode::kUnsupported,
                    "{}: the pattern gives up on the text at byte {} ({}): `{}`", step_.field, at,
                    ReasonOf(found), step_.pattern.substr(0, 500));
      }
      const size_t* const range = pcre2_get_ovector_pointer(matcher.match.get());
      const size_t begin = range[0];
      const size_t end = range[1];
      if (begin > done) {
        words.push_back(text.substr(done, begin - done));
      }
      if (end > begin) {
        words.push_back(text.substr(begin, end - begin));
      }
      done = end;
      at = end > begin || end == text.size() ? end : end + DecodeUtf8(text.substr(end)).length;
    }
    if (done < text.size()) {
      words.push_back(text.substr(done));
    }
    return Ok();
  }

 private:
  int Match(std::string_view text, size_t at, const Matcher& matcher) const {
    const auto run = [&](uint32_t options) {
      return pcre2_match(code_.get(), Units(text), text.size(), at, options, matcher.match.get(),
                         matcher.context.get());
    };
    // The text was checked once; checking it at every match would take quadratic time.
    const int found = run(PCRE2_NO_UTF_CHECK);
    return found == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT) : found;
  }

  Code code_;
  SplitStep step_;
};

Result<PreTokenizer> PreTokenizer::Create(const std::vector<SplitStep>& steps) {
  PreTokenizer result;
  for (const SplitStep& step : steps) {
    COLI_ASSIGN_OR_RETURN(Code code, Compile(step));
    result.patterns_.push_back(std::make_shared<const Pattern>(std::move(code), step));
  }
  return result;
}

Status PreTokenizer::Split(std::string_view text, std::vector<std::string_view>& words) const {
  words.clear();
  if (!text.empty()) {
    words.push_back(text);
  }
  Matcher matcher(text.size());
  std::vector<std::string_view> pieces;
  for (const auto& pattern : patterns_) {
    pieces.swap(words);
    words.clear();
    for (const std::string_view piece : pieces) {
      COLI_RETURN_IF_ERROR(pattern->Split(piece, matcher, words));
    }
  }
  return Ok();
}

}  // namespace coli
