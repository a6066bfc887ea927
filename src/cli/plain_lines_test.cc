#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "cli/line_source.h"

namespace coli {
namespace {

using Kind = LineSource::Kind;

// The reading end of a pipe that holds `text` and then ends; `text` fits into a pipe.
class Input {
 public:
  explicit Input(const std::string& text) {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends_[1]);
  }
  ~Input() { ::close(ends_[0]); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  int descriptor() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(PlainLines, LinesOfAnyLengthComeWhole) {
  SignalWatch signals(SignalWatch::Second::kIsCaught);
  const std::string longer(10'000, 'x');
  const Input input("a\n\n" + longer + "\nend");
  const auto lines = MakePlainLines(input.descriptor(), signals);

  EXPECT_EQ(lines->Read("").text, "a");
  EXPECT_EQ(lines->Read("").text, "");
  EXPECT_EQ(lines->Read("").text, longer);
  EXPECT_EQ(lines->Read("").text, "end");
  EXPECT_EQ(lines->Read("").kind, Kind::kEnd);
}

TEST(PlainLines, ALineAboveTheLimitFails) {
  SignalWatch signals(SignalWatch::Second::kIsCaught);
  const Input input(std::string(10'000, 'x'));
  const auto lines = MakePlainLines(input.descriptor(), signals, 5000);

  const LineSource::Line line = lines->Read("");

  EXPECT_EQ(line.kind, Kind::kFailed);
  EXPECT_EQ(line.text, "a line of more than 5000 bytes");
}

TEST(PlainLines, AReadErrorIsNotTheEnd) {
  SignalWatch signals(SignalWatch::Second::kIsCaught);
  const int directory = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto lines = MakePlainLines(directory, signals);

  const LineSource::Line line = lines->Read("");

  EXPECT_EQ(line.kind, Kind::kFailed);
  EXPECT_EQ(line.text, "Is a directory");
  ::close(directory);
}

}  // namespace
}  // namespace coli
