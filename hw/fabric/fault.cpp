// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/fault.h"

#include <algorithm>
#include <cmath>

namespace weft::fabric {

void LinkFaults::add(const Fault& fault) {
  faults_.push_back(fault);
  std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) { return a.from < b.from; });
}

Time LinkFaults::up_at(Time at) const {
  // In the order of their beginnings, so that one that follows another is seen.
  for (const Fault& fault : faults_) {
    if (fault.down && at >= fault.from && at < fault.end()) at = fault.end();
    if (at == kNever) break;
  }
  return at;
}

bool LinkFaults::damages(Time at, std::int64_t wire_bytes) {
  double survives = 1;
  for (const Fault& fault : faults_) {
    if (at < fault.from || at >= fault.end()) continue;
    survives *= 1 - fault.loss;
    if (fault.bit_errors > 0) survives *= std::exp(static_cast<double>(8 * wire_bytes) * std::log1p(-fault.bit_errors));
  }
  return survives < 1 && random_.share() >= survives;
}

Time LinkFaults::stretched(Time at, Time length) const {
  double share = 1;
  for (const Fault& fault : faults_) {
    if (at >= fault.from && at < fault.end()) share *= fault.rate;
  }
  if (share >= 1) return length;
  return Time(rounded(static_cast<double>(length.count()) / share, "the time to pass a slow link in ps"));
}

}  // namespace weft::fabric
