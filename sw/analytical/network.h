// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fifo.h"
#include "hw/core/quantity.h"
#include "sw/analytical/agenda.h"
#include "sw/analytical/mailboxes.h"

namespace weft::analytical {

enum class Block : std::uint8_t { kRing, kFullyConnected, kSwitch };
inline EnumNames<Block> enum_names(Block /*tag*/) {
  return {{"Ring", Block::kRing}, {"FullyConnected", Block::kFullyConnected}, {"Switch", Block::kSwitch}};
}

enum class Congestion : std::uint8_t { kUnaware, kAware, kCutThrough };
inline EnumNames<Congestion> enum_names(Congestion /*tag*/) {
  return {{"unaware", Congestion::kUnaware}, {"aware", Congestion::kAware}, {"cut-through", Congestion::kCutThrough}};
}

/// One dimension of a network: what joins the `size` ends that differ in it alone.
struct Dimension {
  Block block = Block::kRing;
  std::uint32_t size = 1;
  double bytes_per_ns = 1;  ///< of a link, one direction
  double latency_ns = 0;    ///< of a link
};

/// A network as ASTRA-sim's analytical backends have it: whole messages, times in whole nanoseconds.
///
/// Ends are numbered with the first dimension varying fastest. A ring has links both ways and takes the shorter one
/// (clockwise if they are equal), a switch is two links away from everybody, fully connected ends have a link to each
/// other. Without congestion a message takes floor(links * latency + bytes / rate), whatever else goes on; one between
/// ends that differ in several dimensions is charged for the first of these alone. With congestion, in one dimension,
/// it is stored and forwarded: each link carries one message at a time, in the order in which they come, is busy for
/// floor(bytes / rate), and has delivered it after floor(latency + bytes / rate).
///
/// Cut-through is Weft's own, since neither of these can tell how busy links are where several dimensions are used at a
/// time: links are shared in any number of dimensions, a message passes on while it still comes, and goes through the
/// dimensions in their order. Each link carries one segment at a time, for bytes / rate, and messages of an end take
/// turns by segments. Where nothing else is under way a message takes the time that it takes without congestion, to the
/// picosecond instead of the nanosecond below.
///
/// Ends send and receive through its mailboxes(), and what they do is on its agenda().
///
/// What it leaves out is what Weft's fabric has: packets, pipelining over links, credits, switches that are busy.
/// Checked against ASTRA-sim's results in tests/unit/workload/analytical_test.cpp.
class Network final : Actor {
 public:
  /// Throws ConfigError with a path below `path` for congestion in several dimensions. Attaches its agenda.
  Network(Dispatcher& dispatcher, std::vector<Dimension> dimensions, Congestion congestion, const std::string& path,
          bool rendezvous = false, Bytes segment = Bytes(256 << 10));

  [[nodiscard]] std::uint32_t ends() const { return ends_; }
  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }

  [[nodiscard]] Congestion congestion() const { return congestion_; }
  [[nodiscard]] Agenda& agenda() { return agenda_; }
  [[nodiscard]] const Agenda& agenda() const { return agenda_; }
  [[nodiscard]] Mailboxes& mailboxes() { return mailboxes_; }
  [[nodiscard]] const Mailboxes& mailboxes() const { return mailboxes_; }

  /// Carries a message of the mailboxes, which hear of its arrival as `flight`.
  void transmit(Time now, std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint32_t flight);

  [[nodiscard]] std::int64_t messages() const { return messages_; }

  /// Bytes that links of a dimension have carried or have begun to; those through a switch count once. Without
  /// congestion those that were sent.
  [[nodiscard]] std::int64_t carried(std::size_t dimension) const { return carried_[dimension]; }
  /// What links of a dimension carry from an end: all of its private ones, else one, since a ring's messages go one
  /// way.
  [[nodiscard]] double bytes_per_ns(std::size_t dimension) const;
  /// How long a message without bytes takes to a neighbour.
  [[nodiscard]] Time latency(std::size_t dimension) const;

