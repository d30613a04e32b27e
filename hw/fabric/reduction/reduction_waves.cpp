// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction/reduction_waves.h"

#include <algorithm>
#include <array>

namespace weft::fabric {
namespace {

constexpr std::array<StreamPins::Field, 4> kAddFields = {{{"adds", 1}, {"id", 32}, {"kind", 2}, {"group", 32}}};

}  // namespace

ReductionWaves::ReductionWaves(Waves& waves, const std::string& scope, Frequency clock, std::size_t beat_bytes,
                               std::size_t ports)
    : waves_(waves), beat_bytes_(beat_bytes), clock_(waves.clock(scope + ".clk", clock)) {
  for (std::size_t port = 0; port < ports; ++port) {
    inputs_.push_back(std::make_unique<StreamPins>(waves, scope + ".port" + std::to_string(port), "in_", clock_, clock,
                                                   beat_bytes, kAddFields));
  }
  output_ = std::make_unique<StreamPins>(waves, scope, "out_", clock_, clock, beat_bytes, kAddFields);
}

StreamPins::Transfer ReductionWaves::transfer(const Packet& packet, Time from, Time to) const {
  const std::size_t beats = (packet.payload_bytes + beat_bytes_ - 1) / beat_bytes_;
  return {.offered = from,
          .from = from,
          .to = to,
          .beats = static_cast<std::int64_t>(std::max<std::size_t>(1, beats)),
          .data = packet.payload,
          .bytes = packet.payload_bytes};
}

void ReductionWaves::operand(const Packet& packet, const Operand& times) {
  StreamPins::Transfer pins = transfer(packet, times.start, times.whole);
  pins.offered = times.now;
  pins.receiver_sets_pace = times.free >= times.whole;
  inputs_[times.port]->transfer(pins, {packet.payload_bytes > 0 ? 1U : 0U, packet.psn, packet.queue_pair, times.group});
}

void ReductionWaves::sum(const Packet& packet, std::uint32_t group, Time head, Time tail) {
  output_->transfer(transfer(packet, head, tail),
                    {packet.payload_bytes > 0 ? 1U : 0U, packet.psn, packet.queue_pair, group});
}

}  // namespace weft::fabric
