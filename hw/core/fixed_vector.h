// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace weft {

/// A contiguous array whose capacity is set once and whose elements are built in place: for what can neither move nor
/// be copied, such as objects that implement SystemC interfaces, and must still lie side by side in memory.
template <typename T>
class FixedVector {
 public:
  explicit FixedVector(std::size_t capacity) : data_(std::allocator<T>().allocate(capacity)), capacity_(capacity) {}
  ~FixedVector() {
    while (size_ != 0) std::destroy_at(data_ + --size_);
    std::allocator<T>().deallocate(data_, capacity_);
  }
  FixedVector(const FixedVector&) = delete;
  FixedVector& operator=(const FixedVector&) = delete;

  /// Adds an element; at most `capacity` of them.
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    return *std::construct_at(data_ + size_++, std::forward<Args>(args)...);
  }

  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

}  // namespace weft
