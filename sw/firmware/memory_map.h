// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "hw/core/quantity.h"

namespace weft::firmware {

/// Hands out an accelerator's memory. All ranks allocate the same buffers in the same order, so that a buffer has the
/// same address everywhere (a symmetric heap) and a rank knows where its peers' buffers are.
class MemoryMap {
 public:
  explicit MemoryMap(Bytes capacity) : capacity_(static_cast<std::uint64_t>(capacity.count())) {}

  /// Address of `bytes` bytes, aligned to 256. Throws std::length_error, naming `what`, when they do not fit.
  std::uint64_t allocate(const std::string& what, std::uint64_t bytes) {
    const std::uint64_t size = (bytes + 255) / 256 * 256;
    if (size > capacity_ - used_) {
      throw std::length_error(what + " needs " + to_text(Bytes(static_cast<std::int64_t>(bytes))) + ", and " +
                              to_text(Bytes(static_cast<std::int64_t>(capacity_ - used_))) + " of " +
                              to_text(Bytes(static_cast<std::int64_t>(capacity_))) + " are free");
    }
    const std::uint64_t address = used_;
    used_ += size;
    return address;
  }
  /// Leaves what lies before `address`, an address that another map gave, unused.
  void skip_to(std::uint64_t address) { used_ = std::max(used_, address); }
  [[nodiscard]] std::uint64_t used() const { return used_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
};

}  // namespace weft::firmware
