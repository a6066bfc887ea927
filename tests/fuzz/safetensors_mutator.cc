// The mutator of safetensors_fuzz: most changes are made in the header as JSON, under a length that
// is right and, mostly, over as much data as its last offset asks for.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fuzz/json_mutation.h"
#include "store/testing/write_safetensors.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMostData = 2048;

// The end of the last tensor, as far as the header can be understood.
uint64_t DataBytes(const std::string& header) {
  const auto json = nlohmann::json::parse(header, nullptr, false);
  uint64_t end = 0;
  for (const auto& entry : json) {
    if (!entry.is_object() || !entry.contains("data_offsets")) {
      continue;
    }
    const auto& offsets = entry["data_offsets"];
    if (offsets.is_array() && offsets.size() == 2 && offsets[1].is_number_unsigned()) {
      end = std::max(end, offsets[1].get<uint64_t>());
    }
  }
  return std::min(end, kMostData);
}

std::string Mutated(std::string_view file, unsigned seed) {
  if (file.size() < kLengthBytes) {
    return {};
  }
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(file[i]);
  }
  if (length > file.size() - kLengthBytes) {
    return {};
  }
  const std::string header = coli::testing::MutateJson(file.substr(kLengthBytes, length), seed);
  const uint64_t data = seed / 4 % 4 == 0 ? file.size() - kLengthBytes - length : DataBytes(header);
  return header.empty() ? header : coli::testing::SafetensorsBytes(header, std::string(data, 'd'));
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % 4 != 0) {
    const std::string changed = Mutated({reinterpret_cast<const char*>(data), size}, seed);
    if (!changed.empty() && changed.size() <= max_size) {
      std::ranges::copy(changed, data);
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
