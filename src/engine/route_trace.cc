#include "engine/route_trace.h"

#include <algorithm>

namespace coli {

Result<std::unique_ptr<RouteTrace>> RouteTrace::Create(const std::filesystem::path& path,
                                                       const ModelConfig& config,
                                                       const ExpertDirectory& experts) {
  RoutingTraceHeader header;
  header.experts_per_token = config.router.experts_per_token;
  for (const std::vector<ExpertRecord>& layer : experts) {
    RoutingTraceHeader::Layer& entry = header.layers.emplace_back();
    entry.experts = static_cast<uint32_t>(layer.size());
    for (const ExpertRecord& record : layer) {
      entry.expert_bytes = std::max(entry.expert_bytes, ExpertReader::SlotBytes(record));
    }
  }
  auto writer = RoutingTraceWriter::Create(path, header);
  if (!writer) {
    return Wrap(std::move(writer).error(), "trace-routing");
  }
  return std::unique_ptr<RouteTrace>(new RouteTrace(*std::move(writer)));
}

RouteTrace::~RouteTrace() {
  if (kept_) {
    static_cast<void>(Finish());
  } else {
    writer_.Abandon();
  }
}

void RouteTrace::OnRoute(LayerId layer, uint32_t row, std::span<const float> scores,
                         std::span<const ExpertChoice> chosen) {
  if (!status_ || finished_) {
    return;
  }
  chosen_.clear();
  for (const ExpertChoice& choice : chosen) {
    chosen_.push_back(choice.expert);
  }
  status_ = writer_.Append(layer, row == 0, scores, chosen_);
}

Status RouteTrace::Finish() {
  if (status_ && !finished_) {
    status_ = writer_.Finish();
  }
  finished_ = true;
  if (!status_) {
    return Wrap(status_.error(),
                fmt::format("trace-routing: stopped after {} rows", writer_.rows()));
  }
  return Ok();
}

}  // namespace coli
