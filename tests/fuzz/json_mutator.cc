// The mutator of fuzz targets that read JSON: three of four changes keep it JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/json_mutation.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % 4 != 0) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string changed = coli::testing::MutateJson(text, seed);
    if (!changed.empty() && changed.size() <= max_size) {
      std::ranges::copy(changed, data);
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
