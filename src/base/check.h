// CHECK is for errors of the programmer only: an invariant of this code is broken and going on
// would compute nonsense. Nothing that a file, a request, a flag or the environment contains may
// reach a failing CHECK.
#pragma once

namespace coli {

// Prints the condition and its place on stderr and ends the process.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace coli

#define COLI_CHECK(condition)                              \
  do {                                                     \
    if (!(condition)) [[unlikely]] {                       \
      ::coli::CheckFailed(#condition, __FILE__, __LINE__); \
    }                                                      \
  } while (false)
