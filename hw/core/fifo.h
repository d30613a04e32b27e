// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft {

/// A queue in one array that grows when it is full and is otherwise used round and round, so that it stays within a few
/// cache lines where std::deque walks through memory. Elements must be movable and have a default.
template <typename T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }

  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }
  /// The element `i` places behind the front.
  T& operator[](std::size_t i) {
    assert(i < size());
    return slots_[(head_ + i) & (slots_.size() - 1)];
  }
  const T& operator[](std::size_t i) const { return const_cast<Fifo&>(*this)[i]; }

  void push_back(T element) {
    if (size() == slots_.size()) [[unlikely]]
      grow();
    slots_[tail_++ & (slots_.size() - 1)] = std::move(element);
  }
  void pop_front() {
    assert(!empty());
    ++head_;
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 4 : 2 * slots_.size());
    const std::size_t held = size();
    for (std::size_t i = 0; i < held; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    head_ = 0;
    tail_ = held;
  }

  std::vector<T> slots_;  // a power of two of them
  std::size_t head_ = 0;  // count up without end
  std::size_t tail_ = 0;
};

}  // namespace weft
