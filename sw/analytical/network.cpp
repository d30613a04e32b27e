// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/network.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::analytical {
namespace {

/// To the picosecond: what is Weft's own has no reason to count in nanoseconds.
Time to_time(double ns) {
  return Time(rounded(ns * 1000, "a time of the analytical network in ps"));
}

constexpr std::uint64_t kMostEnds = 1U << 28;
constexpr std::uint32_t kNoLink = UINT32_MAX;

std::uint32_t ends_of(const std::vector<Dimension>& dimensions, const std::string& path) {
  if (dimensions.empty()) throw ConfigError(path + ".dimensions", "expected at least one dimension, got none");
  std::uint64_t ends = 1;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::string place = path + ".dimensions." + std::to_string(i);
    if (dimensions[i].bytes_per_ns <= 0)
      throw ConfigError(place + ".bandwidth_GiBps", "expected a number, more than 0");
    ends *= dimensions[i].size;
    if (ends > kMostEnds) {
      throw ConfigError(place + ".size", "expected at most " + std::to_string(kMostEnds) + " ends in all dimensions");
    }
  }
  return static_cast<std::uint32_t>(ends);
}

}  // namespace

Network::Network(Dispatcher& dispatcher, std::vector<Dimension> dimensions, Congestion congestion,
                 const std::string& path, bool rendezvous, Bytes segment)
    : agenda_(dispatcher),
      mailboxes_(agenda_, *this, rendezvous),
      actor_(agenda_.add(*this)),
      dimensions_(std::move(dimensions)),
      congestion_(congestion),
      segment_(segment),
      ends_(ends_of(dimensions_, path)) {
  carried_.resize(dimensions_.size());
  quotients_.resize(dimensions_.size());
  std::uint32_t stride = 1;
  for (const Dimension& each : dimensions_) {
    strides_.push_back(stride);
    stride *= each.size;
  }
  if (congestion_ == Congestion::kCutThrough && (dimensions_.size() + 1) * std::uint64_t{ends_} > UINT32_MAX) {
    throw ConfigError(path + ".congestion", "expected fewer ends or dimensions where each link is modelled, got " +
                                                std::to_string(ends_) + " ends in " +
                                                std::to_string(dimensions_.size()) + " dimensions");
  }
  if (congestion_ == Congestion::kAware && dimensions_.size() > 1) {
    throw ConfigError(path + ".congestion", "expected one dimension where links are shared (congestion aware), got " +
                                                std::to_string(dimensions_.size()) +
                                                ": take congestion unaware or cut-through, or Weft's own network "
                                                "models");
  }
  if (congestion_ == Congestion::kAware && dimensions_.front().block == Block::kRing) {
    constexpr std::size_t kDirections = 2;
    ring_links_.resize(kDirections * ends_, kNoLink);
  }
}

double Network::bytes_per_ns(std::size_t dimension) const {
  const Dimension& each = dimensions_[dimension];
  return each.bytes_per_ns * (each.block == Block::kFullyConnected ? each.size - 1 : 1);
}

Time Network::latency(std::size_t dimension) const {
  const Dimension& each = dimensions_[dimension];
  return to_time(each.latency_ns * (each.block == Block::kSwitch ? 2 : 1));
}

double Network::ns_on_link(std::size_t dimension, std::int64_t bytes) {
  Quotient& last = quotients_[dimension];
  if (last.bytes != bytes) last = {bytes, static_cast<double>(bytes) / dimensions_[dimension].bytes_per_ns};
  return last.ns;
}

