#include "doctor/look_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <system_error>

#include "engine/loaded_model.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeights = ".safetensors";
// What programs that download call a file before it is whole.
constexpr std::string_view kUnfinished[] = {".part",  ".partial",    ".incomplete",
                                            ".aria2", ".crdownload", ".download"};
// Where a download from a hub notes the revision of each file.
constexpr std::string_view kDownloadNotes = ".cache/huggingface/download";

// "model-00002-of-00009.safetensors": which of how many, and the names' beginning.
struct Shard {
  std::string stem;
  uint32_t number = 0;
  uint32_t total = 0;
};

std::optional<uint32_t> Number(std::string_view digits) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(number)
                                                                      : std::nullopt;
}

std::optional<Shard> ShardOf(std::string_view name) {
  constexpr size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-";
  constexpr size_t kTail = 1 + kDigits + kOf.size() + kDigits;
  if (!name.ends_with(kWeights) || name.size() < kWeights.size() + kTail) {
    return std::nullopt;
  }
  name.remove_suffix(kWeights.size());
  const std::string_view tail = name.substr(name.size() - kTail);
  const auto number = Number(tail.substr(1, kDigits));
  const auto total = Number(tail.substr(kTail - kDigits));
  if (tail.front() != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf || !number || !total) {
    return std::nullopt;
  }
  return Shard{std::string(name.substr(0, name.size() - kTail)), *number, *total};
}

std::vector<std::string> NamesIn(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> RevisionsIn(const fs::path& directory) {
  std::set<std::string> revisions;
  for (const std::string& name : NamesIn(directory)) {
    std::ifstream stream(directory / name);
    std::string line;
    if (name.ends_with(".metadata") && std::getline(stream, line) && !line.empty()) {
      revisions.insert(line.substr(0, 12));
    }
  }
  return {revisions.begin(), revisions.end()};
}

void LookAtDrafts(const ModelConfig& config, const Container& container,
                  ModelDirectoryFacts& facts) {
  const std::string projection = fmt::format("model.layers.{}.eh_proj.weight", config.num_layers());
  facts.mtp_layers = config.mtp_layers;
  facts.has_mtp = container.Has(projection);
  if (facts.has_mtp) {
    const auto matrix =
        container.FindMatrix(projection, config.hidden_size, 2 * config.hidden_size);
    facts.mtp_format = matrix ? FormatName(matrix->format) : std::string("damaged");
  }
}

Result<FitFacts> Fit(const EngineOptions& options, const ModelConfig& config,
                     const Container& container, const WeightCatalog& catalog) {
  COLI_ASSIGN_OR_RETURN(const MemoryPlan plan,
                        PlanMemory(config, InputsOfPlan(options, container, catalog), options));
  const auto sparse = std::ranges::count(config.layers, FfnKind::kSparse, &LayerConfig::ffn);
  return FitFacts{.planned_bytes = plan.total(),
                  .expert_cache_bytes = plan.expert_cache_bytes,
                  .token_expert_bytes = static_cast<uint64_t>(sparse) *
                                        config.router.experts_per_token *
                                        catalog.largest_expert_bytes,
                  .expert_bytes = catalog.expert_bytes};
}

void LookInside(const EngineOptions& options, ModelDirectoryFacts& facts) {
  const auto config = LoadModelConfig(options.model_dir, ModelOverrides{options.latent_norm_eps});
  if (!config) {
    facts.config = config.error();
    return;
  }
  const auto container = Container::Open(options.model_dir);
  if (!container) {
    facts.files = container.error();
    return;
  }
  LookAtDrafts(*config, *container, facts);
  const auto formats = ResolveFormats(options);
  const auto catalog = formats ? LocateWeights(*config, *container, options.load_mtp, *formats)
                               : Result<WeightCatalog>(tl::unexpected(formats.error()));
  if (!catalog) {
    facts.weights = catalog.error();
    return;
  }
  facts.fit = Fit(options, *config, *container, *catalog);
}

}  // namespace

void JudgeNames(const std::vector<std::string>& names, ModelDirectoryFacts& facts) {
  std::map<std::string, std::map<uint32_t, std::set<uint32_t>>> sets;  // stem, total, numbers
  for (const std::string& name : names) {
    if (std::ranges::any_of(kUnfinished,
                            [&](std::string_view suffix) { return name.ends_with(suffix); })) {
      facts.unfinished.push_back(name);
    }
    if (const auto shard = ShardOf(name)) {
      sets[shard->stem][shard->total].insert(shard->number);
    }
  }
  for (const auto& [stem, by_total] : sets) {
    const auto& [total, numbers] = *by_total.rbegin();
    for (const auto& [other, shards] : by_total) {
      if (other != total) {
        facts.other_totals.push_back(fmt::format("{}-*-of-{:05}{}", stem, other, kWeights));
      }
    }
    for (uint32_t number = 1; by_total.size() == 1 && number <= total; ++number) {
      if (!numbers.contains(number) && facts.missing_shards.size() < names.size() + 1) {
        facts.missing_shards.push_back(
            fmt::format("{}-{:05}-of-{:05}{}", stem, number, total, kWeights));
      }
    }
  }
}

ModelDirectoryFacts LookAtModel(const EngineOptions& options) {
  ModelDirectoryFacts facts;
  facts.path = options.model_dir;
  std::vector<std::string> names = NamesIn(options.model_dir);
  const fs::path notes = options.model_dir / kDownloadNotes;
  std::ranges::move(NamesIn(notes), std::back_inserter(names));
  JudgeNames(names, facts);
  facts.revisions = RevisionsIn(notes);
  LookInside(options, facts);
  return facts;
}

fs::path SomeWeightsFile(const fs::path& directory) {
  for (const std::string& name : NamesIn(directory)) {
    if (name.ends_with(kWeights)) {
      return directory / name;
    }
  }
  return {};
}

}  // namespace coli
