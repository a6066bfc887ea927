// Models whose numbers or files are bad, before and while an engine runs: an error that names what
// is wrong, for the request that met it only.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/engine.h"
#include "engine/testing/golden.h"
#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::GoldenOptions;
using ::testing::HasSubstr;
using testing::TempDirectory;
using testing::Tokens;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::string FloatBytes(float value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// A copy of a golden model that a test may damage.
class Copy {
 public:
  explicit Copy(const std::string& golden) : golden_(golden) {
    fs::copy(testing::GoldenPath(golden), directory_.path());
  }

  // Writes `bytes` over those of a tensor, from its byte `at` on, in place.
  void Write(const std::string& tensor, uint64_t at, std::string_view bytes) {
    const auto container = Container::Open(directory_.path());
    ASSERT_TRUE(container.has_value());
    const auto found = container->tensors().find(tensor);
    ASSERT_NE(found, container->tensors().end()) << tensor;
    std::fstream file(found->second.file->path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(found->second.offset + at));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.good());
  }

  EngineOptions Options() const {
    EngineOptions options = GoldenOptions(golden_);
    options.model_dir = directory_.path();
    return options;
  }
  fs::path operator/(std::string_view name) const { return directory_ / name; }

 private:
  std::string golden_;
  TempDirectory directory_;
};

// What comes of loading the model and running a prompt that asks for every expert: the error, or
// nothing.
std::optional<Error> LoadAndRun(const EngineOptions& options) {
  auto model = LoadedModel::Load(options);
  if (!model) {
    return model.error();
  }
  const std::vector<TokenId> tokens = Tokens(60);
  auto cache = KvCache::Create((*model)->config(), {.capacity = 64});
  Batch batch;
  batch.caches.push_back(&*cache);
  for (uint32_t p = 0; p < tokens.size(); ++p) {
    batch.rows.push_back({0, tokens[p], p, p + 1 == tokens.size()});
  }
  const auto step = (*model)->forward().Run(std::move(batch));
  return step ? std::nullopt : std::optional(step.error());
}

void ExpectRefused(const EngineOptions& options, const std::string& tensor,
                   const std::string& place) {
  const std::optional<Error> error = LoadAndRun(options);
  ASSERT_TRUE(error.has_value()) << tensor;
  EXPECT_EQ(error->code, ErrorCode::kCorrupt) << error->message;
  EXPECT_THAT(error->message, AllOf(HasSubstr(".safetensors: tensor " + tensor), HasSubstr(place)));
}

// --- numbers ---

TEST(HostileNumbers, WeightsThatAreNotFiniteAreRefusedWithTensorAndPlace) {
  struct Case {
    std::string tensor;
    uint64_t index;
    std::string place;
  };
  // t0 is BF16 with some tensors in F32; 64 columns where a row is named.
  for (const auto& [tensor, index, place] : std::vector<Case>{
           {"model.embed_tokens.weight", 3 * 64 + 5, "row 3, column 5"},
           {"model.norm.weight", 63, "index 63"},
           {"lm_head.weight", 0, "row 0, column 0"},
           {"model.layers.0.input_layernorm.weight", 7, "index 7"},
           {"model.layers.1.self_attn.q_a_layernorm.weight", 1, "index 1"},
           {"model.layers.1.self_attn.q_a_proj.weight", 2 * 64 + 63, "row 2, column 63"},
           {"model.layers.0.self_attn.indexer.wk.weight", 64, "row 1, column 0"},
           {"model.layers.0.self_attn.indexer.k_norm.bias", 2, "index 2"},
           {"model.layers.3.mlp.gate.weight", 64, "row 1, column 0"},
           {"model.layers.3.mlp.gate.e_score_correction_bias", 3, "index 3"},
           {"model.layers.3.mlp.shared_experts.up_proj.weight", 64, "row 1, column 0"},
           {"model.layers.3.mlp.experts.15.gate_proj.weight", 4 * 64 + 9, "row 4, column 9"}}) {
    SCOPED_TRACE(tensor);
    for (const float bad : {kNan, kInf, -kInf}) {
      Copy copy("t0");
      const auto container = Container::Open(copy.Options().model_dir);
      const bool wide = container->tensors().at(tensor).dtype == DType::kF32;
      const std::string bits = FloatBytes(bad);
      // BF16 is the upper half of F32.
      copy.Write(tensor, index * (wide ? 4 : 2), wide ? bits : bits.substr(2));
      ExpectRefused(copy.Options(), tensor, place);
    }
  }
}

