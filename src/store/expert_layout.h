// How the stored bytes of one expert lie in a buffer, and which reads bring them there. Pure.
//
// An expert is up to six extents: codes and scales of three matrices, anywhere in any file. Extents
// that touch in a file are one run, which lies in memory as it lies in the file; files of the
// colibri container keep the three codes together, and the three scales.
//
// A run is read as the whole pages of the file that it lies in, in pieces of a few MiB that can be
// in flight together. Where codes of down begin, a piece of several ends, so that gate and up need
// not wait for them. So a run begins in its first page of the buffer where it begins in its first
// page of the file, and what else those pages hold comes along: such reads suit drives that are
// read directly, past the system's page cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "store/container.h"
#include "sys/io_engine.h"
#include "tensor/tensor_view.h"

namespace coli {

// Where the three matrices of one expert lie.
struct ExpertRecord {
  StoredMatrix gate;
  StoredMatrix up;
  StoredMatrix down;
  bool converts() const { return gate.converts() || up.converts() || down.converts(); }
};

class ExpertLayout {
 public:
  static constexpr size_t kMaxPieces = 64;
  // More where there would be too many.
  static constexpr uint64_t kPieceBytes = kReadPieceBytes;

  struct Piece {
    const File* file = nullptr;
    uint64_t offset = 0;    // in the file
    uint64_t bytes = 0;     // may go on past the end of the file
    uint64_t needed = 0;    // the first bytes that the expert has use for, <= bytes
    uint64_t position = 0;  // in the buffer
    // Holds nothing but codes of `down`, which has use only when gate and up have been computed.
    bool only_down = false;
  };

  explicit ExpertLayout(const ExpertRecord& record);

  std::span<const Piece> pieces() const { return {pieces_.data(), piece_count_}; }
  // Of all pieces.
  uint64_t bytes() const;
  // The expert in a buffer that all pieces have filled; `buffer` is page-aligned and holds
  // BufferBytes(record).
  FfnView View(const std::byte* buffer, const ExpertRecord& record) const;

  // The size of the buffer. It depends on shapes and formats only, not on where the extents lie, so
  // that experts of one kind can take each other's place.
  static uint64_t BufferBytes(const ExpertRecord& record);

 private:
  static constexpr size_t kExtents = 6;

  struct Run {
    const File* file = nullptr;
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;
    uint64_t position = 0;  // in the buffer
    bool whole_pages = true;
  };
  void AddRun(const Run& run, const Extent& down, uint64_t piece_bytes);
  void AddPieces(const Run& run, uint64_t begin, uint64_t end, uint64_t piece_bytes);

  std::array<Piece, kMaxPieces> pieces_;
  size_t piece_count_ = 0;
  // In the buffer: codes and scales of gate, up, down.
  std::array<uint64_t, kExtents> positions_{};
};

}  // namespace coli
