// SPDX-License-Identifier: Apache-2.0
// What a chunk does in one phase: rings, direct exchange, halving-doubling packet by packet, and double binary trees.
#include <algorithm>
#include <bit>
#include <utility>

#include "sw/analytical/collectives.h"

namespace weft::analytical {
namespace {

/// ASTRA-sim has a delay of its own for groups that are not everybody.
constexpr Time kGroupDelay = Time(10'000);

std::uint32_t levels_of(const Phase& phase) {
  return static_cast<std::uint32_t>(std::countr_zero(phase.members));
}

/// Messages that a member sends.
std::uint32_t messages_of(const Phase& phase) {
  const std::uint32_t passes = phase.operation == Operation::kAllReduce ? 2 : 1;
  if (phase.algorithm == Algorithm::kHalvingDoubling) return passes * levels_of(phase);
  if (phase.algorithm == Algorithm::kDirect) return passes * (phase.members - 1);
  return phase.ring_messages();
}

/// A step of halving-doubling: how far the partner is, and what goes both ways.
struct Step {
  std::uint32_t distance;
  std::int64_t bytes;
};

Step halving_step(const Phase& phase, std::uint32_t step) {
  const std::uint32_t levels = levels_of(phase);
  if (phase.operation == Operation::kAllgather) return {phase.members >> (step + 1), phase.bytes << step};
  if (phase.operation == Operation::kReduceScatter || step < levels) return {1U << step, phase.bytes >> (step + 1)};
  // The shard is halved once more before it is doubled.
  const std::uint32_t doubling = step - levels;
  return {phase.members >> (doubling + 1), phase.bytes >> (levels + 1) << (doubling + 1)};
}

}  // namespace

std::int64_t Collectives::packet_bytes(const Stream& stream, std::uint32_t packet) {
  const Phase& phase = phase_of(stream);
  return phase.algorithm == Algorithm::kHalvingDoubling ? halving_step(phase, packet).bytes : stream.packets.bytes;
}

void Collectives::begin(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  const Phase& phase = phase_of(stream);
  const bool tree = phase.algorithm == Algorithm::kDoubleBinaryTree;
  Packets& packets = stream.packets;
  packets = {tree ? phase.bytes : phase.shard()};
  if (tree) return begin_tree(now, number);
  packets.left = messages_of(phase);
  if (phase.algorithm == Algorithm::kDirect) {
    const std::uint32_t others = phase.members - 1;
    packets.width = phase.window == 0 ? others : std::min(phase.window, others);
  }
  const std::uint32_t width = packets.width;
  for (std::uint32_t i = 0; i < width; ++i) make_packet(now, number);
}

/// Packets come in turns: as many as exist from the start from memory, then so many from the network, of which those of
/// the first turn and every other one after it are reduced where the operation reduces.
void Collectives::make_packet(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  const Phase& phase = phase_of(stream);
  Packets& packets = stream.packets;
  if (packets.fresh == 0 && packets.following == 0) {
    packets.fresh = packets.width;
    packets.following = (phase.members - 1) * packets.width;
    const bool rounds = phase.algorithm == Algorithm::kDirect && stream.place.members == nullptr;
    if (rounds) packets.following = packets.width;
    if (phase.algorithm == Algorithm::kHalvingDoubling) packets.following = levels_of(phase) - 1;
    packets.odd_turn = !packets.odd_turn;
  }
  const std::int64_t bytes = packet_bytes(stream, packets.made++);
  if (packets.fresh > 0) {
    --packets.fresh;
    return prepare_packet(now, number, bytes, false, false, false);
  }
  const bool goes_on = packets.following > packets.width;
  --packets.following;
  const bool always = phase.operation == Operation::kReduceScatter;
  const bool reduced = always || (phase.operation == Operation::kAllReduce && packets.odd_turn);
  prepare_packet(now, number, bytes, true, reduced, goes_on);
}

void Collectives::packet_ready(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  const Phase& phase = phase_of(stream);
  Packets& packets = stream.packets;
  ++packets.ready;
  std::uint32_t sends = 1;
  const std::uint32_t others = phase.members - 1;
  const bool direct = phase.algorithm == Algorithm::kDirect;
  if (direct && phase.operation == Operation::kAllReduce && packets.left <= others) {
    // What has been reduced goes to everybody, and not before all messages have come.
    if (packets.received < others) return;
    sends = packets.width;
  }
  while (sends > 0 && send_packet(now, number)) --sends;
  if (packets.left == 0 && packets.ready == packets.width) phase_done(now, number);
}

bool Collectives::send_packet(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  Packets& packets = stream.packets;
  if (packets.sent == packets.made || packets.left == 0 || packets.ready == 0) return false;
  const Phase& phase = phase_of(stream);
  const Place& place = stream.place;
  const std::uint32_t packet = packets.sent++;
  --packets.left;
  --packets.ready;
  if (phase.algorithm == Algorithm::kHalvingDoubling) {
    const Step step = halving_step(phase, packet);
    const std::uint32_t partner = place.at(place.position ^ step.distance);
    exchange(now, number, partner, partner, step.bytes);
    return true;
  }
  const std::uint32_t distance = phase.algorithm == Algorithm::kDirect ? packet % (phase.members - 1) + 1 : 1;
  const std::uint32_t ahead = place.ahead(distance);
  const std::uint32_t behind = place.behind(distance);
  exchange(now, number, stream.backwards ? behind : ahead, stream.backwards ? ahead : behind, packets.bytes);
  return true;
}

void Collectives::exchange(Time now, std::uint32_t number, std::uint32_t to, std::uint32_t from, std::int64_t bytes) {
  send(now, streams_[number], to, bytes);
  receive(now, number, from, bytes);
}

void Collectives::send(Time now, const Stream& stream, std::uint32_t to, std::int64_t bytes) {
  const std::uint64_t purpose = std::uint64_t{stream.group} << 32 | stream.number;
  network_.mailboxes().send(now, {purpose, stream.rank, to, bytes}, {});
}

void Collectives::receive(Time now, std::uint32_t number, std::uint32_t from, std::int64_t bytes) {
  const Stream& stream = streams_[number];
  const std::uint64_t purpose = std::uint64_t{stream.group} << 32 | stream.number;
  network_.mailboxes().receive(now, {purpose, from, stream.rank, bytes}, Entry(actor_, number * kKinds + kReceived));
}

/// A packet passes the bus where that is modelled, but in listed groups, which have a delay of their own.
void Collectives::prepare_packet(Time now, std::uint32_t number, std::int64_t bytes, bool from_network, bool reduced,
                                 bool goes_on) {
  const Stream& stream = streams_[number];
  const bool tree = phase_of(stream).algorithm == Algorithm::kDoubleBinaryTree;
  const std::uint64_t packet = tree ? 0 : (stream.packets.made - 1) % kMostPackets;
  const std::uint64_t what = (packet * kMostStreams + number) * kKinds + (reduced ? kReduce : kReady);
  const bool listed = stream.place.members != nullptr;
  if (buses_ == nullptr || listed) {
    agenda_.call(now + (listed ? kGroupDelay : config_.endpoint_delay), stream.rank, Entry(actor_, what));
  } else if (from_network) {
    buses_->from_adapter(now, stream.rank, bytes, reduced, goes_on, what);
  } else {
    buses_->to_adapter(now, stream.rank, bytes, what);
  }
}

void Collectives::bus_passed(Time now, std::uint32_t /*end*/, std::uint64_t token) {
  act(now, token);
}

void Collectives::reduce(Time now, std::uint32_t number, std::uint32_t packet) {
  const Stream& stream = streams_[number];
  const std::int64_t bytes = packet_bytes(stream, packet);
  if (bytes != last_reduced_) {
    // As ASTRA-sim rounds it.
    constexpr double kNsPerSecond = 1e9;
    const double bytes_per_second = config_.memory_bytes_per_ns * kNsPerSecond;
    last_reduced_ = bytes;
    last_pass_ = whole_ns(static_cast<double>(bytes) / bytes_per_second * kNsPerSecond);
  }
  const std::uint64_t what = (std::uint64_t{packet} * kMostStreams + number) * kKinds + kReady;
  agenda_.call(last_pass_ == kNever ? kNever : after(now, 3 * last_pass_), stream.rank, Entry(actor_, what));
}

void Collectives::received(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  if (phase_of(stream).algorithm == Algorithm::kDoubleBinaryTree) return tree_received(now, number);
  ++stream.packets.received;
  make_packet(now, number);
}

void Collectives::ready(Time now, std::uint32_t number, std::uint32_t packet) {
  const Stream& stream = streams_[number];
  if (phase_of(stream).algorithm == Algorithm::kDoubleBinaryTree) return tree_ready(now, number);
  had_overtaken_ |= packet < stream.packets.sent;
  packet_ready(now, number);
}

void Collectives::begin_tree(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  const Phase& phase = phase_of(stream);
  const bool first_is_root = (stream.trees >> stream.phase & 1) != 0;
  stream.tree = tree_place(stream.place.position, stream.place.count, first_is_root);
  stream.reduced_once = false;
  const TreePlace& tree = stream.tree;
  if (tree.count() == 0) {
    stream.climb = Climb::kBegun;
    return prepare_packet(now, number, phase.bytes, false, false, false);
  }
  stream.climb = tree.count() == 1 ? Climb::kOneChild : Climb::kTwoChildren;
  for (std::uint32_t i = 0; i < tree.count(); ++i) {
    receive(now, number, stream.place.at(tree.children[i]), phase.bytes);
  }
}

void Collectives::tree_received(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  const std::int64_t bytes = phase_of(stream).bytes;
  switch (stream.climb) {
    case Climb::kTwoChildren:
      stream.climb = Climb::kOneChild;
      return prepare_packet(now, number, bytes, true, true, false);
    case Climb::kOneChild:
      stream.climb = stream.tree.parent == TreePlace::kNone ? Climb::kDown : Climb::kUp;
      return prepare_packet(now, number, bytes, true, true, true);
    default:
      break;
  }
  const bool leaf = stream.tree.count() == 0;
  stream.climb = leaf ? Climb::kDone : Climb::kDown;
  prepare_packet(now, number, bytes, true, !leaf, !leaf);
}

void Collectives::tree_ready(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  const std::int64_t bytes = phase_of(stream).bytes;
  const TreePlace& tree = stream.tree;
  if (tree.count() == 2 && !stream.reduced_once) {
    stream.reduced_once = true;  // one child's operand; the other's is on its way
    return;
  }
  if (stream.climb == Climb::kBegun || stream.climb == Climb::kUp) {
    stream.climb = Climb::kParent;
    const std::uint32_t parent = stream.place.at(tree.parent);
    send(now, stream, parent, bytes);
    return receive(now, number, parent, bytes);
  }
  if (stream.climb == Climb::kDown) {
    for (std::uint32_t i = 0; i < tree.count(); ++i) send(now, stream, stream.place.at(tree.children[i]), bytes);
  }
  phase_done(now, number);
}

}  // namespace weft::analytical
