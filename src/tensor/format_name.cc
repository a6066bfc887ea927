#include "tensor/format_name.h"

#include "tensor/format.h"

namespace coli {
namespace {

// Calls visit(format) for every format with every group size it allows.
template <class Visit>
void ForEachFormat(const Visit& visit) {
  for (const FormatInfo& info : AllFormats()) {
    if (!info.grouped) {
      visit(Format{info.id});
      continue;
    }
    for (const uint32_t group : kGroupSizes) {
      visit(Format{info.id, group});
    }
  }
}

}  // namespace

std::string FormatName(Format format) {
  std::string name(Info(format).name);
  if (format.group != 0) {
    const size_t end = name.size() - std::string_view("grouped").size();
    name.replace(end, std::string::npos, "g" + std::to_string(format.group));
  }
  return name;
}

std::optional<Format> ParseFormat(std::string_view name) {
  std::optional<Format> found;
  ForEachFormat([&](Format format) {
    if (FormatName(format) == name) {
      found = format;
    }
  });
  return found;
}

std::string FormatNames() {
  std::string names;
  ForEachFormat([&](Format format) { names += (names.empty() ? "" : ", ") + FormatName(format); });
  return names;
}

}  // namespace coli
