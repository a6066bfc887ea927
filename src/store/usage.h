// What was learned about the experts of a model while it worked: how often each was used and what
// the cache policy thought of it. It is kept between runs in one file for all models and decides
// which experts are loaded first; it can change speed and nothing else.
//
// The file is a database in a directory of the user's state. Whatever is in it, reading gives
// numbers that are in their ranges, or an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/cache_policy.h"
#include "store/container.h"
#include "sys/database.h"

namespace coli {

// Of one expert.
struct ExpertUsage {
  uint64_t uses = 0;  // tokens that asked for it
  double score = 0;   // average of CachePolicy::Worth; finite, at least 0

  friend bool operator==(const ExpertUsage&, const ExpertUsage&) = default;
};

// By layer (empty where a layer has no experts), then by expert.
using UsageTable = std::vector<std::vector<ExpertUsage>>;

// All zero, with as many experts as `experts_by_layer` says.
UsageTable EmptyUsage(std::span<const size_t> experts_by_layer);

// Those that were ever used or had a score, the most valuable first: by score, then by uses. Pure.
std::vector<ExpertKey> InOrderOfWorth(const UsageTable& usage);

// Tells models apart: a hash of the names, types, shapes and places of all tensors and of the sizes
// of the files. Two models of equal geometry are one to it; what it guards is speed alone.
int64_t ModelFingerprint(const Container& container);

// Gives a database that has nothing yet the tables for it; any other is left as it is.
Status MakeUsageTables(Database& database);

// The numbers of one model in an open database; all zero for a model that it does not know. Errors:
// kUnsupported for a database of another program or a newer version, kCorrupt for a value out of
// its range, naming layer and expert, and whatever reading meets.
Result<UsageTable> ReadUsage(Database& database, int64_t model,
                             std::span<const size_t> experts_by_layer);

// The file of a state directory, seen by one model. It is open only while it is read or written, so
// that any number of processes can share it. Thread-compatible.
class UsageFile {
 public:
  // How many models are remembered: those saved last.
  static constexpr int kModels = 32;

  // Nothing is touched before the first call.
  UsageFile(std::filesystem::path directory, int64_t model, std::vector<size_t> experts_by_layer);

  // What was saved; all zero at first. Makes directory and file if they are not there, for their
  // owner alone. A damaged file is set aside as usage.db.damaged, and the error says so. Errors: as
  // ReadUsage; kIo for a directory that cannot be written.
  Result<UsageTable> Load() const;

  // Adds `work`, in one transaction: uses are summed; scores go from the saved ones towards these
  // by `weight`, 0 to 1. Errors: as Load.
  Status Add(const UsageTable& work, double weight) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  template <class Use>
  auto WithDatabase(const Use& use) const -> decltype(use(std::declval<Database&>()));

  std::filesystem::path path_;
  int64_t model_;
  std::vector<size_t> experts_by_layer_;
};

}  // namespace coli
