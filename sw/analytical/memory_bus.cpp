// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/memory_bus.h"

#include "sw/analytical/network.h"

namespace weft::analytical {
namespace {

constexpr double kMemoryNsPerByte = 0.0038;
constexpr std::uint32_t kFairRow = 8;

// On the agenda: an end, a side and one of these.
constexpr std::uint32_t kSent = 0;
constexpr std::uint32_t kReceived = 1;
constexpr std::uint32_t kReduced = 2;
constexpr std::uint32_t kBusEvents = 3;

constexpr std::int64_t kPsInNs = 1000;

}  // namespace

MemoryBuses::MemoryBuses(Agenda& agenda, const BusConfig& config, std::uint32_t ends, BusUser& user)
    : agenda_(agenda), actor_(agenda.add(*this)), config_(config), user_(user), ends_(ends) {}

MemoryBuses::~MemoryBuses() = default;

MemoryBuses::End& MemoryBuses::end(std::uint32_t number) {
  if (ends_[number] == nullptr) ends_[number] = std::make_unique<End>();
  return *ends_[number];
}

void MemoryBuses::to_adapter(Time now, std::uint32_t number, std::int64_t bytes, std::uint64_t token) {
  remember(now, {number, end(number), kUnit}, {token, bytes}, false, Next::kSend);
}

void MemoryBuses::from_adapter(Time now, std::uint32_t number, std::int64_t bytes, bool reduced, bool goes_on,
                               std::uint64_t token) {
  request(now, {number, end(number), kAdapter}, {token, bytes, reduced, goes_on});
}

void MemoryBuses::act(Time now, std::uint64_t what) {
  const auto number = static_cast<std::uint32_t>(what / (kSides * kBusEvents));
  const auto event = static_cast<std::uint32_t>(what % (kSides * kBusEvents));
  const Place place{number, end(number), static_cast<Side>(event / kBusEvents)};
  Port& port = place.port();
  switch (event % kBusEvents) {
    case kSent:
      port.last = now;
      port.before = port.state;
      port.state = Port::State::kFree;
      ++port.row;
      break;
    case kReceived:
      received(now, place);
      break;
    default:
      reduced(now, place);
      break;
  }
  go_on(now, place);
}

void MemoryBuses::post(Time at, Place place, std::uint32_t kind) {
  const std::uint64_t what = std::uint64_t{place.number} * kSides * kBusEvents + place.side * kBusEvents + kind;
  agenda_.call(at, place.number, Entry(actor_, what));
}

double MemoryBuses::ns_per_byte(Side side) const {
  return side < kUnitAtMemory ? config_.ns_per_byte : kMemoryNsPerByte;
}

void MemoryBuses::request(Time now, Place place, const Move& move) {
  place.port().sends.push_back(move);
  go_on(now, place);
}

void MemoryBuses::remember(Time now, Place place, Move move, bool reads, Next next) {
  move.next = next;
  move.reduced = false;
  move.goes_on = reads;
  // An answer to nobody's request comes from memory; all else begins at the compute unit.
  request(now, place.at(next == Next::kSend && !reads ? kMemory : kUnitAtMemory), move);
}

void MemoryBuses::go_on(Time now, Place place) {
  Port& port = place.port();
  if (port.state != Port::State::kFree || port.sends.empty()) return;
  const Place partner = place.partner();
  const Port& other = partner.port();
  if (port.row > kFairRow && !other.sends.empty() && other.row <= kFairRow) return go_on(now, partner);
  send_next(now, place);
}

void MemoryBuses::send_next(Time now, Place place) {
  Port& port = place.port();
  std::int64_t wait = config_.overhead_ns;
  if (port.before == Port::State::kSending) {
    const std::int64_t since = (now - port.last).count() / kPsInNs;
    if (config_.overhead_ns + since <= config_.gap_ns) wait = config_.gap_ns - since;
  }
  const Move move = port.sends.front();
  const double data = ns_per_byte(place.side) * static_cast<double>(move.bytes - 1);
  const Place partner = place.partner();
  Port& other = partner.port();
  other.receives.push_back(move);
  other.before = other.state;
  other.state = Port::State::kReceiving;
  other.row = 0;
  post(after(now, whole_ns(static_cast<double>(wait) + data + static_cast<double>(config_.latency_ns) +
                           static_cast<double>(config_.overhead_ns))),
       partner, kReceived);
  port.sends.pop_front();
  port.state = Port::State::kSending;
  post(after(now, whole_ns(static_cast<double>(wait) + data)), place, kSent);
}

void MemoryBuses::received(Time now, Place place) {
  Port& port = place.port();
  port.last = now;
  port.before = port.state;
  if (port.receives.size() < 2) port.state = Port::State::kFree;
  Move move = port.receives.front();
  port.receives.pop_front();
  if (place.side == kUnit) {
    move.to_adapter_then = move.goes_on;
    if (move.reduced) return remember(now, place, move, true, Next::kReduce);
    if (move.goes_on) return remember(now, place, move, true, Next::kSend);
    return remember(now, place, move, false, Next::kDone);
  }
  if (move.goes_on) {
    move.goes_on = false;
    port.sends.push_back(move);
  } else if (place.side == kAdapter) {
    user_.bus_passed(now, place.number, move.token);
  } else {
    answered(now, place.at(kUnit), move);
  }
}

void MemoryBuses::answered(Time now, Place place, const Move& move) {
  switch (move.next) {
    case Next::kSend:
      place.port().sends.push_back(move);
      break;
    case Next::kReduce:
      place.end.reductions.push_back(move);
      if (place.end.reductions.size() == 1) reduce_first(now, place);
      break;
    case Next::kDone:
      user_.bus_passed(now, place.number, move.token);
      break;
  }
  go_on(now, place);
}

void MemoryBuses::reduce_first(Time now, Place place) {
  const auto hundreds = static_cast<double>(place.end.reductions.front().bytes / 100);
  post(after(now, whole_ns(hundreds * static_cast<double>(config_.reduction_ns) + 50)), place, kReduced);
}

void MemoryBuses::reduced(Time now, Place place) {
  Fifo<Move>& reductions = place.end.reductions;
  const Move move = reductions.front();
  reductions.pop_front();
  remember(now, place, move, move.to_adapter_then, move.to_adapter_then ? Next::kSend : Next::kDone);
  if (!reductions.empty()) reduce_first(now, place);
}

}  // namespace weft::analytical
