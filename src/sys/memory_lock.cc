#include "sys/memory_lock.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>

#include "sys/read_loop.h"

namespace coli {

Status LockMemory(std::span<const std::byte> bytes) {
  if (bytes.empty() || ::mlock(bytes.data(), bytes.size()) == 0) {
    return Ok();
  }
  const int refused = errno;
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
                       limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes.size();
  return Fail(ErrorCode::kIo, "{} MiB of weights cannot be locked into memory: {}{}",
              bytes.size() >> 20, SystemErrorText(refused),
              limited ? fmt::format(" (the limit is {} KiB)", limit.rlim_cur >> 10) : "");
}

}  // namespace coli
