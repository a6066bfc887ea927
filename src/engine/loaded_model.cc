#include "engine/loaded_model.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "kernels/dispatch.h"
#include "sys/memory_lock.h"
#include "sys/memory_meter.h"
#include "sys/plain_read.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxChunk = 8192;
constexpr uint32_t kMaxSequences = 256;
constexpr uint32_t kMaxIoThreads = 256;

Status CheckRange(const char* name, uint32_t value, uint32_t low, uint32_t high) {
  if (value < low || value > high) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected {} to {}, found {}", name, low, high,
                value);
  }
  return Ok();
}

size_t ResolveThreads(const EngineOptions& options) {
  return options.threads != 0 ? options.threads : PhysicalCores().count();
}

constexpr std::string_view kKeep = "keep";

// Of the weights, to measure how fast memory is read: more than caches hold, and milliseconds.
constexpr size_t kLeastMeasuredBytes = size_t{64} << 20;
constexpr size_t kMostMeasuredBytes = size_t{256} << 20;

Result<std::optional<Format>> ResolveFormat(const char* option, const std::string& name) {
  if (name == kKeep) {
    return std::nullopt;
  }
  const std::optional<Format> format = ParseFormat(name);
  if (!format) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected {}, found \"{}\"", option,
                FormatOptionNames(), name);
  }
  return format;
}

std::vector<size_t> ExpertsByLayer(const ExpertDirectory& experts) {
  std::vector<size_t> counts;
  for (const auto& layer : experts) {
    counts.push_back(layer.size());
  }
  return counts;
}

// Those that experts lie in, each once.
std::vector<const File*> FilesOf(const ExpertDirectory& experts) {
  std::vector<const File*> files;
  for (const auto& layer : experts) {
    for (const ExpertRecord& record : layer) {
      for (const StoredMatrix* matrix : {&record.gate, &record.up, &record.down}) {
        files.push_back(matrix->codes.file);
      }
    }
  }
  std::ranges::sort(files);
  const auto repeated = std::ranges::unique(files);
  files.erase(repeated.begin(), repeated.end());
  return files;
}

}  // namespace

bool IsFormatOption(std::string_view name) { return name == kKeep || ParseFormat(name); }

std::string FormatOptionNames() { return fmt::format("{} or one of {}", kKeep, FormatNames()); }

Status CheckEngineOptions(const EngineOptions& options) {
  COLI_RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, kMaxThreads));
  COLI_RETURN_IF_ERROR(CheckRange("prefill-chunk", options.prefill_chunk, 0, kMaxChunk));
  COLI_RETURN_IF_ERROR(CheckRange("sequences", options.max_sequences, 1, kMaxSequences));
  COLI_RETURN_IF_ERROR(CheckRange("io-threads", options.io_threads, 1, kMaxIoThreads));
  if (options.kv != FormatId::kF32 && options.kv != FormatId::kBf16) {
    return Fail(ErrorCode::kInvalidArgument, "kv: expected f32 or bf16, found {}",
                Info(options.kv).name);
  }
  return options.cache_experts ? CheckRange("cache-experts", *options.cache_experts, 1, UINT32_MAX)
                               : Ok();
}

Result<HeldFormats> ResolveFormats(const EngineOptions& options) {
  HeldFormats formats;
  COLI_ASSIGN_OR_RETURN(formats.experts, ResolveFormat("expert-format", options.expert_format));
  COLI_ASSIGN_OR_RETURN(formats.dense, ResolveFormat("dense-format", options.dense_format));
  return formats;
}

PlanInputs InputsOfPlan(const EngineOptions& options, const Container& container,
                        const WeightCatalog& catalog) {
  PlanInputs inputs;
  inputs.dense_bytes = catalog.matrix_bytes + catalog.vector_bytes;
  inputs.expert_bytes = catalog.expert_bytes;
  inputs.largest_expert_bytes = catalog.largest_expert_bytes;
  inputs.largest_staging_bytes = catalog.largest_staging_bytes;
  inputs.largest_conversion_bytes = catalog.largest_conversion_bytes;
  inputs.policy_bytes = PolicyBytes(options.cache_policy, ExpertsByLayer(catalog.experts));
  inputs.available_bytes = AvailableMemoryBytes();
  inputs.tensors = container.tensors().size();
  inputs.threads = ResolveThreads(options);
  return inputs;
}

Result<std::unique_ptr<LoadedModel>> LoadedModel::Load(const EngineOptions& options,
                                                       const Progress& progress,
                                                       const IoFactory& io) {
  COLI_RETURN_IF_ERROR(CheckEngineOptions(options));
  COLI_ASSIGN_OR_RETURN(
      ModelConfig config,
      LoadModelConfig(options.model_dir, ModelOverrides{options.latent_norm_eps}));
  COLI_ASSIGN_OR_RETURN(Container container, Container::Open(options.model_dir));
  std::unique_ptr<LoadedModel> model(new LoadedModel(std::move(config), std::move(container)));
  COLI_RETURN_IF_ERROR(model->Build(options, progress, io));
  return model;
}

