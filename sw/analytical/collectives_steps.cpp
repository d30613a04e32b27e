// SPDX-License-Identifier: Apache-2.0
// What a chunk does in one phase: rings, direct exchange, halving-doubling, double binary trees. A rank that has to
// send knows when, so that the message is given to the network at once and only its arrival is an event.
#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "sw/analytical/collectives.h"

namespace weft::analytical {
namespace {

constexpr std::uint32_t kUp = 0;  // slots of a tree
constexpr std::uint32_t kDown = 1;

/// A step of halving-doubling: how far the partner is, what goes both ways, and whether it is charged as a reduction.
struct Exchange {
  std::uint32_t distance;
  std::int64_t bytes;
  bool reduced;
};

std::uint32_t exchanges(const Phase& phase) {
  const auto levels = static_cast<std::uint32_t>(std::countr_zero(phase.members));
  return phase.operation == Operation::kAllReduce ? 2 * levels : levels;
}

Exchange exchange(const Phase& phase, std::uint32_t step) {
  const auto levels = static_cast<std::uint32_t>(std::countr_zero(phase.members));
  if (phase.reduces() && step < levels) return {1U << step, phase.bytes >> (step + 1), step > 0};
  const std::uint32_t doubling = step - (phase.reduces() ? levels : 0);
  return {phase.members >> (doubling + 1), phase.shard() << doubling, false};
}

}  // namespace

void Collectives::begin(Time now, Context& context) {
  Stream& stream = context.stream;
  stream.ready = now + context.delay;
  if (by_packet(context)) return begin_packets(now, context);
  switch (context.phase.algorithm) {
    case Algorithm::kRing:
      send(stream.ready, context, context.place.ahead(1), context.phase.shard(), 0);
      break;
    case Algorithm::kDirect:
      send_round(context);
      break;
    case Algorithm::kHalvingDoubling:
      send_halving(context);
      break;
    case Algorithm::kDoubleBinaryTree:
      begin_tree(now, context);
      break;
    default:  // check() refuses these
      break;
  }
}

void Collectives::receive(Time now, Context& context, std::uint32_t slot) {
  if (context.stream.packets != nullptr) return packet_received(now, context, slot);
  switch (context.phase.algorithm) {
    case Algorithm::kRing:
      return ring_received(now, context);
    case Algorithm::kDirect:
      return direct_received(now, context, slot);
    case Algorithm::kHalvingDoubling:
      return halving_received(now, context, slot);
    case Algorithm::kDoubleBinaryTree:
      return tree_received(now, context, slot);
    default:
      break;
  }
}

/// Messages of a ring come in order, from one neighbour.
void Collectives::ring_received(Time now, Context& context) {
  Stream& stream = context.stream;
  const std::int64_t bytes = context.phase.shard();
  const bool reduced = context.phase.reduces() && stream.step < context.phase.members - 1;
  const Time taken = std::max(now, stream.ready) + (reduced ? reduction(bytes) : Time());
  stream.ready = taken + context.delay;
  if (++stream.step == context.phase.ring_messages()) return finish(stream.ready, context);
  send(stream.ready, context, context.place.ahead(1), bytes, 0);
}

void Collectives::send_round(Context& context) {
  Stream& stream = context.stream;
  stream.left = context.place.count - 1 - std::exchange(stream.ahead, 0);
  for (std::uint32_t i = 1; i < context.place.count; ++i) {
    send(stream.ready, context, context.place.ahead(i), context.phase.shard(), stream.step);
  }
}

void Collectives::direct_received(Time now, Context& context, std::uint32_t slot) {
  Stream& stream = context.stream;
  if (slot != stream.step) {
    ++stream.ahead;
    return;
  }
  const std::uint32_t rounds = context.phase.operation == Operation::kAllReduce ? 2 : 1;
  --stream.left;
  for (Time at = now; stream.left == 0; at = stream.ready) {
    const bool again = context.place.members != nullptr && context.phase.members > 2;
    const bool reduced = context.phase.reduces() && (stream.step == 0 || again);
    stream.ready = std::max(at, stream.ready) + (reduced ? reduction(context.phase.shard()) : Time()) + context.delay;
    if (++stream.step == rounds) return finish(stream.ready, context);
    send_round(context);
  }
}

void Collectives::send_halving(Context& context) {
  const Exchange next = exchange(context.phase, context.stream.step);
  send(context.stream.ready, context, context.place.at(context.place.position ^ next.distance), next.bytes,
       context.stream.step);
}

void Collectives::halving_received(Time now, Context& context, std::uint32_t slot) {
  Stream& stream = context.stream;
  stream.arrived |= 1ULL << slot;
  while ((stream.arrived >> stream.step & 1) != 0) {
    const Exchange taken = exchange(context.phase, stream.step);
    stream.ready = std::max(now, stream.ready) + (taken.reduced ? reduction(taken.bytes) : Time()) + context.delay;
    if (++stream.step == exchanges(context.phase)) return finish(stream.ready, context);
    send_halving(context);
  }
}

void Collectives::begin_tree(Time now, Context& context) {
  Stream& stream = context.stream;
  const TreePlace mine = tree_place(context.place.position, context.place.count, context.key.stream % 2 == 0);
  stream.left = mine.count();
  if (mine.count() != 0) {
    stream.ready = now;
    return;
  }
  send(stream.ready, context, context.place.at(mine.parent), context.phase.bytes, kUp);
}

void Collectives::tree_received(Time now, Context& context, std::uint32_t slot) {
  Stream& stream = context.stream;
  const TreePlace mine = tree_place(context.place.position, context.place.count, context.key.stream % 2 == 0);
  if (slot == kDown) {
    const Time reduced = mine.count() == 0 ? Time() : reduction(context.phase.bytes);
    return send_down(std::max(now, stream.ready) + reduced + context.delay, context);
  }
  assert(stream.left > 0);
  if (--stream.left != 0) return;
  stream.ready = now + reduction(context.phase.bytes) + context.delay;
  if (mine.parent == TreePlace::kNone) return send_down(stream.ready, context);
  send(stream.ready, context, context.place.at(mine.parent), context.phase.bytes, kUp);
}

void Collectives::send_down(Time at, Context& context) {
  const TreePlace mine = tree_place(context.place.position, context.place.count, context.key.stream % 2 == 0);
  for (std::uint32_t i = 0; i < mine.count(); ++i) {
    send(at, context, context.place.at(mine.children[i]), context.phase.bytes, kDown);
  }
  finish(at, context);
}

}  // namespace weft::analytical
