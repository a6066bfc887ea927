#include "base/fifo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace coli {
namespace {

TEST(Fifo, FirstInFirstOut) {
  Fifo<int> queue;
  EXPECT_TRUE(queue.empty());
  queue.push_back(1);
  queue.push_back(2);
  EXPECT_EQ(queue.front(), 1);
  queue.pop_front();
  queue.push_back(3);
  EXPECT_TRUE(std::ranges::equal(queue, std::vector{2, 3}));
  queue.pop_front();
  queue.pop_front();
  EXPECT_TRUE(queue.empty());
  queue.push_back(4);
  EXPECT_EQ(queue.front(), 4);
  queue.clear();
  EXPECT_TRUE(queue.empty());
}

TEST(Fifo, WhatIsErasedDoesNotCome) {
  Fifo<int> queue;
  for (const int item : {0, 1, 2, 3}) {
    queue.push_back(item);
  }
  queue.pop_front();
  queue.erase_if([](int item) { return item % 2 == 1; });
  EXPECT_TRUE(std::ranges::equal(queue, std::vector{2}));
  queue.erase_if([](int) { return true; });
  EXPECT_TRUE(queue.empty());
}

TEST(Fifo, OneThatBecomesEmptyUsesItsMemoryAgain) {
  Fifo<int> queue;
  queue.push_back(0);
  const int* const first = &queue.front();
  for (int i = 1; i < 1000; ++i) {
    queue.pop_front();
    queue.push_back(i);
    EXPECT_EQ(&queue.front(), first);
  }
}

}  // namespace
}  // namespace coli
