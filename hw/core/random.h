// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// The finalizer of splitmix64 (Steele et al. 2014): every bit of `z` bears on every bit of the result.
inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// A stream of random numbers (splitmix64) of one owner: from the platform's seed and the owner's
/// name, so that neither the order of elaboration nor what others draw changes it.
class Random {
 public:
  Random() = default;
  Random(std::uint64_t seed, std::string_view owner) : state_(seed * 0x9e3779b97f4a7c15ULL + 0xcbf29ce484222325ULL) {
    for (const char c : owner) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix(state_);
  }
  /// From 0 up to and without 1.
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace weft
