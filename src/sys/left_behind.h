// Memory that must outlive its use here, because somebody else may still write to it.
#pragma once

#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define COLI_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COLI_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef COLI_ADDRESS_SANITIZER
#define COLI_ADDRESS_SANITIZER 0
#endif

#if COLI_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace coli {

// Keeps `value`, and what it owns, until the process ends.
template <class T>
void LeaveBehind(T value) {
  const T* const kept = new T(std::move(value));
#if COLI_ADDRESS_SANITIZER
  __lsan_ignore_object(kept);  // a leak on purpose
#else
  static_cast<void>(kept);
#endif
}

}  // namespace coli
