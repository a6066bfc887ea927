#include <algorithm>
#include <memory>
#include <utility>

#include "engine/engine.h"
#include "engine/model_facts.h"
#include "measure/bench_requests.h"
#include "measure/scenario.h"

namespace coli {
namespace {

constexpr uint32_t kAppended[] = {10, 30, 100};
constexpr uint32_t kAnswer = 33;  // its first token belongs to the prompt

struct Append {
  uint32_t prefix;
  uint32_t tokens;
  GenerationStats before;  // the answer to the prefix alone
  GenerationStats after;   // the answer to the prefix with the tokens behind it
};

double AnswerSpeed(const GenerationStats& stats) {
  return (std::max(stats.completion_tokens, 1U) - 1) / stats.decode_s;
}

void Report(BenchSession& session, const Append& append, double expert_bytes) {
  const StepWork& work = append.after.work.prefill;
  const auto add = [&](const char* what, const char* unit, double value, const char* limit,
                       double limit_value) {
    Runs runs;
    Runs limits;
    runs.Add(value);
    limits.Add(limit_value);
    session.Add(Summarize("append",
                          {{"model", session.options().model_name},
                           {"prefix", uint64_t{append.prefix}},
                           {"appended", uint64_t{append.tokens}},
                           {"what", std::string(what)}},
                          unit, runs, limit, limits));
  };
  if (work.bytes_read > 0 && expert_bytes > 0) {
    add("read", "MB", 1e-6 * static_cast<double>(work.bytes_read), "misses, once each",
        1e-6 * static_cast<double>(work.expert_misses) * expert_bytes);
  }
  const uint32_t computed = append.after.prompt_tokens - append.after.reused_tokens;
  add("appended tokens", "tok/s", computed / append.after.prefill_s, "the prefix",
      append.before.prompt_tokens / append.before.prefill_s);
  add("next 32 tokens", "tok/s", AnswerSpeed(append.after), "32 tokens before",
      AnswerSpeed(append.before));
}

// The prefix is read once: the session keeps it while what follows it changes.
Status MeasureAll(BenchSession& session, BenchRequests& requests, Engine& engine, uint32_t prefix,
                  double expert_bytes) {
  const SessionHandle conversation = engine.OpenSession();
  const std::vector<TokenId> known = requests.RandomTokens(prefix);
  COLI_ASSIGN_OR_RETURN(const GenerationStats before, requests.Ask(known, kAnswer, conversation));
  for (const uint32_t tokens : kAppended) {
    std::vector<TokenId> prompt = known;
    for (const TokenId token : requests.RandomTokens(tokens)) {
      prompt.push_back(token);
    }
    COLI_ASSIGN_OR_RETURN(const GenerationStats after,
                          requests.Ask(std::move(prompt), kAnswer, conversation));
    Report(session, {.prefix = prefix, .tokens = tokens, .before = before, .after = after},
           expert_bytes);
  }
  return Ok();
}

}  // namespace

Status MeasureAppend(BenchSession& session) {
  const EngineOptions& options = session.options().engine;
  COLI_ASSIGN_OR_RETURN(const ModelFacts facts, InspectModel(options));
  COLI_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      Engine::Create(options, [&](uint64_t, uint64_t) { session.ShowProgress(); }));
  const uint32_t rest = std::ranges::max(kAppended) + kAnswer;
  if (engine->context() <= 2 * rest) {
    return Fail(ErrorCode::kInvalidArgument,
                "a context to append to prompts in: expected more than {} positions, found {}",
                2 * rest, engine->context());
  }
  const uint32_t prefix = std::min(session.quick() ? 64U : 2048U, engine->context() - rest);
  // Not known where experts are held in another format than they are read in.
  const bool known = facts.expert_count > 0 && options.expert_format == "keep";
  const double expert_bytes = known ? static_cast<double>(facts.inputs.expert_bytes) /
                                          static_cast<double>(facts.expert_count)
                                    : 0;
  BenchRequests requests(session, *engine, {});
  const Status status = MeasureAll(session, requests, *engine, prefix, expert_bytes);
  return !status && status.error().code == ErrorCode::kCancelled ? Ok() : status;
}

}  // namespace coli
