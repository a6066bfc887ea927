// What routers said, recorded to replay expert caches on: for every row and layer the best
// selection scores and which experts were chosen. docs/routing-trace.md gives the file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "sys/file_writer.h"

namespace coli {

// The model that was traced.
struct RoutingTraceHeader {
  struct Layer {
    uint32_t experts = 0;       // 0 where a layer has none
    uint64_t expert_bytes = 0;  // in memory; of the largest of the layer
  };
  std::vector<Layer> layers;
  uint32_t experts_per_token = 0;
};

struct RankedExpert {
  ExpertId expert;
  float score;  // the router's selection score
  bool chosen;
};

// One row (token) in one layer.
struct RoutedRow {
  LayerId layer;
  bool begins_step;  // the first row that this layer routes in a step of the engine
  std::span<const RankedExpert> ranked;  // highest score first; all that were chosen are among them
};

class RoutingTrace {
 public:
  static constexpr uint32_t kScores = 32;  // of a row, at least; fewer where a layer has fewer
  static constexpr uint32_t kMaxLayers = 4096;
  static constexpr uint32_t kMaxExperts = 32767;  // of a layer

  explicit RoutingTrace(RoutingTraceHeader header) : header_(std::move(header)) {}

  // Total: any bytes give a trace or kCorrupt, "<name>: byte N: expected ..., found ...". A file
  // that was not finished is an error, too.
  static Result<RoutingTrace> Parse(std::span<const std::byte> bytes, std::string_view name);
  // Errors: of reading, and of Parse.
  static Result<RoutingTrace> Read(const std::filesystem::path& path);

  const RoutingTraceHeader& header() const { return header_; }
  // In the order in which they were routed: tokens in order within each layer.
  size_t rows() const { return rows_.size(); }
  RoutedRow row(size_t i) const;
  void Append(const RoutedRow& row);

 private:
  struct Place {
    LayerId layer;
    bool begins_step;
    uint32_t count;
    size_t first;  // in ranked_
  };
  RoutingTraceHeader header_;
  std::vector<Place> rows_;
  std::vector<RankedExpert> ranked_;
};

class RoutingTraceWriter {
 public:
  // Creates the file. Errors as FileWriter; kUnsupported for a model beyond the limits above.
  static Result<RoutingTraceWriter> Create(const std::filesystem::path& path,
                                           const RoutingTraceHeader& header);

  // scores: of all experts of the layer, -inf for those that could not be selected. chosen: among
  // the others. Errors as FileWriter; nothing can be appended after one.
  Status Append(LayerId layer, bool begins_step, std::span<const float> scores,
                std::span<const ExpertId> chosen);
  // Ends the file and waits until the drive has it. The last call.
  Status Finish();
  // Removes the file. The last call.
  void Abandon() { file_.Abandon(); }

  uint64_t rows() const { return rows_; }

 private:
  RoutingTraceWriter(FileWriter file, RoutingTraceHeader header)
      : file_(std::move(file)), header_(std::move(header)) {}
  Status Write();  // what is in bytes_
  void Rank(std::span<const float> scores, std::span<const ExpertId> chosen);

  FileWriter file_;
  RoutingTraceHeader header_;
  uint64_t rows_ = 0;
  uint64_t checksum_ = 0;
  std::vector<std::byte> bytes_;      // of one record
  std::vector<RankedExpert> ranked_;  // of one row
};

}  // namespace coli
