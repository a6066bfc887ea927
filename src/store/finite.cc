#include "store/finite.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/checked_math.h"
#include "tensor/formats/scales.h"

namespace coli {
namespace {

// The first of `count` indices that `is_bad` of.
template <class IsBad>
std::optional<uint64_t> FirstThat(uint64_t count, const IsBad& is_bad) {
  constexpr uint64_t kBlock = 1024;  // indices; inside a block there are no branches
  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    const uint64_t end = std::min(begin + kBlock, count);
    uint32_t found = 0;
    for (uint64_t i = begin; i < end; ++i) {
      found |= is_bad(i) ? 1U : 0U;
    }
    for (uint64_t i = begin; found != 0 && i < end; ++i) {
      if (is_bad(i)) {
        return i;
      }
    }
  }
  return std::nullopt;
}

// A float is not finite when all bits of its exponent are set (in e4m3: of its magnitude); so all
// float formats can be tested without widening.
template <class Bits>
std::optional<uint64_t> FirstWithAllBits(std::span<const std::byte> bytes, Bits exponent) {
  return FirstThat(bytes.size() / sizeof(Bits), [bytes, exponent](uint64_t i) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    return (bits & exponent) == exponent;
  });
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
    case FormatId::kFp8E4m3B128:
      return FirstWithAllBits<uint8_t>(bytes, 0x7fU);
    case FormatId::kInt8Row:
    case FormatId::kInt4Row:
    case FormatId::kInt4Grouped:
    case FormatId::kInt2Row:
    case FormatId::kInt3G64:
    case FormatId::kMxfp4:
      break;
  }
  COLI_CHECK(Info(format).arithmetic == Arithmetic::kInteger);
  return std::nullopt;
}

Status CheckScales(const WeightView& view, FunctionRef<std::string()> place) {
  const FormatInfo& info = Info(view.format);
  const uint64_t per_row = RowScales(view.format, view.cols);
  const uint64_t count = CeilDiv(view.rows, info.scale_rows) * per_row;
  const std::optional<uint64_t> bad =
      info.scale_kind == ScaleKind::kF32
          ? FirstThat(count,
                      [&](uint64_t i) {
                        const float scale = LoadScale(view.scales, i);
                        return !(scale >= 0.0F && scale <= info.largest_scale);
                      })
          : FirstThat(count,
                      [&](uint64_t i) { return std::isnan(HalfPowerOfTwo(view.scales[i])); });
  if (bad) {
    return Fail(ErrorCode::kCorrupt,
                "{}: expected finite scales >= 0, at most {:g}, found {} at row {}", place(),
                info.largest_scale, Scale(view.format, view.scales, *bad),
                *bad / per_row * info.scale_rows);
  }
  return Ok();
}

Status CheckFloats(const WeightView& view, FunctionRef<std::string()> place) {
  const uint64_t bytes = view.rows * Info(view.format).row_bytes(view.cols);
  if (const auto index = FirstNonFinite(view.format.id, {view.codes, bytes})) {
    return Fail(ErrorCode::kCorrupt,
                "{}: expected finite numbers, found one that is not at row {}, column {}", place(),
                *index / view.cols, *index % view.cols);
  }
  return Ok();
}

}  // namespace coli
