// What a user may choose about reads.
#pragma once

#include <cstdint>

namespace coli {

enum class IoKind : uint8_t { kAuto, kUring, kThreads };
// Whether reads go past the page cache: kAuto where that is possible.
enum class DirectMode : uint8_t { kAuto, kOn, kOff };

}  // namespace coli
