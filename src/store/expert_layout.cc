#include "store/expert_layout.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/check.h"
#include "base/checked_math.h"

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
  // Each run may have a piece that is not full, and down's run has two cuts.
  const uint64_t piece_bytes =
      std::max(kPieceBytes, AlignUp(CeilDiv(end, kMaxPieces - 2 * kExtents), kPage));
  for (const Run& run : std::span(runs).first(count)) {
    AddRun(run, record.down.codes, piece_bytes);
  }
  for (Piece& piece : std::span(pieces_).first(piece_count_)) {
    piece.only_down = std::ranges::none_of(extents, [&](const Extent* extent) {
      return extent != &record.down.codes && extent->file == piece.file &&
             extent->offset < piece.offset + piece.needed &&
             piece.offset < extent->offset + extent->bytes;
    });
  }
}

void ExpertLayout::AddRun(const Run& run, const Extent& down, uint64_t piece_bytes) {
  const uint64_t end = run.offset + run.bytes;
  if (!run.whole_pages) {
    return AddPieces(run, run.offset, end, piece_bytes);
  }
  uint64_t begin = run.offset / kPage * kPage;
  if (down.file == run.file && end - begin > piece_bytes) {
    const uint64_t down_end = down.offset + down.bytes;
    for (const uint64_t cut :
         {AlignUp(down.offset, kPage), down_end < end ? down_end / kPage * kPage : end}) {
      if (begin < cut && cut < end) {
        AddPieces(run, begin, cut, piece_bytes);
        begin = cut;
      }
    }
  }
  AddPieces(run, begin, AlignUp(end, kPage), piece_bytes);
}

// Bytes of the file from `begin` to `end`, in pieces of about the same size.
void ExpertLayout::AddPieces(const Run& run, uint64_t begin, uint64_t end, uint64_t piece_bytes) {
  const uint64_t part = AlignUp(CeilDiv(end - begin, CeilDiv(end - begin, piece_bytes)), kPage);
  for (uint64_t at = begin; at < end; at += part) {
    COLI_CHECK(piece_count_ < kMaxPieces);
    const uint64_t bytes = std::min(part, end - at);
    pieces_[piece_count_++] = {run.file, at, bytes, std::min(bytes, run.offset + run.bytes - at),
                               run.position + at - run.offset};
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
