#include "measure/expert_bench.h"
#include "measure/scenario.h"

namespace coli {
namespace {

Parameters ParametersOf(const BenchSession& session, uint32_t rows) {
  return {{"experts", uint64_t{ExpertBench::kExperts}},
          {"format", "int4-row"},
          {"rows", uint64_t{rows}},
          {"threads", uint64_t{session.threads()}}};
}

// Layers take turns, so that no cache holds what comes round again.
Measurement OneRow(const BenchSession& session, ExpertBench& bench) {
  Runs layers;
  Runs reads;
  size_t layer = 0;
  session.Repeat([&] {
    layers.Add(1 / bench.Together(layer, 1));
    reads.Add(1 / bench.Read(layer + bench.layers() / 2));
    ++layer;
  });
  return Summarize("moe", ParametersOf(session, 1), "layers/s", layers, kMemoryRead, reads);
}

Measurement ManyRows(const BenchSession& session, ExpertBench& bench, uint32_t rows) {
  Runs experts;
  Runs products;
  size_t layer = 0;
  const double per_thread = 1e-9 * ExpertBench::layer_products() * rows / session.threads();
  session.Repeat([&] {
    experts.Add(per_thread / bench.Together(layer, rows));
    products.Add(per_thread / bench.Products(layer + bench.layers() / 2, rows));
    ++layer;
  });
  return Summarize("moe", ParametersOf(session, rows), "GMAC/s per thread", experts, kProductsAlone,
                   products);
}

}  // namespace

Status MeasureMoe(BenchSession& session) {
  constexpr uint32_t kRows = 16;  // of each expert, as in a slice of 512 tokens
  COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
  COLI_ASSIGN_OR_RETURN(ExpertBench bench,
                        ExpertBench::Create(session.kernels(), session.pool(), memory, kRows));
  session.Add(OneRow(session, bench));
  session.Add(ManyRows(session, bench, kRows));
  return Ok();
}

}  // namespace coli
