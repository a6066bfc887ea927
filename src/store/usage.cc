#include "store/usage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "sys/file_lock.h"

namespace coli {
namespace {

// The four letters "coli": marks a database of ours.
constexpr int64_t kApplication = 0x636f6c69;
constexpr int64_t kVersion = 1;
constexpr int64_t kMostUses = int64_t{1} << 53;

// All there is in the database, in the order of names; anything else is somebody else's.
struct SchemaEntry {
  std::string_view name;
  std::string_view statement;
};
constexpr auto kSchema = std::to_array<SchemaEntry>({
    {"model", "CREATE TABLE model(id INTEGER PRIMARY KEY, saved INTEGER NOT NULL) STRICT"},
    {"usage",
     "CREATE TABLE usage(model INTEGER NOT NULL, layer INTEGER NOT NULL, expert INTEGER NOT NULL, "
     "uses INTEGER NOT NULL, score REAL NOT NULL, PRIMARY KEY(model, layer, expert)) STRICT, "
     "WITHOUT ROWID"},
});

constexpr std::string_view kAdd =
    "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5 * ?6) ON CONFLICT DO UPDATE SET "
    "uses = min(uses + excluded.uses, 1 << 53), score = score + (?5 - score) * ?6";

// This model was saved last; those saved longest ago are forgotten. `saved` counts saves.
constexpr std::string_view kRemember =
    "INSERT INTO model SELECT ?1, coalesce(max(saved), 0) + 1 FROM model WHERE true "
    "ON CONFLICT DO UPDATE SET saved = excluded.saved";
constexpr std::string_view kForgetUsage =
    "DELETE FROM usage WHERE model IN (SELECT id FROM model ORDER BY saved DESC LIMIT -1 OFFSET "
    "?1)";
constexpr std::string_view kForgetModels =
    "DELETE FROM model WHERE id IN (SELECT id FROM model ORDER BY saved DESC LIMIT -1 OFFSET ?1)";

// Errors unless the database is one of ours, as this version makes it.
Status CheckSchema(Database& database) {
  COLI_ASSIGN_OR_RETURN(const int64_t application, database.Integer("PRAGMA application_id"));
  COLI_ASSIGN_OR_RETURN(const int64_t version, database.Integer("PRAGMA user_version"));
  if (application != kApplication) {
    return Fail(ErrorCode::kUnsupported, "{}: a database of another program", database.path());
  }
  if (version != kVersion) {
    return Fail(ErrorCode::kUnsupported, "{}: expected version {}, found version {}",
                database.path(), kVersion, version);
  }
  COLI_ASSIGN_OR_RETURN(Statement entries,
                        database.Prepare("SELECT name, sql FROM sqlite_schema ORDER BY name"));
  for (const SchemaEntry& expected : kSchema) {
    COLI_ASSIGN_OR_RETURN(const bool found, entries.Step());
    if (!found || entries.Text(0) != expected.name || entries.Text(1) != expected.statement) {
      return Fail(ErrorCode::kUnsupported, "{}: expected the table \"{}\", found another",
                  database.path(), expected.name);
    }
  }
  COLI_ASSIGN_OR_RETURN(const bool more, entries.Step());
  return more ? Fail(ErrorCode::kUnsupported, "{}: expected {} tables, found more", database.path(),
                     kSchema.size())
              : Ok();
}

// A database without tables, application and version is a new one.
Result<bool> IsNew(Database& database) {
  COLI_ASSIGN_OR_RETURN(const int64_t tables,
                        database.Integer("SELECT count(*) FROM sqlite_schema"));
  COLI_ASSIGN_OR_RETURN(const int64_t application, database.Integer("PRAGMA application_id"));
  return tables == 0 && application == 0;
}

// One row, checked: `usage` has a place for it and the numbers are in their ranges.
Status TakeRow(const Statement& row, UsageTable& usage) {
  const auto layer = row.Integer(0);
  const auto expert = row.Integer(1);
  const auto uses = row.Integer(2);
  const auto score = row.Real(3);
  const auto in = [](const std::optional<int64_t>& index, size_t count) {
    return index && *index >= 0 && static_cast<uint64_t>(*index) < count;
  };
  if (!in(layer, usage.size()) || !in(expert, usage[static_cast<size_t>(*layer)].size())) {
    return Fail(ErrorCode::kCorrupt, "layer {}, expert {}: the model has no such expert",
                layer.value_or(-1), expert.value_or(-1));
  }
  if (!uses || *uses < 0 || *uses > kMostUses || !score || !std::isfinite(*score) || *score < 0) {
    return Fail(ErrorCode::kCorrupt,
                "layer {}, expert {}: expected 0 to 2^53 uses and a score of at least 0, found {} "
                "and {}",
                *layer, *expert, uses.value_or(-1), score.value_or(-1));
  }
  usage[static_cast<size_t>(*layer)][static_cast<size_t>(*expert)] = {static_cast<uint64_t>(*uses),
                                                                      *score};
  return Ok();
}

Status AddRows(Database& database, int64_t model, const UsageTable& work, double weight) {
  COLI_ASSIGN_OR_RETURN(Statement add, database.Prepare(kAdd));
  add.Bind(1, model);
  add.Bind(6, weight);
  for (size_t layer = 0; layer < work.size(); ++layer) {
    for (size_t expert = 0; expert < work[layer].size(); ++expert) {
      const ExpertUsage& usage = work[layer][expert];
      add.Bind(2, static_cast<int64_t>(layer));
      add.Bind(3, static_cast<int64_t>(expert));
      add.Bind(4, static_cast<int64_t>(usage.uses));
      add.Bind(5, usage.score);
      COLI_RETURN_IF_ERROR(add.Run());
    }
  }
  return Ok();
}

Status RememberModel(Database& database, int64_t model) {
  COLI_ASSIGN_OR_RETURN(Statement remember, database.Prepare(kRemember));
  remember.Bind(1, model);
  COLI_RETURN_IF_ERROR(remember.Run());
  for (const std::string_view text : {kForgetUsage, kForgetModels}) {
    COLI_ASSIGN_OR_RETURN(Statement forget, database.Prepare(text));
    forget.Bind(1, int64_t{UsageFile::kModels});
    COLI_RETURN_IF_ERROR(forget.Run());
  }
  return Ok();
}

Status AddUsage(Database& database, int64_t model, const UsageTable& work, double weight) {
  COLI_RETURN_IF_ERROR(CheckSchema(database));
  COLI_ASSIGN_OR_RETURN(const auto transaction, Transaction::Begin(database));
  COLI_RETURN_IF_ERROR(AddRows(database, model, work, weight));
  COLI_RETURN_IF_ERROR(RememberModel(database, model));
  return transaction->Commit();
}

// The folders that are missing, for their owner alone.
Status MakeDirectory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory.parent_path(), error);
  if (std::filesystem::create_directory(directory, error)) {
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  }
  return error ? Fail(ErrorCode::kIo, "{}: cannot be made: {}", directory.string(), error.message())
               : Ok();
}

