#include "measure/machine_probe.h"

#include <algorithm>

#include "measure/product_bench.h"
#include "measure/scenario.h"
#include "sys/plain_read.h"
#include "tensor/format_name.h"

namespace coli {
namespace {

constexpr uint32_t kTogether = 16;
constexpr size_t kProductBytes = size_t{64} << 20;
constexpr int kMemoryRuns = 3;

}  // namespace

Result<double> MultiplyAddsPerSecond(BenchSession& session, Format format) {
  COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
  COLI_ASSIGN_OR_RETURN(ProductBench bench, ProductBench::Create({.table = &session.kernels(),
                                                                  .format = format,
                                                                  .shape = kExpertShapes[0],
                                                                  .threads = session.threads(),
                                                                  .tokens = kTogether,
                                                                  .max_bytes = kProductBytes},
                                                                 memory));
  return bench.products() * kTogether / bench.AllRows().together;
}

Result<double> DriveBytesPerSecond(BenchSession& session) {
  const size_t before = session.results().size();
  COLI_RETURN_IF_ERROR(MeasureDiskRead(session));
  if (session.results().size() == before) {
    return Fail(ErrorCode::kCancelled, "cancelled");
  }
  return 1e9 * session.results()[before].value;  // the plain reads come first
}

Result<MachineSpeed> ProbeMachine(BenchSession& session,
                                  const std::map<std::string, double>& multiply_adds) {
  MachineSpeed speed;
  COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
  for (int run = 0; run < kMemoryRuns; ++run) {
    const double seconds = PoolReadSeconds(session.pool(), memory);
    speed.memory_bytes = std::max(speed.memory_bytes, static_cast<double>(memory.size()) / seconds);
  }
  for (const auto& [name, count] : multiply_adds) {
    if (const auto format = ParseFormat(name)) {
      COLI_ASSIGN_OR_RETURN(speed.multiply_adds[name], MultiplyAddsPerSecond(session, *format));
    }
  }
  return speed;
}

}  // namespace coli
