#include "store/expert_layout.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/check.h"
#include "base/checked_math.h"
#include "sys/io_engine.h"

namespace coli {
namespace {

constexpr uint64_t kPage = kDirectAlignment;

// In the order of ExpertLayout::positions_.
std::array<const Extent*, 6> ExtentsOf(const ExpertRecord& record) {
  return {&record.gate.codes, &record.gate.scales, &record.up.codes,
          &record.up.scales,  &record.down.codes,  &record.down.scales};
}

bool IsScales(size_t extent) { return extent % 2 == 1; }

}  // namespace

// Each extent may be a run of its own, which begins and ends inside a page.
uint64_t ExpertLayout::BufferBytes(const ExpertRecord& record) {
  uint64_t bytes = 0;
  for (const Extent* extent : ExtentsOf(record)) {
    bytes += extent->bytes == 0 ? 0 : AlignUp(extent->bytes, kPage) + kPage;
  }
  return bytes;
}

ExpertLayout::ExpertLayout(const ExpertRecord& record) {
  const auto extents = ExtentsOf(record);
  std::array<size_t, kExtents> order{};
  std::iota(order.begin(), order.end(), size_t{0});
  // std::stable_sort would take memory.
  std::ranges::sort(order, {}, [&extents](size_t i) {
    return std::tuple(reinterpret_cast<uintptr_t>(extents[i]->file), extents[i]->offset, i);
  });

  std::array<Run, kExtents> runs;
  size_t count = 0;
  uint64_t end = 0;  // of the pages in the buffer that are taken so far
  for (const size_t i : order) {
    const Extent& extent = *extents[i];
    if (extent.bytes == 0) {
      continue;
    }
    Run* last = count == 0 ? nullptr : &runs[count - 1];
    // An extent that touches the last run or lies within it (gate and up of a fused, transposed
    // tensor are the same bytes) becomes part of it; scales that would come to lie across f32
    // boundaries are a run of their own.
    const bool touches =
        last != nullptr && last->file == extent.file && extent.offset <= last->offset + last->bytes;
    const uint64_t inside = touches ? last->position + (extent.offset - last->offset) : 0;
    if (touches && (!IsScales(i) || inside % alignof(float) == 0)) {
      positions_[i] = inside;
      last->bytes = std::max(last->bytes, extent.offset - last->offset + extent.bytes);
    } else {
      // Where the file keeps scales across f32 boundaries, memory must not.
      const bool whole_pages = !IsScales(i) || extent.offset % alignof(float) == 0;
      positions_[i] = end + (whole_pages ? extent.offset % kPage : 0);
      last = &runs[count++];
      *last = {extent.file, extent.offset, extent.bytes, positions_[i], whole_pages};
    }
    end = AlignUp(last->position + last->bytes, kPage);
  }
  COLI_CHECK(end <= BufferBytes(record));
  // Room for the first and the last piece of each run.
  const uint64_t piece_bytes =
      std::max(kPieceBytes, AlignUp(CeilDiv(end, kMaxPieces - 2 * kExtents), kPage));
  for (const Run& run : std::span(runs).first(count)) {
    AddRun(run, piece_bytes);
  }
  for (Piece& piece : std::span(pieces_).first(piece_count_)) {
    piece.only_down = std::ranges::none_of(extents, [&](const Extent* extent) {
      return extent != &record.down.codes && extent->file == piece.file &&
             extent->offset < piece.offset + piece.needed &&
             piece.offset < extent->offset + extent->bytes;
    });
  }
}

void ExpertLayout::AddRun(const Run& run, uint64_t piece_bytes) {
  const uint64_t before = run.whole_pages ? run.offset % kPage : 0;
  const uint64_t needed = before + run.bytes;
  const uint64_t bytes = run.whole_pages ? AlignUp(needed, kPage) : needed;
  for (uint64_t done = 0; done < bytes; done += piece_bytes) {
    COLI_CHECK(piece_count_ < kMaxPieces);
    pieces_[piece_count_++] = {run.file, run.offset - before + done,
                               std::min(piece_bytes, bytes - done),
                               std::min(piece_bytes, needed - done), run.position - before + done};
  }
}

uint64_t ExpertLayout::bytes() const {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces()) {
    bytes += piece.needed;
  }
  return bytes;
}

FfnView ExpertLayout::View(const std::byte* buffer, const ExpertRecord& record) const {
  const auto matrix = [&](const StoredMatrix& stored, size_t codes) {
    WeightView view{buffer + positions_[codes], nullptr, stored.rows, stored.cols, stored.format};
    if (stored.scales.bytes != 0) {
      view.scales = buffer + positions_[codes + 1];
    }
    return view;
  };
  return {matrix(record.gate, 0), matrix(record.up, 2), matrix(record.down, 4)};
}

}  // namespace coli
