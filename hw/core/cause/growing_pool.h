// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace weft {

/// Elements by number, of which more can be had, and the last ones given back. They lie in huge pages: who follows
/// numbers through many megabytes would else wait for the tables of pages. Memory is touched as it is needed.
template <typename Element>
class GrowingPool {
  static_assert(std::is_trivially_copyable_v<Element>);

 public:
  GrowingPool() = default;
  GrowingPool(const GrowingPool&) = delete;
  GrowingPool& operator=(const GrowingPool&) = delete;
  ~GrowingPool() {
    if (elements_ != nullptr) munmap(elements_, bytes_);
  }

  Element& operator[](std::uint32_t index) { return elements_[index]; }
  const Element& operator[](std::uint32_t index) const { return elements_[index]; }

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// Only so many are left, which is not more than there are.
  void cut_to(std::uint32_t size) { size_ = size; }
  /// So many, of which further ones have no contents that are set. Throws std::bad_alloc.
  void resize(std::uint32_t size) {
    while (size > capacity_) grow();
    size_ = size;
  }
  /// The number of a further one, whose contents are not set. Throws std::bad_alloc.
  std::uint32_t append() {
    if (size_ == capacity_) [[unlikely]]
      grow();
    return size_++;
  }

 private:
  static constexpr std::size_t kHugePage = 2 << 20;

  [[gnu::noinline]] void grow() {
    if (capacity_ > UINT32_MAX / 2) throw std::bad_alloc();
    const std::size_t bytes = 2 * std::max(bytes_, kHugePage / 2);
    // Pages move to where there is room for all: nothing is copied, and nothing is there twice.
    void* const elements = elements_ == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                                : mremap(elements_, bytes_, bytes, MREMAP_MAYMOVE);
    if (elements == MAP_FAILED) throw std::bad_alloc();
    madvise(elements, bytes, MADV_HUGEPAGE);  // where the system has none, small ones do
    elements_ = static_cast<Element*>(elements);
    bytes_ = bytes;
    capacity_ = static_cast<std::uint32_t>(bytes / sizeof(Element));
  }

  Element* elements_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace weft
