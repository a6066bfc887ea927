#include "engine/validate.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>

#include "engine/fixture.h"
#include "engine/loaded_model.h"
#include "engine/teacher_forcing.h"

namespace coli {
namespace {

// The first value that is not finite, or n.
uint32_t FirstNonFinite(const float* row, uint32_t n) {
  return static_cast<uint32_t>(
      std::find_if(row, row + n, [](float v) { return !std::isfinite(v); }) - row);
}

uint32_t ArgMax(const float* row, uint32_t n) {
  return static_cast<uint32_t>(std::max_element(row, row + n) - row);
}

// Compares rows with a reference matrix as they are computed.
class Comparison {
 public:
  Comparison(ReferenceMatrix reference, uint32_t judged)
      : reference_(std::move(reference)), judged_(judged) {
    const auto [low, high] = std::ranges::minmax(reference_.values);
    range_ = std::max(static_cast<double>(high) - static_cast<double>(low), 1e-30);
  }

  void Row(uint32_t position, const float* row) {
    if (position >= judged_) {
      return;
    }
    const float* const expected = reference_.row(position);
    for (uint32_t i = 0; i < reference_.cols; ++i) {
      max_error_ = std::max(
          max_error_, std::abs(static_cast<double>(row[i]) - static_cast<double>(expected[i])));
    }
    if (ArgMax(row, reference_.cols) == ArgMax(expected, reference_.cols)) {
      ++matches_;
    } else if (!first_mismatch_) {
      first_mismatch_ = position;
    }
  }

  uint32_t judged() const { return judged_; }
  uint32_t matches() const { return matches_; }
  double error_over_range() const { return max_error_ / range_; }
  std::optional<uint32_t> first_mismatch() const { return first_mismatch_; }

 private:
  ReferenceMatrix reference_;
  uint32_t judged_;
  double range_;
  double max_error_ = 0;
  uint32_t matches_ = 0;
  std::optional<uint32_t> first_mismatch_;
};

// Replays one case through the forward pass.
class Replay {
 public:
  Replay(LoadedModel& model, const Fixture& fixture, const FixtureCase& c, uint32_t chunk)
      : model_(model),
        fixture_(fixture),
        case_(c),
        chunk_(chunk),
        rows_(static_cast<uint32_t>(c.ids.size())) {}

  Result<CaseReport> Run(bool compare_layers) {
    const uint32_t vocab = model_.config().vocab_size;
    for (const TokenId id : case_.ids) {
      if (static_cast<uint32_t>(Raw(id)) >= vocab) {
        return Fail(ErrorCode::kCorrupt, "{}: case {}: token {} is outside the vocabulary of {}",
                    fixture_.path(), case_.name, Raw(id), vocab);
      }
    }
    COLI_ASSIGN_OR_RETURN(ReferenceMatrix logits, fixture_.Read(case_.logits, rows_, vocab));
    logits_.emplace(std::move(logits), case_.judged(rows_));
    if (case_.mtp_logits) {
      if (model_.weights().mtp.empty()) {
        return Fail(ErrorCode::kCorrupt,
                    "{}: case {}: mtp_logits are given, but the model has no MTP layer",
                    fixture_.path(), case_.name);
      }
      COLI_ASSIGN_OR_RETURN(ReferenceMatrix mtp,
                            fixture_.Read(*case_.mtp_logits, rows_ - 1, vocab));
      mtp_.emplace(std::move(mtp), case_.judged(rows_ - 1));
    }
    if (compare_layers) {
      COLI_RETURN_IF_ERROR(OpenLayers());
    }
    COLI_RETURN_IF_ERROR(JudgeRows());
    CaseReport report = Report();
    if (case_.greedy) {
      COLI_ASSIGN_OR_RETURN(const uint32_t matches, GreedyMatches());
      report.greedy_tokens = rows_ - case_.prompt_length;
      report.greedy_matches = matches;
    }
    report.ok = Accepted(report);
    return report;
  }

 private:
  Status OpenLayers() {
    for (uint32_t layer = 0; layer < model_.config().num_layers(); ++layer) {
      const std::string name = fmt::format("{}.layer.{}", case_.name, layer);
      if (fixture_.Has(name)) {
        COLI_ASSIGN_OR_RETURN(ReferenceMatrix x,
                              fixture_.Read(name, rows_, model_.config().hidden_size));
        layers_.emplace(layer, Comparison(std::move(x), case_.judged(rows_)));
      }
    }
    return Ok();
  }

