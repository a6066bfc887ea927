// Which engine reads a model's files, how deep, and why that one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "sys/io_engine.h"
#include "sys/io_kind.h"
#include "sys/io_uring.h"

namespace coli {

struct IoSettings {
  IoKind kind = IoKind::kAuto;
  DirectMode direct = DirectMode::kAuto;
  size_t threads = 4;       // of the threaded engine
  bool streams = false;     // so much is going to be read that the best depth is worth a probe
  uint64_t probe_seed = 0;  // of the places that it reads
  // Tests: systems without io_uring.
  std::function<Result<std::unique_ptr<IoEngine>>(const IoUringOptions&)> make_uring = MakeIoUring;
};

// How an engine was chosen.
struct IoMode {
  bool direct = false;  // asks for reads past the page cache
  std::string why;      // it is not the best there is; empty if it is, or was asked for
};

struct OpenedIo {
  std::unique_ptr<IoEngine> engine;
  IoMode mode;
};

// The engine for `files`. kAuto takes io_uring when the files can be read past the page cache: read
// through it, the copying of one thread is slower than that of several. Errors: kUnsupported when
// what was asked for by name cannot be had, with the reason.
Result<OpenedIo> OpenIo(const IoSettings& settings, std::span<const File* const> files);

// What really runs: "io_uring, direct, depth 8", "threads, page cache, depth 4: model/a.safetensors
// cannot be read directly: the file system is in memory". Direct or not as the reads went, before
// any as the files promise.
std::string DescribeIo(const IoEngine& engine, const IoMode& mode,
                       std::span<const File* const> files);

}  // namespace coli
