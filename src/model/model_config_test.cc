// What all families share: finding the family, files, stop tokens, sampling defaults, overrides.
#include "model/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace coli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The least that glm_moe_dsa needs, with a stop token.
Json SmallConfig() {
  return Json::parse(
      R"({"model_type": "glm_moe_dsa", "vocab_size": 256, "hidden_size": 64,
      "intermediate_size": 96, "moe_intermediate_size": 48, "num_hidden_layers": 5,
      "num_attention_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 24, "qk_nope_head_dim": 12,
      "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 16, "num_experts_per_tok": 4,
      "rope_parameters": {"rope_theta": 10000, "rope_type": "default"}, "eos_token_id": 7})");
}

Result<ModelConfig> Parse(const Json& config, const Json* generation = nullptr,
                          const ModelOverrides& overrides = {}) {
  return ParseModelConfig(config, generation, "config.json", overrides);
}

std::string ErrorOf(const Result<ModelConfig>& result) {
  return result ? "accepted" : result.error().message;
}

// A folder that is removed with its files.
class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "model_config_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }
  void Write(const char* name, std::string_view text) const { std::ofstream(path_ / name) << text; }

 private:
  std::filesystem::path path_;
};

TEST(ModelConfig, NoStopTokenIsWorthALineUnlessItSaysSo) {
  Json config = SmallConfig();
  config["eos_token_id"] = Json::array();
  EXPECT_THAT(Parse(config)->warnings, ::testing::IsEmpty());

  config.erase("eos_token_id");
  EXPECT_THAT(Parse(config)->warnings, ElementsAre(::testing::HasSubstr("no eos_token_id")));
}

TEST(ModelConfig, UnknownFamilyListsTheKnownOnes) {
  Json config = SmallConfig();
  config["model_type"] = "llama";

  const auto parsed = Parse(config);

  EXPECT_EQ(ErrorOf(parsed),
            "config.json: model_type: expected one of glm_moe_dsa, found \"llama\"");
  EXPECT_EQ(parsed.error().code, ErrorCode::kUnsupported);
}

TEST(ModelConfig, MissingFamilyIsAnError) {
  EXPECT_EQ(ErrorOf(Parse(Json::object())),
            "config.json: model_type: expected a string, found nothing");
  EXPECT_EQ(ErrorOf(Parse(Json::array())), "config.json: expected an object, found []");
}

TEST(ModelConfig, TextConfigIsLookedAtFirst) {
  Json config{{"model_type", "glm_with_pictures"},
              {"hidden_size", 9},
              {"eos_token_id", 8},
              {"text_config", SmallConfig()}};
  config["text_config"].erase("eos_token_id");

  const auto parsed = Parse(config);

  ASSERT_TRUE(parsed) << ErrorOf(parsed);
  EXPECT_EQ(parsed->model_type, "glm_moe_dsa");
  EXPECT_EQ(parsed->hidden_size, 64u);
  EXPECT_THAT(parsed->eos_tokens, ElementsAre(TokenId{8}));
}

TEST(ModelConfig, ErrorsInTextConfigSayWhere) {
  Json config{{"text_config", SmallConfig()}};
  config["text_config"]["hidden_size"] = 0;

  EXPECT_EQ(ErrorOf(Parse(config)),
            "config.json: text_config.hidden_size: expected an integer in [1, 65536], found 0");
}

TEST(ModelConfig, StopTokensAreTheUnionWithGenerationConfig) {
  Json config = SmallConfig();
  config["eos_token_id"] = {5, 6};
  const Json generation{{"eos_token_id", {6, 9}}};

  EXPECT_THAT(Parse(config, &generation)->eos_tokens,
              ElementsAre(TokenId{5}, TokenId{6}, TokenId{9}));
}

TEST(ModelConfig, StopTokenMayBeOneNumber) {
  const Json generation{{"eos_token_id", 3}};

  EXPECT_THAT(Parse(SmallConfig())->eos_tokens, ElementsAre(TokenId{7}));
  EXPECT_THAT(Parse(SmallConfig(), &generation)->eos_tokens, ElementsAre(TokenId{7}, TokenId{3}));
}

TEST(ModelConfig, StopTokenBeyondTheVocabularyIsLeftOutWithAWarning) {
  Json config = SmallConfig();
  config["eos_token_id"] = {256, 255};

  const auto parsed = Parse(config);

  EXPECT_THAT(parsed->eos_tokens, ElementsAre(TokenId{255}));
  EXPECT_THAT(parsed->warnings,
              ElementsAre("config.json: eos_token_id: ignored 256, the vocabulary has 256 tokens"));
}

TEST(ModelConfig, WithoutStopTokensThereIsAWarning) {
  Json config = SmallConfig();
  config.erase("eos_token_id");

  const auto parsed = Parse(config);

  EXPECT_THAT(parsed->eos_tokens, IsEmpty());
  EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr("no eos_token_id")));
}

