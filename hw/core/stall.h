// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "hw/core/quantity.h"

namespace weft {

/// Random stalls of one handshake, for tests: with a limit above zero, each call returns a time from 0 to the limit,
/// else none. Seeded by the platform's seed and the owner's name, so that neither the order of elaboration nor another
/// module's stalls change it. Contents of memories must not depend on it; times may.
class Stall {
 public:
  struct Config {
    Time limit;  ///< 0: never stall
    std::uint64_t seed = 0;
  };

  Stall() = default;
  Stall(const Config& config, std::string_view owner) : limit_(static_cast<std::uint64_t>(config.limit.count())) {
    state_ = config.seed * 0x9e3779b97f4a7c15ULL + 0xcbf29ce484222325ULL;
    for (const char c : owner) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }

  [[nodiscard]] bool on() const { return limit_ != 0; }

  Time next() {
    if (limit_ == 0) return Time();
    state_ += 0x9e3779b97f4a7c15ULL;  // splitmix64
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return Time(static_cast<std::int64_t>((z ^ (z >> 31)) % (limit_ + 1)));
  }

 private:
  std::uint64_t limit_ = 0;
  std::uint64_t state_ = 0;
};

}  // namespace weft
