#include "measure/engine_figures.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>
#include <variant>

#include "engine/engine.h"
#include "measure/plain_read.h"
#include "measure/session.h"

namespace coli {
namespace {

// Smaller weights may stay in some cache, whose speed nobody has measured.
constexpr uint64_t kLeastStreamedBytes = uint64_t{64} << 20;

// One request after the other to one engine.
class Requests {
 public:
  Requests(BenchSession& session, Engine& engine, const EngineFigures& sizes)
      : session_(session),
        engine_(engine),
        prompt_tokens_(sizes.prompt_tokens),
        answer_tokens_(sizes.answer_tokens) {}

  // A prompt of random tokens and its answer, sampled so that answers differ. When the session is
  // cancelled, kCancelled.
  Result<GenerationStats> Next() {
    GenerationRequest request;
    std::uniform_int_distribution<int32_t> token(
        0, static_cast<int32_t>(engine_.config().vocab_size) - 1);
    for (uint32_t i = 0; i < prompt_tokens_; ++i) {
      request.prompt.push_back(TokenId{token(generator_)});
    }
    request.max_tokens = answer_tokens_;
    request.sampling.temperature = 1;
    request.sampling.seed = generator_();
    COLI_ASSIGN_OR_RETURN(const std::shared_ptr<TokenStream> stream,
                          engine_.Submit(std::move(request)));
    COLI_ASSIGN_OR_RETURN(const GenerationResult result, Drain(*stream));
    if (result.reason == FinishReason::kCancelled) {
      return Fail(ErrorCode::kCancelled, "cancelled");
    }
    return result.stats;
  }

 private:
  Result<GenerationResult> Drain(TokenStream& stream) {
    constexpr std::chrono::milliseconds kPoll{50};
    while (!std::holds_alternative<TokenStream::End>(stream.Next(kPoll))) {
      session_.ShowProgress();
      if (session_.cancelled()) {
        stream.Cancel();
      }
    }
    return stream.outcome();
  }

  BenchSession& session_;
  Engine& engine_;
  uint32_t prompt_tokens_;
  uint32_t answer_tokens_;
  std::mt19937 generator_{1};
};

void AddSpeeds(const GenerationStats& stats, Runs& prefill, Runs& decode) {
  const auto add = [](uint32_t tokens, double seconds, Runs& speeds) {
    if (tokens > 0 && seconds > 0) {
      speeds.Add(tokens / seconds);
    }
  };
  add(stats.prompt_tokens - stats.reused_tokens, stats.prefill_s, prefill);
  // The first token belongs to the prompt.
  add(std::max(stats.completion_tokens, 1U) - 1, stats.decode_s, decode);
}

// Tokens per second that reading `bytes` for each token allows, by a read between two requests.
Result<double> ReadLimit(BenchSession& session, uint64_t bytes) {
  COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
  const double seconds = PoolReadSeconds(session.pool(), memory);
  return static_cast<double>(memory.size()) / seconds / static_cast<double>(bytes);
}

// One request may take minutes: a single one suffices.
Status MeasureWarm(BenchSession& session, Requests& requests, uint64_t bytes_per_token,
                   EngineFigures& figures) {
  constexpr int kLeastRuns = 1;
  Status status;
  uint64_t uses = 0;
  uint64_t misses = 0;
  session.Repeat(
      [&] {
        const auto stats = requests.Next();
        if (!stats) {
          status = tl::unexpected(stats.error());
          return;
        }
        AddSpeeds(*stats, figures.warm_prefill, figures.warm_decode);
        uses += stats->expert_hits + stats->expert_misses;
        misses += stats->expert_misses;
        if (bytes_per_token >= kLeastStreamedBytes) {
          if (const auto limit = ReadLimit(session, bytes_per_token)) {
            figures.decode_limit.Add(*limit);
          }
        }
      },
      kLeastRuns);
  if (misses > uses / 100) {  // more than the odd expert that no request before has chosen
    figures.decode_limit = {};
  }
  return status;
}

Status MeasureRequests(BenchSession& session, Engine& engine, uint64_t bytes_per_token,
                       EngineFigures& figures) {
  Requests requests(session, engine, figures);
  COLI_ASSIGN_OR_RETURN(const GenerationStats cold, requests.Next());
  AddSpeeds(cold, figures.cold_prefill, figures.cold_decode);
  return MeasureWarm(session, requests, bytes_per_token, figures);
}

}  // namespace

uint64_t WeightBytesPerToken(const ModelFacts& facts) {
  const auto bytes_of = [&](std::string_view role) {
    uint64_t bytes = 0;
    for (const auto& [name, by_format] : facts.formats) {
      for (const auto& [format, of_format] : by_format) {
        bytes += name == role ? of_format : 0;
      }
    }
    return bytes;
  };
  uint64_t bytes = 0;
  for (const char* role :
       {"attention", "indexer", "router", "dense layers", "shared experts", "norms"}) {
    bytes += bytes_of(role);
  }
  bytes += bytes_of(facts.config.tied_embeddings ? "embedding" : "head");
  const auto sparse = static_cast<uint64_t>(std::ranges::count_if(
      facts.config.layers, [](const LayerConfig& layer) { return layer.ffn == FfnKind::kSparse; }));
  const uint64_t experts = std::max<uint64_t>(facts.expert_count, 1);
  return bytes + facts.expert_bytes / experts * sparse * facts.config.router.experts_per_token;
}

Result<EngineFigures> MeasureEngine(BenchSession& session) {
  const EngineOptions& options = session.options().engine;
  COLI_ASSIGN_OR_RETURN(const ModelFacts facts, InspectModel(options));
  const uint64_t bytes_per_token = WeightBytesPerToken(facts);
  if (bytes_per_token >= kLeastStreamedBytes) {
    COLI_RETURN_IF_ERROR(session.Memory());  // before the engine plans with what is left
  }
  COLI_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      Engine::Create(options, [&](uint64_t, uint64_t) { session.ShowProgress(); }));
  EngineFigures figures;
  figures.answer_tokens = session.quick() ? 8 : 32;
  figures.prompt_tokens = session.quick() ? 32 : 512;
  if (engine->context() < figures.prompt_tokens + figures.answer_tokens) {
    figures.answer_tokens = std::min(figures.answer_tokens, engine->context() / 2);
    figures.prompt_tokens = engine->context() - figures.answer_tokens;
  }
  const Status status = MeasureRequests(session, *engine, bytes_per_token, figures);
  if (!status && status.error().code != ErrorCode::kCancelled) {
    return tl::unexpected(status.error());
  }
  return figures;
}

}  // namespace coli
