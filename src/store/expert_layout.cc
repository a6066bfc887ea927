#include "store/expert_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "base/checked_math.h"

namespace coli {
namespace {

// In the order of ExpertLayout::positions_.
std::array<const Extent*, ExpertLayout::kMaxReads> ExtentsOf(const ExpertRecord& record) {
  return {&record.gate.codes, &record.gate.scales, &record.up.codes,
          &record.up.scales,  &record.down.codes,  &record.down.scales};
}

bool IsScales(size_t extent) { return extent % 2 == 1; }

}  // namespace

uint64_t ExpertLayout::BufferBytes(const ExpertRecord& record) {
  uint64_t bytes = 0;
  for (const Extent* extent : ExtentsOf(record)) {
    bytes += AlignUp(extent->bytes, kMatrixAlignment);
  }
  return bytes;
}

ExpertLayout::ExpertLayout(const ExpertRecord& record) {
  const auto extents = ExtentsOf(record);
  std::array<size_t, kMaxReads> order{};
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&extents](size_t a, size_t b) {
    if (extents[a]->file != extents[b]->file) {
      return std::less<>{}(extents[a]->file, extents[b]->file);
    }
    return extents[a]->offset < extents[b]->offset;
  });

  uint64_t end = 0;  // of what is placed in the buffer so far
  for (const size_t i : order) {
    const Extent& extent = *extents[i];
    if (extent.bytes == 0) {
      continue;
    }
    Read* last = read_count_ == 0 ? nullptr : &reads_[read_count_ - 1];
    // An extent that touches the last read or lies within it (gate and up of a fused, transposed
    // tensor are the same bytes) becomes part of it; scales that would come to lie across f32
    // boundaries start a read of their own.
    const bool touches =
        last != nullptr && last->file == extent.file && extent.offset <= last->offset + last->bytes;
    const uint64_t inside = touches ? last->position + (extent.offset - last->offset) : 0;
    if (touches && (!IsScales(i) || inside % alignof(float) == 0)) {
      positions_[i] = inside;
      last->bytes = std::max(last->bytes, extent.offset - last->offset + extent.bytes);
      end = last->position + last->bytes;
    } else {
      positions_[i] = AlignUp(end, kMatrixAlignment);
      reads_[read_count_++] = {extent.file, extent.offset, extent.bytes, positions_[i]};
      end = positions_[i] + extent.bytes;
    }
  }
  COLI_CHECK(end <= BufferBytes(record));
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