  // Teacher forcing: every row of the case, compared as it is computed.
  Status JudgeRows() {
    COLI_ASSIGN_OR_RETURN(TeacherForcing run, TeacherForcing::Start(model_, rows_, mtp_.has_value(),
                                                                    case_.first_position));
    const std::span<const TokenId> ids(case_.ids);
    TeacherForcing::StepOptions options;
    options.observer = [&](LayerId layer, const Batch& batch, ConstMatrixView x) {
      const auto found = layers_.find(static_cast<uint32_t>(Raw(layer)));
      for (size_t r = 0; found != layers_.end() && r < batch.rows.size(); ++r) {
        found->second.Row(batch.rows[r].position, x.row(r));
      }
    };
    const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> hash(XXH3_createState(),
                                                                               XXH3_freeState);
    XXH3_64bits_reset(hash.get());
    for (uint32_t begin = 0; begin < rows_; begin += chunk_) {
      const uint32_t end = std::min(begin + chunk_, rows_);
      COLI_ASSIGN_OR_RETURN(const StepResult step,
                            run.Run(ids.subspan(begin, end - begin), options));
      for (uint32_t p = begin; p < end; ++p) {
        const float* const row = step.logits.row(p - begin);
        if (const uint32_t token = FirstNonFinite(row, step.logits.cols);
            token < step.logits.cols) {
          return Fail(ErrorCode::kNumeric,
                      "case {}, position {}: the logit of token {} is not finite", case_.name, p,
                      token);
        }
        logits_->Row(p, row);
        XXH3_64bits_update(hash.get(), row, size_t{step.logits.cols} * sizeof(float));
      }
      if (mtp_) {
        COLI_RETURN_IF_ERROR(JudgeMtpRows(run, step, begin, std::min(end, rows_ - 1)));
      }
    }
    hash_ = fmt::format("{:016x}", XXH3_64bits_digest(hash.get()));
    return Ok();
  }

  Status JudgeMtpRows(TeacherForcing& run, const StepResult& step, uint32_t begin, uint32_t end) {
    const std::span<const TokenId> ids(case_.ids);
    COLI_ASSIGN_OR_RETURN(const MtpResult result,
                          run.RunMtp(step, ids.subspan(begin + 1, end - begin)));
    for (uint32_t p = begin; p < end; ++p) {
      mtp_->Row(p, result.logits.row(p - begin));
    }
    return Ok();
  }

  // Continues the prompt by its own argmax, token by token; how many tokens agree before the first
  // that does not.
  Result<uint32_t> GreedyMatches() {
    COLI_ASSIGN_OR_RETURN(TeacherForcing run,
                          TeacherForcing::Start(model_, rows_, false, case_.first_position));
    std::vector<TokenId> ids(case_.ids.begin(), case_.ids.begin() + case_.prompt_length);
    while (ids.size() < rows_) {
      const auto rest = std::span(ids).subspan(run.positions());
      const size_t count = std::min<size_t>(chunk_, rest.size());
      COLI_ASSIGN_OR_RETURN(const StepResult step, run.Run(rest.first(count)));
      if (run.positions() < ids.size()) {
        continue;
      }
      const TokenId next{
          static_cast<int32_t>(ArgMax(step.logits.row(count - 1), step.logits.cols))};
      if (next != case_.ids[ids.size()]) {
        break;
      }
      ids.push_back(next);
    }
    return static_cast<uint32_t>(ids.size()) - case_.prompt_length;
  }

  CaseReport Report() const {
    CaseReport report;
    report.name = case_.name;
    report.positions = logits_->judged();
    report.matches = logits_->matches();
    report.first_mismatch = logits_->first_mismatch();
    report.max_logit_error_over_range = logits_->error_over_range();
    report.logits_hash = hash_;
    if (mtp_) {
      report.mtp_positions = mtp_->judged();
      report.mtp_matches = mtp_->matches();
      report.max_logit_error_over_range =
          std::max(report.max_logit_error_over_range, mtp_->error_over_range());
    }
    for (const auto& [layer, comparison] : layers_) {
      report.layers.push_back({layer, comparison.error_over_range()});
    }
    return report;
  }

  bool Accepted(const CaseReport& report) const {
    const bool greedy_ok =
        case_.first_inconclusive || report.greedy_matches == report.greedy_tokens;
    return report.matches == report.positions && report.mtp_matches == report.mtp_positions &&
           greedy_ok && report.max_logit_error_over_range <= fixture_.tolerance();
  }

  LoadedModel& model_;
  const Fixture& fixture_;
  const FixtureCase& case_;
  const uint32_t chunk_;
  const uint32_t rows_;
  std::optional<Comparison> logits_;
  std::optional<Comparison> mtp_;
  std::map<uint32_t, Comparison> layers_;
  std::string hash_;
};

}  // namespace

Result<ValidationReport> Validate(const EngineOptions& user_options, bool compare_layers,
                                  const std::function<void(uint64_t, uint64_t)>& progress) {
  COLI_ASSIGN_OR_RETURN(const Fixture fixture, Fixture::Open(user_options.model_dir));
  EngineOptions options = user_options;
  options.logits_for_all_rows = true;
  if (fixture.latent_norm_eps()) {
    options.latent_norm_eps = fixture.latent_norm_eps();
  }
  size_t longest = 0;
  for (const FixtureCase& c : fixture.cases()) {
    options.load_mtp = options.load_mtp || c.mtp_logits.has_value();
    longest = std::max(longest, c.ids.size());
  }
  options.context = static_cast<uint32_t>(longest);
  COLI_ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model,
                        LoadedModel::Load(options, progress));
  ValidationReport report;
  report.tolerance = fixture.tolerance();
  report.ok = true;
  for (const FixtureCase& c : fixture.cases()) {
    COLI_ASSIGN_OR_RETURN(
        CaseReport result,
        Replay(*model, fixture, c, model->plan().prefill_rows).Run(compare_layers));
    report.ok = report.ok && result.ok;
    report.cases.push_back(std::move(result));
  }
  report.notices = model->TakeNotices();
  return report;
}

}  // namespace coli
