#include "store/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/json.h"

namespace coli {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  uint32_t bits;
};
constexpr std::array kDTypes = {
    DTypeFacts{DType::kF32, "F32", 32},       DTypeFacts{DType::kBf16, "BF16", 16},
    DTypeFacts{DType::kF16, "F16", 16},       DTypeFacts{DType::kU8, "U8", 8},
    DTypeFacts{DType::kI8, "I8", 8},          DTypeFacts{DType::kF8E4m3, "F8_E4M3", 8},
    DTypeFacts{DType::kF8E5m2, "F8_E5M2", 8}, DTypeFacts{DType::kF8E8m0, "F8_E8M0", 8},
    DTypeFacts{DType::kF6E2m3, "F6_E2M3", 6}, DTypeFacts{DType::kF6E3m2, "F6_E3M2", 6},
    DTypeFacts{DType::kF4, "F4", 4},          DTypeFacts{DType::kBool, "BOOL", 8},
    DTypeFacts{DType::kI16, "I16", 16},       DTypeFacts{DType::kU16, "U16", 16},
    DTypeFacts{DType::kI32, "I32", 32},       DTypeFacts{DType::kU32, "U32", 32},
    DTypeFacts{DType::kI64, "I64", 64},       DTypeFacts{DType::kU64, "U64", 64},
    DTypeFacts{DType::kF64, "F64", 64},       DTypeFacts{DType::kC64, "C64", 64},
};

struct Spelling {
  std::string_view other;
  DType dtype;
};
constexpr std::array kOtherSpellings = {Spelling{"F8_E4M3FN", DType::kF8E4m3},
                                        Spelling{"FLOAT8_E4M3FN", DType::kF8E4m3},
                                        Spelling{"F8_E8M0FNU", DType::kF8E8m0}};

const DTypeFacts& Facts(DType dtype) {
  const DTypeFacts& facts = kDTypes.at(static_cast<size_t>(dtype));
  COLI_CHECK(facts.dtype == dtype);
  return facts;
}

std::optional<DType> FindDType(std::string_view name) {
  for (const DTypeFacts& facts : kDTypes) {
    if (facts.name == name) {
      return facts.dtype;
    }
  }
  for (const Spelling& spelling : kOtherSpellings) {
    if (spelling.other == name) {
      return spelling.dtype;
    }
  }
  return std::nullopt;
}

