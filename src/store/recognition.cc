#include "store/recognition.h"

#include <array>
#include <string>

#include "base/checked_math.h"

namespace coli {
namespace {

// Formats that files may hold and this program does not compute with. A line disappears from effect
// when the format gets its line in formats.def.
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
bool FitsFp8(const QuantizedBytes& q) {
  // f32 block scales, or one byte per block (UE8M0).
  const uint64_t blocks = CeilDiv(q.rows, 128) * CeilDiv(q.cols, 128);
  return Equals(q.code_bytes, {q.rows, q.cols}) &&
         (Equals(q.scale_bytes, {blocks, 4}) || q.scale_bytes == blocks);
}
bool FitsInt2Row(const QuantizedBytes& q) {
  return Equals(q.code_bytes, {q.rows, CeilDiv(q.cols, 4)}) && Equals(q.scale_bytes, {q.rows, 4});
}
bool FitsInt3Grouped(const QuantizedBytes& q) {
  const uint64_t groups = CeilDiv(q.cols, 64);
  return Equals(q.code_bytes, {q.rows, groups, 24}) && Equals(q.scale_bytes, {q.rows, groups, 4});
}
bool NeverByBytes(const QuantizedBytes&) { return false; }

constexpr std::array kForeignFormats = {
    ForeignFormat{"e8-iq3-lattice", FitsE8},        ForeignFormat{"fp8-e4m3-b128", FitsFp8},
    ForeignFormat{"int2-row", FitsInt2Row},         ForeignFormat{"int3-g64", FitsInt3Grouped},
    ForeignFormat{"int4-rans256-g0", NeverByBytes}, ForeignFormat{"mxfp4", NeverByBytes},
};

bool Fits(Format format, const QuantizedBytes& q) {
  return CodeBytes(format, q.rows, q.cols) == q.code_bytes &&
         ScaleBytes(format, q.rows, q.cols) == q.scale_bytes;
}

std::optional<Format> FindGrouped(const QuantizedBytes& q) {
  for (const FormatInfo& info : AllFormats()) {
    if (info.arithmetic != Arithmetic::kInteger || !info.grouped) {
      continue;
    }
    for (const uint32_t group : kGroupSizes) {
      if (group <= q.cols && Fits({info.id, group}, q)) {
        return Format{info.id, group};
      }
    }
  }
  return std::nullopt;
}

std::optional<Format> FindPerRow(const QuantizedBytes& q) {
  for (const FormatInfo& info : AllFormats()) {
    if (info.arithmetic == Arithmetic::kInteger && !info.grouped && Fits({info.id}, q)) {
      return Format{info.id};
    }
  }
  return std::nullopt;
}

std::string_view FindForeign(const QuantizedBytes& q) {
  for (const ForeignFormat& format : kForeignFormats) {
    if (!FindFormat(format.name) && format.fits(q)) {
      return format.name;
    }
  }
  return {};
}

// The layouts that the shape allows, for the message when none fits.
std::string Expectations(const QuantizedBytes& q) {
  std::string text;
  for (const FormatInfo& info : AllFormats()) {
    if (info.arithmetic != Arithmetic::kInteger) {
      continue;
    }
    const Format format{info.id, info.grouped ? kGroupSizes[0] : 0};
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

Result<Format> Agree(Format recognized, std::string_view stamp, const QuantizedBytes& q,
                     std::string_view place) {
  const std::optional<FormatId> stamped = FindFormat(stamp);
  if (stamped == recognized.id) {
    return recognized;
  }
  if (const auto format = stamped ? AsStamped(*stamped, q) : std::nullopt) {
    return *format;
  }
  return Fail(ErrorCode::kCorrupt,
              "{}: expected {} as its stamp says, found {} + {} bytes, which for [{}, {}] is {}",
              place, stamp, q.code_bytes, q.scale_bytes, q.rows, q.cols, Info(recognized).name);
}

}  // namespace

bool IsKnownFormatName(std::string_view name) {
  if (FindFormat(name)) {
    return true;
  }
  for (const ForeignFormat& format : kForeignFormats) {
    if (format.name == name) {
      return true;
    }
  }
  return false;
}

Result<Format> RecognizeFormat(const QuantizedBytes& found, std::optional<std::string_view> stamp,
                               std::string_view place) {
  const auto unsupported = [&](std::string_view name) {
    return Fail(ErrorCode::kUnsupported,
                "{}: format {} is not implemented ([{}, {}], {} + {} bytes)", place, name,
                found.rows, found.cols, found.code_bytes, found.scale_bytes);
  };
  if (stamp && IsKnownFormatName(*stamp) && !FindFormat(*stamp)) {
    return unsupported(*stamp);
  }
  std::optional<Format> recognized = FindGrouped(found);
  if (!recognized) {
    recognized = FindPerRow(found);
  }
  if (recognized) {
    return stamp ? Agree(*recognized, *stamp, found, place) : *recognized;
  }
  if (const std::string_view foreign = FindForeign(found); !foreign.empty()) {
    return unsupported(foreign);
  }
  return Fail(ErrorCode::kCorrupt, "{}: expected for [{}, {}] {}; found {} + {} bytes", place,
              found.rows, found.cols, Expectations(found), found.code_bytes, found.scale_bytes);
}

}  // namespace coli
