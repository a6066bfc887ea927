#include "measure/busy_neighbour.h"
#include "measure/expert_bench.h"
#include "measure/scenario.h"

namespace coli {
namespace {

// speed(seconds) alone and beside a busy neighbour, in turn.
template <class Speed>
Measurement Disturbed(const BenchSession& session, std::string work, std::string unit,
                      const Speed& speed) {
  const double seconds = session.quick() ? 0.05 : 0.4;
  Runs alone;
  Runs beside;
  session.Repeat([&] {
    alone.Add(speed(seconds));
    const BusyNeighbour neighbour;
    beside.Add(speed(seconds));
  });
  return Summarize("neighbour",
                   {{"work", std::move(work)}, {"threads", uint64_t{session.threads()}}},
                   std::move(unit), beside, "undisturbed", alone);
}

double LayersPerSecond(ExpertBench& bench, double seconds) {
  const double begin = WallSeconds();
  size_t layers = 0;
  while (WallSeconds() - begin < seconds) {
    bench.Together(layers++, 1);
  }
  return static_cast<double>(layers) / (WallSeconds() - begin);
}

}  // namespace

Status MeasureNeighbour(BenchSession& session) {
  COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
  COLI_ASSIGN_OR_RETURN(ExpertBench bench,
                        ExpertBench::Create(session.kernels(), session.pool(), memory, 1));
  session.Add(Disturbed(session, "moe", "layers/s",
                        [&](double seconds) { return LayersPerSecond(bench, seconds); }));
  const uint64_t amount = ComputeAmount(kLoopChunkSeconds);
  session.Add(Disturbed(session, "loops", "loops/s", [&](double seconds) {
    return LoopsPerSecond(session.pool(), amount, seconds);
  }));
  return Ok();
}

}  // namespace coli
