#include "sys/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "sys/read_loop.h"

namespace coli {

// An open connection, and what may still be done with it.
struct DatabaseConnection {
  std::string path;
  sqlite3* handle = nullptr;
  uint64_t pauses_left = 0;

  DatabaseConnection() = default;
  DatabaseConnection(const DatabaseConnection&) = delete;
  DatabaseConnection& operator=(const DatabaseConnection&) = delete;
  ~DatabaseConnection() { sqlite3_close_v2(handle); }
};

namespace {

// SQLite asks after so many of its instructions whether to go on; a save of 20,000 rows takes about
// a million.
constexpr int kInstructionsPerPause = 10'000;
constexpr uint64_t kPauses = 5'000;
// Of one value, and of one statement: what is stored here are numbers.
constexpr int kMaxValueBytes = 1 << 20;
constexpr int kMaxStatementBytes = 1 << 14;

ErrorCode CodeOf(int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_INTERRUPT:  // by the limit of work
      return ErrorCode::kCorrupt;
    case SQLITE_NOMEM:
      return ErrorCode::kNotEnoughMemory;
    default:
      return ErrorCode::kIo;
  }
}

tl::unexpected<Error> FailureOf(const DatabaseConnection& connection) {
  const int result = sqlite3_extended_errcode(connection.handle);
  return Fail(CodeOf(result), "{}: {}", connection.path,
              result == SQLITE_INTERRUPT ? "takes more work than any file of ours"
                                         : sqlite3_errmsg(connection.handle));
}

// Makes the file if there is none. It is never opened when it exists: closing it would give up the
// locks that another connection of this process has.
Status MakeFile(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor >= 0) {
    ::close(descriptor);
    return Ok();
  }
  if (errno != EEXIST) {
    return Fail(ErrorCode::kIo, "{}: cannot be made: {}", path, SystemErrorText(errno));
  }
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: expected a regular file, found something else",
                path);
  }
  return Ok();
}

// Nothing in the file may do more than hold values.
void Harden(DatabaseConnection& connection) {
  sqlite3* const db = connection.handle;
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, Database::kPatience_ms);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kMaxStatementBytes);
  connection.pauses_left = kPauses;
  sqlite3_progress_handler(
      db, kInstructionsPerPause,
      [](void* left) { return (*static_cast<uint64_t*>(left))-- == 0 ? 1 : 0; },
      &connection.pauses_left);
}

}  // namespace

// --- statements ---

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::Bind(int parameter, int64_t value) {
  COLI_CHECK(sqlite3_bind_int64(statement_.get(), parameter, value) == SQLITE_OK);
}

void Statement::Bind(int parameter, double value) {
  COLI_CHECK(sqlite3_bind_double(statement_.get(), parameter, value) == SQLITE_OK);
}

Result<bool> Statement::Step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) {
    return true;
  }
  if (result != SQLITE_DONE) {
    auto failure = FailureOf(*connection_);
    sqlite3_reset(statement_.get());
    return failure;
  }
  sqlite3_reset(statement_.get());
  return false;
}

Status Statement::Run() {
  COLI_ASSIGN_OR_RETURN(const bool row, Step());
  COLI_CHECK(!row);
  return Ok();
}

std::optional<int64_t> Statement::Integer(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER
             ? std::optional<int64_t>(sqlite3_column_int64(statement_.get(), column))
             : std::nullopt;
}

std::optional<double> Statement::Real(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_FLOAT
             ? std::optional(sqlite3_column_double(statement_.get(), column))
             : std::nullopt;
}

std::optional<std::string> Statement::Text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) {
    return std::nullopt;
  }
  const auto* text = sqlite3_column_text(statement_.get(), column);
  const auto bytes = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::nullopt
                         : std::optional(std::string(reinterpret_cast<const char*>(text), bytes));
}

// --- the database ---

Result<Database> Database::Open(const std::filesystem::path& path) {
  COLI_RETURN_IF_ERROR(MakeFile(path.string()));
  COLI_ASSIGN_OR_RETURN(Database database, Connect(path.string(), path.c_str()));
  COLI_RETURN_IF_ERROR(database.Run("PRAGMA cell_size_check = ON; PRAGMA synchronous = NORMAL"));
  COLI_ASSIGN_OR_RETURN(const int64_t pages, database.Integer("PRAGMA page_count"));
  if (pages == 0) {  // the mode stays with the file, and somebody else's is not changed
    COLI_RETURN_IF_ERROR(database.Run("PRAGMA journal_mode = WAL"));
  }
  return database;
}

Result<Database> Database::OpenBytes(std::span<const std::byte> bytes) {
  COLI_ASSIGN_OR_RETURN(Database database, Connect("database in memory", ":memory:"));
  if (bytes.empty()) {
    return database;
  }
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  if (copy == nullptr) {
    return Fail(ErrorCode::kNotEnoughMemory, "database in memory: no room for {} bytes",
                bytes.size());
  }
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  // It frees the copy whatever happens.
  if (sqlite3_deserialize(database.connection_->handle, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE) != SQLITE_OK) {
    return FailureOf(*database.connection_);
  }
  COLI_RETURN_IF_ERROR(database.Run("PRAGMA cell_size_check = ON"));
  return database;
}

Result<Database> Database::Connect(const std::string& path, const char* place) {
  auto connection = std::make_shared<DatabaseConnection>();
  connection->path = path;
  const int result =
      sqlite3_open_v2(place, &connection->handle,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (result != SQLITE_OK) {
    return Fail(CodeOf(result), "{}: {}", path, sqlite3_errstr(result));
  }
  Harden(*connection);
  return Database(std::move(connection));
}

Status Database::Run(const char* statements) {
  if (sqlite3_exec(connection_->handle, statements, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return FailureOf(*connection_);
  }
  return Ok();
}

Result<Statement> Database::Prepare(std::string_view statement) {
  sqlite3_stmt* compiled = nullptr;
  if (sqlite3_prepare_v2(connection_->handle, statement.data(), static_cast<int>(statement.size()),
                         &compiled, nullptr) != SQLITE_OK) {
    return FailureOf(*connection_);
  }
  return Statement(connection_, compiled);
}

Result<int64_t> Database::Integer(std::string_view query) {
  COLI_ASSIGN_OR_RETURN(Statement statement, Prepare(query));
  COLI_ASSIGN_OR_RETURN(const bool row, statement.Step());
  const std::optional<int64_t> value = row ? statement.Integer(0) : std::nullopt;
  if (!value) {
    return Fail(ErrorCode::kCorrupt, "{}: expected a number for {}, found none", connection_->path,
                query);
  }
  return *value;
}

const std::string& Database::path() const { return connection_->path; }

// --- transactions ---

Result<std::unique_ptr<Transaction>> Transaction::Begin(Database& database) {
  COLI_RETURN_IF_ERROR(database.Run("BEGIN IMMEDIATE"));
  return std::unique_ptr<Transaction>(new Transaction(database));
}

Transaction::~Transaction() {
  if (open_) {
    (void)database_.Run("ROLLBACK");  // SQLite may have done it already
  }
}

Status Transaction::Commit() {
  COLI_RETURN_IF_ERROR(database_.Run("COMMIT"));
  open_ = false;
  return Ok();
}

}  // namespace coli
