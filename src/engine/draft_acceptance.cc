#include "engine/draft_acceptance.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "engine/sampler.h"
#include "engine/teacher_forcing.h"

namespace coli {
namespace {

class DraftReplay {
 public:
  DraftReplay(LoadedModel& model, TeacherForcing run, uint32_t prefill_chunk,
              const DraftWatch& watch)
      : run_(std::move(run)),
        prefill_chunk_(prefill_chunk),
        watch_(watch),
        scratch_(model.config().vocab_size, model.kernels().vector.softmax) {}

  // `done` and `total` count tokens of all transcripts.
  Result<DraftAcceptance> Run(const Transcript& transcript, uint64_t done, uint64_t total) {
    run_.Restart();
    likeliest_.clear();
    drafts_.clear();
    TeacherForcing::StepOptions options;
    options.cancelled = watch_.cancelled;
    const std::span<const TokenId> tokens(transcript.tokens);
    while (run_.positions() < tokens.size()) {
      const auto rest = tokens.subspan(run_.positions());
      const size_t count = std::min<size_t>(rest.size(), prefill_chunk_);
      COLI_ASSIGN_OR_RETURN(const StepResult step, run_.Run(rest.first(count), options));
      if (watch_.cancelled && watch_.cancelled()) {
        return Fail(ErrorCode::kCancelled, "cancelled");
      }
      COLI_RETURN_IF_ERROR(TakeLikeliest(step.logits, likeliest_));
      // The last token of all has none after it.
      const auto next = rest.subspan(1, std::min(count, rest.size() - 1));
      if (!next.empty()) {
        COLI_ASSIGN_OR_RETURN(const MtpResult drafts, run_.RunMtp(step, next));
        COLI_RETURN_IF_ERROR(TakeLikeliest(drafts.logits, drafts_));
      }
      if (watch_.replay) {
        watch_.replay(done + run_.positions(), total);
      }
    }
    return Count(transcript);
  }

 private:
  Status TakeLikeliest(ConstMatrixView logits, std::vector<TokenId>& tokens) {
    SamplingOptions greedy;
    greedy.temperature = 0;
    for (uint32_t r = 0; r < logits.rows; ++r) {
      COLI_ASSIGN_OR_RETURN(const TokenId token,
                            Sample({logits.row(r), logits.cols}, greedy, 0, scratch_));
      tokens.push_back(token);
    }
    return Ok();
  }

  // drafts_[i] and likeliest_[i + 1] both say what follows tokens i and i + 1.
  DraftAcceptance Count(const Transcript& transcript) const {
    DraftAcceptance result;
    for (size_t i = transcript.prompt_length - 1; i < drafts_.size(); ++i) {
      ++result.drafts;
      result.accepted += drafts_[i] == likeliest_[i + 1] ? 1U : 0U;
    }
    return result;
  }

  TeacherForcing run_;
  const uint32_t prefill_chunk_;
  const DraftWatch& watch_;
  SamplerScratch scratch_;
  std::vector<TokenId> likeliest_;  // [i]: by the model, after token i
  std::vector<TokenId> drafts_;     // [i]: by the MTP layer, after token i + 1
};

Status CheckTranscripts(const std::vector<Transcript>& transcripts, uint32_t context) {
  for (const Transcript& transcript : transcripts) {
    if (transcript.tokens.size() > context) {
      return Fail(ErrorCode::kContextLength,
                  "a transcript has {} tokens and the context is {} positions",
                  transcript.tokens.size(), context);
    }
  }
  return Ok();
}

}  // namespace

Status CheckDrafting(const EngineOptions& options) {
  COLI_ASSIGN_OR_RETURN(
      const ModelConfig config,
      LoadModelConfig(options.model_dir, ModelOverrides{options.latent_norm_eps}));
  if (config.mtp_layers == 0) {
    return Fail(ErrorCode::kUnsupported, "{}: the model has no MTP layer to draft with",
                options.model_dir.string());
  }
  COLI_ASSIGN_OR_RETURN(const Container container, Container::Open(options.model_dir));
  COLI_RETURN_IF_ERROR(LocateWeights(config, container, true));
  return Ok();
}

Result<DraftAcceptance> MeasureDrafts(EngineOptions options,
                                      const std::vector<Transcript>& transcripts,
                                      const DraftWatch& watch) {
  COLI_RETURN_IF_ERROR(CheckDrafting(options));
  options.load_mtp = true;
  options.logits_for_all_rows = true;
  COLI_ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model,
                        LoadedModel::Load(options, watch.loading));
  COLI_RETURN_IF_ERROR(CheckTranscripts(transcripts, model->plan().context));
  COLI_ASSIGN_OR_RETURN(TeacherForcing run,
                        TeacherForcing::Start(*model, model->plan().context, true));
  DraftReplay replay(*model, std::move(run), model->plan().prefill_rows, watch);
  uint64_t total = 0;
  for (const Transcript& transcript : transcripts) {
    total += transcript.tokens.size();
  }
  DraftAcceptance sum;
  uint64_t done = 0;
  for (const Transcript& transcript : transcripts) {
    COLI_ASSIGN_OR_RETURN(const DraftAcceptance one, replay.Run(transcript, done, total));
    sum.drafts += one.drafts;
    sum.accepted += one.accepted;
    done += transcript.tokens.size();
  }
  return sum;
}

}  // namespace coli
