// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction/reduction_lane_engine.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "hw/fabric/implementations.h"

namespace weft::fabric {
namespace {

constexpr int kPatience = 100'000;  // edges

}  // namespace

ReductionLaneEngine::ReductionLaneEngine(sc_core::sc_module_name name, const LaneShape& shape, const PinsMaker& make,
                                         const ReductionSite& site)
    : sc_module(name),
      ReductionEngine(site.config),
      shape_(shape),
      dispatcher_(site.dispatcher),
      packets_(site.packets),
      pass_on_(site.pass_on),
      release_(site.release),
      clock_(site.dispatcher, site.config.clock),
      fed_(shape.children),
      operands_(site.config.operand_buffer > Bytes() ? site.ports : 0) {
  in_.data.resize(shape.children * shape.bytes / 4);
  in_.id.resize(shape.children);
  out_.data.resize(shape.bytes / 4);
  pins_ = make(clock_.signal(), clock_.reset());
  SC_METHOD(toggle);
  sensitive << clock_.event();
  SC_METHOD(step);
  sensitive << clock_.signal().posedge_event();
  dont_initialize();
}

ReductionLaneEngine::Outcome ReductionLaneEngine::take(std::uint32_t group, std::uint16_t port, Packet& packet,
                                                       Time now) {
  const Tree& tree = this->tree(group);
  ++counters_.operands;
  counters_.operand_bytes += packet.payload_bytes;
  const std::uint64_t key = key_of(group, packet);
  Chunk& chunk = chunks_[key];
  if (chunk.operands.empty()) {
    chunk.key = key;
    chunk.streaming = tree.streaming;
    chunk.operands.assign(tree.children.size(), nullptr);
    chunk.came.assign(tree.children.size(), Time());
    chunk.missing = tree.children.size();
    counters_.most_open = std::max(counters_.most_open, static_cast<std::int64_t>(chunks_.size()));
  }
  const std::size_t child = child_of(tree, port);
  assert(chunk.operands[child] == nullptr && "an operand came twice");
  const Time whole = now + Time(packet.tail_lag_ps);
  chunk.operands[child] = &packet;
  chunk.came[child] = now;
  if (--chunk.missing == 0) {
    chunk.sum = sum_of(chunk.operands);
    const auto bytes = static_cast<std::uint32_t>(shape_.bytes);
    chunk.beats = std::max(1U, (chunk.sum->payload_bytes + bytes - 1) / bytes);
    ready_.push_back(&chunk);
    clock_.wake(now);
  }
  if (operands_.empty()) return {whole, nullptr, Time(), Time()};
  Operands& operands = operands_[port];
  operands.waiting += packet.payload_bytes;
  operands.held_bytes += packet.payload_bytes;
  operands.held.push_back({{port, packet.lane, packet.wire_bytes}, packet.payload_bytes, whole});
  release_held(port, now);
  return {kNever, nullptr, Time(), Time()};
}

/// The oldest ones go as far as what then is held still covers what does not fit.
void ReductionLaneEngine::release_held(std::uint16_t port, Time now) {
  Operands& operands = operands_[port];
  const std::int64_t excess = operands.waiting - config().operand_buffer.count();
  while (!operands.held.empty()) {
    const Operands::Held& first = operands.held.front();
    if (excess > operands.held_bytes - first.bytes) return;
    if (now > first.whole) ++counters_.held;
    release_(first.place, std::max(now, first.whole));
    operands.held_bytes -= first.bytes;
    operands.held.pop_front();
  }
}

void ReductionLaneEngine::left(std::uint32_t bytes, Time gone) {
  if (config().sum_buffer > Bytes()) leaving_.push_back({gone, bytes});
}

/// Whether the next beat of a sum is taken.
bool ReductionLaneEngine::has_room(Time now) {
  if (config().sum_buffer == Bytes() || given_.beat > 0 || scheduled_.empty()) return true;
  std::erase_if(leaving_, [&](const Leaving& sum) {
    if (sum.gone > now) return false;
    sum_bytes_ -= sum.bytes;
    return true;
  });
  const std::int64_t bytes = scheduled_.front()->sum->payload_bytes;
  return sum_bytes_ == 0 || sum_bytes_ + bytes <= config().sum_buffer.count();
}

void ReductionLaneEngine::toggle() {
  const Time now = dispatcher_.now();
  if (clock_.toggle()) {
    if (waves_ != nullptr) waves_->run(now, now);
    ++counters_.cycles;
    return;
  }
  if (waves_ != nullptr) {
    pins_->sample(out_);
    waves_->show(now, clock_.resets(), in_, out_);
  }
  const Time at = clock_.resets() || is_busy() ? now : next_arrival();
  if (at != kNever) clock_.wake(at);
}

void ReductionLaneEngine::record(Waves& waves, const std::string& scope) {
  if (waves.wants(scope)) waves_ = std::make_unique<LaneWaves>(waves, scope + ".lane", config().clock, shape_);
}

/// At a rising edge, like any other register: it sees what the pins were before it.
void ReductionLaneEngine::step() {
  if (clock_.reset_edge()) return;
  const Time now = dispatcher_.now();
  pins_->edge(out_);
  if (out_.error) fail("its error pin is 1");
  const std::uint64_t taken = in_.valid & out_.ready;
  idle_edges_ = taken != 0 || out_.valid || starves() || !is_busy() ? 0 : idle_edges_ + 1;
  if (idle_edges_ == kPatience) {
    fail("it has neither taken nor given a beat for " + std::to_string(kPatience) + " cycles");
  }
  const std::uint64_t waiting = in_.valid &= ~taken;
  for (std::size_t child = 0; child < shape_.children; ++child) {
    if ((taken >> child & 1) != 0) this->taken(child);
  }
  const bool given = out_.valid && in_.out_ready;
  if (out_.valid && !given) ++counters_.blocked;
  if (given) collect(now);
  if (scheduled_.empty()) schedule_next();
  for (std::size_t child = 0; child < shape_.children; ++child) {
    if (takes_part(child) && (in_.valid >> child & 1) == 0) offer(child, now);
  }
  const bool was_ready = in_.out_ready;
  in_.out_ready = has_room(now);
  if (taken != 0 || in_.valid != waiting || in_.out_ready != was_ready) pins_->drive(in_);
}

/// A beat of a child is in the lane.
void ReductionLaneEngine::taken(std::size_t child) {
  Position& fed = fed_[child];
  const Chunk& chunk = *scheduled_[fed.chunk - given_.chunk];
  if (!operands_.empty()) {
    const std::uint16_t port = chunk.operands[child]->ingress;
    const std::size_t begin = fed.beat * shape_.bytes;
    const std::size_t bytes = chunk.operands[child]->payload_bytes;
    if (begin < bytes) operands_[port].waiting -= static_cast<std::int64_t>(std::min(shape_.bytes, bytes - begin));
    release_held(port, dispatcher_.now());
  }
  if (++fed.beat == chunk.beats) fed = {fed.chunk + 1, 0};
}

/// Whether a beat is before the lane or in it.
bool ReductionLaneEngine::is_busy() const {
  if (in_.valid != 0) return true;
  for (std::size_t child = 0; child < shape_.children; ++child) {
    if (takes_part(child) && fed_[child] != given_) return true;
  }
  return false;
}

/// Whether it waits for beats that have not come.
bool ReductionLaneEngine::starves() const {
  for (std::size_t child = 0; child < shape_.children; ++child) {
    const bool has_more = fed_[child].chunk - given_.chunk < scheduled_.size();
    if (takes_part(child) && has_more && (in_.valid >> child & 1) == 0) return true;
  }
  return false;
}

/// When an idle lane has something to do.
Time ReductionLaneEngine::next_arrival() const {
  if (scheduled_.empty()) return ready_.empty() ? kNever : dispatcher_.now();
  Time at = kNever;
  for (std::size_t child = 0; child < shape_.children; ++child) {
    if (!takes_part(child)) continue;
    at = std::min(at, arrival(*scheduled_[fed_[child].chunk - given_.chunk], child, fed_[child].beat));
  }
  return at;
}

/// When the last byte of a beat is here. Bytes come evenly, behind the header.
Time ReductionLaneEngine::arrival(const Chunk& chunk, std::size_t child, std::uint32_t beat) const {
  const Packet& operand = *chunk.operands[child];
  const std::uint64_t end = (static_cast<std::uint64_t>(beat) + 1) * shape_.bytes;
  const std::uint64_t to_come = operand.payload_bytes > end ? operand.payload_bytes - end : 0;
  const std::uint64_t lag = operand.tail_lag_ps;
  const std::uint64_t early = operand.wire_bytes == 0 ? 0 : lag * to_come / operand.wire_bytes;
  return chunk.came[child] + Time(static_cast<std::int64_t>(lag - early));
}

/// Puts the next chunk behind those in the lane, if it may be there with them.
bool ReductionLaneEngine::schedule_next() {
  if (ready_.empty()) return false;
  Chunk& chunk = *ready_.front();
  const std::size_t count = chunk.operands.size();
  const std::uint64_t children = count == 64 ? ~0ULL : (1ULL << count) - 1;
  const auto kind = static_cast<ElementType>(chunk.sum->queue_pair);
  if (scheduled_.empty()) {
    in_.children = children;
    in_.kind = kind;
    for (Position& fed : fed_) fed = given_;
  } else if (children != in_.children || kind != in_.kind) {
    return false;
  }
  ready_.pop_front();
  chunk.number = static_cast<std::uint32_t>(given_.chunk + scheduled_.size());
  scheduled_.push_back(&chunk);
  return true;
}

void ReductionLaneEngine::offer(std::size_t child, Time now) {
  const Position& fed = fed_[child];
  if (fed.chunk - given_.chunk == scheduled_.size() && (scheduled_.empty() || !schedule_next())) return;
  const Chunk& chunk = *scheduled_[fed.chunk - given_.chunk];
  if (arrival(chunk, child, fed.beat) > now) return;
  const Packet& operand = *chunk.operands[child];
  const std::uint64_t bit = 1ULL << child;
  in_.valid |= bit;
  in_.last = fed.beat + 1 == chunk.beats ? in_.last | bit : in_.last & ~bit;
  in_.adds = adds(&operand) ? in_.adds | bit : in_.adds & ~bit;
  in_.id[child] = chunk.number;
  const std::size_t words = shape_.bytes / 4;
  std::uint32_t* pins = &in_.data[child * words];
  std::fill_n(pins, words, 0);
  if (operand.payload == nullptr || !adds(&operand)) return;
  const std::size_t begin = fed.beat * shape_.bytes;
  std::memcpy(pins, operand.payload + begin, std::min(shape_.bytes, operand.payload_bytes - begin));
}

void ReductionLaneEngine::collect(Time now) {
  if (scheduled_.empty()) fail("it gave a beat where none was due");
  Chunk& chunk = *scheduled_.front();
  const bool last = given_.beat + 1 == chunk.beats;
  if (out_.id != chunk.number || out_.last != last || out_.adds != adds(chunk.sum)) {
    const auto text = [](std::uint32_t id, bool is_last, bool any_adds) {
      return "id " + std::to_string(id) + ", last " + std::to_string(is_last) + ", adds " + std::to_string(any_adds);
    };
    fail("it gave a beat with " + text(out_.id, out_.last, out_.adds) + " where the next one had " +
         text(chunk.number, last, adds(chunk.sum)));
  }
  if (given_.beat == 0) {
    chunk.head = now;
    if (config().sum_buffer > Bytes()) sum_bytes_ += chunk.sum->payload_bytes;
  }
  if (out_.adds && chunk.sum->payload != nullptr) {
    const std::size_t begin = given_.beat * shape_.bytes;
    std::memcpy(chunk.sum->payload + begin, out_.data.data(), std::min(shape_.bytes, chunk.sum->payload_bytes - begin));
  }
  if (!last) {
    ++given_.beat;
    return;
  }
  given_ = {given_.chunk + 1, 0};
  scheduled_.pop_front();
  finish(chunk, now);
}

void ReductionLaneEngine::finish(Chunk& chunk, Time now) {
  Packet& sum = *chunk.sum;
  const Time head = chunk.streaming ? chunk.head : now;
  for (Packet* operand : chunk.operands) {
    if (operand != &sum) packets_.give_back(operand);
  }
  chunks_.erase(chunk.key);
  pass_on_(sum, head);
}

void ReductionLaneEngine::fail(const std::string& what) const {
  fail_block(name(), dispatcher_.now(), what);
}

}  // namespace weft::fabric
