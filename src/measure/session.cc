#include "measure/session.h"

#include <cmath>
#include <fstream>
#include <utility>

#include "kernels/dispatch.h"
#include "measure/full_pool.h"
#include "measure/weight_set.h"
#include "sys/memory_meter.h"
#include "sys/physical_cores.h"

namespace coli {
namespace {

// What follows the colon in the first line of `path` that starts with `key`.
std::string ValueAfter(const std::filesystem::path& path, std::string_view key) {
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    const size_t colon = line.find(':');
    if (std::string_view(line).starts_with(key) && colon != std::string::npos) {
      const size_t value = line.find_first_not_of(" \t", colon + 1);
      return value == std::string::npos ? std::string() : line.substr(value);
    }
  }
  return {};
}

}  // namespace

Result<BenchSession> BenchSession::Create(BenchOptions options) {
  COLI_ASSIGN_OR_RETURN(const KernelTable* kernels, SelectKernels(options.engine.isa));
  const PhysicalCores cores;
  const size_t threads = options.engine.threads != 0 ? options.engine.threads : cores.count();
  COLI_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, MakeFullPool(threads, cores));
  return BenchSession(std::move(options), kernels, std::move(pool));
}

BenchSession::BenchSession(BenchOptions options, const KernelTable* kernels,
                           std::unique_ptr<ThreadPool> pool)
    : options_(std::move(options)), kernels_(kernels), pool_(std::move(pool)) {}

Result<std::span<std::byte>> BenchSession::Memory() {
  if (!memory_) {
    const uint64_t named = options_.engine.ram_bytes;
    const uint64_t available =
        named != 0 ? std::min(named, AvailableMemoryBytes()) : AvailableMemoryBytes();
    size_t bytes = quick() ? kLeastMemoryBytes : kMemoryBytes;
    while (bytes > kLeastMemoryBytes && bytes > available / 2) {
      bytes -= kLeastMemoryBytes;
    }
    if (bytes > available) {
      return Fail(ErrorCode::kNotEnoughMemory,
                  "memory to measure with: expected {} bytes at least, found {} available", bytes,
                  available);
    }
    COLI_ASSIGN_OR_RETURN(memory_, AlignedBuffer::Allocate(bytes));
    FillWithCodes(memory_->bytes());
  }
  return memory_->bytes();
}

Result<const EngineFigures*> BenchSession::MeasuredEngine() {
  if (!engine_) {
    engine_ = MeasureEngine(*this);
  }
  if (!*engine_) {
    return tl::unexpected(engine_->error());
  }
  return &**engine_;
}

void BenchSession::Add(Measurement measurement) {
  if (measurement.runs == 0 || !std::isfinite(measurement.value)) {
    return;
  }
  results_.push_back(std::move(measurement));
  ShowProgress();
}

HostFacts ReadHostFacts(const BenchSession& session, std::string version) {
  const std::string cpu = ValueAfter("/proc/cpuinfo", "model name");
  return {.cpu = cpu.empty() ? "unknown" : cpu,
          .cores = PhysicalCores().count(),
          .memory_bytes = ReadMachineMemory().total_bytes,
          .isa = std::string(session.kernels().name),
          .version = std::move(version)};
}

}  // namespace coli