TEST(HostileNumbers, ScalesThatAreNotFiniteOrNegativeAreRefusedWithTensorAndRow) {
  for (const std::string tensor :
       {"model.embed_tokens.weight", "model.layers.1.mlp.experts.0.up_proj.weight"}) {
    SCOPED_TRACE(tensor);
    for (const float bad : {kNan, kInf, -kInf, -1.0F}) {
      Copy copy("c-int8-row");
      copy.Write(tensor + ".qs", 6 * sizeof(float), FloatBytes(bad));
      ExpectRefused(copy.Options(), tensor, "expected finite scales >= 0");
      ExpectRefused(copy.Options(), tensor, "at row 6");
    }
  }
}

// Zeros are what a writer makes of a row of zeros; the smallest and largest numbers are numbers.
TEST(HostileNumbers, AScaleOfZeroIsLegal) {
  Copy copy("c-int8-row");
  copy.Write("model.layers.1.mlp.experts.0.up_proj.weight.qs", 0, FloatBytes(0.0F));
  copy.Write("model.layers.1.mlp.experts.1.up_proj.weight.qs", 0, FloatBytes(-0.0F));
  copy.Write("model.layers.1.mlp.experts.2.up_proj.weight.qs", 0, FloatBytes(1e-44F));

  const std::optional<Error> error = LoadAndRun(copy.Options());

  EXPECT_FALSE(error.has_value()) << error->message;
}

// Finite weights whose products are not: the layer is named and no token comes of it.
TEST(HostileNumbers, ProductsThatAreNotFiniteAreAnErrorAndNoToken) {
  Copy copy("c-int8-row");
  copy.Write("lm_head.weight.qs", 0, FloatBytes(std::numeric_limits<float>::max()));
  const auto engine = Engine::Create(copy.Options());
  ASSERT_TRUE(engine.has_value()) << engine.error().message;

  GenerationRequest request;
  request.prompt = Tokens(5);
  request.max_tokens = 4;
  const auto stream = (*engine)->Submit(request);
  ASSERT_TRUE(stream.has_value());
  const TokenStream::Event event = (*stream)->Next(std::chrono::seconds(30));

  ASSERT_TRUE(std::holds_alternative<TokenStream::End>(event));
  ASSERT_FALSE((*stream)->outcome().has_value());
  EXPECT_EQ((*stream)->outcome().error().code, ErrorCode::kNumeric);
}

// --- shapes ---

// The same bytes under another shape: what config.json asks for must be what the file says, for
// every tensor there is.
TEST(HostileShapes, AnyTensorOfAnotherShapeIsRefusedByName) {
  Copy copy("t0");
  EngineOptions options = copy.Options();
  options.load_mtp = true;
  const fs::path shard = copy / "model.safetensors";
  const std::string whole = *ReadTextFile(shard, 16 << 20);
  const auto container = Container::Open(options.model_dir);
  const SafetensorsFile& file = *container->files()[0];
  const size_t header_bytes = file.Tensor(file.header().entries()[0]).offset - 8;
  const auto header = Json::parse(whole.substr(8, header_bytes));
  size_t refused = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    Json changed = header;
    changed[name]["shape"].push_back(1);  // a row of one column each, or a third dimension
    std::string text = changed.dump();
    ASSERT_LE(text.size(), header_bytes);
    text.resize(header_bytes, ' ');
    testing::WriteFile(shard, whole.substr(0, 8) + text + whole.substr(8 + header_bytes));

    const auto model = LoadedModel::Load(options);

    ASSERT_FALSE(model.has_value()) << name;
    EXPECT_EQ(model.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(model.error().message, HasSubstr("tensor " + name + ": expected shape"));
    ++refused;
  }
  EXPECT_GT(refused, 100U);
}

// --- files that change while an engine runs ---

struct Answer {
  std::vector<TokenId> tokens;
  std::optional<Error> error;
};

