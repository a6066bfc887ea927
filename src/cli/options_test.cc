#include "cli/options.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "cli/command_line.h"
#include "cli/config_file.h"

namespace coli {
namespace {

Environment FakeEnvironment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string ErrorOf(const Status& status) { return status ? "no error" : status.error().message; }

Result<CommandLine> Parse(const std::vector<std::string>& words) {
  auto parsed = ParseCommandLine(words);
  if (!parsed) {
    return tl::unexpected<Error>(parsed.error());
  }
  return std::get<CommandLine>(*parsed);
}

std::string ParseError(const std::vector<std::string>& words) {
  const auto parsed = Parse(words);
  return parsed ? "no error" : parsed.error().message;
}

TEST(OptionTable, NamesAreUniqueAndEveryEntryIsComplete) {
  std::map<std::string_view, uint32_t> verbs_of;
  for (const OptionSpec& spec : OptionTable()) {
    // Two commands may mean different things by a flag; no command has two of a name.
    uint32_t& verbs = verbs_of[spec.name];
    EXPECT_EQ(verbs & spec.verbs, 0U) << spec.name;
    EXPECT_TRUE(verbs == 0 || spec.flag_only) << spec.name;
    verbs |= spec.verbs;
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    EXPECT_FALSE(spec.group.empty()) << spec.name;
    EXPECT_NE(spec.verbs, 0) << spec.name;
    EXPECT_EQ(spec.value_name.empty(), spec.type == OptionType::kSwitch) << spec.name;
  }
}

TEST(OptionTable, TheDocumentationIsUpToDate) {
  std::ifstream file("docs/options.md");
  std::ostringstream text;
  text << file.rdbuf();

  EXPECT_EQ(text.str(), OptionsMarkdown()) << "run: coli options --markdown > docs/options.md";
}

TEST(OptionNames, FollowFromTheName) {
  const OptionSpec* spec = FindOption("max-tokens");

  ASSERT_NE(spec, nullptr);
  EXPECT_EQ(FlagName(*spec), "--max-tokens");
  EXPECT_EQ(EnvironmentName(*spec), "COLI_MAX_TOKENS");
}

TEST(ParseOption, SaysWhatIsExpectedAndWhatWasFound) {
  const auto message = [](const char* name, const char* text) {
    const auto value = ParseOption(*FindOption(name), text, name);
    return value ? "no error" : value.error().message;
  };

  EXPECT_EQ(message("threads", "0"),
            "threads: expected a whole number from 1 to 1024, found \"0\"");
  EXPECT_EQ(message("threads", "2x"),
            "threads: expected a whole number from 1 to 1024, found \"2x\"");
  EXPECT_EQ(message("temp", "-1"), "temp: expected a number from 0 to 100, found \"-1\"");
  EXPECT_EQ(message("temp", "nan"), "temp: expected a number from 0 to 100, found \"nan\"");
  EXPECT_EQ(message("think", "maybe"), "think: expected one of on/off, found \"maybe\"");
  EXPECT_EQ(message("ram", "20X"), "ram: expected a size such as 20G or 800M, found \"20X\"");
  EXPECT_EQ(message("stop", ""), "stop: expected a text that is not empty, found \"\"");
  EXPECT_EQ(message("ram", "20G"), "no error");
}

TEST(OptionValues, FlagBeatsEnvironmentBeatsFileBeatsModelBeatsDefault) {
  OptionValues values;
  const OptionSpec& temp = *FindOption("temp");
  EXPECT_DOUBLE_EQ(values.Real("temp").value(), 0.7);

  ASSERT_TRUE(ApplyConfigText("temp = 0.5\ntop-p = 0.8", "c.toml", values));
  ASSERT_TRUE(ApplyEnvironment(FakeEnvironment({{"COLI_TEMP", "0.25"}}), values));
  values.Set(temp, 0.125, Origin::kFlag);
  values.Set(temp, 1.0, Origin::kModel);
  values.Set(*FindOption("top-p"), 0.95, Origin::kModel);
  values.Set(*FindOption("top-k"), uint64_t{40}, Origin::kModel);

  EXPECT_DOUBLE_EQ(values.Real("temp").value(), 0.125);
  EXPECT_DOUBLE_EQ(values.Real("top-p").value(), 0.8);
  EXPECT_EQ(values.Integer("top-k"), 40u);
}

TEST(OptionValues, AnEmptyTextTurnsALowerOneOff) {
  OptionValues values;
  ASSERT_TRUE(ApplyConfigText("system = \"Be brief.\"", "c.toml", values));

  values.Set(*FindOption("system"), std::string(), Origin::kFlag);

  EXPECT_EQ(values.Text("system"), std::nullopt);
}

TEST(ConfigFile, AllTypesAreRead) {
  OptionValues values;

  ASSERT_TRUE(ApplyConfigText(
      "ram = \"20G\"\nthreads = 4\nquiet = true\nstop = [\"a\", \"b\"]\nthink = \"on\"\ntemp = 1",
      "c.toml", values));

  EXPECT_EQ(values.Integer("ram"), uint64_t{20} << 30);
  EXPECT_EQ(values.Integer("threads"), 4u);
  EXPECT_TRUE(values.On("quiet"));
  EXPECT_TRUE(values.On("think"));
  EXPECT_EQ(values.List("stop"), (std::vector<std::string>{"a", "b"}));
}

TEST(ConfigFile, UnknownKeysAreErrorsWithAHint) {
  OptionValues values;

  EXPECT_EQ(ErrorOf(ApplyConfigText("\nthread = 2", "c.toml", values)),
            "c.toml:2: unknown key \"thread\" (did you mean \"threads\"?)");
  EXPECT_EQ(ErrorOf(ApplyConfigText("banana = 2", "c.toml", values)),
            "c.toml:1: unknown key \"banana\"");
  EXPECT_EQ(ErrorOf(ApplyConfigText("json = true", "c.toml", values)),
            "c.toml:1: unknown key \"json\"");
}

TEST(ConfigFile, WrongValuesAndBrokenFilesNameTheLine) {
  OptionValues values;

  EXPECT_EQ(ErrorOf(ApplyConfigText("threads = \"many\"", "c.toml", values)),
            "c.toml:1: threads: expected a whole number from 1 to 1024, found \"many\"");
  EXPECT_EQ(ErrorOf(ApplyConfigText("threads = [1]", "c.toml", values)),
            "c.toml:1: threads: expected a whole number from 1 to 1024");
  EXPECT_EQ(ErrorOf(ApplyConfigText("stop = [1]", "c.toml", values)),
            "c.toml:1: stop: expected an array of texts that are not empty");
  EXPECT_TRUE(
      ErrorOf(ApplyConfigText("a = 1\nb = = 2", "c.toml", values)).starts_with("c.toml:2: "));
}

TEST(ConfigFile, AKeyOfManyDotsIsRefusedBeforeItIsNested) {
  std::string dots = "a";
  for (int i = 0; i < 30'000; ++i) {
    dots += ".a";
  }
  OptionValues values;

  for (const std::string& text :
       {"\n" + dots + " = 1", "\n[" + dots + "]", "\n[[" + dots + "]]", "\nx = {" + dots + " = 1}",
        "x = '''\n''', " + dots + " = 1", "x = \"\\\"\"\n\"a\"." + dots + " = 1"}) {
    EXPECT_EQ(ErrorOf(ApplyConfigText(text, "c.toml", values)),
              "c.toml:2: expected a key with at most 8 dots")
        << text.substr(0, 20);
  }
}

TEST(ConfigFile, DotsInTextsAndCommentsAreFree) {
  OptionValues values;

  const Status status = ApplyConfigText(
      "# .............\nsystem = \"\"\"\n.............\n\"\"\"\nstop = [\"..........\", "
      "'\"..........']",
      "c.toml", values);

  EXPECT_TRUE(status) << ErrorOf(status);
}

TEST(Environment, WrongValuesNameTheVariable) {
  OptionValues values;

  EXPECT_EQ(ErrorOf(ApplyEnvironment(FakeEnvironment({{"COLI_THREADS", "x"}}), values)),
            "COLI_THREADS: expected a whole number from 1 to 1024, found \"x\"");
}

TEST(CommandLine, ReadsPromptAndFlagsInAnyOrder) {
  const auto line =
      Parse({"run", "--temp", "0", "-q", "hi there", "--stop=a", "--stop", "b", "--json"});

  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->argument, "hi there");
  EXPECT_TRUE(line->Has("json"));
  EXPECT_TRUE(line->Has("quiet"));
  EXPECT_FALSE(line->Has("raw"));
  ASSERT_EQ(line->flags.size(), 4u);
  EXPECT_EQ(std::get<std::vector<std::string>>(line->flags[1].second),
            (std::vector<std::string>{"a", "b"}));
}

TEST(CommandLine, PromptsThatLookLikeVerbsOrFlagsAreStillPrompts) {
  EXPECT_EQ(Parse({"run", "chat"})->argument, "chat");
  EXPECT_EQ(Parse({"run", "-"})->argument, "-");
  EXPECT_EQ(Parse({"run", "--", "--json"})->argument, "--json");
  EXPECT_EQ(Parse({"run", "[x]"})->argument, "[x]");
  EXPECT_EQ(Parse({"run", ""})->argument, "");
}

TEST(CommandLine, SomeVerbsTakeAnyNumberOfArguments) {
  const auto several = Parse({"bench", "matvec", "--threads", "2", "moe", "--json"});
  ASSERT_TRUE(several) << several.error().message;
  EXPECT_EQ(several->arguments, (std::vector<std::string>{"matvec", "moe"}));
  EXPECT_TRUE(several->Has("json"));
  const auto none = Parse({"bench"});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->arguments.empty());
}

