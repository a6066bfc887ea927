// Any bytes taken for a .safetensors file give a header that describes them exactly, or an error
// that says where.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "store/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using coli::SafetensorsHeader;
  const auto file = std::as_bytes(std::span(data, size));
  const auto length = SafetensorsHeader::Length(file, size, "fuzz");
  if (!length) {
    COLI_CHECK(length.error().message.starts_with("fuzz: "));
    return 0;
  }
  COLI_CHECK(*length <= size - SafetensorsHeader::kLengthBytes);
  const auto header = SafetensorsHeader::Parse(
      file.subspan(SafetensorsHeader::kLengthBytes, *length), size, "fuzz");
  if (!header) {
    COLI_CHECK(header.error().message.starts_with("fuzz: "));
    return 0;
  }
  uint64_t covered = 0;
  for (const SafetensorsHeader::Entry& entry : header->entries()) {
    COLI_CHECK(entry.begin == covered && entry.end >= entry.begin);
    COLI_CHECK(!entry.name.empty() && entry.name.size() <= SafetensorsHeader::kMaxNameBytes);
    covered = entry.end;
  }
  COLI_CHECK(covered == size - SafetensorsHeader::kLengthBytes - *length);
  return 0;
}
