// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

/// Small integers, some bits each, in words of 32 bits.
namespace weft::compression {

/// Of so many integers of so many bits, up to 32, as whole words.
constexpr std::int64_t packed_bytes(std::int64_t count, int bits) {
  return (count * bits + 31) / 32 * 4;
}

class BitWriter {
 public:
  void put(std::uint64_t value, int bits) {
    for (int i = 0; i < bits; ++i, ++place_) {
      if (place_ % 8 == 0) bytes_.push_back(std::byte{0});
      if (((value >> i) & 1) != 0) bytes_.back() |= static_cast<std::byte>(1U << (place_ % 8));
    }
  }
  void put(float value) {
    std::uint32_t word = 0;
    std::memcpy(&word, &value, sizeof word);
    put(word, 32);
  }
  [[nodiscard]] std::size_t bits() const { return place_; }
  /// With zeros up to a whole number of words, or to so many bytes.
  [[nodiscard]] std::vector<std::byte> take(std::size_t bytes = 0) {
    bytes_.resize(bytes > 0 ? bytes : (bytes_.size() + 3) / 4 * 4);
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t place_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// 0 beyond the end.
  [[nodiscard]] std::uint64_t get(int bits) {
    std::uint64_t value = 0;
    for (int i = 0; i < bits; ++i, ++place_) {
      if (place_ / 8 >= bytes_.size()) continue;
      const auto byte = std::to_integer<std::uint64_t>(bytes_[place_ / 8]);
      value |= ((byte >> (place_ % 8)) & 1) << i;
    }
    return value;
  }
  [[nodiscard]] float real() {
    const auto word = static_cast<std::uint32_t>(get(32));
    float value = 0;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  void skip_to(std::size_t bit) { place_ = bit; }
  [[nodiscard]] std::size_t at() const { return place_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t place_ = 0;
};

}  // namespace weft::compression