Time Network::unaware(std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& each = dimensions_[i];
    std::uint32_t a = from;
    std::uint32_t b = to;
    if (i + 1 < dimensions_.size()) {
      a %= each.size;
      b %= each.size;
      from /= each.size;
      to /= each.size;
    }
    if (a == b) continue;
    std::uint32_t links = 1;
    if (each.block == Block::kSwitch) links = 2;
    if (each.block == Block::kRing) {
      const std::uint32_t one_way = a < b ? b - a : a - b;
      links = std::min(one_way, each.size - one_way);
    }
    carried_[i] += each.block == Block::kRing ? links * bytes : bytes;
    return whole_ns(links * each.latency_ns + ns_on_link(i, bytes));
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
  const std::uint32_t clockwise = at <= to ? to - at : to + ends_ - at;
  if (clockwise <= ends_ - clockwise) return at + 1 == ends_ ? 0 : at + 1;
  return (at == 0 ? ends_ : at) - 1;
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

void Network::transmit(Time now, std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint32_t flight) {
  ++messages_;
  if (congestion_ == Congestion::kUnaware || from == to) {
    const Time length = unaware(from, to, bytes);
    return agenda_.post(after(now, length), Entry(actor_, flight * kKinds + kArrival));
  }
  if (congestion_ == Congestion::kCutThrough) {
    const std::uint32_t index = segments_.take();
    segments_[index] = {from, to, flight, true, bytes, now};
    return agenda_.post(now, Entry(actor_, index * kKinds + kSegment));
  }
  const std::uint32_t index = under_way_.take();
  under_way_[index] = {from, to, flight, bytes};
  at_stop(now, index);
}

void Network::act(Time now, std::uint64_t what) {
  const auto number = static_cast<std::uint32_t>(what / kKinds);
  switch (what % kKinds) {
    case kArrival:
      return mailboxes_.arrived(now, number);
    case kLinkFree:
      return link_is_free(now, number);
    case kSegment:
      return cut_through(now, number);
    default:
      break;
  }
  const Carried& carried = under_way_[number];
  if (carried.at != carried.to) return at_stop(now, number);
  const std::uint32_t flight = carried.flight;
  under_way_.give(number);
  mailboxes_.arrived(now, flight);
}

std::uint32_t Network::link_from(std::uint32_t at, std::uint32_t next) {
  std::uint32_t* link = nullptr;
  if (ring_links_.empty()) {
    link = &other_links_.try_emplace(std::uint64_t{at} << 32 | next, kNoLink).first->second;
  } else {
    link = &ring_links_[2 * std::size_t{at} + (next == (at + 1 == ends_ ? 0 : at + 1) ? 0 : 1)];
  }
  if (*link == kNoLink) *link = links_.take();
  return *link;
}

/// Stored; it is forwarded when the link has carried what came before it.
void Network::at_stop(Time now, std::uint32_t carried) {
  Carried& message = under_way_[carried];
  const std::uint32_t next = next_stop(message.at, message.to);
  const std::uint32_t number = link_from(message.at, next);
  Link& link = links_[number];
  if (message.at < ends_) carried_.front() += message.bytes;
  message.at = next;
  if (link.busy) {
    link.waiting.push_back(carried);
  } else {
    carry(now, number, carried);
  }
}

void Network::carry(Time now, std::uint32_t link, std::uint32_t carried) {
  links_[link].busy = true;
  const double length = ns_on_link(0, under_way_[carried].bytes);
  const Time arrives = whole_ns(dimensions_.front().latency_ns + length);
  agenda_.post(after(now, arrives), Entry(actor_, carried * kKinds + kStop));
  agenda_.post(after(now, whole_ns(length)), Entry(actor_, link * kKinds + kLinkFree));
}

void Network::link_is_free(Time now, std::uint32_t link) {
  Link& freed = links_[link];
  freed.busy = false;
  if (freed.waiting.empty()) return;
  const std::uint32_t next = freed.waiting.front();
  freed.waiting.pop_front();
  carry(now, link, next);
}

/// The head of a segment is at an end or a switch; at the sender, the link is free for the next of the message.
void Network::cut_through(Time now, std::uint32_t index) {
  Segment segment = segments_[index];
  const Hop hop = next_hop(segment.at, segment.to);
  const Dimension& dimension = dimensions_[hop.dimension];
  Time& link_free = link_free_[std::uint64_t{segment.at} << 32 | hop.to];
  const Time starts = std::max(now, link_free);
  const Time latency = to_time(dimension.latency_ns);
  const std::int64_t bytes = std::min(segment.left, segment_.count());
  const std::int64_t more = segment.left - bytes;
  const bool last = more == 0 && segment.last;
  // A slower link before keeps this one until the last byte has come.
  link_free = std::max(starts + to_time(static_cast<double>(bytes) / dimension.bytes_per_ns), segment.tail);
  if (segment.at < ends_) carried_[hop.dimension] += bytes;
  if (more > 0) {
    segments_[index].left = more;
    segments_[index].tail = link_free;
    agenda_.post(link_free, Entry(actor_, index * kKinds + kSegment));
    if (hop.to == segment.to) return;  // only the last one tells the receiver
    index = segments_.take();
    segment.last = false;
  }
  segment.left = bytes;
  segment.tail = link_free + latency;
  segment.at = hop.to;
  segments_[index] = segment;
  if (hop.to != segment.to) return agenda_.post(starts + latency, Entry(actor_, index * kKinds + kSegment));
  segments_.give(index);
  if (last) agenda_.post(segment.tail, Entry(actor_, segment.flight * kKinds + kArrival));
}

}  // namespace weft::analytical
