// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/backing_store.h"

#include <algorithm>
#include <cstring>

namespace weft::memory {

std::byte* BackingStore::page(std::uint64_t address) {
  auto& page = pages_[address / kPage];
  if (page == nullptr) page = std::make_unique<std::byte[]>(kPage);
  return page.get();
}

void BackingStore::write(std::uint64_t address, const std::byte* data, std::uint64_t bytes) {
  while (bytes != 0) {
    const std::uint64_t offset = address % kPage;
    const std::uint64_t part = std::min(bytes, kPage - offset);
    std::memcpy(page(address) + offset, data, part);
    address += part;
    data += part;
    bytes -= part;
  }
}

void BackingStore::read(std::uint64_t address, std::byte* data, std::uint64_t bytes) const {
  while (bytes != 0) {
    const std::uint64_t offset = address % kPage;
    const std::uint64_t part = std::min(bytes, kPage - offset);
    const auto found = pages_.find(address / kPage);
    if (found == pages_.end()) {
      std::memset(data, 0, part);
    } else {
      std::memcpy(data, found->second.get() + offset, part);
    }
    address += part;
    data += part;
    bytes -= part;
  }
}

}  // namespace weft::memory
