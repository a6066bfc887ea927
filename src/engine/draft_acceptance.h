// How often the model would accept the drafts of its MTP layer: the first draft behind every token
// of answers that are known. Nothing is sampled; likeliest tokens are compared.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/loaded_model.h"
#include "engine/options.h"

namespace coli {

struct Transcript {
  std::vector<TokenId> tokens;  // prompt and answer, without the stop token
  uint32_t prompt_length = 0;   // at least 1
};

struct DraftAcceptance {
  uint64_t drafts = 0;    // one behind each token of an answer
  uint64_t accepted = 0;  // those that are the model's likeliest token, too
};

struct DraftWatch {
  LoadedModel::Progress loading = {};  // bytes
  LoadedModel::Progress replay = {};   // tokens
  std::function<bool()> cancelled = {};
};

// Whether the model of `options` has an MTP layer, all of it; reads no weights. Errors:
// kUnsupported when its configuration names none; kNotFound with the tensor that is missing.
Status CheckDrafting(const EngineOptions& options);

// Loads the model of `options` with its first MTP layer and replays the transcripts. Errors: as
// CheckDrafting, LoadedModel and Forward; kContextLength for a transcript longer than the context;
// kCancelled.
Result<DraftAcceptance> MeasureDrafts(EngineOptions options,
                                      const std::vector<Transcript>& transcripts,
                                      const DraftWatch& watch = {});

}  // namespace coli
