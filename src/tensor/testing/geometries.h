// For tests: every format with every parameter it can have.
#pragma once

#include <string>
#include <vector>

#include "tensor/format.h"

namespace coli::testing {

inline std::vector<Format> AllGeometries() {
  std::vector<Format> formats;
  for (const FormatInfo& info : AllFormats()) {
    if (!info.grouped) {
      formats.push_back({info.id});
      continue;
    }
    for (const uint32_t group : kGroupSizes) {
      formats.push_back({info.id, group});
    }
  }
  return formats;
}

}  // namespace coli::testing
