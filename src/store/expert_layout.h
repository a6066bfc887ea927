// How the stored bytes of one expert lie in a buffer, and which reads bring them there. Pure.
//
// An expert is up to six extents: codes and scales of three matrices, anywhere in any file. Extents
// that touch in a file are read with one request and so lie in memory as they lie in the file;
// files of the colibri container keep the three codes together, and the three scales. Every read
// begins at a multiple of 64 in the buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "store/container.h"
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
  static constexpr size_t kMaxReads = 6;

  struct Read {
    const File* file = nullptr;
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;
    uint64_t position = 0;  // in the buffer
  };

  explicit ExpertLayout(const ExpertRecord& record);

  std::span<const Read> reads() const { return {reads_.data(), read_count_}; }
  // The expert in a buffer that all reads have filled; `buffer` is 64-byte aligned and holds
  // BufferBytes(record).
  FfnView View(const std::byte* buffer, const ExpertRecord& record) const;

  // The size of the buffer. It depends on shapes and formats only, not on where the extents lie, so
  // that experts of one kind can take each other's place.
  static uint64_t BufferBytes(const ExpertRecord& record);

 private:
  std::array<Read, kMaxReads> reads_;
  size_t read_count_ = 0;
  std::array<uint64_t, kMaxReads>
      positions_{};  // in the buffer: codes and scales of gate, up, down
};

}  // namespace coli
