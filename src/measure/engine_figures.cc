#include "measure/engine_figures.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"
#include "measure/bench_requests.h"
#include "measure/machine_probe.h"
#include "measure/session.h"
#include "measure/weight_set.h"
#include "sys/plain_read.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

// Smaller weights may stay in some cache, whose speed nobody has measured.
constexpr uint64_t kLeastStreamedBytes = uint64_t{64} << 20;
// Waiting for the drive, as a share of the time, that leaves memory and products the limits.
constexpr double kMostWaiting = 0.02;

// What every token of a prompt is multiplied with.
constexpr std::string_view kEveryTokenRoles[] = {"attention", "indexer", "router", "dense layers",
                                                 "shared experts"};

const std::map<std::string, uint64_t>& BytesOf(const ModelFacts& facts, std::string_view role) {
  static const std::map<std::string, uint64_t> kNone;
  const auto found = facts.formats.find(std::string(role));
  return found == facts.formats.end() ? kNone : found->second;
}

uint64_t Sum(const std::map<std::string, uint64_t>& bytes) {
  uint64_t sum = 0;
  for (const auto& [format, of_format] : bytes) {
    sum += of_format;
  }
  return sum;
}

uint64_t ExpertCount(const ModelFacts& facts) { return std::max<uint64_t>(facts.expert_count, 1); }

uint64_t ExpertsPerToken(const ModelFacts& facts) {
  const auto sparse = std::ranges::count(facts.config.layers, FfnKind::kSparse, &LayerConfig::ffn);
  return static_cast<uint64_t>(sparse) * facts.config.router.experts_per_token;
}

// Weights that take `bytes` with their scales; 0 if there is no such format.
double WeightsIn(uint64_t bytes, const std::string& format_name) {
  const auto format = ParseFormat(format_name);
  const MatrixShape shape = kExpertShapes[0];
  return format ? static_cast<double>(bytes) * shape.rows * shape.cols /
                      static_cast<double>((*CodeBytes(*format, shape.rows, shape.cols) +
                                           *ScaleBytes(*format, shape.rows, shape.cols)))
                : 0;
}

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

// Tokens per second that all threads can multiply: as if each product were one of 16 rows with a
// matrix of an expert.
Result<double> ProductsLimit(BenchSession& session, const std::map<std::string, double>& products) {
  double seconds = 0;
  for (const auto& [name, multiply_adds] : products) {
    if (const auto format = ParseFormat(name)) {
      COLI_ASSIGN_OR_RETURN(const double speed, MultiplyAddsPerSecond(session, *format));
      seconds += multiply_adds / speed;
    }
  }
  return 1 / seconds;
}

// What of a model's weights every token needs.
struct TokenNeeds {
  uint64_t bytes;                          // to write one
  std::map<std::string, double> products;  // to read one, by format
};

// The limits are measured between the requests. One request may take minutes: a single one
// suffices.
Status MeasureWarm(BenchSession& session, BenchRequests& requests, const TokenNeeds& needs,
                   EngineFigures& figures) {
  constexpr int kLeastRuns = 1;
  Status status;
  double waited_s = 0;
  double computed_s = 0;
  session.Repeat(
      [&] {
        const auto stats = requests.Next();
        if (!stats) {
          status = tl::unexpected(stats.error());
          return;
        }
        AddSpeeds(*stats, figures.warm_prefill, figures.warm_decode);
        waited_s += stats->work.wait_s();
        computed_s += stats->prefill_s + stats->decode_s;
        if (needs.bytes < kLeastStreamedBytes) {
          return;
        }
        if (const auto limit = ReadLimit(session, needs.bytes)) {
          figures.decode_limit.Add(*limit);
        }
        if (const auto limit = ProductsLimit(session, needs.products)) {
          figures.prefill_limit.Add(*limit);
        }
      },
      kLeastRuns);
  if (waited_s > kMostWaiting * computed_s) {  // more than for an expert that was new
    figures.decode_limit = {};
    figures.prefill_limit = {};
  }
  return status;
}

Status MeasureRequests(BenchSession& session, Engine& engine, const TokenNeeds& needs,
                       EngineFigures& figures) {
  BenchRequests requests(session, engine, {figures.prompt_tokens, figures.answer_tokens});
  COLI_ASSIGN_OR_RETURN(const GenerationStats cold, requests.Next());
  AddSpeeds(cold, figures.cold_prefill, figures.cold_decode);
  return MeasureWarm(session, requests, needs, figures);
}

}  // namespace

uint64_t ExpertBytesPerToken(const ModelFacts& facts) {
  return ExpertsPerToken(facts) * facts.inputs.expert_bytes / ExpertCount(facts);
}

uint64_t WeightBytesPerToken(const ModelFacts& facts) {
  uint64_t bytes = ExpertBytesPerToken(facts);
  for (const std::string_view role : kEveryTokenRoles) {
    bytes += Sum(BytesOf(facts, role));
  }
  return bytes + Sum(BytesOf(facts, "norms")) +
         Sum(BytesOf(facts, facts.config.tied_embeddings ? "embedding" : "head"));
}

std::map<std::string, double> ProductsPerToken(const ModelFacts& facts) {
  std::map<std::string, double> products;
  const auto add = [&](std::string_view role, double share) {
    for (const auto& [format, bytes] : BytesOf(facts, role)) {
      products[format] += share * WeightsIn(bytes, format);
    }
  };
  for (const std::string_view role : kEveryTokenRoles) {
    add(role, 1);
  }
  add("experts",
      static_cast<double>(ExpertsPerToken(facts)) / static_cast<double>(ExpertCount(facts)));
  return products;
}

Result<EngineFigures> MeasureEngine(BenchSession& session) {
  EngineOptions options = session.options().engine;
  COLI_ASSIGN_OR_RETURN(const ModelFacts facts, InspectModel(options));
  const TokenNeeds needs{WeightBytesPerToken(facts), ProductsPerToken(facts)};
  if (needs.bytes >= kLeastStreamedBytes) {
    // Before the engine plans with what is left.
    COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
    if (options.ram_bytes != 0) {  // 0: not named
      options.ram_bytes -= std::min<uint64_t>(options.ram_bytes - 1, memory.size());
    }
  }
  COLI_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      Engine::Create(options, [&](uint64_t, uint64_t) { session.ShowProgress(); }));
  EngineFigures figures;
  COLI_ASSIGN_OR_RETURN(const RequestSize size, ChooseRequestSize(session, *engine));
  figures.prompt_tokens = size.prompt_tokens;
  figures.answer_tokens = size.answer_tokens;
  const Status status = MeasureRequests(session, *engine, needs, figures);
  if (!status && status.error().code != ErrorCode::kCancelled) {
    return tl::unexpected(status.error());
  }
  return figures;
}

}  // namespace coli
