// Activations as products with integer weights take them: quantised per segment of columns, in the
// planes of the weights. Included by the .cc files of instruction sets, as kernels/tiles.h.
//
// A prepared row: one scale per segment, padded to a line; then per segment eight starting sums
// (what is stored of a weight exceeds its code by an offset, so minus the offset times the sum of
// the lane's activations) and the planes of its chunks of 16 * kPlanes columns. Of a chunk, 16-bit
// lane j of plane p holds column kPlanes * j + p; columns beyond the segment have activation 0.
#pragma once

#include "kernels/tiles.h"

namespace coli {
namespace {

constexpr uint32_t kMaxSegment = 256;
constexpr uint32_t kPlaneLanes = 16;
constexpr size_t kPlaneBytes = kPlaneLanes * sizeof(int16_t);
constexpr size_t kSumsBytes = 8 * sizeof(int32_t);

// Packing: kPlanes, and kSegment, the columns of a segment where the format has no groups.
template <class Packing>
struct PlanesLayout {
  static constexpr uint32_t kChunkColumns = kPlaneLanes * Packing::kPlanes;
  static constexpr size_t kChunkPlanesBytes = Packing::kPlanes * kPlaneBytes;

  uint32_t segment;  // columns
  uint32_t segments;
  uint32_t chunks;  // per segment
  size_t scale_bytes;
  size_t record_bytes;  // of one segment

  PlanesLayout(Format format, uint32_t cols)
      : segment(format.group != 0 ? format.group : Packing::kSegment),
        segments(CeilDivide(cols, segment)),
        chunks(CeilDivide(segment, kChunkColumns)),
        scale_bytes(RoundUpToLine(segments * sizeof(float))),
        record_bytes(kSumsBytes + chunks * kChunkPlanesBytes) {}
};

template <class Packing>
size_t PlanesPreparedBytes(Format format, uint32_t cols) {
  const PlanesLayout<Packing> layout(format, cols);
  return RoundUpToLine(layout.scale_bytes + layout.segments * layout.record_bytes);
}

struct SegmentCodes {
  float scale;
  alignas(32) int16_t codes[kMaxSegment];  // zero after the last column
};

// Quantises the `count` columns of a segment whose largest magnitude has the bits `absmax_bits`.
// quantize(x, scale, codes) does kStep columns.
template <uint32_t kStep, class Quantize>
inline void QuantizeColumns(const float* x, uint32_t count, uint32_t absmax_bits,
                            SegmentCodes& segment, const Quantize& quantize) {
  float absmax = 0;
  memcpy(&absmax, &absmax_bits, sizeof(absmax));
  const bool finite = absmax_bits < 0x7f800000U;
  segment.scale = finite ? absmax / 32767.0F : __builtin_nanf("");
  memset(segment.codes, 0, sizeof(segment.codes));
  if (!finite || segment.scale == 0.0F) {
    return;
  }
  uint32_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    quantize(x + i, segment.scale, segment.codes + i);
  }
  if (i < count) {
    float tail[kStep] = {};
    memcpy(tail, x + i, (count - i) * sizeof(float));
    quantize(tail, segment.scale, segment.codes + i);
  }
}

}  // namespace
}  // namespace coli
