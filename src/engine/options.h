// What a user may choose about an engine. Plain values, validated by Engine::Create; filled by the
// command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/cache_policy.h"
#include "sys/io_kind.h"
#include "tensor/format_id.h"

namespace coli {

// Two orders of the same product (docs/numerics.md): the results agree to rounding, not to the bit.
enum class AttentionForm : uint8_t {
  kAbsorbed,  // scores against the cached latents: the default, for every row
  kExplicit,  // keys and values expanded from the latents: the textbook form
};

struct EngineOptions {
  std::filesystem::path model_dir;
  std::string isa = "auto";  // a name SelectKernels knows
  uint32_t threads = 0;      // 0: the physical cores
  uint64_t ram_bytes = 0;    // whole process; 0: what the machine has available, less a reserve
  // Where statistics of the model's use are kept between runs; empty: nothing is read or written.
  std::filesystem::path state_dir;
  std::optional<uint32_t> cache_experts;  // at most this many experts in RAM, for experiments
  uint32_t context = 0;        // positions per sequence; 0: min(4096, what the model allows)
  uint32_t prefill_chunk = 0;  // prompt rows of one step; 0: chosen by the memory plan
  uint32_t max_sequences = 1;  // whose KV cache is kept at the same time
  IoKind io = IoKind::kAuto;   // who reads experts
  uint32_t io_threads = 4;     // of the threaded engine
  DirectMode direct = DirectMode::kAuto;
  std::vector<std::filesystem::path> mirrors;     // directories with copies of the model's files
  std::string cache_policy{kDefaultCachePolicy};  // which experts stay: a name of policies.def
  bool poison_released = false;  // overwrite experts that leave memory, to find stale views
  bool lookahead = true;  // read the next layer's likely experts while the drive has nothing to do
  // Number formats that weights are held in: names for which IsFormatOption holds.
  std::string expert_format = "keep";
  std::string dense_format = "keep";
  FormatId kv = FormatId::kF32;  // of the KV cache: kF32 or kBf16
  AttentionForm attention = AttentionForm::kAbsorbed;
  std::optional<float> latent_norm_eps;  // overrides rms_norm_eps in the two latent norms
  bool load_mtp = false;                 // keep the MTP layers, too
  bool logits_for_all_rows = false;      // room for them, to compare with a reference
  std::filesystem::path trace_routing;   // a new file to record what routers say; empty: none
};

// Whether weights can be held in `name`: "keep" or what ParseFormat knows.
bool IsFormatOption(std::string_view name);
// What a format option may be, for errors: "keep or one of f32, bf16, ...".
std::string FormatOptionNames();

}  // namespace coli