// A name as it may be shown: control characters and other bytes that are not ASCII escaped, long
// ones cut.
std::string Printable(std::string_view name) {
  constexpr size_t kShown = 80;
  std::string shown;
  for (const char c : name.substr(0, kShown)) {
    if (c >= ' ' && c <= '~') {
      shown.push_back(c);
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return name.size() > kShown ? shown + "..." : shown;
}

std::string Excerpt(const Json& value) {
  return Printable(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

// Builds the error of one tensor: "<source>: tensor <name>: expected <expected>, found <found>".
struct TensorPlace {
  std::string_view source;
  std::string_view name;

  tl::unexpected<Error> Mismatch(std::string_view expected, std::string_view found) const {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {}: expected {}, found {}", source,
                Printable(name), expected, found);
  }
};

Status CheckName(const TensorPlace& place) {
  const bool printable =
      std::ranges::all_of(place.name, [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable || place.name.empty() || place.name.size() > SafetensorsHeader::kMaxNameBytes) {
    return place.Mismatch(
        fmt::format("a name of 1 to {} printable ASCII bytes", SafetensorsHeader::kMaxNameBytes),
        fmt::format("{} bytes", place.name.size()));
  }
  return Ok();
}

Result<DType> ParseDType(const Json& value, const TensorPlace& place) {
  if (value.is_string()) {
    if (const auto dtype = FindDType(value.get_ref<const std::string&>())) {
      return *dtype;
    }
  }
  return place.Mismatch("a known dtype", Excerpt(value));
}

Result<std::vector<uint64_t>> ParseUnsigned(const Json& value, std::string_view what,
                                            size_t max_count, const TensorPlace& place) {
  const auto is_unsigned = [](const Json& number) { return number.is_number_unsigned(); };
  if (!value.is_array() || value.size() > max_count ||
      !std::all_of(value.begin(), value.end(), is_unsigned)) {
    return place.Mismatch(fmt::format("{} of at most {} integers >= 0", what, max_count),
                          Excerpt(value));
  }
  return value.get<std::vector<uint64_t>>();
}

// The bytes that dtype and shape ask for; an error when they are no whole number or do not fit 64
// bits.
Result<uint64_t> BytesOf(DType dtype, std::span<const uint64_t> shape, const TensorPlace& place) {
  const auto elements = CheckedProduct(shape);
  const auto bits = elements ? CheckedMul(*elements, Facts(dtype).bits) : std::nullopt;
  if (!bits || *bits % 8 != 0) {
    return place.Mismatch("a shape whose size is a number of bytes below 2^61",
                          fmt::format("{} {}", Name(dtype), ShapeText(shape)));
  }
  return *bits / 8;
}

Result<SafetensorsHeader::Entry> ParseEntry(const std::string& name, const Json& value,
                                            std::string_view source) {
  const TensorPlace place{source, name};
  COLI_RETURN_IF_ERROR(CheckName(place));
  const bool complete = value.is_object() && value.size() == 3 && value.contains("dtype") &&
                        value.contains("shape") && value.contains("data_offsets");
  if (!complete) {
    return place.Mismatch("an object of dtype, shape and data_offsets", Excerpt(value));
  }
  COLI_ASSIGN_OR_RETURN(const DType dtype, ParseDType(value["dtype"], place));
  COLI_ASSIGN_OR_RETURN(
      auto shape, ParseUnsigned(value["shape"], "a shape", SafetensorsHeader::kMaxRank, place));
  COLI_ASSIGN_OR_RETURN(const auto offsets,
                        ParseUnsigned(value["data_offsets"], "data_offsets", 2, place));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return place.Mismatch("data_offsets [begin, end] with begin <= end",
                          Excerpt(value["data_offsets"]));
  }
  COLI_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(dtype, shape, place));
  if (bytes != offsets[1] - offsets[0]) {
    return place.Mismatch(fmt::format("{} bytes ({} {})", bytes, Name(dtype), ShapeText(shape)),
                          fmt::format("{}", offsets[1] - offsets[0]));
  }
  return SafetensorsHeader::Entry{name, dtype, std::move(shape), offsets[0], offsets[1]};
}

Result<std::map<std::string, std::string, std::less<>>> ParseMetadata(const Json& value,
                                                                      std::string_view source) {
  std::map<std::string, std::string, std::less<>> metadata;
  if (!value.is_object()) {
    return Fail(ErrorCode::kCorrupt, "{}: __metadata__: expected an object of strings, found {}",
                source, Excerpt(value));
  }
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      return Fail(ErrorCode::kCorrupt, "{}: __metadata__: {}: expected a string, found {}", source,
                  Printable(key), Excerpt(text));
    }
    metadata.emplace(key, text.get_ref<const std::string&>());
  }
  return metadata;
}

// The tensors, which are sorted by place, must cover [0, data_bytes) exactly.
Status CheckCoverage(const std::vector<SafetensorsHeader::Entry>& entries, uint64_t data_bytes,
                     std::string_view source) {
  uint64_t covered = 0;
  for (const auto& entry : entries) {
    if (entry.begin != covered) {
      return TensorPlace{source, entry.name}.Mismatch(
          fmt::format("its bytes at {}, where those of the tensor before it end", covered),
          fmt::format("{} ({})", entry.begin, entry.begin < covered ? "an overlap" : "a hole"));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return Fail(ErrorCode::kCorrupt,
                "{}: expected {} bytes of tensors after the header, found {}{}", source, covered,
                data_bytes, data_bytes < covered ? " (the file is cut short)" : "");
  }
  return Ok();
}

}  // namespace

