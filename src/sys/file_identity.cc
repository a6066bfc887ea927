#include "sys/file_identity.h"

#include <sys/stat.h>

#include <cerrno>

#include "sys/read_loop.h"

namespace coli {

Result<FileIdentity> IdentityOf(const File& file) {
  struct stat status{};
  if (::fstat(file.descriptor(), &status) != 0) {
    return Fail(ErrorCode::kIo, "{}: {}", file.path(), SystemErrorText(errno));
  }
  return FileIdentity{status.st_dev, status.st_ino};
}

}  // namespace coli
