// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace weft {

/// A queue in one array that grows when it is full and is otherwise used round and round, so that it stays within a few
/// cache lines where std::deque walks through memory; the queue itself is three words, since a network interface has
/// thousands of them. Elements must be movable and have a default.
template <typename T>
class Fifo {
 public:
  Fifo() = default;
  Fifo(Fifo&& other) noexcept { swap(other); }
  Fifo& operator=(Fifo&& other) noexcept {
    swap(other);
    return *this;
  }

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }

  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }
  /// The element `i` places behind the front.
  T& operator[](std::size_t i) {
    assert(i < size());
    return slots_[(head_ + static_cast<std::uint32_t>(i)) & (capacity_ - 1)];
  }
  const T& operator[](std::size_t i) const { return const_cast<Fifo&>(*this)[i]; }

  void push_back(T element) {
    if (tail_ - head_ == capacity_) [[unlikely]]
      grow();
    slots_[tail_++ & (capacity_ - 1)] = std::move(element);
  }
  void pop_front() {
    assert(!empty());
    ++head_;
  }

 private:
  void swap(Fifo& other) {
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(head_, other.head_);
    std::swap(tail_, other.tail_);
  }
  void grow() {
    const std::uint32_t held = tail_ - head_;
    // Of thousands of queues of large elements most never hold a second one.
    constexpr std::uint32_t kFirst = sizeof(T) > 32 ? 1 : 4;
    const std::uint32_t larger = capacity_ == 0 ? kFirst : 2 * capacity_;
    auto slots = std::make_unique<T[]>(larger);
    for (std::uint32_t i = 0; i < held; ++i) slots[i] = std::move((*this)[i]);
    slots_ = std::move(slots);
    capacity_ = larger;
    head_ = 0;
    tail_ = held;
  }

  std::unique_ptr<T[]> slots_;
  std::uint32_t capacity_ = 0;  // a power of two
  std::uint32_t head_ = 0;      // count up and round
  std::uint32_t tail_ = 0;
};

}  // namespace weft
