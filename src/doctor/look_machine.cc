#include "doctor/look_machine.h"

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <system_error>

#include "kernels/dispatch.h"
#include "sys/file.h"
#include "sys/io_uring.h"
#include "sys/memory_meter.h"
#include "sys/physical_cores.h"
#include "sys/read_loop.h"

namespace coli {
namespace {

namespace fs = std::filesystem;

struct FileSystemName {
  uint64_t magic;
  std::string_view name;
  enum class Kind : uint8_t { kDrive, kNetwork, kMemory, kLayer } kind;
};
using Kind = FileSystemName::Kind;

// Numbers that linux/magic.h lacks are those of the kernel's sources.
constexpr FileSystemName kFileSystems[] = {
    {EXT4_SUPER_MAGIC, "ext4", Kind::kDrive},   {XFS_SUPER_MAGIC, "XFS", Kind::kDrive},
    {BTRFS_SUPER_MAGIC, "btrfs", Kind::kDrive}, {F2FS_SUPER_MAGIC, "f2fs", Kind::kDrive},
    {SQUASHFS_MAGIC, "squashfs", Kind::kDrive}, {0x2fc12fc1, "ZFS", Kind::kDrive},
    {NFS_SUPER_MAGIC, "NFS", Kind::kNetwork},   {SMB_SUPER_MAGIC, "SMB", Kind::kNetwork},
    {0xff534d42, "CIFS", Kind::kNetwork},       {0xfe534d42, "SMB2", Kind::kNetwork},
    {CEPH_SUPER_MAGIC, "Ceph", Kind::kNetwork}, {TMPFS_MAGIC, "tmpfs", Kind::kMemory},
    {RAMFS_MAGIC, "ramfs", Kind::kMemory},      {OVERLAYFS_SUPER_MAGIC, "overlay", Kind::kLayer},
    {V9FS_MAGIC, "9p", Kind::kLayer},           {FUSE_SUPER_MAGIC, "FUSE", Kind::kLayer},
};

std::string FirstLine(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

uint64_t Limit(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) {
    return 0;
  }
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<uint64_t>::max() : limit.rlim_cur;
}

void NameFileSystem(const fs::path& directory, DriveFacts& facts) {
  struct statfs system{};
  if (::statfs(directory.c_str(), &system) != 0) {
    facts.file_system = "unknown";
    return;
  }
  facts.free_bytes = uint64_t{system.f_bavail} * static_cast<uint64_t>(system.f_bsize);
  const auto magic = static_cast<uint64_t>(system.f_type) & 0xffffffff;
  facts.file_system = fmt::format("{:#x}", magic);
  for (const FileSystemName& known : kFileSystems) {
    if (known.magic == magic) {
      facts.file_system = std::string(known.name);
      facts.network = known.kind == Kind::kNetwork;
      facts.in_memory = known.kind == Kind::kMemory;
      facts.layered = known.kind == Kind::kLayer;
    }
  }
}

// Of the device itself, or of the one that it is a part of.
std::optional<bool> Rotates(const fs::path& directory) {
  struct stat status{};
  if (::stat(directory.c_str(), &status) != 0) {
    return std::nullopt;
  }
  const fs::path device =
      fmt::format("/sys/dev/block/{}:{}", major(status.st_dev), minor(status.st_dev));
  for (const fs::path& queue : {device / "queue", device / "../queue"}) {
    if (const std::string line = FirstLine(queue / "rotational"); !line.empty()) {
      return line == "1";
    }
  }
  return std::nullopt;
}

}  // namespace

std::string ChosenWord(std::string_view text) {
  const size_t begin = text.find('[');
  const size_t end = text.find(']', begin == std::string_view::npos ? 0 : begin);
  return begin == std::string_view::npos || end == std::string_view::npos
             ? std::string()
             : std::string(text.substr(begin + 1, end - begin - 1));
}

Result<MachineFacts> LookAtMachine(const std::string& isa, const fs::path& root) {
  COLI_ASSIGN_OR_RETURN(const KernelTable* kernels, SelectKernels(isa));
  const MachineMemory memory = ReadMachineMemory(root);
  MachineFacts facts;
  facts.memory_bytes = memory.total_bytes;
  facts.available_bytes = AvailableMemoryBytes(root);
  facts.swap_bytes = memory.swap_bytes;
  facts.swap_used_bytes = memory.swap_bytes - std::min(memory.swap_bytes, memory.swap_free_bytes);
  facts.cores = PhysicalCores().count();
  facts.isa = std::string(kernels->name);
  for (const KernelTable* table : AvailableKernels()) {
    facts.isas.emplace_back(table->name);
  }
  if (const auto engine = MakeIoUring({.depth = 1, .direct = false}); !engine) {
    facts.why_no_uring = engine.error().message;
  }
  facts.huge_pages = ChosenWord(FirstLine(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts.locked_limit = Limit(RLIMIT_MEMLOCK);
  facts.open_files_limit = Limit(RLIMIT_NOFILE);
  return facts;
}

DriveFacts LookAtDrive(const fs::path& directory, const fs::path& file_of_it) {
  DriveFacts facts;
  NameFileSystem(directory, facts);
  facts.rotational = Rotates(directory);
  const auto file = File::OpenRead(file_of_it, DirectReads::kTry);
  facts.why_not_direct = file ? file->why_not_direct() : file.error().message;
  return facts;
}

StateFacts LookAtState(const fs::path& directory) {
  StateFacts facts{directory, {}};
  std::error_code error;
  fs::path existing = directory;
  while (!existing.empty() && !fs::exists(existing, error) && existing != existing.parent_path()) {
    existing = existing.parent_path();
  }
  if (::access(existing.empty() ? "." : existing.c_str(), W_OK | X_OK) != 0) {
    facts.why_not_writable = fmt::format("{}: {}", existing.string(), SystemErrorText(errno));
  }
  return facts;
}

}  // namespace coli
