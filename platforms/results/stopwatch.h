// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace weft::platforms {

/// Seconds since it was made: on the wall, and of processors that worked for this process, which does not depend on
/// what else the computer does.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  [[nodiscard]] double cpu_seconds() const;

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double cpu_began_;
};

}  // namespace weft::platforms
