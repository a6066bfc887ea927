#include <fstream>
#include <numeric>
#include <random>

#include "measure/paired_round.h"
#include "measure/scenario.h"
#include "sys/plain_read.h"

namespace coli {
namespace {

constexpr size_t kPieceBytes = size_t{18} << 20;  // an expert

// Whether the system backs at least half of `bytes` with huge pages.
bool InHugePages(size_t bytes) {
  constexpr std::string_view kKey = "AnonHugePages:";
  std::ifstream stream("/proc/self/smaps_rollup");
  for (std::string word; stream >> word;) {
    size_t kib = 0;
    if (word == kKey && stream >> kib) {
      return kib * 1024 >= bytes / 2;
    }
  }
  return false;
}

Status MemoryRead(BenchSession& session, std::span<const std::byte> memory, uint32_t threads) {
  COLI_ASSIGN_OR_RETURN(const PairedRounds rounds, PairedRounds::Create(threads));
  std::vector<size_t> order(memory.size() / kPieceBytes);
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 generator(1);
  std::shuffle(order.begin(), order.end(), generator);
  Runs runs;
  session.Repeat([&] {
    const size_t share = kPieceBytes / threads;
    const auto [seconds] =
        rounds.Round<1>(order.size(), [&](size_t, size_t piece, uint32_t thread) {
          Keep(PlainRead(memory.data() + order[piece] * kPieceBytes + share * thread, share));
        });
    runs.Add(1e-9 * kPieceBytes / seconds);
  });
  session.Add(Summarize("memory.read",
                        {{"threads", uint64_t{threads}},
                         {"bytes", uint64_t{memory.size()}},
                         {"pages", InHugePages(memory.size()) ? "huge" : "small"}},
                        "GB/s", runs));
  return Ok();
}

}  // namespace

Status MeasureMemoryRead(BenchSession& session) {
  COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
  COLI_RETURN_IF_ERROR(MemoryRead(session, memory, 1));
  if (session.threads() > 1) {
    COLI_RETURN_IF_ERROR(MemoryRead(session, memory, session.threads()));
  }
  return Ok();
}

}  // namespace coli
