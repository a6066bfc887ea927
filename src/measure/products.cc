#include "measure/product_bench.h"
#include "measure/scenario.h"

namespace coli {
namespace {

constexpr uint32_t kTogether = 16;
constexpr size_t kBatchBytes = size_t{192} << 20;  // many times the last-level cache
constexpr size_t kQuickBytes = size_t{32} << 20;

Parameters ParametersOf(const NamedFormat& format, const ProductBench::Case& c) {
  return {{"format", std::string(format.name)},
          {"shape", fmt::format("{}x{}", c.shape.rows, c.shape.cols)},
          {"rows", uint64_t{c.tokens}},
          {"threads", uint64_t{c.threads}}};
}

void OneRow(BenchSession& session, ProductBench& bench, Parameters params) {
  Runs products;
  Runs reads;
  const double gigabytes = 1e-9 * static_cast<double>(bench.matrix_bytes());
  session.Repeat([&] {
    const ProductBench::Seconds seconds = bench.OneRow();
    products.Add(gigabytes / seconds.alone);
    reads.Add(gigabytes / seconds.read);
  });
  session.Add(Summarize("matvec", std::move(params), "GB/s", products, kMemoryRead, reads));
}

void Together(BenchSession& session, ProductBench& bench, const ProductBench::Case& c,
              const Parameters& params) {
  Runs products;
  Runs reads;
  Runs gains;
  const double per_thread = 1e-9 * bench.products() * c.tokens / c.threads;
  session.Repeat([&] {
    const ProductBench::Seconds seconds = bench.AllRows();
    products.Add(per_thread / seconds.together);
    reads.Add(per_thread / seconds.read);
    gains.Add(seconds.alone * c.tokens / seconds.together);
  });
  session.Add(Summarize("matmul", params, "GMAC/s per thread", products, kMemoryRead, reads));
  session.Add(Summarize("matmul", params, "x one by one", gains));
}

// measure(bench, case, parameters) for every format and shape.
template <class Measure>
Status ForProducts(BenchSession& session, uint32_t tokens, size_t max_bytes,
                   const Measure& measure) {
  COLI_ASSIGN_OR_RETURN(const std::span<std::byte> memory, session.Memory());
  for (const NamedFormat& format : kMeasuredFormats) {
    for (const MatrixShape shape : kExpertShapes) {
      if (session.cancelled()) {
        return Ok();
      }
      const ProductBench::Case c{.table = &session.kernels(),
                                 .format = format.format,
                                 .shape = shape,
                                 .threads = session.threads(),
                                 .tokens = tokens,
                                 .max_bytes = session.quick() ? kQuickBytes : max_bytes};
      COLI_ASSIGN_OR_RETURN(ProductBench bench, ProductBench::Create(c, memory));
      measure(bench, c, ParametersOf(format, c));
    }
  }
  return Ok();
}

}  // namespace

Status MeasureMatVec(BenchSession& session) {
  return ForProducts(session, 1, BenchSession::kMemoryBytes,
                     [&](ProductBench& bench, const ProductBench::Case&, Parameters params) {
                       OneRow(session, bench, std::move(params));
                     });
}

Status MeasureMatMul(BenchSession& session) {
  return ForProducts(session, kTogether, kBatchBytes,
                     [&](ProductBench& bench, const ProductBench::Case& c,
                         const Parameters& params) { Together(session, bench, c, params); });
}

}  // namespace coli
