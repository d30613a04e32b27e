// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace weft::memory {

/// The bytes of a memory of any size, of which only touched pages exist. Untouched bytes read as zero.
class BackingStore {
 public:
  static constexpr std::uint64_t kPage = 64 << 10;

  void write(std::uint64_t address, const std::byte* data, std::uint64_t bytes);
  void read(std::uint64_t address, std::byte* data, std::uint64_t bytes) const;

  /// The page that holds `address`, created if need be.
  std::byte* page(std::uint64_t address);

  [[nodiscard]] std::size_t pages() const { return pages_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<std::byte[]>> pages_;
};

}  // namespace weft::memory
