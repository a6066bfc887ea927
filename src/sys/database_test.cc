#include "sys/database.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "sys/testing/temp_directory.h"

namespace coli {
namespace {

using testing::TempDirectory;

mode_t ModeOf(const std::filesystem::path& path) {
  struct stat facts = {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0;
}

Database Numbers(const std::filesystem::path& path) {
  Database database = Database::Open(path).value();
  EXPECT_TRUE(database.Run("CREATE TABLE IF NOT EXISTS numbers(n INTEGER, x REAL, t TEXT)"));
  return database;
}

TEST(Database, KeepsWhatWasCommitted) {
  const TempDirectory directory;
  {
    Database database = Numbers(directory / "a.db");
    const auto transaction = Transaction::Begin(database).value();
    Statement insert = database.Prepare("INSERT INTO numbers VALUES (?1, ?2, 'x')").value();
    for (int64_t n = 0; n < 3; ++n) {
      insert.Bind(1, n);
      insert.Bind(2, 0.5);
      ASSERT_TRUE(insert.Run());
    }
    ASSERT_TRUE(transaction->Commit());
  }

  Database database = Database::Open(directory / "a.db").value();

  EXPECT_EQ(database.Integer("SELECT sum(n) FROM numbers").value(), 3);
  Statement select = database.Prepare("SELECT n, x, t FROM numbers").value();
  ASSERT_TRUE(select.Step().value());
  EXPECT_EQ(select.Integer(0), 0);
  EXPECT_EQ(select.Real(1), 0.5);
  EXPECT_EQ(select.Text(2), "x");
  EXPECT_EQ(select.Integer(2), std::nullopt);
  EXPECT_EQ(select.Real(0), std::nullopt);
  EXPECT_EQ(select.Text(1), std::nullopt);
}

TEST(Database, AnAbandonedTransactionLeavesNothing) {
  const TempDirectory directory;
  Database database = Numbers(directory / "a.db");
  {
    const auto transaction = Transaction::Begin(database).value();
    ASSERT_TRUE(database.Run("INSERT INTO numbers VALUES (1, 1.0, '')"));
  }
  EXPECT_EQ(database.Integer("SELECT count(*) FROM numbers").value(), 0);
}

TEST(Database, IsForItsOwnerOnly) {
  const TempDirectory directory;
  const Database database = Numbers(directory / "a.db");
  EXPECT_EQ(ModeOf(directory / "a.db"), 0600U);
  EXPECT_EQ(ModeOf(directory / "a.db-wal"), 0600U);
}

TEST(Database, TwoConnectionsOfOneFileWork) {
  const TempDirectory directory;
  Database first = Numbers(directory / "a.db");
  Database second = Numbers(directory / "a.db");
  ASSERT_TRUE(first.Run("INSERT INTO numbers VALUES (1, 1.0, '')"));
  ASSERT_TRUE(second.Run("INSERT INTO numbers VALUES (2, 1.0, '')"));
  EXPECT_EQ(first.Integer("SELECT sum(n) FROM numbers").value(), 3);
}

TEST(Database, AWriterThatDoesNotEndIsAnErrorAfterAWhile) {
  const TempDirectory directory;
  Database first = Numbers(directory / "a.db");
  Database second = Numbers(directory / "a.db");
  const auto writing = Transaction::Begin(first).value();

  const auto waited = Transaction::Begin(second);

  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::kIo);
  EXPECT_NE(waited.error().message.find("a.db: database is locked"), std::string::npos);
}

TEST(Database, WhatIsNoDatabaseIsCorrupt) {
  const TempDirectory directory;
  testing::WriteFile(directory / "a.db", std::string(5000, 'x'));
  const auto database = Database::Open(directory / "a.db");
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(database.error().message.find("a.db: file is not a database"), std::string::npos);
}

TEST(Database, OnlyRegularFilesAreOpened) {
  const TempDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", directory / "link");
  std::filesystem::create_directory(directory / "folder");
  for (const char* name : {"fifo", "link", "folder"}) {
    const auto database = Database::Open(directory / name);
    ASSERT_FALSE(database) << name;
    EXPECT_EQ(database.error().code, ErrorCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(Database::Open(directory / "no" / "a.db").error().code, ErrorCode::kIo);
}

TEST(Database, AQueryWithoutEndIsStopped) {
  Database database = Database::OpenBytes({}).value();
  const auto count = database.Integer(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code, ErrorCode::kCorrupt);
}

TEST(Database, ViewsAndTriggersDoNotRun) {
  Database database = Database::OpenBytes({}).value();
  ASSERT_TRUE(database.Run("CREATE TABLE a(n); CREATE TABLE b(n)"));
  if (database.Run("CREATE VIEW v AS SELECT 1 AS n")) {
    EXPECT_FALSE(database.Integer("SELECT n FROM v"));
  }
  if (database.Run("CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO b VALUES (1); END")) {
    ASSERT_TRUE(database.Run("INSERT INTO a VALUES (1)"));
    EXPECT_EQ(database.Integer("SELECT count(*) FROM b").value(), 0);
  }
}

TEST(Database, StatementsThatAreWrongAreErrors) {
  Database database = Database::OpenBytes({}).value();
  EXPECT_FALSE(database.Prepare("SELEKT 1"));
  EXPECT_FALSE(database.Run("INSERT INTO nothing VALUES (1)"));
  EXPECT_FALSE(database.Integer("SELECT 'one'"));
  EXPECT_FALSE(database.Integer("SELECT 1 WHERE 0"));
}

}  // namespace
}  // namespace coli
