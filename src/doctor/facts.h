// What `coli doctor` looks at. Plain values: looking is in the look_*.cc, judging in checks.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace coli {

struct MachineFacts {
  uint64_t memory_bytes = 0;
  uint64_t available_bytes = 0;  // that this process may still take
  uint64_t swap_bytes = 0;
  uint64_t swap_used_bytes = 0;
  size_t cores = 0;               // physical ones that this process may use
  std::string isa;                // of the kernels that would run
  std::vector<std::string> isas;  // all that this machine has, slowest first
  std::string why_no_uring;       // empty: io_uring works
  std::string huge_pages;         // "always", "madvise", "never"; empty: not known
  uint64_t locked_limit = 0;      // bytes that may be locked into memory
  uint64_t open_files_limit = 0;
};

// The drive that a directory is on.
struct DriveFacts {
  std::string file_system;  // "ext4", "overlay", "0x1234"
  bool network = false;
  bool in_memory = false;
  bool layered = false;            // an overlay, or a file system of another program
  std::optional<bool> rotational;  // nothing where the system does not tell
  uint64_t free_bytes = 0;
  std::string why_not_direct;           // empty: files can be read past the page cache
  Result<double> read_bytes_per_s = 0;  // of whole experts at random
};

// What the memory plan says.
struct FitFacts {
  uint64_t planned_bytes = 0;
  uint64_t expert_cache_bytes = 0;
  uint64_t token_expert_bytes = 0;  // that one token chooses
  uint64_t expert_bytes = 0;        // of all
};

struct ModelDirectoryFacts {
  std::filesystem::path path;
  std::vector<std::string> unfinished;      // files of downloads that did not end
  std::vector<std::string> missing_shards;  // that names like model-00002-of-00009 promise
  std::vector<std::string> other_totals;    // shards that belong to another number of shards
  std::vector<std::string> revisions;       // of a download, where it tells: one if all is well
  std::optional<Error> config;              // why it cannot be read
  std::optional<Error> files;               // the same; not looked at without a config
  std::optional<Error> weights;             // the same; not looked at without files
  uint32_t mtp_layers = 0;                  // that the config promises
  bool has_mtp = false;
  std::string mtp_format;               // of its projection, "int8-row"; empty: not known
  std::optional<Result<FitFacts>> fit;  // nothing without weights
};

struct StateFacts {
  std::filesystem::path path;  // empty: none is wanted
  std::string why_not_writable;
};

struct DoctorFacts {
  MachineFacts machine;
  ModelDirectoryFacts model;
  DriveFacts drive;  // of the model
  StateFacts state;
};

}  // namespace coli
