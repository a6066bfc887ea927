// Stop strings over a stream of text pieces: what comes out never contains a stop string nor the
// beginning of one.
//
// Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coli {

class StopMatcher {
 public:
  // Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  // Takes the next piece and gives the text that may be shown now. Text that may still become a
  // stop string is held back. After a match the rest is dropped.
  std::string Push(std::string_view piece);
  // The stream has ended: what was held back.
  std::string Flush();
  bool matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool matched_ = false;
};

}  // namespace coli
