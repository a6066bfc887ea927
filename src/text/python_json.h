// JSON as Python writes it, which is what checkpoints saw in training.
#pragma once

#include <string>

#include "base/json.h"

namespace coli {

// As json.dumps(value, ensure_ascii=False): separators ", " and ": ", characters outside ASCII
// kept, floats by the shortest digits that read back as the same double.
std::string DumpPythonJson(const OrderedJson& value);

}  // namespace coli
