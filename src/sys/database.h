// SQLite behind values: a connection, prepared statements, a transaction.
//
// What a file contains is data and nothing else: views and triggers of its schema do not run, and
// the work of one connection is bounded, so that a hostile file is an error and not a hang. Errors
// give the file and SQLite's own words: kCorrupt for a file that is damaged or no database,
// kNotEnoughMemory, kIo for everything else (locked, full, read-only). One thread at a time;
// several connections and processes may have a file open (a new one is made in WAL mode).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3_stmt;

namespace coli {

struct DatabaseConnection;

// One compiled statement. Keeps its connection open; move-only.
class Statement {
 public:
  // Parameters, from 1 on. They stay from run to run.
  void Bind(int parameter, int64_t value);
  void Bind(int parameter, double value);

  // Goes to the next row. False: there is none, and the next Step begins again.
  Result<bool> Step();
  // A statement without rows, from its beginning to its end.
  Status Run();

  // Columns of the row, from 0 on; nothing when the value has another type.
  std::optional<int64_t> Integer(int column) const;
  std::optional<double> Real(int column) const;
  std::optional<std::string> Text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(std::shared_ptr<DatabaseConnection> connection, sqlite3_stmt* statement)
      : connection_(std::move(connection)), statement_(statement) {}

  std::shared_ptr<DatabaseConnection> connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // How long other processes may keep us waiting before that is an error.
  static constexpr int kPatience_ms = 1000;

  // Opens a file, or makes one that only its owner can read. Errors: as above; kInvalidArgument for
  // a path that is not a regular file (a link is not followed).
  static Result<Database> Open(const std::filesystem::path& path);
  // A database in memory with the content that a file would have, for tests.
  static Result<Database> OpenBytes(std::span<const std::byte> bytes);

  // Statements whose rows nobody wants, separated by semicolons.
  Status Run(const char* statements);
  Result<Statement> Prepare(std::string_view statement);
  // The one number that a query gives.
  Result<int64_t> Integer(std::string_view query);

  const std::string& path() const;  // for errors

 private:
  explicit Database(std::shared_ptr<DatabaseConnection> connection)
      : connection_(std::move(connection)) {}
  static Result<Database> Connect(const std::string& path, const char* place);

  std::shared_ptr<DatabaseConnection> connection_;
};

// All changes between Begin and Commit happen, or none of them does. Neither copied nor moved.
class Transaction {
 public:
  static Result<std::unique_ptr<Transaction>> Begin(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  Status Commit();

 private:
  explicit Transaction(Database& database) : database_(database) {}
  Database& database_;
  bool open_ = true;
};

}  // namespace coli
