// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "hw/core/quantity.h"

namespace weft::firmware {

/// Something does not fit a memory. `path` is the field of the platform that says how large that is; may be empty.
class OutOfMemory : public std::length_error {
 public:
  OutOfMemory(const std::string& what, std::string path) : std::length_error(what), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Hands out an accelerator's memory. All ranks allocate the same buffers in the same order, so that a buffer has the
/// same address everywhere (a symmetric heap) and a rank knows where its peers' buffers are.
class MemoryMap {
 public:
  /// For errors: `path` is the field of the platform that says how large it is, `note` follows it.
  explicit MemoryMap(Bytes capacity, std::string path = {}, std::string note = {})
      : capacity_(static_cast<std::uint64_t>(capacity.count())), path_(std::move(path)), note_(std::move(note)) {}

  /// Address of `bytes` bytes, aligned to 256. Throws OutOfMemory, naming `what`, what is left and the field, when they
  /// do not fit.
  std::uint64_t allocate(const std::string& what, std::uint64_t bytes) {
    const std::uint64_t size = (bytes + 255) / 256 * 256;
    if (size > capacity_ - used_) {
      throw OutOfMemory(what + needs_text(bytes) + (path_.empty() ? "" : " (" + path_ + note_ + ")"), path_);
    }
    const std::uint64_t address = used_;
    used_ += size;
    return address;
  }
  /// Leaves what lies before `address`, an address that another map gave, unused.
  void skip_to(std::uint64_t address) { used_ = std::max(used_, address); }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
  /// " needs 1.296 GiB, and 0.289 of 1 GiB are free"
  [[nodiscard]] std::string needs_text(std::uint64_t bytes) const;

  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  std::string path_;
  std::string note_;
};

}  // namespace weft::firmware
