// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/fault.h"

#include <algorithm>
#include <cmath>

namespace weft::fabric {

Fault Fault::in_node(int number) const {
  if (node < 0 || node == number) return *this;
  Fault nothing;
  nothing.link = link;
  nothing.links = links;
  nothing.node = node;
  return nothing;
}

void LinkFaults::add(const Fault& fault) {
  faults_.push_back(fault);
  std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) { return a.from < b.from; });
}

std::vector<std::string> LinkFaults::names() const {
  std::vector<std::string> names;
  for (const Fault& fault : faults_) {
    if (std::find(names.begin(), names.end(), fault.link) == names.end()) names.push_back(fault.link);
  }
  return names;
}

Time LinkFaults::up_at(Time at) const {
  // In the order of their beginnings, so that one that follows another is seen.
  for (const Fault& fault : faults_) {
    if (fault.down && at >= fault.from && at < fault.end()) at = fault.end();
    if (at == kNever) break;
  }
  return at;
}

/// Share of packets of this size that are not damaged.
double LinkFaults::survives(Time at, std::int64_t wire_bytes) const {
  double survives = 1;
  for (const Fault& fault : faults_) {
    if (at < fault.from || at >= fault.end()) continue;
    survives *= 1 - fault.loss;
    if (fault.bit_errors > 0) survives *= std::exp(static_cast<double>(8 * wire_bytes) * std::log1p(-fault.bit_errors));
  }
  return survives;
}

bool LinkFaults::damages(Time at, std::int64_t wire_bytes) {
  const double survives = this->survives(at, wire_bytes);
  return survives < 1 && random_.share() >= survives;
}

std::int64_t LinkFaults::damaged_units(Time at, std::int64_t wire_bytes, std::int64_t unit) {
  const double survives = this->survives(at, std::min(unit, wire_bytes));
  if (survives >= 1) return 0;
  // How many pass until the next one is damaged is drawn at once: there may be hundreds in a segment.
  const auto units = static_cast<double>((wire_bytes + unit - 1) / unit);
  std::int64_t damaged = 0;
  double passed = 0;
  while (true) {
    passed += std::floor(std::log(1 - random_.share()) / std::log(survives));
    if (!(passed < units)) return damaged;
    ++damaged;
  }
}

/// Of the rate, that a fault leaves while it lasts.
double LinkFaults::share(std::size_t fault, Time at) const {
  const Fault& which = faults_[fault];
  if (which.every == Time() || which.rate >= 1) return which.rate;
  const auto period = static_cast<std::uint64_t>((at - which.from) / which.every);
  return which.rate + (1 - which.rate) * Random(mix(key_ + fault) + period, "rate").share();
}

Time LinkFaults::stretched(Time at, Time length) const {
  double left = 1;
  for (std::size_t f = 0; f < faults_.size(); ++f) {
    if (at >= faults_[f].from && at < faults_[f].end()) left *= share(f, at);
  }
  if (left >= 1) return length;
  return Time(rounded(static_cast<double>(length.count()) / left, "the time to pass a slow link in ps"));
}

Time LinkFaults::jitter(Time at) {
  Time longer;
  for (const Fault& fault : faults_) {
    if (fault.jitter == Time() || at < fault.from || at >= fault.end()) continue;
    longer += Time(static_cast<std::int64_t>(jitter_.share() * static_cast<double>(fault.jitter.count())));
  }
  return longer;
}

}  // namespace weft::fabric
