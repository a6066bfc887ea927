// What the scenarios of one `coli bench` share: settings, kernels, threads, memory, results.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/options.h"
#include "kernels/kernel_table.h"
#include "measure/engine_figures.h"
#include "measure/measurement.h"
#include "measure/stopwatch.h"
#include "sys/aligned_buffer.h"
#include "sys/thread_pool.h"

namespace coli {

struct BenchOptions {
  EngineOptions engine;    // threads, instruction set; the model of scenarios that need one
  std::string model_name;  // for the reports
  std::filesystem::path scratch_dir;  // where disk.read may write its file; empty: nowhere
  bool quick = false;                 // little memory and little time: to see that it works
  bool cold = false;                  // decode: see MeasureColdDecode
  std::function<bool()> cancelled;
  std::function<void(size_t results)> progress;  // results so far
};

// One thread at a time.
class BenchSession {
 public:
  // Errors: what SelectKernels says about the instruction set; kIo when the system does not give so
  // many threads.
  static Result<BenchSession> Create(BenchOptions options);

  const BenchOptions& options() const { return options_; }
  const KernelTable& kernels() const { return *kernels_; }
  uint32_t threads() const { return static_cast<uint32_t>(pool_->threads()); }
  bool quick() const { return options_.quick; }
  bool cancelled() const { return options_.cancelled && options_.cancelled(); }
  ThreadPool& pool() { return *pool_; }
  // Random codes in huge pages: kMemoryBytes, or less where the machine has not twice as much
  // available. Made when first asked for. Error: kNotEnoughMemory below kLeastMemoryBytes.
  Result<std::span<std::byte>> Memory();
  static constexpr size_t kLeastMemoryBytes = size_t{192} << 20;
  static constexpr size_t kMemoryBytes = 6 * kLeastMemoryBytes;  // more than 1 GiB

  // How fast the engine is with the model; measured when first asked for. Errors: those of
  // MeasureEngine.
  Result<const EngineFigures*> MeasuredEngine();

  // Calls run() until the time of one measurement is over, and at least `least_runs` times. When
  // cancelled it ends after the run at hand.
  template <class Run>
  void Repeat(const Run& run, int least_runs = 3) const {
    const double end = WallSeconds() + (quick() ? 0.05 : 0.8);
    for (int i = 0; (i < least_runs || WallSeconds() < end) && !cancelled(); ++i) {
      run();
      ShowProgress();
    }
  }

  // To be called now and then.
  void ShowProgress() const {
    if (options_.progress) {
      options_.progress(results_.size());
    }
  }
  // Keeps a measurement. One without runs was cancelled and is dropped; so is one that divides by
  // nothing: bytes where none were read.
  void Add(Measurement measurement);
  const std::vector<Measurement>& results() const { return results_; }

 private:
  BenchSession(BenchOptions options, const KernelTable* kernels, std::unique_ptr<ThreadPool> pool);

  BenchOptions options_;
  const KernelTable* kernels_;
  std::unique_ptr<ThreadPool> pool_;
  std::optional<AlignedBuffer> memory_;
  std::optional<Result<EngineFigures>> engine_;
  std::vector<Measurement> results_;
};

// Facts of this machine as a session uses it.
HostFacts ReadHostFacts(const BenchSession& session, std::string version);

}  // namespace coli
