#include "cli/idle_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coli {
namespace {

// What is said about a call; empty: nothing is wrong.
std::string Complaint(const std::vector<std::string>& words,
                      const std::vector<std::pair<std::string, OptionValue>>& from_file = {}) {
  const CommandLine line = std::get<CommandLine>(ParseCommandLine(words).value());
  OptionValues options;
  for (const auto& [name, value] : from_file) {
    options.Set(*FindOption(name), value, Origin::kFile);
  }
  for (const auto& [spec, value] : line.flags) {
    options.Set(*spec, value, Origin::kFlag);
  }
  const Status status = CheckFlagsAct(line, options);
  return status ? std::string() : status.error().message;
}

TEST(IdleOptions, SamplingHasNoPartInTheLikeliestToken) {
  for (const char* flag : {"--seed", "--top-k", "--top-p", "--min-p"}) {
    const std::string value = std::string(flag) == "--top-k" ? "7" : "0.5";
    const std::string number = std::string(flag) == "--seed" ? "7" : value;
    EXPECT_EQ(Complaint({"run", "--temp", "0", flag, number, "hi"}).find(flag), 0U) << flag;
    EXPECT_EQ(Complaint({"chat", flag, number}, {{"temp", 0.0}}).find(flag), 0U) << flag;
    EXPECT_EQ(Complaint({"chat", "--temp", "0.1", flag, number}), "") << flag;
    EXPECT_EQ(Complaint({"chat", flag, number}), "") << flag;
  }
}

TEST(IdleOptions, SwitchedOffIsFine) {
  EXPECT_EQ(Complaint({"run", "--temp", "0", "--top-k", "0", "--top-p", "1", "--min-p", "0"}), "");
}

TEST(IdleOptions, TheFileIsForAllCalls) {
  EXPECT_EQ(
      Complaint({"run", "--temp", "0", "hi"},
                {{"seed", uint64_t{7}}, {"top-p", 0.5}, {"system", std::string("Be short.")}}),
      "");
  EXPECT_EQ(Complaint({"run", "--raw", "hi"}, {{"system", std::string("Be short.")}}), "");
}

TEST(IdleOptions, PlainTextHasNoRoles) {
  EXPECT_EQ(Complaint({"run", "--raw", "--system", "x", "hi"}).find("--system"), 0U);
  EXPECT_EQ(Complaint({"run", "--raw", "--think", "on", "hi"}).find("--think"), 0U);
  EXPECT_EQ(Complaint({"run", "--system", "x", "hi"}), "");
}

TEST(IdleOptions, AComparisonMeasuresNothing) {
  EXPECT_EQ(Complaint({"bench", "--compare", "--threads", "2", "a", "b"}).find("--threads"), 0U);
  EXPECT_EQ(Complaint({"bench", "--compare", "--quick", "a", "b"}).find("--quick"), 0U);
  EXPECT_EQ(Complaint({"bench", "--compare", "--markdown", "-q", "a", "b"}), "");
}

TEST(IdleOptions, AScenarioHasItsOwnOptions) {
  EXPECT_EQ(Complaint({"bench", "matvec", "--model", "m"}).find("--model"), 0U);
  EXPECT_EQ(Complaint({"bench", "matvec", "--ctx", "100"}).find("--ctx"), 0U);
  EXPECT_EQ(Complaint({"bench", "matvec", "--kv", "bf16"}).find("--kv"), 0U);
  EXPECT_EQ(Complaint({"bench", "matvec", "decode", "--dir", "d"}).find("--dir"), 0U);
  EXPECT_EQ(Complaint({"bench", "prefill", "--cold"}).find("--cold"), 0U);
  EXPECT_EQ(Complaint({"bench", "decode", "--cold", "--dir", "d"}), "");
  EXPECT_EQ(Complaint({"bench", "decode", "--cold", "--model-mirror", "d"}).find("--model-mirror"),
            0U);
  EXPECT_EQ(Complaint({"bench", "append", "--model", "m", "--ctx", "4000", "--kv", "bf16"}), "");
  EXPECT_EQ(Complaint({"bench", "--dir", "d", "--model", "m", "--ctx", "100", "--kv", "bf16"}), "");
  EXPECT_EQ(Complaint({"bench", "attention", "--kv", "bf16"}), "");
  EXPECT_EQ(Complaint({"bench", "disk.read", "--dir", "d", "--model", "m"}), "");
  EXPECT_EQ(Complaint({"bench", "matvec", "decode", "--ctx", "100"}), "");
}

}  // namespace
}  // namespace coli
