#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "engine/model_facts.h"
#include "measure/bench_requests.h"
#include "measure/disk_file.h"
#include "measure/engine_figures.h"
#include "measure/machine_probe.h"
#include "measure/published_model.h"
#include "measure/scenario.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

// What was measured of one answer, or of several of them together.
struct Answers {
  std::string name = {};
  double tokens = 0;  // after the first of each, which belongs to its prompt
  double seconds = 0;
  StepWork work = {};

  void Add(const GenerationStats& stats) {
    tokens += std::max(stats.completion_tokens, 1U) - 1;
    seconds += stats.decode_s;
    work = work + stats.work.decode;
  }
  double PerToken(double sum) const { return sum / tokens; }
};

double SparseLayers(const ModelFacts& facts) {
  return static_cast<double>(
      std::ranges::count(facts.config.layers, FfnKind::kSparse, &LayerConfig::ffn));
}

// The same model, but for the number of its layers, as it is published; nothing if it is another.
std::optional<ModelFacts> WholeModel(const ModelFacts& part) {
  constexpr std::string_view kName = "glm-5.2";
  const auto formats = part.formats.find("experts");
  if (formats == part.formats.end() || formats->second.size() != 1) {
    return std::nullopt;
  }
  const std::string& format = formats->second.begin()->first;
  const auto containers = PublishedContainers();
  const auto found = std::ranges::find(containers, format, &PublishedContainer::expert_format);
  if (found == containers.end()) {
    return std::nullopt;
  }
  auto whole = DescribePublished(kName, *found);
  if (!whole) {
    return std::nullopt;
  }
  const ModelConfig& config = whole->facts.config;
  const auto layer_bytes = [](const ModelFacts& facts) {
    return static_cast<double>(ExpertBytesPerToken(facts)) / SparseLayers(facts);
  };
  const double ratio = layer_bytes(part) / layer_bytes(whole->facts);
  const bool same = config.hidden_size == part.config.hidden_size &&
                    config.router.experts == part.config.router.experts &&
                    config.router.experts_per_token == part.config.router.experts_per_token &&
                    ratio > 0.99 && ratio < 1.01;
  return same ? std::optional(std::move(whole->facts)) : std::nullopt;
}

// Seconds for a token of the whole model, if as large a share of its experts is in memory: waiting
// grows with the layers that have experts, everything else with the weights that a token reads.
double SecondsOfWhole(const Answers& answers, const ModelFacts& part, const ModelFacts& whole) {
  const double wait_s = answers.PerToken(answers.work.wait_s);
  const double compute_s = answers.PerToken(answers.seconds) - wait_s;
  return wait_s * SparseLayers(whole) / SparseLayers(part) +
         compute_s * static_cast<double>(WeightBytesPerToken(whole)) /
             static_cast<double>(WeightBytesPerToken(part));
}

// Adds what was measured of answers to a session.
class Report {
 public:
  Report(BenchSession& session, const ModelFacts& facts, RequestSize size, const Runs& drive)
      : session_(session), facts_(facts), size_(size), drive_(drive) {}

  void Add(const Answers& answers) {
    const StepWork& work = answers.work;
    const auto bytes = static_cast<double>(work.bytes_read);
    Runs drive_alone;  // tokens per second if nothing but the reads took time
    if (bytes > 0) {
      drive_alone.Add(1e9 * drive_.best() / answers.PerToken(bytes));
    }
    AddOne(answers, "speed", "tok/s", 1 / answers.PerToken(answers.seconds), "the drive alone",
           drive_alone);
    AddOne(answers, "drive, while it is used", "GB/s", 1e-9 * bytes / work.drive_s, "plain reads",
           drive_);
    AddOne(answers, "experts found in memory", "%",
           100 * static_cast<double>(work.expert_hits) / static_cast<double>(work.expert_uses()));
    AddOne(answers, "read for a token", "MB", 1e-6 * answers.PerToken(bytes));
    AddOne(answers, "waited for reads", "ms", 1e3 * answers.PerToken(work.wait_s));
    AddOne(answers, "computed meanwhile", "ms", 1e3 * answers.PerToken(work.overlap_s));
    if (const auto whole = WholeModel(facts_)) {
      AddOne(answers, fmt::format("{} layers of this kind", whole->config.layers.size()), "tok/s",
             1 / SecondsOfWhole(answers, facts_, *whole));
    }
  }

 private:
  void AddOne(const Answers& answers, std::string what, std::string unit, double value,
              std::string limit = {}, const Runs& limits = {}) {
    Parameters params = {{"model", session_.options().model_name},
                         {"prompt", uint64_t{size_.prompt_tokens}},
                         {"answer", uint64_t{size_.answer_tokens}},
                         {"kv", std::string(Info(session_.options().engine.kv).name)},
                         {"threads", uint64_t{session_.threads()}},
                         {"request", answers.name},
                         {"what", std::move(what)}};
    Runs one;
    one.Add(value);
    session_.Add(
        Summarize("decode", std::move(params), std::move(unit), one, std::move(limit), limits));
  }

  BenchSession& session_;
  const ModelFacts& facts_;
  RequestSize size_;
  const Runs& drive_;  // GB/s
};

// The first answer of an engine, and those that follow.
Status MeasureAnswers(BenchSession& session, Engine& engine, RequestSize size, Answers& first,
                      Answers& later) {
  BenchRequests requests(session, engine, size);
  COLI_ASSIGN_OR_RETURN(const GenerationStats stats, requests.Next());
  first.Add(stats);
  constexpr int kLeastRuns = 1;  // one may take minutes
  Status status;
  session.Repeat(
      [&] {
        if (!status) {
          return;
        }
        const auto next = requests.Next();
        if (next) {
          later.Add(*next);
        } else {
          status = tl::unexpected(next.error());
        }
      },
      kLeastRuns);
  return status;
}

Status AddDriveSpeed(BenchSession& session, Runs& drive) {
  COLI_ASSIGN_OR_RETURN(const double bytes_per_s, DriveBytesPerSecond(session));
  drive.Add(1e-9 * bytes_per_s);
  return Ok();
}

// The drive is measured before and after, while no engine reads. What was measured is reported even
// if something fails later.
Status Measure(BenchSession& session) {
  const EngineOptions& options = session.options().engine;
  COLI_ASSIGN_OR_RETURN(const ModelFacts facts, InspectModel(options));
  Runs drive;
  COLI_RETURN_IF_ERROR(AddDriveSpeed(session, drive));
  COLI_RETURN_IF_ERROR(DropPageCache(options.model_dir));
  COLI_ASSIGN_OR_RETURN(
      std::unique_ptr<Engine> engine,
      Engine::Create(options, [&](uint64_t, uint64_t) { session.ShowProgress(); }));
  COLI_ASSIGN_OR_RETURN(const RequestSize size, ChooseRequestSize(session, *engine));
  Answers first{.name = "first"};
  Answers later{.name = "later"};
  Status status = MeasureAnswers(session, *engine, size, first, later);
  engine.reset();
  if (status) {
    status = AddDriveSpeed(session, drive);
  }
  Report report(session, facts, size, drive);
  for (const Answers& answers : {first, later}) {
    if (answers.tokens > 0) {
      report.Add(answers);
    }
  }
  return status;
}

}  // namespace

Status MeasureColdDecode(BenchSession& session) {
  const Status status = Measure(session);
  return !status && status.error().code == ErrorCode::kCancelled ? Ok() : status;
}

}  // namespace coli