std::string_view Name(DType dtype) { return Facts(dtype).name; }

uint32_t BitsPerElement(DType dtype) { return Facts(dtype).bits; }

std::string ShapeText(std::span<const uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<uint64_t> SafetensorsHeader::Length(std::span<const std::byte> prefix, uint64_t file_size,
                                           std::string_view source) {
  if (file_size < kLengthBytes + 2 || prefix.size() < kLengthBytes) {
    return Fail(ErrorCode::kCorrupt, "{}: expected a safetensors file, found one of only {} bytes",
                source, file_size);
  }
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | std::to_integer<uint64_t>(prefix[i]);
  }
  const uint64_t limit = std::min(kMaxHeaderBytes, file_size - kLengthBytes);
  if (length < 2 || length > limit) {
    return Fail(ErrorCode::kCorrupt,
                "{}: expected a header of 2 to {} bytes, found a length of {} in a file of {}",
                source, limit, length, file_size);
  }
  return length;
}

Result<SafetensorsHeader> SafetensorsHeader::Parse(std::span<const std::byte> header,
                                                   uint64_t file_size, std::string_view source) {
  if (header.size() > kMaxHeaderBytes || file_size < kLengthBytes ||
      header.size() > file_size - kLengthBytes) {
    return Fail(ErrorCode::kCorrupt, "{}: a header of {} bytes does not fit", source,
                header.size());
  }
  if (header.empty() || header.front() != std::byte{'{'}) {
    return Fail(ErrorCode::kCorrupt, "{}: expected a header that starts with {{", source);
  }
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  const JsonLimits limits{
      .max_bytes = kMaxHeaderBytes, .max_depth = 3, .max_values = size_t{4} << 20};
  SafetensorsHeader result;
  const auto take = [&](const std::string& name, const Json& value) -> Status {
    if (name == "__metadata__") {
      COLI_ASSIGN_OR_RETURN(result.metadata_, ParseMetadata(value, source));
    } else {
      COLI_ASSIGN_OR_RETURN(Entry entry, ParseEntry(name, value, source));
      result.entries_.push_back(std::move(entry));
    }
    return Ok();
  };
  COLI_RETURN_IF_ERROR(ParseJsonMembers(text, source, limits, take));
  std::ranges::sort(result.entries_, {}, [](const Entry& entry) {
    return std::tie(entry.begin, entry.end, entry.name);
  });
  COLI_RETURN_IF_ERROR(
      CheckCoverage(result.entries_, file_size - kLengthBytes - header.size(), source));
  return result;
}

SafetensorsFile::SafetensorsFile(File file, SafetensorsHeader header, uint64_t data_begin)
    : file_(std::move(file)), header_(std::move(header)), data_begin_(data_begin) {}

Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Open(const std::filesystem::path& path) {
  COLI_ASSIGN_OR_RETURN(File file, File::OpenRead(path, DirectReads::kTry));
  std::array<std::byte, SafetensorsHeader::kLengthBytes> prefix{};
  if (file.size() >= prefix.size()) {
    COLI_RETURN_IF_ERROR(file.ReadExact(0, prefix));
  }
  COLI_ASSIGN_OR_RETURN(const uint64_t length,
                        SafetensorsHeader::Length(prefix, file.size(), file.path()));
  std::vector<std::byte> text(length);
  COLI_RETURN_IF_ERROR(file.ReadExact(prefix.size(), text));
  COLI_ASSIGN_OR_RETURN(SafetensorsHeader header,
                        SafetensorsHeader::Parse(text, file.size(), file.path()));
  return std::unique_ptr<SafetensorsFile>(
      new SafetensorsFile(std::move(file), std::move(header), prefix.size() + length));
}

StoredTensor SafetensorsFile::Tensor(const SafetensorsHeader::Entry& entry) const {
  return {entry.dtype, entry.shape, &file_, data_begin_ + entry.begin, entry.end - entry.begin};
}

}  // namespace coli
