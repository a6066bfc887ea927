#include "tensor/format.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/checked_math.h"

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
  return CheckedProduct({rows, Info(format).row_scales(cols, format.group), sizeof(float)});
}

}  // namespace coli
