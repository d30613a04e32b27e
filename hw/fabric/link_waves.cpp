// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/link_waves.h"

#include <algorithm>
#include <array>

namespace weft::fabric {
namespace {

constexpr std::array<StreamPins::Field, 5> kLinkFields = {
    {{"psn", 32}, {"bytes", 32}, {"destination", 32}, {"opcode", 8}, {"lane", 3}}};

Frequency beat_clock(Rate rate) {
  constexpr std::int64_t kBits = 64 * 8;
  std::int64_t hertz = 1'000'000'000;
  while (rate.count() / kBits > hertz) hertz *= 2;
  return Frequency(hertz);
}

}  // namespace

LinkWaves::LinkWaves(Waves& waves, const std::string& scope, const LinkConfig& config)
    : waves_(waves),
      frequency_(beat_clock(config.rate)),
      edges_(frequency_),
      pins_(waves, scope, "", waves.clock(scope + ".clk", frequency_), frequency_, 0, kLinkFields),
      flow_control_(config.flow_control) {
  if (flow_control_ == FlowControl::kLossy) return;
  const bool credits = flow_control_ == FlowControl::kCredits;
  for (int lane = 0; lane < config.lanes; ++lane) {
    const std::string name = scope + (credits ? ".credits" : ".paused") + std::to_string(lane);
    lanes_.push_back(waves.pin(name, credits ? 48 : 1));
    if (credits) waves.set(Time(), lanes_.back(), static_cast<std::uint64_t>((config.buffer + config.shared).count()));
  }
}

void LinkWaves::packet(const Packet& packet, std::int64_t held, Time head, Time length) {
  // Counted by its ends on the wire, not by its bytes, so that packets one behind the other stay in step with them.
  const std::int64_t beats = std::max<std::int64_t>(1, edges_.from(head + length) - edges_.from(head));
  pins_.transfer(
      {.offered = head, .from = head, .to = head + length, .beats = beats},
      {packet.psn, packet.wire_bytes, packet.destination, static_cast<std::uint64_t>(packet.opcode), packet.lane});
  if (flow_control_ == FlowControl::kCredits) credit(head, packet.lane, -held);
}

void LinkWaves::credit(Time at, int lane, std::int64_t bytes) {
  waves_.add(at, lanes_[static_cast<std::size_t>(lane)], bytes);
}

void LinkWaves::pause(Time at, int lane, bool paused) {
  waves_.set(at, lanes_[static_cast<std::size_t>(lane)], paused ? 1 : 0);
}

}  // namespace weft::fabric