TEST(ModelConfig, RejectsStopTokensThatAreNoTokens) {
  for (const Json& value :
       {Json(-1), Json(1.0), Json("7"), Json(true), Json({7, -1}), Json(int64_t{1} << 31)}) {
    Json config = SmallConfig();
    config["eos_token_id"] = value;
    EXPECT_THAT(ErrorOf(Parse(config)), HasSubstr("expected an integer in [0, 2147483647], found"))
        << value;
  }
}

TEST(ModelConfig, SamplingDefaultsComeFromGenerationConfig) {
  const Json generation{{"temperature", 0.75}, {"top_p", 0.5}, {"top_k", 20}};

  const auto with = Parse(SmallConfig(), &generation);
  const auto without = Parse(SmallConfig());

  EXPECT_EQ(with->temperature, 0.75F);
  EXPECT_EQ(with->top_p, 0.5F);
  EXPECT_EQ(with->top_k, 20u);
  EXPECT_EQ(without->temperature, std::nullopt);
  EXPECT_EQ(without->top_p, std::nullopt);
  EXPECT_EQ(without->top_k, std::nullopt);
}

TEST(ModelConfig, RejectsSamplingDefaultsOutOfRange) {
  const auto error = [](const Json& generation) {
    return ErrorOf(Parse(SmallConfig(), &generation));
  };

  EXPECT_EQ(error({{"temperature", -1}}),
            "generation_config.json: temperature: expected a number in [0, 100], found -1");
  EXPECT_EQ(error({{"top_p", 1.5}}),
            "generation_config.json: top_p: expected a number in [0, 1], found 1.5");
  EXPECT_EQ(error({{"top_k", "all"}}),
            "generation_config.json: top_k: expected an integer in [0, 2147483647], found \"all\"");
}

TEST(ModelConfig, LatentNormEpsilonIsTheOthersUnlessOverridden) {
  EXPECT_EQ(Parse(SmallConfig())->latent_norm_eps, 1e-5F);
  EXPECT_EQ(Parse(SmallConfig(), nullptr, {.latent_norm_eps = 1e-6F})->latent_norm_eps, 1e-6F);
  EXPECT_EQ(Parse(SmallConfig(), nullptr, {.latent_norm_eps = 0.0F}).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(ModelConfig, LoadsBothFilesOfADirectory) {
  const Folder folder;
  folder.Write("config.json", SmallConfig().dump());
  folder.Write("generation_config.json", R"({"top_p": 0.95, "eos_token_id": [8]})");

  const auto loaded = LoadModelConfig(folder.path());

  ASSERT_TRUE(loaded) << ErrorOf(loaded);
  EXPECT_EQ(loaded->top_p, 0.95F);
  EXPECT_THAT(loaded->eos_tokens, ElementsAre(TokenId{7}, TokenId{8}));
}

TEST(ModelConfig, GenerationConfigMayBeAbsentButNotBroken) {
  const Folder folder;
  folder.Write("config.json", SmallConfig().dump());

  EXPECT_TRUE(LoadModelConfig(folder.path()));
  folder.Write("generation_config.json", "{");
  EXPECT_THAT(ErrorOf(LoadModelConfig(folder.path())), HasSubstr("generation_config.json"));
}

TEST(ModelConfig, MissingConfigNamesTheFile) {
  const Folder folder;

  const auto loaded = LoadModelConfig(folder.path());

  EXPECT_THAT(ErrorOf(loaded), HasSubstr((folder.path() / "config.json").string()));
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
}

TEST(ModelConfig, AFileCutShortAnywhereIsAnError) {
  const Folder folder;
  const std::string text = SmallConfig().dump();

  for (size_t length = 0; length < text.size(); ++length) {
    folder.Write("config.json", std::string_view(text).substr(0, length));
    EXPECT_FALSE(LoadModelConfig(folder.path())) << length;
  }
}

// A megabyte of nothing must not become a hundred of them.
TEST(ModelConfig, AFileOfTooManyValuesIsRefused) {
  const Folder folder;
  std::string lists = "[]";
  for (int i = 0; i < 300'000; ++i) {
    lists += ",[]";
  }
  folder.Write("config.json", "{\"model_type\": [" + lists + "]}");

  EXPECT_THAT(ErrorOf(LoadModelConfig(folder.path())), HasSubstr("more than 262144 values"));
}

TEST(ModelConfig, DuplicateKeysAreRefused) {
  const Folder folder;
  std::string text = SmallConfig().dump();
  text.insert(1, R"("hidden_size": 32, )");
  folder.Write("config.json", text);

  EXPECT_THAT(ErrorOf(LoadModelConfig(folder.path())), HasSubstr("hidden_size"));
}

}  // namespace
}  // namespace coli
