// For benchmarks: what every main does once its benchmarks are registered.
#pragma once

#include <benchmark/benchmark.h>

namespace coli {

// The exit status.
inline int RunBenchmarks(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace coli
