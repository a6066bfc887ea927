#include "engine/fixture.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/testing/golden.h"
#include "engine/validate.h"
#include "sys/file.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

// A copy of a golden fixture whose reference.json has one text replaced by another.
class Damaged {
 public:
  Damaged(const std::string& from, const std::string& to) {
    std::filesystem::copy(testing::GoldenPath("t11"), directory_.path(),
                          std::filesystem::copy_options::recursive);
    std::string text = *ReadTextFile(directory_.path() / "reference.json", 1 << 20);
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    std::ofstream(directory_.path() / "reference.json") << text;
  }
  std::string ValidateError() const {
    EngineOptions options;
    options.model_dir = directory_.path();
    options.threads = 1;
    const auto report = Validate(options, false);
    return report ? "no error" : report.error().message;
  }

 private:
  testing::TempDirectory directory_;
};

void ExpectError(const std::string& from, const std::string& to, const std::string& part) {
  const std::string message = Damaged(from, to).ValidateError();
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Fixture, ErrorsNameFileAndField) {
  ExpectError("colibri.reference/1", "colibri.reference/2", "reference.json: schema");
  ExpectError("\"latent_norm_eps\"", "\"latent_eps\"", "latent_eps");
  ExpectError("\"logit_error_over_range\": 2e-05", "\"logit_error_over_range\": -1",
              "tolerance.logit_error_over_range");
  ExpectError("\"prompt_length\": 24", "\"prompt_length\": 0", "cases[0].prompt_length");
  ExpectError("\"prompt_length\": 24", "\"prompt_length\": 4000", "cases[0].prompt_length");
  ExpectError("\"greedy.logits\"", "\"other.logits\"", "tensor other.logits is missing");
  ExpectError("\"greedy.mtp.logits\"", "\"greedy.logits\"", "expected F32 [43, 128]");
  ExpectError("\"ids\": [", "\"ids\": [-5, ", "cases[0].ids");
  ExpectError("\"ids\": [", "\"ids\": [60000, ", "outside the vocabulary");
  ExpectError("\"schema\":", "\"schema\": 1, \"schema\":", "reference.json");
}

TEST(Fixture, MtpLogitsNeedAtLeastTwoIds) {
  const testing::TempDirectory directory;
  std::ofstream(directory.path() / "reference.json")
      << R"({"schema": "colibri.reference/1", "tolerance": {"logit_error_over_range": 0.1},
             "cases": [{"name": "one", "ids": [1], "prompt_length": 1, "logits": "a", "mtp_logits": "b"}]})";

  const auto fixture = Fixture::Open(directory.path());

  ASSERT_FALSE(fixture.has_value());
  EXPECT_NE(fixture.error().message.find("cases[0].ids"), std::string::npos)
      << fixture.error().message;
}

}  // namespace
}  // namespace coli
