#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "cli/line_source.h"
#include "sys/file.h"
#include "text/utf8.h"

namespace coli {
namespace {

constexpr int kHistoryLines = 1000;
constexpr uint64_t kMaxHistoryBytes = uint64_t{16} << 20;
constexpr unsigned kMaxColumnsOrRows = 2000;
// A newline inside an edited line, shown as the symbol for it: pasted text stays one message.
constexpr std::string_view kNewlineSymbol = "␊";
constexpr wchar_t kNewlineCode = L'\u240A';
constexpr std::string_view kPasteBegins = "\x1B[200~";
constexpr std::string_view kPasteEnds = "\x1B[201~";
constexpr std::string_view kAskForPasteMarks = "\x1B[?2004h";
constexpr std::string_view kNoPasteMarks = "\x1B[?2004l";
// The rest of an escape sequence is there at once; a person who presses Escape pauses longer.
constexpr int kSequencePause_ms = 20;

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, begin)) {
    out += text.substr(begin, at - begin);
    out += to;
    begin = at + from.size();
  }
  return out += text.substr(begin);
}

// libedit counts columns and converts history by the C locale.
bool UseUtf8Locale() {
  for (const char* name : {"", "C.UTF-8", "en_US.UTF-8"}) {
    if (std::setlocale(LC_CTYPE, name) != nullptr &&
        std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0) {
      return true;
    }
  }
  return false;
}

// libedit allocates what the terminal claims to be, and a terminal may claim 65535 x 65535.
bool HasSaneSize(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) != 0 ||
         (size.ws_col <= kMaxColumnsOrRows && size.ws_row <= kMaxColumnsOrRows);
}