Status LoadedModel::Build(const EngineOptions& options, const Progress& progress,
                          const IoFactory& io) {
  COLI_ASSIGN_OR_RETURN(kernels_, SelectKernels(options.isa));
  COLI_ASSIGN_OR_RETURN(const HeldFormats formats, ResolveFormats(options));
  COLI_ASSIGN_OR_RETURN(WeightCatalog catalog,
                        LocateWeights(config_, container_, options.load_mtp, formats));
  COLI_ASSIGN_OR_RETURN(plan_,
                        PlanMemory(config_, InputsOfPlan(options, container_, catalog), options));
  pool_ = std::make_unique<ThreadPool>(ResolveThreads(options), PhysicalCores());
  COLI_ASSIGN_OR_RETURN(
      weights_, LoadWeights(config_, container_, catalog, options.load_mtp, *pool_, progress));
  MeasureWeights(catalog);
  LockWeights(catalog);
  backend_ = std::make_unique<Backend>(*kernels_, *pool_);
  COLI_ASSIGN_OR_RETURN(std::unique_ptr<CachePolicy> policy,
                        MakeCachePolicy(options.cache_policy, config_.router.experts_per_token));
  if (!options.trace_routing.empty()) {
    COLI_ASSIGN_OR_RETURN(trace_,
                          RouteTrace::Create(options.trace_routing, config_, catalog.experts));
  }
  if (!options.state_dir.empty()) {
    auto counter = std::make_unique<UsageCounter>(std::move(policy));
    usage_ = counter.get();
    policy = std::move(counter);
  }
  ExpertStoreOptions store;
  std::unique_ptr<IoEngine> reads = io ? io() : nullptr;
  if (reads == nullptr) {
    COLI_RETURN_IF_ERROR(OpenDrives(options, catalog));
    reads = drives_->TakeEngine();
  }
  store.reader.budget_bytes = plan_.expert_cache_bytes;
  store.reader.max_experts = options.cache_experts;
  store.reader.staging_bytes = plan_.staging_bytes;
  store.reader.pool = pool_.get();
  store.reader.poison = store.reader.poison || options.poison_released;
  store.batch_experts = DecodeExperts(config_, plan_.sequences);
  store.lookahead = options.lookahead;
  COLI_ASSIGN_OR_RETURN(experts_, ExpertStore::Create(store, std::move(catalog.experts),
                                                      std::move(reads), std::move(policy)));
  COLI_ASSIGN_OR_RETURN(
      forward_,
      Forward::Create(config_, weights_, StepLimits(options, plan_.prefill_rows, plan_.context),
                      *backend_, *experts_));
  if (trace_) {
    trace_->Keep();
    forward_->scratch().route.observer = trace_.get();
  }
  return Ok();
}

EngineMode LoadedModel::mode() const {
  return {.io = drives_ ? drives_->Describe() : std::string(experts_->io().name()),
          .budget_bytes = plan_.budget_bytes,
          .experts = expert_count_,
          .fitting_experts = experts_->slots(),
          .threads = static_cast<uint32_t>(pool_->threads()),
          .isa = std::string(kernels_->name)};
}

// Every token uses them, and memory is short where not all experts fit: nothing else may push them
// out. Experts are never locked, so that the system has something to take.
void LoadedModel::LockWeights(const WeightCatalog& catalog) {
  if (catalog.expert_bytes <= plan_.expert_cache_bytes) {
    return;
  }
  if (const Status locked = LockMemory(weights_.bytes.bytes()); !locked) {
    notices_.push_back("the weights that every token uses are not locked in memory: " +
                       locked.error().message);
  }
}

void LoadedModel::MeasureWeights(const WeightCatalog& catalog) {
  const WeightView& embed = weights_.embed;
  // A step looks rows of the embedding up; only as the head it goes through all of it.
  const uint64_t looked_up =
      config_.tied_embeddings ? 0 : CodeBytes(embed.format, embed.rows, embed.cols).value_or(0);
  step_weight_bytes_ = plan_.dense_bytes - std::min(looked_up, plan_.dense_bytes);
  expert_count_ = catalog.expert_count;
  mean_expert_bytes_ = catalog.expert_bytes / std::max<uint64_t>(catalog.expert_count, 1);
  const std::span<const std::byte> bytes = weights_.bytes.bytes();
  if (bytes.size() < kLeastMeasuredBytes) {
    return;
  }
  const auto some = bytes.first(std::min(bytes.size(), kMostMeasuredBytes));
  for (int run = 0; run < 3; ++run) {
    memory_bytes_per_s_ = std::max(
        memory_bytes_per_s_, static_cast<double>(some.size()) / PoolReadSeconds(*pool_, some));
  }
}

Status LoadedModel::OpenDrives(const EngineOptions& options, const WeightCatalog& catalog) {
  IoSettings settings;
  settings.kind = options.io;
  settings.direct = options.direct;
  settings.threads = options.io_threads;
  settings.streams = plan_.expert_cache_bytes < catalog.expert_bytes;
  // Other places in every run: those that the last one read may be in the memory of the drive.
  settings.probe_seed =
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  COLI_ASSIGN_OR_RETURN(drives_,
                        ExpertDrives::Open(settings, FilesOf(catalog.experts), options.mirrors));
  return Ok();
}

std::vector<std::string> LoadedModel::TakeNotices() {
  std::vector<std::string> notices = std::exchange(notices_, {});
  if (drives_) {
    std::ranges::move(drives_->TakeNotices(), std::back_inserter(notices));
  }
  return notices;
}

}  // namespace coli
