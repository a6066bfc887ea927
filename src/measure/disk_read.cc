#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

#include "measure/disk_file.h"
#include "measure/full_pool.h"
#include "measure/scenario.h"
#include "measure/weight_set.h"
#include "sys/aligned_buffer.h"
#include "sys/left_behind.h"
#include "sys/open_io.h"

namespace coli {
namespace {

constexpr size_t kRecordBytes = size_t{4618} * DiskFile::kAlignment;  // an int4-row expert
constexpr size_t kPieceBytes = kReadPieceBytes;
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
  if (options.scratch_dir.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: its files are too small to measure the drive with: expected {} bytes or more",
                options.engine.model_dir.string(), kFileBytes);
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

// A part of a record and the memory that it goes to.
struct Piece {
  const DiskFile* file;
  uint64_t offset;
  std::span<std::byte> memory;
};

// All pieces of `records`; `memory` holds them all.
std::vector<Piece> CutUp(const std::vector<Record>& records, std::span<std::byte> memory) {
  std::vector<Piece> pieces;
  for (const Record& record : records) {
    for (size_t from = 0; from < kRecordBytes; from += kPieceBytes) {
      const size_t bytes = std::min(kPieceBytes, kRecordBytes - from);
      pieces.push_back({record.file, record.offset + from, memory.first(bytes)});
      memory = memory.subspan(bytes);
    }
  }
  return pieces;
}

// The simplest way there is: each reader reads one piece after the other.
Status ReadPlainly(const std::vector<Piece>& pieces, ThreadPool& readers) {
  std::vector<Status> failures(readers.threads());
  readers.ParallelFor(pieces.size(), 1, [&](size_t i, size_t, size_t reader) {
    if (failures[reader]) {
      failures[reader] = pieces[i].file->Read(pieces[i].offset, pieces[i].memory);
    }
  });
  for (const Status& status : failures) {
    COLI_RETURN_IF_ERROR(status);
  }
  return Ok();
}

// As experts are read: all are asked for at once.
Status ReadWithEngine(const std::vector<Piece>& pieces, IoEngine& io) {
  for (const Piece& piece : pieces) {
    io.Submit({&piece.file->file(), piece.offset, piece.memory});
  }
  Status status;
  while (io.in_flight() > 0) {
    const auto done = io.Wait(kClosePatience);
    if (!done) {
      return Fail(ErrorCode::kIo, "the drive does not answer: no read has ended for {} s",
                  kClosePatience.count() / 1000);
    }
    if (status && !done->status) {
      status = done->status;
    }
  }
  return status;
}

// What is measured, one way beside the other.
struct Reading {
  Reading() = default;
  Reading(Reading&&) = default;
  ~Reading() {
    if (engine.engine && !engine.engine->Close(kClosePatience)) {
      LeaveBehind(std::move(memory));  // a read that hangs may still write to it
    }
  }

  std::vector<const File*> files;
  std::unique_ptr<ThreadPool> readers;
  AlignedBuffer memory;
  OpenedIo engine;
  Runs plain;
  Runs with_engine;
};

Result<Reading> Prepare(BenchSession& session, const Drive& drive, size_t records) {
  Reading reading;
  for (const DiskFile& file : drive.files) {
    reading.files.push_back(&file.file());
  }
  IoSettings settings;
  settings.kind = session.options().engine.io;
  settings.direct = session.options().engine.direct;
  settings.threads = session.options().engine.io_threads;
  settings.streams = true;
  COLI_ASSIGN_OR_RETURN(reading.engine, OpenIo(settings, reading.files));
  COLI_ASSIGN_OR_RETURN(reading.readers, MakeFullPool(kReaders));
  COLI_ASSIGN_OR_RETURN(reading.memory, AlignedBuffer::Allocate(records * kRecordBytes));
  FillWithCodes(reading.memory.bytes());  // so that no page is new
  return reading;
}

// Reads the same records both ways. Which comes first changes from run to run: what the first one
// has read may be in the memory of the drive.
Status Read(Reading& reading, const std::vector<Record>& records, const Drive& drive) {
  const std::vector<Piece> pieces = CutUp(records, reading.memory.bytes());
  const bool engine_first = reading.plain.count() % 2 == 1;
  for (const bool engine : {engine_first, !engine_first}) {
    for (const DiskFile& file : drive.files) {
      file.DropPages();
    }
    const double begin = WallSeconds();
    COLI_RETURN_IF_ERROR(engine ? ReadWithEngine(pieces, *reading.engine.engine)
                                : ReadPlainly(pieces, *reading.readers));
    const double speed =
        static_cast<double>(records.size() * kRecordBytes) / (WallSeconds() - begin);
    (engine ? reading.with_engine : reading.plain).Add(1e-9 * speed);
  }
  return Ok();
}

Parameters ParametersOf(const Drive& drive, std::string reader) {
  return {{"by", std::move(reader)},
          {"from", drive.what},
          {"bytes", drive.bytes()},
          {"record", uint64_t{kRecordBytes}},
          {"page cache", drive.direct() ? "bypassed" : "used"}};
}

Status MeasureDrive(BenchSession& session, const Drive& drive) {
  const size_t records = session.quick() ? 2 : 16;
  COLI_ASSIGN_OR_RETURN(Reading reading, Prepare(session, drive, records));
  std::mt19937_64 generator(1);
  Status status;
  session.Repeat(
      [&] {
        if (status) {
          status = Read(reading, ChooseRecords(drive, records, generator), drive);
        }
      },
      session.quick() ? 2 : 8);
  COLI_RETURN_IF_ERROR(status);
  session.Add(Summarize("disk.read",
                        ParametersOf(drive, fmt::format("plain reads, depth {}", kReaders)), "GB/s",
                        reading.plain));
  session.Add(Summarize(
      "disk.read",
      ParametersOf(drive, DescribeIo(*reading.engine.engine, reading.engine.mode, reading.files)),
      "GB/s", reading.with_engine, "plain reads", reading.plain));
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
