// A queue that keeps its memory: std::deque takes and frees a block now and then even if it never
// holds more than a few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace coli {

// For queues that become empty often: the places of what was taken are used again only then.
template <class T>
class Fifo {
 public:
  bool empty() const { return first_ == items_.size(); }
  const T& front() const { return items_[first_]; }  // of one that is not empty
  void push_back(T item) { items_.push_back(std::move(item)); }
  void pop_front() {
    if (++first_ == items_.size()) {
      clear();
    }
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }
  template <class Predicate>
  void erase_if(const Predicate& predicate) {
    items_.erase(std::remove_if(begin(), end(), predicate), end());
    if (empty()) {
      clear();
    }
  }

  auto begin() { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() { return items_.end(); }

 private:
  std::vector<T> items_;
  size_t first_ = 0;  // of those that were not taken yet
};

}  // namespace coli
