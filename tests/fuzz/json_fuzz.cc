// Any text as JSON: both readers agree, and what they wrote is read again.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "text/python_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = coli::ParseJson(text, "fuzz");
  const auto ordered = coli::ParseOrderedJson(text, "fuzz");
  COLI_CHECK(json.has_value() == ordered.has_value());
  if (ordered) {
    const auto again = coli::ParseOrderedJson(coli::DumpPythonJson(*ordered), "fuzz");
    COLI_CHECK(again.has_value() && *again == *ordered);
  } else {
    COLI_CHECK(json.error().message == ordered.error().message);
  }
  return 0;
}