Answer Ask(Engine& engine) {
  GenerationRequest request;
  request.prompt = Tokens(12);
  request.max_tokens = 16;
  request.sampling.temperature = 0;
  const auto stream = engine.Submit(request);
  EXPECT_TRUE(stream.has_value());
  Answer answer;
  while (true) {
    const TokenStream::Event event = (*stream)->Next(std::chrono::seconds(30));
    if (const auto* token = std::get_if<TokenId>(&event)) {
      answer.tokens.push_back(*token);
      continue;
    }
    EXPECT_TRUE(std::holds_alternative<TokenStream::End>(event)) << "nothing happened for 30 s";
    break;
  }
  if (!(*stream)->outcome()) {
    answer.error = (*stream)->outcome().error();
  }
  return answer;
}

// One expert in RAM: every step reads from the drive again.
class HostileChange : public ::testing::Test {
 protected:
  HostileChange() {
    EngineOptions options = copy_.Options();
    options.cache_experts = 1;
    auto engine = Engine::Create(options);
    EXPECT_TRUE(engine.has_value()) << engine.error().message;
    engine_ = *std::move(engine);
    expected_ = Ask(*engine_).tokens;
    EXPECT_EQ(expected_.size(), 16U);
  }

  Copy copy_{"c-mixed"};
  const std::vector<fs::path> shards_ = {copy_ / "out-00000.safetensors",
                                         copy_ / "out-00001.safetensors",
                                         copy_ / "out-00002.safetensors"};
  std::unique_ptr<Engine> engine_;
  std::vector<TokenId> expected_;
};

TEST_F(HostileChange, AShardCutShortFailsTheRequestAndTheEngineLivesOn) {
  std::vector<std::string> whole;
  for (const fs::path& shard : shards_) {
    whole.push_back(*ReadTextFile(shard, 1 << 20));
    fs::resize_file(shard, 1'000);
  }

  const Answer cut = Ask(*engine_);
  for (size_t i = 0; i < shards_.size(); ++i) {
    testing::WriteFile(shards_[i], whole[i]);  // the same file again, not a new one
  }
  Ask(*engine_);  // may still meet a read that began before the file was whole again
  const Answer healed = Ask(*engine_);

  ASSERT_TRUE(cut.error.has_value());
  EXPECT_EQ(cut.error->code, ErrorCode::kCorrupt);
  EXPECT_THAT(cut.error->message,
              AllOf(HasSubstr("layer "), HasSubstr("expert "), HasSubstr(".safetensors"),
                    HasSubstr("unexpected end of file at byte ")));
  EXPECT_EQ(healed.tokens, expected_);
}

TEST_F(HostileChange, AShardReplacedByAnotherFileIsNotSeen) {
  for (const fs::path& shard : shards_) {
    testing::WriteFile(copy_ / "new", "something else");
    fs::rename(copy_ / "new", shard);
  }

  EXPECT_EQ(Ask(*engine_).tokens, expected_);
}

TEST_F(HostileChange, ADeletedShardIsReadOn) {
  for (const fs::path& shard : shards_) {
    fs::remove(shard);
  }

  EXPECT_EQ(Ask(*engine_).tokens, expected_);
}

TEST_F(HostileChange, AShardOverwrittenInPlaceFailsTheRequestAndTheEngineLivesOn) {
  std::vector<std::string> whole;
  for (const fs::path& shard : shards_) {
    whole.push_back(*ReadTextFile(shard, 1 << 20));
    testing::WriteFile(shard, std::string(whole.back().size(), '\xff'));  // as f32: NaN
  }

  const Answer overwritten = Ask(*engine_);
  for (size_t i = 0; i < shards_.size(); ++i) {
    testing::WriteFile(shards_[i], whole[i]);
  }
  Ask(*engine_);  // may still meet a read that began before the file was whole again
  const Answer healed = Ask(*engine_);

  ASSERT_TRUE(overwritten.error.has_value());
  EXPECT_THAT(overwritten.error->message,
              AllOf(HasSubstr("expert "), HasSubstr("expected finite"), HasSubstr("at row ")));
  EXPECT_EQ(healed.tokens, expected_) << (healed.error ? healed.error->message : "other tokens");
}

}  // namespace
}  // namespace coli
