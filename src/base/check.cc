#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace coli {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold; please report this\n", file, line,
               condition);
  std::abort();
}

}  // namespace coli
