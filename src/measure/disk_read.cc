#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

#include "measure/disk_file.h"
#include "measure/full_pool.h"
#include "measure/scenario.h"

namespace coli {
namespace {

constexpr size_t kRecordBytes = size_t{4618} * DiskFile::kAlignment;  // an int4-row expert
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kPieces = (kRecordBytes + kPieceBytes - 1) / kPieceBytes;
constexpr uint32_t kReaders = 16;  // pieces that are asked for at the same time
constexpr uint64_t kFileBytes = uint64_t{1} << 30;
constexpr uint64_t kQuickFileBytes = uint64_t{64} << 20;

// What is read: the model's own files if they are large, else one made for it.
struct Drive {
  explicit Drive(std::string name) : what(std::move(name)) {}
  Drive(Drive&&) = default;

  std::string what;  // "model" or "temporary file"
  std::vector<DiskFile> files;

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const DiskFile& file : files) {
      sum += file.size();
    }
    return sum;
  }
  bool direct() const { return std::ranges::all_of(files, &DiskFile::direct); }
};

// The files of the model that hold several records.
Result<Drive> OpenModel(const std::filesystem::path& model) {
  Drive drive("model");
  std::error_code error;
  std::filesystem::directory_iterator entry(model, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != ".safetensors") {
      continue;
    }
    COLI_ASSIGN_OR_RETURN(DiskFile file, DiskFile::Open(entry->path()));
    if (file.size() >= 4 * kRecordBytes) {
      drive.files.push_back(std::move(file));
    }
  }
  if (error) {
    return Fail(ErrorCode::kIo, "{}: cannot be listed: {}", model.string(), error.message());
  }
  return drive;
}

Result<Drive> ChooseDrive(const BenchSession& session) {
  const BenchOptions& options = session.options();
  if (!options.engine.model_dir.empty()) {
    COLI_ASSIGN_OR_RETURN(Drive model, OpenModel(options.engine.model_dir));
    if (model.bytes() >= kFileBytes) {
      return model;
    }
  }
  const uint64_t bytes = session.quick() ? kQuickFileBytes : kFileBytes;
  Drive drive("temporary file");
  COLI_ASSIGN_OR_RETURN(DiskFile file,
                        DiskFile::MakeTemporary(options.scratch_dir, bytes, options.cancelled));
  drive.files.push_back(std::move(file));
  return drive;
}

struct Record {
  const DiskFile* file;
  uint64_t offset;
};

// `count` records at random places; a byte of any file is as likely as one of another.
std::vector<Record> ChooseRecords(const Drive& drive, size_t count, std::mt19937_64& generator) {
  std::vector<Record> records;
  std::uniform_int_distribution<uint64_t> anywhere(0, drive.bytes() - 1);
  while (records.size() < count) {
    uint64_t at = anywhere(generator);
    const auto* file = drive.files.data();
    for (; at >= file->size(); ++file) {
      at -= file->size();
    }
    const uint64_t last = file->size() - kRecordBytes;
    records.push_back({file, std::min(at, last) / DiskFile::kAlignment * DiskFile::kAlignment});
  }
  return records;
}

// Bytes per second of reading `records`, piece by piece, each reader one at a time.
Result<double> ReadRecords(const std::vector<Record>& records, const AlignedBuffer& buffer,
                           ThreadPool& readers) {
  std::vector<Status> failures(readers.threads());
  const double begin = WallSeconds();
  readers.ParallelFor(records.size() * kPieces, 1, [&](size_t i, size_t, size_t reader) {
    if (!failures[reader]) {
      return;
    }
    const size_t from = i % kPieces * kPieceBytes;
    const Record& record = records[i / kPieces];
    const auto memory = buffer.bytes().subspan(reader * kPieceBytes, kPieceBytes);
    failures[reader] = record.file->Read(record.offset + from,
                                         memory.first(std::min(kPieceBytes, kRecordBytes - from)));
  });
  const double seconds = WallSeconds() - begin;
  for (const Status& status : failures) {
    COLI_RETURN_IF_ERROR(status);
  }
  return static_cast<double>(records.size() * kRecordBytes) / seconds;
}

Status MeasureDrive(BenchSession& session, const Drive& drive) {
  const size_t records = session.quick() ? 2 : 16;
  COLI_ASSIGN_OR_RETURN(const AlignedBuffer buffer,
                        AlignedBuffer::Allocate(kReaders * kPieceBytes));
  COLI_ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> readers, MakeFullPool(kReaders));
  std::mt19937_64 generator(1);
  Runs runs;
  Status status;
  session.Repeat([&] {
    for (const DiskFile& file : drive.files) {
      file.DropPages();
    }
    const auto speed = ReadRecords(ChooseRecords(drive, records, generator), buffer, *readers);
    if (!speed) {
      status = tl::unexpected(speed.error());
    } else {
      runs.Add(1e-9 * *speed);
    }
  });
  COLI_RETURN_IF_ERROR(status);
  session.Add(Summarize("disk.read",
                        {{"from", drive.what},
                         {"bytes", drive.bytes()},
                         {"record", uint64_t{kRecordBytes}},
                         {"depth", uint64_t{kReaders}},
                         {"page cache", drive.direct() ? "bypassed" : "used"}},
                        "GB/s", runs));
  return Ok();
}

}  // namespace

Status MeasureDiskRead(BenchSession& session) {
  const auto drive = ChooseDrive(session);
  if (!drive) {
    return drive.error().code == ErrorCode::kCancelled ? Ok() : tl::unexpected(drive.error());
  }
  return MeasureDrive(session, *drive);
}

}  // namespace coli
