// A measured speed: what `coli bench` reports, one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace coli {

// The limit of everything that streams weights.
inline constexpr const char* kMemoryRead = "memory read";
// The limit of many rows: preparing them, activations and attention left out.
inline constexpr const char* kProductsAlone = "products alone";

// What bounds a speed: another speed of the same unit, measured in the same minutes.
struct Limit {
  std::string what;  // kMemoryRead, "undisturbed"
  double value = 0;
  std::string unit;
  bool operator==(const Limit&) const = default;
};

// What a measurement was made with, in the order in which it is shown: {"rows", 16}.
using Parameter = std::variant<uint64_t, std::string>;
using Parameters = std::vector<std::pair<std::string, Parameter>>;

struct Measurement {
  std::string scenario;
  Parameters params;
  double value = 0;  // of the best run; more is better, but of MB and ms
  std::string unit;
  std::optional<Limit> limit;
  std::optional<double> share_of_limit;  // nothing without a limit
  uint64_t runs = 0;
  double spread = 0;  // how far the median run is below the best, as a share of the best
  bool operator==(const Measurement&) const = default;
};

// Whose figures these are.
struct HostFacts {
  std::string cpu;
  uint64_t cores = 0;  // physical ones that this process may use
  uint64_t memory_bytes = 0;
  std::string isa;      // of the kernels
  std::string version;  // of the program
  bool operator==(const HostFacts&) const = default;
};

struct BenchReport {
  HostFacts host;
  std::vector<Measurement> results;
};

std::string ValueText(const Parameter& value);
// "rows 16, format int4-row".
std::string ParametersText(const Parameters& params);

// The speeds of the runs of one measurement.
class Runs {
 public:
  void Add(double speed) { speeds_.push_back(speed); }
  uint64_t count() const { return speeds_.size(); }
  double best() const;    // 0 without runs
  double spread() const;  // as in Measurement; 0 without runs
 private:
  std::vector<double> speeds_;
};

// The measurement of `runs`, with the best of `limits` as its limit if there is one.
Measurement Summarize(std::string scenario, Parameters params, std::string unit, const Runs& runs);
Measurement Summarize(std::string scenario, Parameters params, std::string unit, const Runs& runs,
                      std::string limit, const Runs& limits);

}  // namespace coli
