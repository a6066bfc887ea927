#include "sys/open_io.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sys/depth_probe.h"
#include "sys/file_read.h"
#include "sys/io_threads.h"

namespace coli {
namespace {

constexpr size_t kUsualDepth = 8;

std::string CannotBeDirect(const File& file) {
  return fmt::format("{} cannot be read directly: {}", file.path(), file.why_not_direct());
}

// Why not all of `files` can be read past the page cache; empty if they can.
std::string WhyNotDirect(std::span<const File* const> files) {
  const auto found = std::ranges::find_if_not(files, &File::direct);
  return found == files.end() ? "" : CannotBeDirect(**found);
}

// A drive that cannot be probed is read as most like it; its errors show when it is read.
size_t FindDepth(const IoSettings& settings, std::span<const File* const> files, bool direct) {
  if (!settings.streams) {
    return kUsualDepth;
  }
  const MakeEngineOfDepth make = [&](size_t depth) {
    return settings.make_uring({.depth = depth, .direct = direct});
  };
  const auto speeds = MeasureDepths(files, make, {.seed = settings.probe_seed});
  return speeds && !speeds->empty() ? ChooseDepth(*speeds) : kUsualDepth;
}

Result<std::unique_ptr<IoEngine>> MakeUring(const IoSettings& settings,
                                            std::span<const File* const> files, bool direct) {
  // Where there is none, nothing is measured.
  COLI_ASSIGN_OR_RETURN(std::unique_ptr<IoEngine> engine,
                        settings.make_uring({.depth = kUsualDepth, .direct = direct}));
  const size_t depth = FindDepth(settings, files, direct);
  if (depth == engine->depth()) {
    return engine;
  }
  return settings.make_uring({.depth = depth, .direct = direct});
}

std::string_view PathOf(const IoEngine& engine, const IoMode& mode,
                        std::span<const File* const> files) {
  const IoStats stats = engine.stats();
  uint64_t direct = stats.direct_reads;
  uint64_t cached = stats.cached_reads;
  if (direct + cached == 0) {
    direct = mode.direct ? static_cast<uint64_t>(std::ranges::count_if(files, &File::direct)) : 0;
    cached = files.size() - direct;
  }
  if (direct == 0) {
    return "page cache";
  }
  return cached == 0 ? "direct" : "direct and page cache";
}

}  // namespace

Result<OpenedIo> OpenIo(const IoSettings& settings, std::span<const File* const> files) {
  IoMode mode;
  if (settings.direct != DirectMode::kOff) {
    if (!files.empty()) {
      TryDirectRead(*files.front());
    }
    mode.direct = std::ranges::any_of(files, &File::direct);
    mode.why = WhyNotDirect(files);
    if (settings.direct == DirectMode::kOn && !mode.why.empty()) {
      return Fail(ErrorCode::kUnsupported, "direct on: {}", mode.why);
    }
  }
  if (settings.kind == IoKind::kUring || (settings.kind == IoKind::kAuto && mode.direct)) {
    auto uring = MakeUring(settings, files, mode.direct);
    if (uring) {
      return OpenedIo{*std::move(uring), std::move(mode)};
    }
    if (settings.kind == IoKind::kUring) {
      return tl::unexpected<Error>(std::move(uring).error());
    }
    mode.why = std::move(uring).error().message;
  }
  return OpenedIo{
      MakeIoThreads(IoThreadsOptions{.threads = settings.threads, .direct = mode.direct}),
      std::move(mode)};
}

std::string DescribeIo(const IoEngine& engine, const IoMode& mode,
                       std::span<const File* const> files) {
  const std::string text =
      fmt::format("{}, {}, depth {}", engine.name(), PathOf(engine, mode, files), engine.depth());
  return mode.why.empty() ? text : text + ": " + mode.why;
}

}  // namespace coli
