// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/network.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::analytical {
namespace {

constexpr std::int64_t kRequest = 8192;        // bytes of a rendezvous
constexpr std::uint64_t kMostEnds = 1U << 28;  // event tags hold a rank and a bit

}  // namespace

Network::Network(Dispatcher& dispatcher, std::vector<Dimension> dimensions, Congestion congestion,
                 const std::string& path, bool rendezvous)
    : dispatcher_(dispatcher), dimensions_(std::move(dimensions)), congestion_(congestion), rendezvous_(rendezvous) {
  if (dimensions_.empty()) throw ConfigError(path + ".dimensions", "expected at least one dimension, got none");
  std::uint64_t ends = 1;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const std::string place = path + ".dimensions." + std::to_string(i);
    if (dimensions_[i].bytes_per_ns <= 0) throw ConfigError(place + ".bandwidth_GiBps", "expected more than 0");
    ends *= dimensions_[i].size;
    if (ends > kMostEnds) {
      throw ConfigError(place + ".size", "expected at most " + std::to_string(kMostEnds) + " ends in all dimensions");
    }
  }
  ends_ = static_cast<std::uint32_t>(ends);
  if (congestion_ == Congestion::kAware && dimensions_.size() > 1) {
    throw ConfigError(path + ".congestion", "expected one dimension where links are shared (congestion aware), got " +
                                                std::to_string(dimensions_.size()) +
                                                ": take congestion unaware, or Weft's own network models");
  }
  dispatcher.attach(*this, "analytical network");
}

Time Network::unaware(std::uint32_t from, std::uint32_t to, std::int64_t bytes) const {
  for (const Dimension& each : dimensions_) {
    const std::uint32_t a = from % each.size;
    const std::uint32_t b = to % each.size;
    from /= each.size;
    to /= each.size;
    if (a == b) continue;
    std::uint32_t links = 1;
    if (each.block == Block::kSwitch) links = 2;
    if (each.block == Block::kRing) links = std::min((b + each.size - a) % each.size, (a + each.size - b) % each.size);
    return whole_ns(links * each.latency_ns + static_cast<double>(bytes) / each.bytes_per_ns);
  }
  return Time();
}

std::uint32_t Network::next_stop(std::uint32_t at, std::uint32_t to) const {
  switch (dimensions_.front().block) {
    case Block::kFullyConnected:
      return to;
    case Block::kSwitch:
      return at == ends_ ? to : ends_;
    case Block::kRing:
      break;
  }
  const std::uint32_t clockwise = (to + ends_ - at) % ends_;
  return clockwise <= ends_ - clockwise ? (at + 1) % ends_ : (at + ends_ - 1) % ends_;
}

void Network::send(Time at, std::uint32_t from, std::uint32_t to, std::int64_t bytes, const EventTarget& receiver,
                   std::uint32_t tag, std::uint64_t data) {
  ++messages_;
  if (congestion_ == Congestion::kUnaware || from == to) {
    if (rendezvous_) at += unaware(from, to, kRequest);
    dispatcher_.post(at + unaware(from, to, bytes), receiver, tag, data);
    return;
  }
  if (free_flights_.empty()) {
    free_flights_.push_back(static_cast<std::uint32_t>(flights_.size()));
    flights_.emplace_back();
  }
  const std::uint32_t flight = free_flights_.back();
  free_flights_.pop_back();
  flights_[flight] = {from, from, to, rendezvous_, bytes, &receiver, tag, data};
  dispatcher_.post(at, *this, from, flight);
}

void Network::on_event(Time now, std::uint32_t /*tag*/, std::uint64_t data) {
  const auto index = static_cast<std::uint32_t>(data);
  Flight& flight = flights_[index];
  const Dimension& dimension = dimensions_.front();
  const std::uint32_t next = next_stop(flight.at, flight.to);
  Time& link_free = link_free_[std::uint64_t{flight.at} << 32 | next];
  const Time starts = std::max(now, link_free);
  const double length = static_cast<double>(flight.is_request ? kRequest : flight.bytes) / dimension.bytes_per_ns;
  link_free = starts + whole_ns(length);
  const Time arrives = starts + whole_ns(dimension.latency_ns + length);
  flight.at = next;
  if (next != flight.to) {
    dispatcher_.post(arrives, *this, next, index);
    return;
  }
  if (flight.is_request) {
    flight.is_request = false;
    flight.at = flight.from;
    dispatcher_.post(arrives, *this, flight.from, index);
    return;
  }
  dispatcher_.post(arrives, *flight.receiver, flight.tag, flight.data);
  free_flights_.push_back(index);
}

}  // namespace weft::analytical