// A damaged database goes out of the way, unless somebody else is using it.
tl::unexpected<Error> SetAside(const std::filesystem::path& path, Error error, FileLock& lock) {
  if (error.code != ErrorCode::kCorrupt || !lock.TakeAlone()) {
    return tl::unexpected<Error>(std::move(error));
  }
  std::error_code failure;
  const std::filesystem::path aside = path.string() + ".damaged";
  std::filesystem::rename(path, aside, failure);
  for (const char* companion : {"-wal", "-shm"}) {
    std::error_code ignored;
    std::filesystem::remove(path.string() + companion, ignored);
  }
  if (!failure) {
    error.message += fmt::format("; it is kept as {}", aside.filename().string());
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

UsageTable EmptyUsage(std::span<const size_t> experts_by_layer) {
  UsageTable usage;
  for (const size_t experts : experts_by_layer) {
    usage.emplace_back(experts);
  }
  return usage;
}

std::vector<ExpertKey> InOrderOfWorth(const UsageTable& usage) {
  std::vector<ExpertKey> keys;
  const auto of = [&](ExpertKey key) {
    return usage[static_cast<size_t>(Raw(key.layer))][static_cast<size_t>(Raw(key.expert))];
  };
  for (size_t layer = 0; layer < usage.size(); ++layer) {
    for (size_t expert = 0; expert < usage[layer].size(); ++expert) {
      if (usage[layer][expert] != ExpertUsage{}) {
        keys.push_back(
            {LayerId{static_cast<int32_t>(layer)}, ExpertId{static_cast<int32_t>(expert)}});
      }
    }
  }
  // Equals in the order of their ids.
  std::ranges::sort(keys, [&](ExpertKey a, ExpertKey b) {
    return std::tuple(of(a).score, of(a).uses, b) > std::tuple(of(b).score, of(b).uses, a);
  });
  return keys;
}

Status MakeUsageTables(Database& database) {
  COLI_ASSIGN_OR_RETURN(bool is_new, IsNew(database));
  if (!is_new) {
    return Ok();
  }
  COLI_ASSIGN_OR_RETURN(const auto transaction, Transaction::Begin(database));
  COLI_ASSIGN_OR_RETURN(is_new, IsNew(database));
  if (!is_new) {
    return Ok();  // another process was faster
  }
  for (const SchemaEntry& entry : kSchema) {
    COLI_RETURN_IF_ERROR(database.Run(std::string(entry.statement).c_str()));
  }
  COLI_RETURN_IF_ERROR(database.Run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kVersion)
          .c_str()));
  return transaction->Commit();
}

