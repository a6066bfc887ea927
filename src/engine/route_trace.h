// Records what the routers of a model say (docs/routing-trace.md). A file that cannot be written
// ends the record and nothing else. Engine thread only.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "model/model_config.h"
#include "model/router.h"
#include "store/expert_store.h"
#include "store/routing_trace.h"

namespace coli {

class RouteTrace final : public RouteObserver {
 public:
  // Creates the file, which is removed again unless Keep is called. Errors as RoutingTraceWriter.
  static Result<std::unique_ptr<RouteTrace>> Create(const std::filesystem::path& path,
                                                    const ModelConfig& config,
                                                    const ExpertDirectory& experts);

  RouteTrace(const RouteTrace&) = delete;
  RouteTrace& operator=(const RouteTrace&) = delete;
  ~RouteTrace() override;

  // The model that is recorded is ready.
  void Keep() { kept_ = true; }

  void OnRoute(LayerId layer, uint32_t row, std::span<const float> scores,
               std::span<const ExpertChoice> chosen) override;

  // Ends the file, if that was not done yet. Says what ended the record before.
  Status Finish();

 private:
  explicit RouteTrace(RoutingTraceWriter writer) : writer_(std::move(writer)) {}

  RoutingTraceWriter writer_;
  std::vector<ExpertId> chosen_;  // of one row
  Status status_;
  bool kept_ = false;
  bool finished_ = false;
};

}  // namespace coli
