#include <algorithm>

#include "measure/attention_layer.h"
#include "measure/scenario.h"
#include "sys/plain_read.h"
#include "tensor/format.h"

namespace coli {
namespace {

Status OneToken(BenchSession& session, std::span<std::byte> memory, uint32_t positions) {
  const FormatId kv = session.options().engine.kv;
  COLI_ASSIGN_OR_RETURN(
      const std::unique_ptr<AttentionLayer> layer,
      AttentionLayer::Create(session.kernels(), session.pool(), memory, positions, kv));
  Runs layers;
  Runs reads;
  Status status;
  size_t turn = 0;
  session.Repeat([&] {
    const auto seconds = layer->Token(turn++);
    if (!seconds) {
      status = tl::unexpected(seconds.error());
      return;
    }
    layers.Add(1 / *seconds);
    const double bytes = static_cast<double>(memory.size()) / static_cast<double>(layer->bytes());
    reads.Add(bytes / PoolReadSeconds(session.pool(), memory));
  });
  COLI_RETURN_IF_ERROR(status);
  session.Add(Summarize("attention",
                        {{"positions", uint64_t{positions}},
                         {"selected", uint64_t{std::min(positions, AttentionLayer::kSelected)}},
                         {"format", "int8-row"},
                         {"kv", std::string(Info(kv).name)},
                         {"threads", uint64_t{session.threads()}}},
                        "layers/s", layers, kMemoryRead, reads));
  return Ok();
}

}  // namespace

Status MeasureAttention(BenchSession& session) {
  COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
  for (const uint32_t positions : {2048U, session.quick() ? 4096U : 32768U}) {
    if (!session.cancelled()) {
      COLI_RETURN_IF_ERROR(OneToken(session, memory, positions));
    }
  }
  return Ok();
}

}  // namespace coli
