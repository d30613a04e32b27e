// SPDX-License-Identifier: Apache-2.0
// What a switch shows of itself over time: the depth of its queues, and its pins.
#include <algorithm>

#include "hw/fabric/switch/switch.h"

namespace weft::fabric {
namespace {

constexpr std::uint32_t kOfOneLength = 4096;  // intervals
constexpr const char* kWhat = "queued bytes";

}  // namespace

void Switch::record(Probe& probe, const std::string& process) {
  probe_ = &probe;
  process_ = process;
  depths_.resize(outputs_.size());
}

void Switch::draw(std::uint32_t output) {
  Depth& depth = depths_[output];
  const Time now = dispatcher_.now();
  const std::int64_t waiting = outputs_[output].waiting_bytes;
  if (depth.track == Depth::kUndeclared) {
    depth.track = probe_->add_rival(process_, std::string(basename()) + " port " + std::to_string(output));
    depth.from = now;
  }
  if (depth.track < 0) return;
  if (now - depth.from >= depth.interval) {
    draw(depth);
    if (++depth.drawn % kOfOneLength == 0) depth.interval += depth.interval;
    depth.from = now;
    depth.most = 0;
  }
  depth.most = std::max(depth.most, waiting);
  depth.last = waiting;
}

void Switch::draw(const Depth& depth) {
  probe_->counter(depth.track, kWhat, depth.from, static_cast<double>(depth.most));
  probe_->counter(depth.track, kWhat, depth.from + depth.interval, static_cast<double>(depth.last));
}

void Switch::finish_drawing() {
  for (const Depth& depth : depths_) {
    if (depth.track >= 0) draw(depth);
  }
}

void Switch::record(Waves& waves) {
  for (std::size_t port = 0; port < transmitters_.size(); ++port) {
    transmitters_[port].record(waves, std::string(name()) + ".out" + std::to_string(port));
  }
  for (const auto& arbiter : arbiters_) arbiter->record(waves, arbiter->name());
  if (engine_ != nullptr) engine_->record(waves, std::string(name()) + ".reduction");
}

}  // namespace weft::fabric
