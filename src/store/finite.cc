#include "store/finite.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace coli {
namespace {

// A float is not finite when all bits of its exponent are set; so all float formats can be tested
// without widening.
template <class Bits>
std::optional<uint64_t> FirstWithAllBits(std::span<const std::byte> bytes, Bits exponent) {
  constexpr size_t kBlock = 1024;  // elements; inside a block there are no branches
  const size_t count = bytes.size() / sizeof(Bits);
  const auto element = [bytes](size_t i) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    return bits;
  };
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(begin + kBlock, count);
    uint32_t found = 0;
    for (size_t i = begin; i < end; ++i) {
      found |= (element(i) & exponent) == exponent ? 1U : 0U;
    }
    for (size_t i = begin; found != 0 && i < end; ++i) {
      if ((element(i) & exponent) == exponent) {
        return i;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> FirstNonFinite(FormatId format, std::span<const std::byte> bytes) {
  switch (format) {
    case FormatId::kF32:
      return FirstWithAllBits<uint32_t>(bytes, 0x7f800000U);
    case FormatId::kBf16:
      return FirstWithAllBits<uint16_t>(bytes, 0x7f80U);
    case FormatId::kF16:
      return FirstWithAllBits<uint16_t>(bytes, 0x7c00U);
    case FormatId::kInt8Row:
    case FormatId::kInt4Row:
    case FormatId::kInt4Grouped:
      break;
  }
  COLI_CHECK(Info(format).arithmetic == Arithmetic::kInteger);
  return std::nullopt;
}

Status CheckScales(const WeightView& view, std::string_view place) {
  const uint64_t per_row = Info(view.format).row_scales(view.cols, view.format.group);
  const std::span<const float> scales(view.scales, view.rows * per_row);
  const auto is_bad = [](float scale) { return !(scale >= 0.0F && scale < __builtin_inff()); };
  uint32_t found = 0;
  for (const float scale : scales) {
    found |= is_bad(scale) ? 1U : 0U;
  }
  if (found == 0) {
    return Ok();
  }
  const size_t index = static_cast<size_t>(std::ranges::find_if(scales, is_bad) - scales.begin());
  return Fail(ErrorCode::kCorrupt, "{}: expected finite scales >= 0, found {} at row {}", place,
              scales[index], index / per_row);
}

Status CheckFloats(const WeightView& view, std::string_view place) {
  const uint64_t bytes = view.rows * Info(view.format).row_bytes(view.cols);
  if (const auto index = FirstNonFinite(view.format.id, {view.codes, bytes})) {
    return Fail(ErrorCode::kCorrupt,
                "{}: expected finite numbers, found one that is not at row {}, column {}", place,
                *index / view.cols, *index % view.cols);
  }
  return Ok();
}

}  // namespace coli
