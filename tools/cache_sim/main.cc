// cache_sim: what share of the experts a cache policy finds in memory, on recorded or made-up
// routing, beside the share that foresight would find.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/cache_sim/replay.h"
#include "tools/cache_sim/synthetic.h"

namespace coli::cache_sim {
namespace {

struct Arguments {
  std::string trace;
  std::string synthetic;
  SyntheticRouting routing = CalibratedRouting();
  std::vector<std::string> budgets{"10%", "25%", "40%", "60%"};
  std::vector<std::string> policies{"lru", "lfu", "score"};
  ScoreParameters score;
  LfuParameters lfu;
  ReplayOptions replay;
  bool steps = false;
  bool json = false;
};

struct Line {
  std::string budget;
  uint64_t bytes;
  HitCount belady;
  std::vector<HitCount> policies;  // as Arguments::policies
};

// "25%" of `total_bytes`, "8GB" (10^9), "8G" (2^30), or bytes.
Result<uint64_t> ParseBudget(const std::string& text, uint64_t total_bytes) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const double scale = unit == "%"    ? static_cast<double>(total_bytes) / 100
                       : unit == "GB" ? 1e9
                       : unit == "G"  ? 0x1p30
                       : unit.empty() ? 1
                                      : 0;
  const double bytes = number * scale;
  if (fault != std::errc{} || !(bytes >= 1) || bytes > 0x1p62) {
    return Fail(ErrorCode::kInvalidArgument,
                "budget: expected a share (25%) or a size (8GB, 8G), found \"{}\"", text);
  }
  return static_cast<uint64_t>(bytes);
}

Result<std::unique_ptr<CachePolicy>> MakePolicy(const std::string& name, const Arguments& arguments,
                                                const RoutingTraceHeader& header) {
  ScoreParameters score = arguments.score;
  score.experts_per_token = header.experts_per_token;
  return name == "score" ? MakeScorePolicy(score)
         : name == "lfu" ? MakeLfuPolicy(arguments.lfu)
                         : MakeCachePolicy(name);
}

Result<std::vector<Line>> Simulate(const RoutingTrace& trace, const std::vector<Batch>& batches,
                                   const Arguments& arguments) {
  std::vector<Line> lines;
  for (const std::string& budget : arguments.budgets) {
    Line& line = lines.emplace_back();
    line.budget = budget;
    COLI_ASSIGN_OR_RETURN(line.bytes, ParseBudget(budget, TotalBytes(trace.header())));
    line.belady = ReplayBelady(trace, batches, line.bytes, arguments.replay);
    for (const std::string& name : arguments.policies) {
      COLI_ASSIGN_OR_RETURN(auto policy, MakePolicy(name, arguments, trace.header()));
      line.policies.push_back(
          Replay(trace, batches, line.bytes, std::move(policy), arguments.replay));
    }
  }
  return lines;
}

double Share(const HitCount& count, const HitCount& belady) {
  return belady.hits == 0 ? 0.0
                          : static_cast<double>(count.hits) / static_cast<double>(belady.hits);
}

std::string Table(const std::vector<Line>& lines, const Arguments& arguments) {
  std::string text = fmt::format("{:>8} {:>9} {:>8}", "budget", "GB", "belady");
  for (const std::string& name : arguments.policies) {
    text += fmt::format("{:>16}", name);
  }
  text += "\n";
  for (const Line& line : lines) {
    text += fmt::format("{:>8} {:>9.3f} {:>7.1f}%", line.budget,
                        static_cast<double>(line.bytes) / 1e9, 100 * line.belady.rate());
    for (const HitCount& count : line.policies) {
      text +=
          fmt::format("{:>8.1f}% ({:>3.0f}%)", 100 * count.rate(), 100 * Share(count, line.belady));
    }
    text += "\n";
  }
  return text + "hit rate (share of Belady's)\n";
}

std::string Json(const std::vector<Line>& lines, const Arguments& arguments, double overlap) {
  nlohmann::ordered_json json{{"overlap", overlap}};
  for (const Line& line : lines) {
    nlohmann::ordered_json entry{{"budget", line.budget},
                                 {"bytes", line.bytes},
                                 {"requests", line.belady.requests},
                                 {"belady", line.belady.rate()}};
    for (size_t i = 0; i < line.policies.size(); ++i) {
      entry["policies"][arguments.policies[i]] = {
          {"hit_rate", line.policies[i].rate()},
          {"share_of_belady", Share(line.policies[i], line.belady)}};
    }
    json["budgets"].push_back(std::move(entry));
  }
  return json.dump() + "\n";
}

Result<std::string> Run(const Arguments& arguments) {
  std::optional<RoutingTrace> trace;
  if (arguments.trace.empty()) {
    trace = MakeTrace(arguments.routing);
  } else {
    COLI_ASSIGN_OR_RETURN(trace, RoutingTrace::Read(arguments.trace));
  }
  const std::vector<Batch> rows = MakeBatches(*trace, Grouping::kRows);
  const double overlap = Overlap(*trace, rows);
  COLI_ASSIGN_OR_RETURN(
      const std::vector<Line> lines,
      Simulate(*trace, arguments.steps ? MakeBatches(*trace, Grouping::kSteps) : rows, arguments));
  if (arguments.json) {
    return Json(lines, arguments, overlap);
  }
  return fmt::format("{} rows in all layers; consecutive ones share {:.1f} % of their experts\n",
                     trace->rows(), 100 * overlap) +
         Table(lines, arguments);
}

void AddOptions(CLI::App& app, Arguments& arguments) {
  auto* trace = app.add_option("trace", arguments.trace, "A file of --trace-routing");
  app.add_option("--synthetic", arguments.synthetic,
                 "Made-up routing instead: calibrated (like GLM-5.2)")
      ->check(CLI::IsMember({"calibrated"}))
      ->excludes(trace);
  app.add_option("--tokens", arguments.routing.tokens, "Of made-up routing")
      ->check(CLI::Range(10, 100'000));
  app.add_option("--seed", arguments.routing.seed, "Of made-up routing");
  app.add_option("--budget", arguments.budgets,
                 "Sizes of the cache: 25% of all experts, 8GB (10^9 bytes), 8G (2^30)")
      ->delimiter(',');
  app.add_option("--policy", arguments.policies, "Any of " + CachePolicyNames())->delimiter(',');
  app.add_option("--decay", arguments.score.decay, "Of the policy score, per token")
      ->check(CLI::Range(0.0, 0.9999));
  app.add_option("--temperature", arguments.score.temperature, "Of the policy score")
      ->check(CLI::Range(0.001, 1000.0));
  app.add_option("--rate", arguments.score.rate, "At which the policy score learns; 0: not")
      ->check(CLI::Range(0.0, 0.5));
  app.add_option("--impatience", arguments.score.impatience, "Of the policy score, per token")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--lfu-decay", arguments.lfu.decay, "Of the policy lfu, per token")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--warm-up", arguments.replay.warm_up, "Share of the trace that does not count")
      ->check(CLI::Range(0.0, 0.95));
  app.add_flag("--steps", arguments.steps,
               "The rows of a step of the engine together, not one by one");
  app.add_flag("--json", arguments.json, "Print JSON");
}

}  // namespace
}  // namespace coli::cache_sim

int main(int argc, char** argv) {
  coli::cache_sim::Arguments arguments;
  CLI::App app("What share of the experts a cache policy finds in memory.", "cache_sim");
  coli::cache_sim::AddOptions(app, arguments);
  CLI11_PARSE(app, argc, argv);
  if (arguments.trace.empty() && arguments.synthetic.empty()) {
    fmt::print(stderr, "cache_sim: expected a trace or --synthetic\n");
    return 2;
  }
  const auto output = coli::cache_sim::Run(arguments);
  if (!output) {
    fmt::print(stderr, "cache_sim: {}\n", output.error().message);
    return 1;
  }
  fmt::print("{}", *output);
  return 0;
}
