// Any text as reference.json: refused naming file and field, or cases that can be replayed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "engine/fixture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reference = coli::ParseReference(text, "reference.json");
  if (!reference) {
    COLI_CHECK(reference.error().message.starts_with("reference.json: "));
    COLI_CHECK(reference.error().message.size() < 2000);
    return 0;
  }
  COLI_CHECK(!reference->cases.empty());
  COLI_CHECK(reference->tolerance >= 0 && reference->tolerance <= 1);
  for (const coli::FixtureCase& c : reference->cases) {
    COLI_CHECK(c.prompt_length >= 1 && c.prompt_length <= c.ids.size());
    COLI_CHECK(!c.mtp_logits || c.ids.size() >= 2);
    COLI_CHECK(!c.first_inconclusive || *c.first_inconclusive < c.ids.size());
    for (const coli::TokenId id : c.ids) {
      COLI_CHECK(coli::Raw(id) >= 0);
    }
  }
  return 0;
}
