// The engine: one thread that owns model, caches, sequences and scheduler; clients submit prompts
// and read token streams.
//
// Text and JSON stop outside: an engine sees token ids only. Several engines in one process are
// independent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/engine_mode.h"
#include "engine/options.h"
#include "engine/sampler.h"
#include "engine/token_stream.h"
#include "model/model_config.h"

namespace coli {

// A conversation whose KV cache stays between requests. Released when the last handle is gone.
class Session;
using SessionHandle = std::shared_ptr<Session>;

struct GenerationRequest {
  std::vector<TokenId> prompt;  // the whole prompt, earlier turns included; not empty
  SamplingOptions sampling;
  uint32_t max_tokens = 0;  // 0: until the context is full
  std::vector<TokenId>
      stop_tokens;  // in addition to the model's end-of-sequence ids; never part of the output
  bool ignore_end_of_sequence = false;  // those ids are tokens like others: for measuring
  SessionHandle
      session;  // optional: rows for the common prefix with what it holds are not computed again
};

// How far the experts that earlier runs used are read into free memory, while the engine works.
struct Warming {
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;  // 0: there are none
  double seconds = 0;        // since it began
  bool over() const { return done_bytes >= total_bytes; }
};

class Engine {
 public:
  // Loads the always-used weights and starts the engine thread. `progress`, if given, is called
  // with bytes loaded and bytes to load. Errors: every fault of the model directory, options out of
  // range, a budget that is too small.
  using Progress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;
  static Result<std::unique_ptr<Engine>> Create(const EngineOptions& options,
                                                const Progress& progress = {});
  virtual ~Engine() = default;  // cancels what runs, drains, joins

  // Queues a request. Refused at once: an empty prompt, ids outside the vocabulary, bad sampling
  // options (kInvalidArgument), a prompt that leaves no room for one token (kContextLength, with
  // both counts). Thread-safe.
  virtual Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) = 0;
  virtual SessionHandle OpenSession() = 0;

  virtual const ModelConfig& config() const = 0;
  virtual uint32_t context() const = 0;  // positions of a sequence: prompt and answer together

  // How it runs, as it was when it began.
  virtual EngineMode mode() const { return {}; }
  // Thread-safe.
  virtual Warming warming() const { return {}; }
  // What went wrong without keeping anybody from an answer, since the last call. Thread-safe.
  virtual std::vector<std::string> TakeNotices() { return {}; }
  // Ends the engine as its destructor does; afterwards it can only be asked for notices.
  virtual void Stop() {}
};

}  // namespace coli
