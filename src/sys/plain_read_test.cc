#include "sys/plain_read.h"

#include <gtest/gtest.h>

#include <vector>

namespace coli {
namespace {

TEST(PlainRead, EveryWordOfTheBlocksCounts) {
  std::vector<std::byte> bytes(4 * 256 + 8);
  for (size_t at = 0; at < 4 * 256; at += 8) {
    std::vector<std::byte> one = bytes;
    one[at] = std::byte{7};
    EXPECT_EQ(PlainRead(one.data(), one.size()), 7u) << at;
  }
  EXPECT_EQ(PlainRead(bytes.data(), 0), 0u);
}

}  // namespace
}  // namespace coli
