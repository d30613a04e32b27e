// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "hw/core/quantity.h"
#include "hw/core/random.h"

namespace weft {

/// Random stalls of one handshake, for tests: with a limit above zero, each call returns a time from 0 to the limit,
/// else none. Contents of memories must not depend on it; times may.
class Stall {
 public:
  struct Config {
    Time limit;  ///< 0: never stall
    std::uint64_t seed = 0;
  };

  Stall() = default;
  Stall(const Config& config, std::string_view owner)
      : limit_(static_cast<std::uint64_t>(config.limit.count())), random_(config.seed, owner) {}

  [[nodiscard]] bool on() const { return limit_ != 0; }

  Time next() {
    if (limit_ == 0) return Time();
    return Time(static_cast<std::int64_t>(random_.next() % (limit_ + 1)));
  }

 private:
  std::uint64_t limit_ = 0;
  Random random_;
};

}  // namespace weft
