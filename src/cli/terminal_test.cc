#include "cli/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <map>

namespace coli {
namespace {

Environment FakeEnvironment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Harmless, MakesEscapeSequencesVisible) {
  EXPECT_EQ(Harmless("\x1B[2Jx"), "␛[2Jx");
  EXPECT_EQ(Harmless("\x1B]0;title\x07"), "␛]0;title␇");
  EXPECT_EQ(Harmless(std::string_view("a\0b", 3)), "a␀b");
  EXPECT_EQ(Harmless("\x7F\x08"), "␡␈");
  EXPECT_EQ(Harmless("\xC2\x9B"
                     "31m"),
            "\xEF\xBF\xBD"
            "31m");
}

TEST(Harmless, KeepsTextAndLines) {
  EXPECT_EQ(Harmless("Grüße, 世界 🐦\n\tend"), "Grüße, 世界 🐦\n\tend");
  EXPECT_EQ(Harmless("a\r\nb\rc"), "a\nb␍c");
  EXPECT_EQ(Harmless("\xC2\xA0"), "\xC2\xA0");
}

TEST(OneLine, ShowsNewlinesAndControls) {
  EXPECT_EQ(OneLine("a\nb\x1B\r\n"), "a␊b␛␊");
  EXPECT_EQ(OneLine(""), "");
}

TEST(OneLine, CutsTheMiddleBetweenCharacters) {
  std::string text = "begin ";
  for (int i = 0; i < 2000; ++i) {
    text += "ü";
  }

  const std::string line = OneLine(text + " end");

  EXPECT_LE(line.size(), 2000u);
  EXPECT_GE(line.size(), 1990u);
  EXPECT_TRUE(line.starts_with("begin ü"));
  EXPECT_TRUE(line.ends_with("ü end"));
  EXPECT_NE(line.find("ü ... ü"), std::string::npos);
}

TEST(JoinWithin, BreaksBetweenPiecesOnly) {
  const std::vector<std::string> pieces = {"12 tokens", "35.2 tok/s", "first after 0.21 s"};

  EXPECT_EQ(JoinWithin(pieces, 80), "12 tokens, 35.2 tok/s, first after 0.21 s");
  EXPECT_EQ(JoinWithin(pieces, 30), "12 tokens, 35.2 tok/s,\n  first after 0.21 s");
  EXPECT_EQ(JoinWithin({}, 30), "");
}

TEST(InspectTerminal, APipeHasNoColorsUnlessForced) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Environment environment = FakeEnvironment({{"TERM", "xterm"}, {"COLUMNS", "40"}});

  const TerminalFacts facts = InspectTerminal(ends[1], environment, ColorChoice::kAuto);

  EXPECT_FALSE(facts.is_terminal);
  EXPECT_FALSE(facts.rewrites_lines);
  EXPECT_FALSE(facts.color);
  EXPECT_EQ(facts.columns, 40u);
  EXPECT_TRUE(InspectTerminal(ends[1], environment, ColorChoice::kAlways).color);
  close(ends[0]);
  close(ends[1]);
}

TEST(Output, AClosedPipeIsRemembered) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  Output output(ends[1], {});
  EXPECT_TRUE(output.Write("first"));
  close(ends[0]);

  EXPECT_FALSE(output.Write("second"));

  EXPECT_FALSE(output.usable());
  EXPECT_EQ(output.error(), EPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace coli