TEST(CommandLine, LastOfSeveralFlagsWins) {
  const auto line = Parse({"run", "x", "--threads", "1", "--threads", "2"});

  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(std::get<uint64_t>(line->flags.front().second), 2u);
}

TEST(CommandLine, UnknownWordsComeWithAHint) {
  EXPECT_EQ(ParseError({"run", "--tmep", "0", "x"}),
            "unknown option --tmep (did you mean --temp?); see coli run --help");
  EXPECT_EQ(ParseError({"chat", "--json"}), "unknown option --json; see coli chat --help");
  EXPECT_EQ(ParseError({"caht"}), "unknown verb \"caht\" (did you mean chat?); see coli help");
  EXPECT_EQ(ParseError({"run", "two", "words"}),
            "unexpected argument \"words\" (put the prompt in quotes); see coli run --help");
  EXPECT_EQ(ParseError({"validate"}), "coli validate needs DIR; see coli validate --help");
  EXPECT_EQ(ParseError({"run", "x", "--threads", "no"}),
            "--threads: expected a whole number from 1 to 1024, found \"no\"");
  EXPECT_TRUE(ParseError({"run", "--threads"}).starts_with("--threads: "))
      << ParseError({"run", "--threads"});
}

TEST(CommandLine, HelpAndVersionAreTexts) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--version"},
                                             {"help"},
                                             {"--help"},
                                             {"help", "run"},
                                             {"run", "--help"},
                                             {"chat", "-h"}}) {
    const auto parsed = ParseCommandLine(words);
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(std::holds_alternative<PrintAndLeave>(*parsed)) << words.front();
  }
}

}  // namespace
}  // namespace coli
