// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace weft::analytical {
namespace {

/// To the picosecond: what is Weft's own has no reason to count in nanoseconds.
Time to_time(double ns) {
  return Time(std::llround(ns * 1000));
}

constexpr std::int64_t kRequest = 8192;        // bytes of a rendezvous
constexpr std::uint64_t kMostEnds = 1U << 28;  // event tags hold a rank and a bit

}  // namespace

Network::Network(Dispatcher& dispatcher, std::vector<Dimension> dimensions, Congestion congestion,
                 const std::string& path, bool rendezvous, Bytes segment)
    : dispatcher_(dispatcher),
      dimensions_(std::move(dimensions)),
      congestion_(congestion),
      rendezvous_(rendezvous),
      segment_(segment) {
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
  carried_.resize(dimensions_.size());
  std::uint32_t stride = 1;
  for (const Dimension& each : dimensions_) {
    strides_.push_back(stride);
    stride *= each.size;
  }
  if (congestion_ == Congestion::kCutThrough && (dimensions_.size() + 1) * ends > UINT32_MAX) {
    throw ConfigError(path + ".congestion", "expected fewer ends or dimensions where each link is modelled, got " +
                                                std::to_string(ends) + " ends in " +
                                                std::to_string(dimensions_.size()) + " dimensions");
  }
  if (congestion_ == Congestion::kAware && dimensions_.size() > 1) {
    throw ConfigError(path + ".congestion", "expected one dimension where links are shared (congestion aware), got " +
                                                std::to_string(dimensions_.size()) +
                                                ": take congestion unaware or cut-through, or Weft's own network "
                                                "models");
  }
  dispatcher.attach(*this, "analytical network");
}

double Network::bytes_per_ns(std::size_t dimension) const {
  const Dimension& each = dimensions_[dimension];
  return each.bytes_per_ns * (each.block == Block::kFullyConnected ? each.size - 1 : 1);
}

Time Network::latency(std::size_t dimension) const {
  const Dimension& each = dimensions_[dimension];
  return to_time(each.latency_ns * (each.block == Block::kSwitch ? 2 : 1));
}

Time Network::unaware(std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& each = dimensions_[i];
    const std::uint32_t a = from % each.size;
    const std::uint32_t b = to % each.size;
    from /= each.size;
    to /= each.size;
    if (a == b) continue;
    std::uint32_t links = 1;
    if (each.block == Block::kSwitch) links = 2;
    if (each.block == Block::kRing) links = std::min((b + each.size - a) % each.size, (a + each.size - b) % each.size);
    carried_[i] += each.block == Block::kRing ? links * bytes : bytes;
    return whole_ns(links * each.latency_ns + static_cast<double>(bytes) / each.bytes_per_ns);
  }
  return Time();
}

/// In a network of one dimension.
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

Network::Hop Network::next_hop(std::uint32_t at, std::uint32_t to) const {
  if (at >= ends_) {  // a switch is numbered by its dimension and the first of its ends
    const std::uint32_t dimension = (at - ends_) / ends_;
    const std::uint32_t stride = strides_[dimension];
    return {(at - ends_) % ends_ + to / stride % dimensions_[dimension].size * stride, dimension};
  }
  for (std::uint32_t i = 0;; ++i) {
    const std::uint32_t size = dimensions_[i].size;
    const std::uint32_t mine = at / strides_[i] % size;
    const std::uint32_t other = to / strides_[i] % size;
    if (mine == other) continue;
    const std::uint32_t first = at - mine * strides_[i];
    if (dimensions_[i].block == Block::kSwitch) return {ends_ + i * ends_ + first, i};
    if (dimensions_[i].block == Block::kFullyConnected) return {first + other * strides_[i], i};
    const std::uint32_t clockwise = (other + size - mine) % size;
    return {first + (clockwise <= size - clockwise ? mine + 1 : mine + size - 1) % size * strides_[i], i};
  }
}

