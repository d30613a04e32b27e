// SPDX-License-Identifier: Apache-2.0
// Rings and direct exchanges packet by packet: each is prepared on its own, on the bus where that is modelled, and the
// next message leaves when any is ready. So ASTRA-sim has all of them; where packets of a round are prepared alike the
// rounds of collectives_steps.cpp come to the same times.
#include <algorithm>

#include "sw/analytical/collectives.h"

namespace weft::analytical {

bool Collectives::by_packet(const Context& context) const {
  const Phase& phase = context.phase;
  const bool direct = phase.algorithm == Algorithm::kDirect;
  if (direct && phase.window != 0 && phase.window < context.place.count - 1) return true;
  return on_bus(context);
}

/// Groups that are listed have a delay of their own in its place.
bool Collectives::on_bus(const Context& context) const {
  return buses_ != nullptr && context.place.members == nullptr;
}

void Collectives::begin_packets(Time now, Context& context) {
  const std::uint32_t others = context.place.count - 1;
  const bool direct = context.phase.algorithm == Algorithm::kDirect;
  context.stream.packets = std::make_unique<Packets>();
  Packets& packets = *context.stream.packets;
  if (direct) packets.width = context.phase.window == 0 ? others : std::min(context.phase.window, others);
  // A direct exchange of all prepares its rounds in turn, all else a reduction and then a gather.
  const bool rounds = direct && context.place.members == nullptr;
  packets.following = rounds ? packets.width : others * packets.width;
  packets.sends = context.phase.ring_messages();
  if (direct && context.phase.operation == Operation::kAllToAll) packets.sends = others;
  packets.asked.resize(direct ? others : 1);
  for (std::uint32_t i = 0; i < packets.width; ++i) make_packet(now, context);
}

void Collectives::make_packet(Time now, Context& context) {
  Packets& packets = *context.stream.packets;
  const Phase& phase = context.phase;
  const std::uint32_t turn = packets.made / (packets.width + packets.following);
  const std::uint32_t place = packets.made % (packets.width + packets.following);
  ++packets.made;
  const bool received = place >= packets.width;
  const bool gathers = phase.operation == Operation::kAllReduce && turn % 2 != 0;
  const bool reduced = received && phase.reduces() && !gathers;
  if (!on_bus(context)) {
    return ready_at(now + context.delay + (reduced ? reduction(phase.shard()) : Time()), context);
  }
  Key key = context.key;
  key.slot = reduced ? 1 : 0;
  if (!received) return buses_->to_adapter(now, context.rank, phase.shard(), key.pack());
  const bool goes_on = packets.following - (place - packets.width) > packets.width;
  buses_->from_adapter(now, context.rank, phase.shard(), reduced, goes_on, key.pack());
}

void Collectives::bus_passed(Time now, std::uint32_t end, std::uint64_t token) {
  Key key = Key::unpack(token);
  const bool reduced = key.slot != 0;
  key.slot = 0;
  Streams& all = streams(end, key.group);
  Context passed = context(end, key, all, all.live[key.stream - all.first]);
  if (reduced) return ready_at(now + reduction(passed.phase.shard()), passed);
  packet_ready(now, passed);
}

void Collectives::packet_ready(Time now, Context& context) {
  Packets& packets = *context.stream.packets;
  ++packets.ready;
  const std::uint32_t others = context.place.count - 1;
  std::uint32_t sends = 1;
  const bool direct = context.phase.algorithm == Algorithm::kDirect;
  if (direct && context.phase.operation == Operation::kAllReduce && packets.sends - packets.sent <= others) {
    // What has been reduced goes to everybody, and not before all of it is.
    if (packets.received < others) return;
    sends = packets.width;
  }
  while (sends > 0 && send_packet(now, context)) --sends;
  if (packets.sent == packets.sends && packets.ready == packets.width) {
    context.stream.packets.reset();
    finish(now, context);
  }
}

bool Collectives::send_packet(Time now, Context& context) {
  Packets& packets = *context.stream.packets;
  if (packets.sent == packets.made || packets.sent == packets.sends || packets.ready == 0) return false;
  const std::uint32_t distance = packets.sent++ % static_cast<std::uint32_t>(packets.asked.size());
  --packets.ready;
  send(now, context, context.place.ahead(distance + 1), context.phase.shard(), distance);
  if (++packets.asked[distance] <= 0) {
    ++packets.received;  // it had come before it was asked for
    make_packet(now, context);
  }
  return true;
}

void Collectives::packet_received(Time now, Context& context, std::uint32_t distance) {
  Packets& packets = *context.stream.packets;
  if (--packets.asked[distance] < 0) return;
  ++packets.received;
  make_packet(now, context);
}

}  // namespace weft::analytical
