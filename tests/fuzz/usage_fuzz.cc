// Any bytes as the file of usage statistics, or as its rows: refused naming the place, or numbers
// that are in their ranges and can be put in order.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "base/check.h"
#include "store/usage.h"

namespace coli {
namespace {

constexpr int64_t kModel = 7;
constexpr std::array<size_t, 3> kShape = {0, 4, 4};

// A file is in WAL mode, which memory cannot be: two bytes of its header say so.
Result<Database> OpenFile(std::vector<std::byte> bytes) {
  for (const size_t at : {18U, 19U}) {
    if (bytes.size() > at && bytes[at] == std::byte{2}) {
      bytes[at] = std::byte{1};
    }
  }
  return Database::OpenBytes(bytes);
}

// Rows of five values of eight bytes. Even models are ours, so that most rows are read.
Result<Database> OpenRows(std::span<const std::byte> bytes) {
  Database database = Database::OpenBytes({}).value();
  COLI_CHECK(MakeUsageTables(database).has_value());
  Statement add =
      database.Prepare("INSERT OR REPLACE INTO usage VALUES (?1, ?2, ?3, ?4, ?5)").value();
  while (bytes.size() >= 40) {
    std::array<int64_t, 5> row{};
    std::memcpy(row.data(), bytes.data(), 40);
    bytes = bytes.subspan(40);
    add.Bind(1, row[0] % 2 == 0 ? kModel : row[0]);
    for (int column = 1; column < 4; ++column) {
      add.Bind(column + 1, row[static_cast<size_t>(column)]);
    }
    add.Bind(5, std::bit_cast<double>(row[4]));
    (void)add.Run();  // not a number is no value of the column
  }
  return database;
}

void CheckPromises(const UsageTable& usage) {
  COLI_CHECK(usage.size() == kShape.size());
  for (size_t layer = 0; layer < usage.size(); ++layer) {
    COLI_CHECK(usage[layer].size() == kShape[layer]);
    for (const ExpertUsage& expert : usage[layer]) {
      COLI_CHECK(expert.uses <= uint64_t{1} << 53);
      COLI_CHECK(std::isfinite(expert.score) && expert.score >= 0);
    }
  }
  COLI_CHECK(InOrderOfWorth(usage).size() <= 8);
}

}  // namespace
}  // namespace coli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  auto database =
      data[0] % 2 == 0 ? coli::OpenFile({bytes.begin(), bytes.end()}) : coli::OpenRows(bytes);
  if (!database) {
    return 0;
  }
  const auto usage = coli::ReadUsage(*database, coli::kModel, coli::kShape);
  if (usage) {
    coli::CheckPromises(*usage);
  } else {
    COLI_CHECK(usage.error().message.starts_with("database in memory: "));
    COLI_CHECK(usage.error().message.size() < 1000);
  }
  return 0;
}
