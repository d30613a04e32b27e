// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/switch.h"

#include <algorithm>
#include <bit>

namespace weft::fabric {
namespace {

// Tags: arrivals by port come before arbitration by output at the same picosecond, so that an arbiter sees all that
// came.
constexpr std::uint32_t kServe = 0x10000;

}  // namespace

tlm::tlm_sync_enum Switch::Input::nb_transport_fw(Packet& packet, Phase& /*phase*/, sc_core::sc_time& delay) {
  owner_->dispatcher_.post(owner_->dispatcher_.now() + from_delay(delay), *owner_, port_,
                           reinterpret_cast<std::uint64_t>(&packet));
  return tlm::TLM_ACCEPTED;
}

Switch::Switch(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, const Routes& routes,
               const std::vector<LinkConfig>& links, const Stall::Config& stall)
    : sc_module(name),
      dispatcher_(dispatcher),
      routes_(routes),
      latency_(config.latency),
      lanes_(static_cast<std::uint32_t>(links.empty() ? 1 : links.front().lanes)),
      words_(static_cast<std::uint32_t>((links.size() + 63) / 64)),
      inputs_(links.size()),
      outputs_(links.size()),
      transmitters_(links.size()),
      queues_(links.size()),
      nonempty_(links.size() * lanes_ * words_) {
  dispatcher.attach(*this, this->name());
  const auto radix = static_cast<std::uint32_t>(links.size());
  for (std::uint32_t i = 0; i < radix; ++i) {
    const std::string number = std::to_string(i);
    inputs_.emplace_back(*this, i);
    transmitters_.emplace_back(dispatcher, links[i], *this, kServe | i, stall, this->name() + (".out" + number));
    ports_.push_back(std::make_unique<Port>(number));
    transmitters_[i].bind(ports_[i]->out);
    ports_[i]->in.bind(inputs_[i]);
  }
}

Switch::~Switch() = default;

void Switch::end_of_elaboration() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    transmitters_[i].resolve(ports_[i]->out);
    inputs_[i].resolve(ports_[i]->in);
  }
}

std::int64_t Switch::waiting() const {
  std::int64_t sum = 0;
  for (const Output& output : outputs_) sum += output.waiting;
  return sum;
}

void Switch::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  if ((tag & kServe) == 0) {
    arrive(now, tag, *reinterpret_cast<Packet*>(data));
  } else {
    serve(now, tag & ~kServe);
  }
}

void Switch::prepare(std::uint32_t tag, std::uint64_t data) {
  const bool serves = (tag & kServe) != 0;
  const std::uint32_t output = serves ? tag & ~kServe : routes_.port(*reinterpret_cast<const Packet*>(data));
  __builtin_prefetch(&outputs_[output]);
  transmitters_[output].prefetch();
  if (!serves) inputs_[tag].prefetch();
}

std::uint32_t Switch::route(Time now, Packet& packet) const {
  if (!routes_.decides_late()) [[likely]]
    return routes_.port(packet);
  if (routes_.detours()) routes_.arrive(packet, packet.ingress);
  return routes_.adaptive() ? least_queued(now, routes_.choices(packet)) : routes_.port(packet);
}

/// The output with the fewest packets waiting and, among those, the one booked least far ahead; the first of equals.
std::uint32_t Switch::least_queued(Time now, const Choices& choices) const {
  std::uint32_t best = choices[0];
  for (std::uint32_t i = 1; i < choices.count; ++i) {
    const std::uint32_t other = choices[i];
    if (outputs_[other].waiting > outputs_[best].waiting) continue;
    const bool shorter = outputs_[other].waiting < outputs_[best].waiting;
    if (shorter || std::max(now, transmitters_[other].free_at()) < std::max(now, transmitters_[best].free_at())) {
      best = other;
    }
  }
  return best;
}

void Switch::arrive(Time now, std::uint32_t input, Packet& packet) {
  packet.ingress = static_cast<std::uint16_t>(input);
  ++counters_.packets;
  const std::uint32_t index = route(now, packet);
  Output& output = outputs_[index];
  const std::uint32_t lane = routes_.lane(packet, input, index);
  Transmitter& transmitter = transmitters_[index];
  if (output.waiting == 0 && transmitter.free_at() <= now + latency_ &&
      transmitter.credit_at(static_cast<int>(lane), packet.wire_bytes, now) == now) {
    output.next_input[lane] = static_cast<std::uint16_t>(input + 1 < inputs_.size() ? input + 1 : 0);
    output.next_lane = static_cast<std::uint8_t>(lane + 1 < lanes_ ? lane + 1 : 0);
    forward(now, index, lane, packet);
    return;
  }
  ++counters_.queued;
  inputs_[input].waits(now, packet);
  enqueue(index, lane, packet);
  arm(now, index);
}

