#include "sys/depth_probe.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/check.h"
#include "sys/aligned_buffer.h"
#include "sys/left_behind.h"

namespace coli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kPiece = DepthProbe::kPieceBytes;

// Places in files; a byte of any file is as likely as one of another.
class RandomPieces {
 public:
  RandomPieces(std::span<const File* const> files, uint64_t seed) : random_(seed) {
    for (const File* file : files) {
      if (const uint64_t pieces = file->size() / kPiece; pieces >= kLeastPieces) {
        ends_.push_back((ends_.empty() ? 0 : ends_.back()) + pieces);
        files_.push_back(file);
      }
    }
  }

  bool empty() const { return files_.empty(); }
  ReadRequest Next(std::span<std::byte> destination, uint64_t tag) {
    const uint64_t piece = random_() % ends_.back();
    const size_t i = static_cast<size_t>(std::ranges::upper_bound(ends_, piece) - ends_.begin());
    const uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return {files_[i], (piece - begin) * kPiece, destination, tag};
  }

 private:
  static constexpr uint64_t kLeastPieces = 16;  // else the drive's own memory is measured

  std::mt19937_64 random_;
  std::vector<const File*> files_;
  std::vector<uint64_t> ends_;  // in pieces, summed up
};

// Keeps `depth` reads in flight for `time`; bytes per second.
Result<double> Measure(IoEngine& io, size_t depth, Clock::duration time, RandomPieces& pieces,
                       std::span<std::byte> memory) {
  // In turn through all of the memory, at every depth: what is read again and again into a little
  // of it stays in a cache. A slow read may share its place with a later one; nobody looks.
  uint64_t place = 0;
  const auto submit = [&](uint64_t tag) {
    io.Submit(pieces.Next(memory.subspan(place * kPiece, kPiece), tag));
    place = (place + 1) % (memory.size() / kPiece);
  };
  const Clock::time_point begin = Clock::now();
  for (size_t tag = 0; tag < depth; ++tag) {
    submit(tag);
  }
  uint64_t bytes = 0;
  while (io.in_flight() > 0) {
    const auto done = io.Wait(kClosePatience);
    if (!done) {
      return Fail(ErrorCode::kIo, "a read did not end in {} ms", kClosePatience.count());
    }
    COLI_RETURN_IF_ERROR(done->status);
    bytes += kPiece;
    if (Clock::now() - begin < time) {
      submit(done->tag);
    }
  }
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  return static_cast<double>(bytes) / seconds.count();
}

}  // namespace

size_t ChooseDepth(std::span<const DepthSpeed> speeds) {
  constexpr double kTolerance = 0.1;  // the noise of so short a measurement
  COLI_CHECK(!speeds.empty());
  const double best = std::ranges::max(speeds, {}, &DepthSpeed::bytes_per_second).bytes_per_second;
  size_t chosen = 0;
  for (const DepthSpeed& speed : speeds) {
    if (speed.bytes_per_second >= best * (1 - kTolerance)) {
      chosen = std::max(chosen, speed.depth);
    }
  }
  return chosen;
}

Result<std::vector<DepthSpeed>> MeasureDepths(std::span<const File* const> files,
                                              const MakeEngineOfDepth& make,
                                              const DepthProbe& probe) {
  RandomPieces pieces(files, probe.seed);
  std::vector<DepthSpeed> speeds;
  if (pieces.empty()) {
    return speeds;
  }
  const size_t deepest = *std::ranges::max_element(DepthProbe::kDepths);
  COLI_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(deepest * kPiece));
  // Pages that are new would cost the engine that touches them first.
  std::ranges::fill(buffer.bytes(), std::byte{1});
  const Clock::duration time = Clock::duration(probe.time) / DepthProbe::kRounds /
                               static_cast<int>(std::size(DepthProbe::kDepths));
  for (const size_t depth : DepthProbe::kDepths) {
    speeds.push_back({depth, 0});
  }
  for (int round = 0; round < DepthProbe::kRounds; ++round) {
    for (DepthSpeed& speed : speeds) {
      COLI_ASSIGN_OR_RETURN(const std::unique_ptr<IoEngine> io, make(speed.depth));
      const auto measured = Measure(*io, speed.depth, time, pieces, buffer.bytes());
      if (!measured) {
        if (!io->Close(kClosePatience)) {
          LeaveBehind(std::move(buffer));  // a read that hangs may still write to it
        }
        return tl::unexpected(measured.error());
      }
      speed.bytes_per_second += *measured / DepthProbe::kRounds;
    }
  }
  return speeds;
}

}  // namespace coli
