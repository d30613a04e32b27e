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

void RoutingTable::set(std::uint32_t destination, const std::vector<std::uint16_t>& ports) {
  const auto count = static_cast<std::uint32_t>(ports.size());
  if (count == 1) {
    entries_[destination] = {ports.front(), 1};
    return;
  }
  // All that lies above shares its choices: look for them before they are written again.
  const auto found = std::search(choices_.begin(), choices_.end(), ports.begin(), ports.end());
  const auto first = static_cast<std::uint32_t>(found - choices_.begin());
  if (found == choices_.end()) choices_.insert(choices_.end(), ports.begin(), ports.end());
  entries_[destination] = {first & 0xfffff, count & 0xfff};
}

tlm::tlm_sync_enum Switch::Input::nb_transport_fw(Packet& packet, Phase& /*phase*/, sc_core::sc_time& delay) {
  owner_->dispatcher_.post(owner_->dispatcher_.now() + from_delay(delay), *owner_, port_,
                           reinterpret_cast<std::uint64_t>(&packet));
  return tlm::TLM_ACCEPTED;
}

Switch::Switch(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, const RoutingTable& routes,
               const std::vector<LinkConfig>& links, const std::vector<std::uint8_t>& lane_shift,
               const Stall::Config& stall)
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
    if (!lane_shift.empty()) outputs_[i].lane_shift = lane_shift[i];
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

void Switch::arrive(Time now, std::uint32_t input, Packet& packet) {
  packet.ingress = static_cast<std::uint16_t>(input);
  ++counters_.packets;
  const std::uint32_t index = routes_.port(packet);
  Output& output = outputs_[index];
  Transmitter& transmitter = transmitters_[index];
  if (output.waiting == 0 && transmitter.free_at() <= now + latency_ &&
      transmitter.credit_at(lane_out(index, packet), packet.wire_bytes, now) == now) {
    output.next_input[packet.lane] = static_cast<std::uint16_t>(input + 1 < inputs_.size() ? input + 1 : 0);
    output.next_lane = static_cast<std::uint8_t>(packet.lane + 1U < lanes_ ? packet.lane + 1 : 0);
    forward(now, index, packet);
    return;
  }
  ++counters_.queued;
  enqueue(index, packet);
  arm(now, index);
}

void Switch::forward(Time now, std::uint32_t index, Packet& packet) {
  const Time ready = now + latency_;
  // The input's buffer is free when the last byte has left, which send() knows; the credit needs the lane of arrival.
  Input& input = inputs_[packet.ingress];
  const std::uint8_t lane_in = packet.lane;
  packet.lane = lane_out(index, packet);
  const Time gone = transmitters_[index].send(packet, ready);
  const std::uint8_t lane_onward = packet.lane;
  packet.lane = lane_in;
  input.release(packet, gone - now);
  packet.lane = lane_onward;
}

void Switch::enqueue(std::uint32_t output, Packet& packet) {
  if (queues_[output] == nullptr) queues_[output] = std::make_unique<Queue[]>(lanes_ * inputs_.size());
  Queue& q = queue(output, packet.lane, packet.ingress);
  packet.next = nullptr;
  if (q.head == nullptr) {
    q.head = &packet;
    nonempty_[(output * lanes_ + packet.lane) * words_ + packet.ingress / 64] |= 1ULL << (packet.ingress % 64);
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
      if (transmitter.credit_at(lane_out(index, first), first.wire_bytes, now) != now) continue;
      Packet* packet = dequeue(index, lane, static_cast<std::uint32_t>(input));
      output.next_lane = static_cast<std::uint8_t>((lane + 1) % lanes_);
      output.next_input[lane] = static_cast<std::uint16_t>((static_cast<std::uint32_t>(input) + 1) % inputs_.size());
      forward(now, index, *packet);
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
    at = std::min(at, transmitter.credit_at(lane_out(index, first), first.wire_bytes, now));
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