void Network::send(Time at, std::uint32_t from, std::uint32_t to, std::int64_t bytes, const EventTarget& receiver,
                   std::uint32_t tag, std::uint64_t data) {
  ++messages_;
  if (congestion_ == Congestion::kUnaware || from == to) {
    if (rendezvous_) at += unaware(from, to, kRequest);
    dispatcher_.post(at + unaware(from, to, bytes), receiver, tag, data);
    return;
  }
  const std::uint32_t flight = new_flight();
  flights_[flight] = {from, from, to, rendezvous_, bytes, rendezvous_ ? kRequest : bytes, at, &receiver, tag, data};
  dispatcher_.post(at, *this, from, flight);
}

std::uint32_t Network::new_flight() {
  if (free_flights_.empty()) {
    free_flights_.push_back(static_cast<std::uint32_t>(flights_.size()));
    flights_.emplace_back();
  }
  const std::uint32_t flight = free_flights_.back();
  free_flights_.pop_back();
  return flight;
}

void Network::on_event(Time now, std::uint32_t /*tag*/, std::uint64_t data) {
  const auto index = static_cast<std::uint32_t>(data);
  if (congestion_ == Congestion::kCutThrough) return cut_through(now, index);
  store_and_forward(now, index);
}

void Network::store_and_forward(Time now, std::uint32_t index) {
  Flight& flight = flights_[index];
  const std::uint32_t next = next_stop(flight.at, flight.to);
  const Dimension& dimension = dimensions_.front();
  Time& link_free = link_free_[std::uint64_t{flight.at} << 32 | next];
  const Time starts = std::max(now, link_free);
  const std::int64_t bytes = flight.is_request ? kRequest : flight.bytes;
  const double length = static_cast<double>(bytes) / dimension.bytes_per_ns;
  link_free = starts + whole_ns(length);
  const Time arrives = starts + whole_ns(dimension.latency_ns + length);
  if (flight.at < ends_) carried_.front() += bytes;
  flight.at = next;
  if (next != flight.to) {
    dispatcher_.post(arrives, *this, next, index);
    return;
  }
  arrived(arrives, index);
}

/// The head of a segment is at an end or a switch; at the sender, the link is free for the next of the message.
void Network::cut_through(Time now, std::uint32_t index) {
  Flight segment = flights_[index];
  const Hop hop = next_hop(segment.at, segment.to);
  const Dimension& dimension = dimensions_[hop.dimension];
  Time& link_free = link_free_[std::uint64_t{segment.at} << 32 | hop.to];
  const Time starts = std::max(now, link_free);
  const Time latency = to_time(dimension.latency_ns);
  const std::int64_t bytes = std::min(segment.left, segment_.count());
  const std::int64_t more = segment.left - bytes;
  const bool last = more == 0 && segment.receiver != nullptr;
  // A slower link before keeps this one until the last byte has come.
  link_free = std::max(starts + to_time(static_cast<double>(bytes) / dimension.bytes_per_ns), segment.tail);
  if (segment.at < ends_) carried_[hop.dimension] += bytes;
  if (more > 0) {
    flights_[index].left = more;
    flights_[index].tail = link_free;
    dispatcher_.post(link_free, *this, segment.at, index);
    if (hop.to == segment.to) return;  // only the last one tells the receiver
    index = new_flight();
    segment.receiver = nullptr;
  }
  segment.left = bytes;
  segment.tail = link_free + latency;
  segment.at = hop.to;
  flights_[index] = segment;
  if (hop.to != segment.to) {
    dispatcher_.post(starts + latency, *this, hop.to, index);
  } else if (last) {
    arrived(segment.tail, index);
  } else {
    free_flights_.push_back(index);
  }
}

void Network::arrived(Time at, std::uint32_t index) {
  Flight& flight = flights_[index];
  if (flight.is_request) {
    flight.is_request = false;
    flight.at = flight.from;
    flight.left = flight.bytes;
    flight.tail = at;
    dispatcher_.post(at, *this, flight.from, index);
    return;
  }
  dispatcher_.post(at, *flight.receiver, flight.tag, flight.data);
  free_flights_.push_back(index);
}

}  // namespace weft::analytical