  void act(Time now, std::uint64_t what) override;
  void prepare(std::uint64_t what) override {
    if (what % kKinds == kArrival) mailboxes_.prepare_arrival(static_cast<std::uint32_t>(what / kKinds));
  }
  void prepare_more(std::uint64_t what) override {
    if (what % kKinds == kArrival) mailboxes_.prepare_box(static_cast<std::uint32_t>(what / kKinds));
  }

 private:
  // What it has on the agenda: one of these, and a number.
  static constexpr std::uint64_t kKinds = 4;
  static constexpr std::uint64_t kArrival = 0;
  static constexpr std::uint64_t kStop = 1;
  static constexpr std::uint64_t kLinkFree = 2;
  static constexpr std::uint64_t kSegment = 3;

  /// Cut-through: a segment of a message that moves from link to link.
  struct Segment {
    std::uint32_t at = 0;  ///< an end; switches are numbered after all of them
    std::uint32_t to = 0;
    std::uint32_t flight = 0;
    bool last = true;       ///< of its message
    std::int64_t left = 0;  ///< bytes that the first link has not begun to carry; downstream, of this segment
    Time tail;              ///< when the segment's last byte is at `at`
  };
  /// A whole message that a link carries, from one stop of its way to the next.
  struct Carried {
    std::uint32_t at = 0;
    std::uint32_t to = 0;
    std::uint32_t flight = 0;
    std::int64_t bytes = 0;
  };
  struct Link {
    bool busy = false;
    Fifo<std::uint32_t> waiting;  ///< what is to be carried
  };
  /// A link to the next stop on the way, an end or a switch.
  struct Hop {
    std::uint32_t to;
    std::uint32_t dimension;
  };
  /// Divisions take longer than all else that a message costs: the last quotient of a dimension.
  struct Quotient {
    std::int64_t bytes = 0;
    double ns = 0;
  };
  [[nodiscard]] double ns_on_link(std::size_t dimension, std::int64_t bytes);
  [[nodiscard]] Time unaware(std::uint32_t from, std::uint32_t to, std::int64_t bytes);
  [[nodiscard]] std::uint32_t next_stop(std::uint32_t at, std::uint32_t to) const;
  [[nodiscard]] Hop next_hop(std::uint32_t at, std::uint32_t to) const;
  [[nodiscard]] std::uint32_t link_from(std::uint32_t at, std::uint32_t next);
  void at_stop(Time now, std::uint32_t carried);
  void carry(Time now, std::uint32_t link, std::uint32_t carried);
  void link_is_free(Time now, std::uint32_t link);
  void cut_through(Time now, std::uint32_t index);

  Agenda agenda_;
  Mailboxes mailboxes_;
  std::uint32_t actor_;
  std::vector<Dimension> dimensions_;
  Congestion congestion_;
  Bytes segment_;
  std::uint32_t ends_ = 1;
  std::int64_t messages_ = 0;
  std::vector<std::int64_t> carried_;   ///< by dimension
  std::vector<Quotient> quotients_;     ///< likewise
  std::vector<std::uint32_t> strides_;  ///< of the dimensions, in ends
  Pool<Segment> segments_;
  std::unordered_map<std::uint64_t, Time> link_free_;  ///< cut-through: by the stops that it joins
  Pool<Carried> under_way_;                            ///< aware
  Pool<Link> links_;
  std::vector<std::uint32_t> ring_links_;                         ///< by stop, clockwise and not
  std::unordered_map<std::uint64_t, std::uint32_t> other_links_;  ///< by the stops that it joins
};

/// The whole nanoseconds of a time, which is what ASTRA-sim counts in; kNever for those that cannot be counted.
inline Time whole_ns(double ns) {
  constexpr double kMost = 9e15;
  return ns < kMost ? Time(static_cast<std::int64_t>(ns) * 1000) : kNever;
}

/// So much later; kNever where that cannot be counted.
inline Time after(Time now, Time length) {
  return length < kNever - now ? now + length : kNever;
}

}  // namespace weft::analytical
