// Replays a fixture: does this engine compute what the reference implementation computed?
// (docs/validate.md)
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/options.h"

namespace coli {

struct CaseReport {
  std::string name;
  uint32_t positions = 0;  // judged
  uint32_t matches = 0;    // argmax equal to the reference's argmax
  std::optional<uint32_t> greedy_tokens;
  std::optional<uint32_t> greedy_matches;
  std::optional<uint32_t> mtp_positions;
  std::optional<uint32_t> mtp_matches;
  double max_logit_error_over_range = 0;
  std::string logits_hash;  // XXH3-64 of the f32 logits of all rows in order, 16 hex digits
  std::optional<uint32_t> first_mismatch;  // position
  struct LayerError {
    uint32_t layer;
    double error_over_range;
  };
  std::vector<LayerError> layers;  // where the fixture has residual streams and they were asked for
  bool ok = false;
};

struct ValidationReport {
  bool ok = false;
  double tolerance = 0;
  std::vector<CaseReport> cases;
  std::vector<std::string> notices;  // as LoadedModel::TakeNotices
};

// `options.model_dir` holds model, reference.json and reference.safetensors. Errors: a damaged or
// incomplete fixture or model, naming file and field. Mismatches are no errors: they are in the
// report. `progress` is that of LoadedModel::Load.
Result<ValidationReport> Validate(const EngineOptions& options, bool compare_layers,
                                  const std::function<void(uint64_t, uint64_t)>& progress = {});

}  // namespace coli
