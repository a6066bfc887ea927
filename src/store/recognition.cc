#include "store/recognition.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/checked_math.h"

namespace coli {
namespace {

// Formats that files may be said to hold and that are not read from them.
struct ForeignFormat {
  std::string_view name;
  bool (*fits)(const QuantizedBytes&);
};

bool Equals(uint64_t bytes, std::initializer_list<uint64_t> factors) {
  return CheckedProduct(factors) == bytes;
}

bool FitsE8(const QuantizedBytes& q) {
  return q.cols % 256 == 0 && q.scale_bytes == 4 &&
         Equals(q.code_bytes, {q.rows, q.cols / 256, 98});
}
bool FitsFp8OfByteScales(const QuantizedBytes& q) {
  return Equals(q.code_bytes, {q.rows, q.cols}) &&
         q.scale_bytes == CeilDiv(q.rows, 128) * CeilDiv(q.cols, 128);
}
bool NeverByBytes(const QuantizedBytes&) { return false; }

constexpr std::array kForeignFormats = {
    ForeignFormat{"e8-iq3-lattice", FitsE8},
    ForeignFormat{"fp8-e4m3-b128 with UE8M0 scales", FitsFp8OfByteScales},
    ForeignFormat{"int4-rans256-g0", NeverByBytes},
    ForeignFormat{"mxfp4", NeverByBytes},
};

bool Fits(Format format, const QuantizedBytes& q) {
  return CodeBytes(format, q.rows, q.cols) == q.code_bytes &&
         ScaleBytes(format, q.rows, q.cols) == q.scale_bytes;
}

// The formats that byte counts can tell, in the order in which they are tried: of two that take the
// same bytes the first is meant.
constexpr std::array kByBytes = {FormatId::kInt8Row, FormatId::kInt4Grouped,
                                 FormatId::kInt4Row, FormatId::kInt2Row,
                                 FormatId::kInt3G64, FormatId::kFp8E4m3B128};

// Grouped formats: the finest group that fits.
std::optional<Format> FindByBytes(const QuantizedBytes& q) {
  for (const FormatId id : kByBytes) {
    if (!Info(id).grouped && Fits({id}, q)) {
      return Format{id};
    }
    for (const uint32_t group : kGroupSizes) {
      if (Info(id).grouped && group <= q.cols && Fits({id, group}, q)) {
        return Format{id, group};
      }
    }
  }
  return std::nullopt;
}

std::string_view FindForeign(const QuantizedBytes& q) {
  for (const ForeignFormat& format : kForeignFormats) {
    if (format.fits(q)) {
      return format.name;
    }
  }
  return {};
}

bool IsForeign(std::string_view name) {
  return std::ranges::find(kForeignFormats, name, &ForeignFormat::name) !=
         std::end(kForeignFormats);
}

// The layouts that the shape allows, for the message when none fits.
std::string Expectations(const QuantizedBytes& q) {
  std::string text;
  for (const FormatId id : kByBytes) {
    const FormatInfo& info = Info(id);
    const Format format{id, info.grouped ? kGroupSizes[0] : 0};
    text += fmt::format("{}{} + {}{} bytes ({})", text.empty() ? "" : ", or ",
                        CodeBytes(format, q.rows, q.cols).value_or(0), info.grouped ? "up to " : "",
                        ScaleBytes(format, q.rows, q.cols).value_or(0), info.name);
  }
  return text;
}

// The format that a stamp names, if the bytes can be in it. Where several formats take the same
// bytes (a grouped one with a single group per row and the one with one scale per row), the stamp
// decides.
std::optional<Format> AsStamped(FormatId stamped, const QuantizedBytes& q) {
  if (!Info(stamped).grouped) {
    return Fits({stamped}, q) ? std::optional(Format{stamped}) : std::nullopt;
  }
  for (const uint32_t group : kGroupSizes) {
    if (Fits({stamped, group}, q)) {
      return Format{stamped, group};
    }
  }
  return std::nullopt;
}

Result<Format> Agree(Format recognized, std::string_view stamp, const QuantizedBytes& q) {
  const std::optional<FormatId> stamped = FindFormat(stamp);
  if (stamped == recognized.id) {
    return recognized;
  }
  if (const auto format = stamped ? AsStamped(*stamped, q) : std::nullopt) {
    return *format;
  }
  return Fail(ErrorCode::kCorrupt,
              "expected {} as its stamp says, found {} + {} bytes, which for [{}, {}] is {}", stamp,
              q.code_bytes, q.scale_bytes, q.rows, q.cols, Info(recognized).name);
}

}  // namespace

bool IsKnownFormatName(std::string_view name) { return FindFormat(name) || IsForeign(name); }

Result<Format> RecognizeFormat(const QuantizedBytes& found, std::optional<std::string_view> stamp) {
  const auto unsupported = [&](std::string_view name) {
    return Fail(ErrorCode::kUnsupported,
                "format {} is not implemented in containers ([{}, {}], {} + {} bytes)", name,
                found.rows, found.cols, found.code_bytes, found.scale_bytes);
  };
  if (stamp && IsForeign(*stamp)) {
    return unsupported(*stamp);
  }
  if (const std::optional<Format> recognized = FindByBytes(found)) {
    return stamp ? Agree(*recognized, *stamp, found) : *recognized;
  }
  if (const std::string_view foreign = FindForeign(found); !foreign.empty()) {
    return unsupported(foreign);
  }
  return Fail(ErrorCode::kCorrupt, "expected for [{}, {}] {}; found {} + {} bytes", found.rows,
              found.cols, Expectations(found), found.code_bytes, found.scale_bytes);
}

}  // namespace coli
