#include "cli/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace coli {
namespace {

// Length of the longest proper prefix of `stop` that ends `text`.
size_t OpenPrefix(std::string_view text, std::string_view stop) {
  size_t length = std::min(text.size(), stop.size() - 1);
  while (length > 0 && !text.ends_with(stop.substr(0, length))) {
    --length;
  }
  return length;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopMatcher::Push(std::string_view piece) {
  if (matched_) {
    return {};
  }
  held_ += piece;
  size_t first_match = std::string::npos;
  size_t open = 0;
  for (const std::string& stop : stops_) {
    first_match = std::min(first_match, held_.find(stop));
    open = std::max(open, OpenPrefix(held_, stop));
  }
  matched_ = first_match != std::string::npos;
  std::string shown = held_.substr(0, matched_ ? first_match : held_.size() - open);
  held_.erase(0, matched_ ? held_.size() : shown.size());
  return shown;
}

std::string StopMatcher::Flush() { return std::exchange(held_, {}); }

}  // namespace coli
