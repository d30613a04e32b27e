// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/stopwatch.h"

#include <ctime>

namespace weft::platforms {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

Stopwatch::Stopwatch() : cpu_began_(platforms::cpu_seconds()) {}

double Stopwatch::cpu_seconds() const {
  return platforms::cpu_seconds() - cpu_began_;
}

}  // namespace weft::platforms