Result<UsageTable> ReadUsage(Database& database, int64_t model,
                             std::span<const size_t> experts_by_layer) {
  COLI_RETURN_IF_ERROR(CheckSchema(database));
  COLI_ASSIGN_OR_RETURN(
      Statement rows,
      database.Prepare("SELECT layer, expert, uses, score FROM usage WHERE model = ?1"));
  rows.Bind(1, model);
  UsageTable usage = EmptyUsage(experts_by_layer);
  while (true) {
    COLI_ASSIGN_OR_RETURN(const bool found, rows.Step());
    if (!found) {
      return usage;
    }
    if (auto taken = TakeRow(rows, usage); !taken) {
      return Wrap(std::move(taken).error(), database.path());
    }
  }
}

UsageFile::UsageFile(std::filesystem::path directory, int64_t model,
                     std::vector<size_t> experts_by_layer)
    : path_(std::move(directory) / "usage.db"),
      model_(model),
      experts_by_layer_(std::move(experts_by_layer)) {}

template <class Use>
auto UsageFile::WithDatabase(const Use& use) const -> decltype(use(std::declval<Database&>())) {
  COLI_RETURN_IF_ERROR(MakeDirectory(path_.parent_path()));
  COLI_ASSIGN_OR_RETURN(FileLock lock, FileLock::Share(path_.string() + ".lock"));
  const auto done = [&]() -> decltype(use(std::declval<Database&>())) {
    COLI_ASSIGN_OR_RETURN(Database database, Database::Open(path_));
    COLI_RETURN_IF_ERROR(MakeUsageTables(database));
    return use(database);
  }();
  if (!done) {
    return SetAside(path_, done.error(), lock);
  }
  return done;
}

Result<UsageTable> UsageFile::Load() const {
  return WithDatabase(
      [&](Database& database) { return ReadUsage(database, model_, experts_by_layer_); });
}

Status UsageFile::Add(const UsageTable& work, double weight) const {
  COLI_CHECK(work.size() == experts_by_layer_.size());
  return WithDatabase([&](Database& database) { return AddUsage(database, model_, work, weight); });
}

}  // namespace coli
