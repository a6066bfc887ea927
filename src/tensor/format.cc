#include "tensor/format.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/checked_math.h"
#include "tensor/formats/scales.h"

namespace coli {

#define COLI_FORMAT(id, name, info) extern const FormatInfo info;
#include "tensor/formats.def"
#undef COLI_FORMAT

namespace {

FormatInfo Named(FormatInfo info, FormatId id, std::string_view name) {
  info.id = id;
  info.name = name;
  return info;
}

uint64_t BytesPerScale(ScaleKind kind) {
  switch (kind) {
    case ScaleKind::kNone:
      return 0;
    case ScaleKind::kF32:
      return sizeof(float);
    case ScaleKind::kHalfPowerOfTwo:
      return 1;
  }
  return 0;
}

}  // namespace

std::span<const FormatInfo> AllFormats() {
  static const std::array table = {
#define COLI_FORMAT(id, name, info) Named(info, FormatId::id, name),
#include "tensor/formats.def"
#undef COLI_FORMAT
  };
  return table;
}

const FormatInfo& Info(FormatId id) {
  const std::span<const FormatInfo> formats = AllFormats();
  COLI_CHECK(static_cast<size_t>(id) < formats.size());
  return formats[static_cast<size_t>(id)];
}

std::optional<FormatId> FindFormat(std::string_view name) {
  for (const FormatInfo& info : AllFormats()) {
    if (info.name == name) {
      return info.id;
    }
  }
  return std::nullopt;
}

bool IsValid(Format format) {
  if (static_cast<size_t>(format.id) >= AllFormats().size()) {
    return false;
  }
  if (!Info(format).grouped) {
    return format.group == 0;
  }
  return std::ranges::find(kGroupSizes, format.group) != std::end(kGroupSizes);
}

std::optional<uint64_t> CodeBytes(Format format, uint64_t rows, uint64_t cols) {
  return CheckedMul(rows, Info(format).row_bytes(cols));
}

std::optional<uint64_t> ScaleBytes(Format format, uint64_t rows, uint64_t cols) {
  return CheckedMul(CeilDiv(rows, Info(format).scale_rows), RowScaleBytes(format, cols));
}

uint64_t RowScales(Format format, uint64_t cols) {
  if (Info(format).scale_kind == ScaleKind::kNone) {
    return 0;
  }
  const uint32_t columns = ScaleColumns(format);
  return columns == 0 ? 1 : CeilDiv(cols, columns);
}

uint64_t RowScaleBytes(Format format, uint64_t cols) {
  return RowScales(format, cols) * BytesPerScale(Info(format).scale_kind);
}

float Scale(Format format, const std::byte* scales, uint64_t index) {
  const ScaleKind kind = Info(format).scale_kind;
  COLI_CHECK(kind != ScaleKind::kNone);
  return kind == ScaleKind::kF32 ? LoadScale(scales, index) : HalfPowerOfTwo(scales[index]);
}

}  // namespace coli
