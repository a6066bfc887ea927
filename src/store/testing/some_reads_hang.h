// A drive on which some reads hang, for tests.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sys/io_engine.h"

namespace coli::testing {

// Reads at once. Of some the first read is given up, and writes to its memory later.
class SomeReadsHang final : public IoEngine {
 public:
  void Submit(const ReadRequest& request) override { waiting_.push_back(request); }
  std::optional<ReadCompletion> Wait(std::chrono::milliseconds) override { return Poll(); }
  std::optional<ReadCompletion> Poll() override {
    if (waiting_.empty()) {
      return std::nullopt;
    }
    const ReadRequest request = waiting_.back();
    waiting_.pop_back();
    if (++reads_ % 7 == 0) {
      hanging_.push_back(request.destination);
      return ReadCompletion{request.tag, Fail(ErrorCode::kIo, "scripted"), /*hangs=*/true};
    }
    for (const std::span<std::byte> memory : hanging_) {
      std::ranges::fill(memory, std::byte{0xEE});
    }
    return ReadCompletion{
        request.tag,
        request.file->ReadExact(request.offset, request.destination.first(request.NeededBytes()))};
  }
  bool Cancel(uint64_t) override { return false; }
  bool Promote(uint64_t) override { return false; }
  bool Close(std::chrono::milliseconds) override { return true; }
  size_t in_flight() const override { return waiting_.size(); }
  IoStats stats() const override { return {}; }
  std::string_view name() const override { return "some hang"; }
  size_t depth() const override { return 1; }

 private:
  std::vector<ReadRequest> waiting_;
  std::vector<std::span<std::byte>> hanging_;
  size_t reads_ = 0;
};

}  // namespace coli::testing
