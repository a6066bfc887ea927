// The sections of tokenizer.json around the model: what happens to text before merging and to
// tokens after it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/pre_tokenizer.h"

namespace coli {

// `section` is the value in the file or null; `where` names it in errors. Every kind that this
// program does not implement is refused by its name (kUnsupported).

// Whether text is brought to normalisation form C; none and NFC are implemented.
Result<bool> ReadNormalizer(const Json* section, const std::string& where);

// Split (isolated) steps, and ByteLevel as the last one.
Result<std::vector<SplitStep>> ReadPreTokenizer(const Json* section, const std::string& where);

// ByteLevel or nothing.
Status CheckDecoder(const Json* section, const std::string& where);

}  // namespace coli