class LineEditor final : public LineSource {
 public:
  LineEditor(const EditorOptions& options, SignalWatch& signals)
      : options_(options), signals_(signals) {
    FILE* shown = options.prompt_on_stderr ? stderr : stdout;
    descriptor_ = fileno(shown);
    editor_ = el_init("coli", stdin, shown, stderr);
    history_ = history_init();
    if (!usable()) {
      return;
    }
    HistEvent event{};
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &LineEditor::Prompt);
    el_set(editor_, EL_SIGNAL, 0);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    el_set(editor_, EL_GETCFN, &LineEditor::GetCharacter);
    el_source(editor_, nullptr);
    LoadHistory();
  }

  ~LineEditor() override {
    if (usable() && options_.history) {
      SaveHistory();
    }
    if (history_ != nullptr) {
      history_end(history_);
    }
    if (editor_ != nullptr) {
      el_end(editor_);
    }
  }
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  bool usable() const { return editor_ != nullptr && history_ != nullptr; }

  Line Read(std::string_view prompt) override {
    prompt_ = prompt;
    interrupted_ = false;
    empty_interrupt_ = false;
    signals_.DrainWakeups();  // of signals that came while nobody read
    Resize();
    Show(kAskForPasteMarks);
    int count = 0;
    const char* text = el_gets(editor_, &count);
    Show(kNoPasteMarks);
    if (interrupted_) {
      Show("^C\n");
      return {Kind::kInterrupt, {}, empty_interrupt_};
    }
    if (text == nullptr || count <= 0) {
      Show("\n");
      return {Kind::kEnd, {}};
    }
    std::string_view line(text, static_cast<size_t>(count));
    if (line.ends_with('\n')) {
      line.remove_suffix(1);
    }
    return {Kind::kLine, ReplaceAll(line, kNewlineSymbol, "\n")};
  }

  void Remember(std::string_view message) override {
    HistEvent event{};
    history(history_, &event, H_ENTER, ReplaceAll(message, "\n", kNewlineSymbol).c_str());
  }

 private:
  static LineEditor& Self(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<LineEditor*>(self);
  }
  static char* Prompt(EditLine* editor) { return Self(editor).prompt_.data(); }
  static int GetCharacter(EditLine* editor, wchar_t* out) {
    return Self(editor).NextCharacter(*out);
  }

  void Show(std::string_view text) const {
    [[maybe_unused]] const ssize_t ignored = ::write(descriptor_, text.data(), text.size());
  }

  // The next character of the keyboard or of a paste: 1, or 0 when the line ends without one.
  int NextCharacter(wchar_t& out) {
    for (;;) {
      if (signals_.TakeInterrupt()) {
        signals_.DrainWakeups();
        const LineInfo* line = el_line(editor_);
        interrupted_ = true;
        empty_interrupt_ = line->lastchar == line->buffer;
        pending_.clear();
        pasting_ = false;
        return 0;
      }
      if (signals_.termination() != 0 || (ended_ && pending_.empty())) {
        return 0;
      }
      if (!pending_.empty() && TakeCharacter(out)) {
        return 1;
      }
      if (pending_.empty()) {
        Fill(-1);
      }
    }
  }

  // False when what is pending is not a character yet, or was one to be skipped.
  bool TakeCharacter(wchar_t& out) {
    if (pending_.front() == '\x1B' && TakePasteMark()) {
      return false;
    }
    const Utf8Char next = DecodeUtf8(pending_);
    if (next.state == Utf8State::kIncomplete && !ended_) {
      Fill(-1);
      return false;
    }
    pending_.erase(0, next.length);
    out = next.state == Utf8State::kValid ? static_cast<wchar_t>(next.code_point) : L'\uFFFD';
    if (!pasting_) {
      return true;
    }
    if (out == L'\n' || out == L'\r') {
      out = kNewlineCode;
    } else if (out == L'\t') {
      out = L' ';
    }
    return out >= L' ' && out != L'\x7F';
  }

  // Enters or leaves a paste when its mark is next.
  bool TakePasteMark() {
    const std::string_view mark = pasting_ ? kPasteEnds : kPasteBegins;
    while (pending_.size() < mark.size() && mark.starts_with(pending_) && Fill(kSequencePause_ms)) {
    }
    if (!pending_.starts_with(mark)) {
      return false;
    }
    pending_.erase(0, mark.size());
    pasting_ = !pasting_;
    return true;
  }

  // Waits for input or a signal; whether there is more input now.
  bool Fill(int timeout_ms) {
    std::array<pollfd, 2> wait = {
        {{STDIN_FILENO, POLLIN, 0}, {signals_.wake_descriptor(), POLLIN, 0}}};
    ::poll(wait.data(), wait.size(), timeout_ms);
    if (wait[1].revents != 0) {
      signals_.DrainWakeups();
      AfterSignal();
    }
    if (wait[0].revents == 0) {
      return false;
    }
    std::array<char, 1024> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count > 0) {
      pending_.append(bytes.data(), static_cast<size_t>(count));
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      ended_ = true;
    }
    return count > 0;
  }

  // The window may have another size, or we are back from a stop (Ctrl-Z) and the shell changed the
  // terminal's mode.
  void AfterSignal() {
    if (!signals_.interrupted() && signals_.termination() == 0) {
      Resize();
      el_set(editor_, EL_PREP_TERM, 1);
      Show("\r");  // where the editor believes the cursor to be when it draws everything anew
      el_set(editor_, EL_REFRESH);
    }
  }

  void Resize() {
    if (HasSaneSize(descriptor_)) {
      el_resize(editor_);
    }
  }

  // A history that is no regular file, or huge, is neither read nor replaced.
  void LoadHistory() {
    if (!options_.history) {
      return;
    }
    const auto text = ReadTextFile(*options_.history, kMaxHistoryBytes);
    if (text) {
      // By name once more: libedit keeps the decoding of its format to itself.
      HistEvent event{};
      history(history_, &event, H_LOAD, options_.history->c_str());
    } else if (text.error().code != ErrorCode::kNotFound) {
      options_.history.reset();
    }
  }

  void SaveHistory() {
    std::error_code error;
    const std::filesystem::path folder = options_.history->parent_path();
    std::filesystem::create_directories(folder, error);
    const std::string part = options_.history->string() + ".new";
    ::unlink(part.c_str());  // of a chat that was killed; a link or a FIFO is not written through
    const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE* file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
    if (file == nullptr) {
      return;  // no history is better than a complaint when leaving
    }
    HistEvent event{};
    ::fchmod(descriptor, 0600);
    const bool written = history(history_, &event, H_SAVE_FP, file) != -1;
    if (std::fclose(file) == 0 && written) {
      std::filesystem::rename(part, *options_.history, error);
    }
  }

  EditorOptions options_;
  SignalWatch& signals_;
  int descriptor_ = STDOUT_FILENO;
  EditLine* editor_ = nullptr;
  History* history_ = nullptr;
  std::string prompt_;
  std::string pending_;  // bytes read and not yet given to the editor
  bool pasting_ = false;
  bool ended_ = false;
  bool interrupted_ = false;
  bool empty_interrupt_ = false;
};

}  // namespace

std::unique_ptr<LineSource> MakeLineEditor(const EditorOptions& options, SignalWatch& signals) {
  if (!UseUtf8Locale() || !HasSaneSize(options.prompt_on_stderr ? STDERR_FILENO : STDOUT_FILENO)) {
    return nullptr;
  }
  auto editor = std::make_unique<LineEditor>(options, signals);
  return editor->usable() ? std::move(editor) : nullptr;
}

}  // namespace coli