void Switch::forward(Time now, std::uint32_t index, std::uint32_t lane, Packet& packet) {
  const Time ready = now + latency_;
  // The input's buffer is free when the last byte has left, which send() knows; the credit needs the lane of arrival.
  Input& input = inputs_[packet.ingress];
  const std::uint8_t lane_in = packet.lane;
  packet.lane = static_cast<std::uint8_t>(lane);
  const Time gone = transmitters_[index].send(packet, ready);
  packet.lane = lane_in;
  input.release(packet, gone - now);
  packet.lane = static_cast<std::uint8_t>(lane);
}

void Switch::enqueue(std::uint32_t output, std::uint32_t lane, Packet& packet) {
  if (queues_[output] == nullptr) queues_[output] = std::make_unique<Queue[]>(lanes_ * inputs_.size());
  Queue& q = queue(output, lane, packet.ingress);
  packet.next = nullptr;
  if (q.head == nullptr) {
    q.head = &packet;
    nonempty_[(output * lanes_ + lane) * words_ + packet.ingress / 64] |= 1ULL << (packet.ingress % 64);
  } else {
    q.tail->next = &packet;
  }
  q.tail = &packet;
  ++outputs_[output].waiting;
}

Packet* Switch::dequeue(std::uint32_t output, std::uint32_t lane, std::uint32_t input) {
  Queue& q = queue(output, lane, input);
  Packet* packet = q.head;
  q.head = packet->next;
  if (q.head == nullptr) {
    nonempty_[(output * lanes_ + lane) * words_ + input / 64] &= ~(1ULL << (input % 64));
  }
  --outputs_[output].waiting;
  return packet;
}

int Switch::pick_input(std::uint32_t output, std::uint32_t lane) const {
  const std::uint64_t* words = bitmap(output, lane);
  const std::uint32_t start = outputs_[output].next_input[lane];
  const std::uint32_t first_word = start / 64;
  std::uint64_t bits = words[first_word] & (~0ULL << (start % 64));
  for (std::uint32_t step = 0;; ++step) {
    const std::uint32_t word = (first_word + step) % words_;
    if (step > 0) bits = words[word];
    if (bits != 0) return static_cast<int>(word * 64) + std::countr_zero(bits);
    if (step == words_) return -1;  // the first word was seen twice: from the start, then whole
  }
}

void Switch::serve(Time now, std::uint32_t index) {
  Output& output = outputs_[index];
  if (now < output.service_at && output.service_at != kNever) return;  // overtaken by an earlier arbitration
  output.service_at = kNever;
  if (output.waiting == 0) return;
  Transmitter& transmitter = transmitters_[index];
  if (transmitter.free_at() <= now + latency_) {
    for (std::uint32_t step = 0; step < lanes_; ++step) {
      const std::uint32_t lane = (output.next_lane + step) % lanes_;
      const int input = pick_input(index, lane);
      if (input < 0) continue;
      const Packet& first = *queue(index, lane, static_cast<std::uint32_t>(input)).head;
      if (transmitter.credit_at(static_cast<int>(lane), first.wire_bytes, now) != now) continue;
      Packet* packet = dequeue(index, lane, static_cast<std::uint32_t>(input));
      output.next_lane = static_cast<std::uint8_t>((lane + 1) % lanes_);
      output.next_input[lane] = static_cast<std::uint16_t>((static_cast<std::uint32_t>(input) + 1) % inputs_.size());
      packet->tail_lag_ps = static_cast<std::uint32_t>(inputs_[packet->ingress].missing(now, *packet).count());
      forward(now, index, lane, *packet);
      break;
    }
  }
  if (output.waiting != 0) arm(now, index);
}

void Switch::arm(Time now, std::uint32_t index) {
  Output& output = outputs_[index];
  Transmitter& transmitter = transmitters_[index];
  const Time free = std::max(now, transmitter.free_at() - latency_);
  if (output.service_at <= free) return;
  Time at = kNever;
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    const int input = pick_input(index, lane);
    if (input < 0) continue;
    const Packet& first = *queue(index, lane, static_cast<std::uint32_t>(input)).head;
    at = std::min(at, transmitter.credit_at(static_cast<int>(lane), first.wire_bytes, now));
    if (at == now) break;
  }
  if (at == kNever) {
    ++counters_.credit_waits;
    transmitter.wait_for_credit();
    return;
  }
  if (at > now && at > free) ++counters_.credit_waits;
  at = std::max(at, free);
  if (output.service_at <= at) return;
  output.service_at = at;
  dispatcher_.post(at, *this, kServe | index);
}

}  // namespace weft::fabric
