// How fast an engine reads prompts and writes answers with a model.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "engine/model_facts.h"
#include "measure/measurement.h"

namespace coli {

class BenchSession;

// Tokens per second of requests with random prompts of the same length.
struct EngineFigures {
  uint32_t prompt_tokens = 0;
  uint32_t answer_tokens = 0;
  // Of the first request: nothing is in memory but what every token uses.
  Runs cold_prefill;
  Runs cold_decode;
  // Of later ones.
  Runs warm_prefill;
  Runs warm_decode;
  // What the memory read between the requests would allow to write; none if the drive was
  // waited for during more than 2 % of the time, or if the weights of a token may stay in caches.
  Runs decode_limit;
  // What the products alone would allow to read: the multiply-adds of a token at the speed that
  // their formats' products of 16 rows had between the requests. None under the same conditions.
  Runs prefill_limit;
};

// Loads the model of the session and measures. What was measured before a cancellation is kept.
// Errors: every fault of the model, options out of range.
Result<EngineFigures> MeasureEngine(BenchSession& session);

// Bytes of weights that the computation of one token reads; and of those, its routed experts. Pure.
uint64_t WeightBytesPerToken(const ModelFacts& facts);
uint64_t ExpertBytesPerToken(const ModelFacts& facts);

// Multiply-adds with weights for one token of a prompt, by number format; without the head, which
// only the last one needs. Pure.
std::map<std::string, double> ProductsPerToken(const ModelFacts& facts);

}  // namespace coli
