// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "hw/core/quantity.h"

/// Congestion control of a network interface's queue pairs, by the names that `nic.congestion` gives it. Weft's own are
/// listed in congestion_schemes.cpp; a user provides others before the platform is read:
///
///     nic::provide({.name = "my-control",
///                   .doc = "half the rate for each mark",
///                   .config = MyControl::Config(),  // fields at nic.my_control
///                   .notifies = [](const AnyConfig&) { return Time(1'000'000); },
///                   .make = [](const nic::CongestionSite& site) { return std::make_unique<MyControl>(site); }});
namespace weft::nic {

/// What an acknowledgement tells of the packets that it is for. With recovery it may be for several: then mark, load
/// and endpoint are of the one that was acknowledged.
struct Acknowledged {
  std::int64_t wire_bytes = 0;
  Time round_trip;      ///< since the last of them left; its receiver acknowledges a packet when the last byte is there
  Time in_sender;       ///< how long that one was read from memory, and waited, before it left
  Time endpoint;        ///< how long it waited after that, in its receiver, for the host link
  bool marked = false;  ///< by a switch, as having passed a congested queue
  double load = 0;      ///< of the fullest link on its path (hw/core/path_load.h); 0 where no switch measures that
  bool held = false;    ///< window or rate have held a packet back since the acknowledgement before
};

/// What lets the packets of one queue pair go: it hears of what is sent and of what comes back, and answers with a rate
/// and a window. It is asked when a packet could go and when one has gone, so that it needs no events: what time does
/// to it is worked out then. Times never go back.
class CongestionControl {
 public:
  CongestionControl() = default;
  CongestionControl(const CongestionControl&) = delete;
  CongestionControl& operator=(const CongestionControl&) = delete;
  virtual ~CongestionControl() = default;

  /// A packet of so many bytes on the wire has been let go.
  virtual void sent(Time now, std::int64_t wire_bytes) = 0;
  /// A congestion notification has come: the peer has got a packet that a switch has marked.
  virtual void congested(Time now) = 0;
  /// Packets are acknowledged. Where the scheme `acknowledges`; not of reads.
  virtual void acknowledged(Time /*now*/, const Acknowledged& /*packets*/) {}
  /// A packet is missing and sent again, with recovery.
  virtual void lost(Time /*now*/) {}
  /// Likewise of Ultra Ethernet, where no switch has told of it: those that left later have come. It left at `left`.
  virtual void overtaken(Time now, std::int64_t /*wire_bytes*/, Time /*left*/) { lost(now); }
  /// Nothing was heard of packets of so many bytes on the wire for a timeout, and they are sent again.
  virtual void timed_out(Time now, std::int64_t /*wire_bytes*/) { lost(now); }

  /// How fast packets may be let go; none: as fast as the link takes them.
  [[nodiscard]] virtual std::optional<Rate> rate(Time now) = 0;
  /// How many bytes on the wire may be under way, let go and not acknowledged; one packet always may. Asked where the
  /// scheme `acknowledges`; reads do not count.
  [[nodiscard]] virtual std::int64_t window(Time /*now*/) { return INT64_MAX; }

  /// Counts of its own up to now: `summary.json` has them, added up over queue pairs.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::int64_t>> own_counts() const { return {}; }
};

/// A queue pair that is to have a CongestionControl. What it refers to outlives that.
struct CongestionSite {
  const AnyConfig& own;  ///< the fields of the scheme
  Rate line;             ///< of the link
  Bytes packet;          ///< the longest, on the wire
  /// From where a packet is cut until its acknowledgement is here, with nothing else in the network, from the end that
  /// is farthest away.
  Time round_trip;

  /// What the link carries in a round trip: with so many bytes under way it is never idle. At least one packet.
  [[nodiscard]] std::int64_t carried() const;

  template <typename C>
  [[nodiscard]] const C& config() const {
    return own.as<C>();
  }
};

/// A way of controlling congestion.
struct CongestionScheme {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `nic.congestion`

  /// The fields that it has for itself, at `nic.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};
  /// Throws ConfigError; `path` is where the fields stand. May be null.
  std::function<void(const AnyConfig&, const std::string& path)> check = {};

  /// Each packet of a message is acknowledged, and not its last one alone.
  bool acknowledges = false;
  /// At most how often a queue pair sends a notification of packets that came marked. Null: it sends none. Without
  /// `acknowledges`, notifications are all that the scheme follows: it does nothing where switches mark no packets.
  std::function<Time(const AnyConfig&)> notifies = {};
  /// It does nothing without marks of switches, or without their load: a platform whose switches do not mark is
  /// refused, and switches are made to measure load, or the platform is refused if theirs cannot.
  bool needs_marks = false;
  bool needs_load = false;
  /// A queue pair sends only what its receiver has given it credit for, beyond what the link carries in a round trip:
  /// Ultra Ethernet alone can.
  bool grants = false;
  /// For each queue pair. Null: none has one, and packets go as fast as they can.
  std::function<std::unique_ptr<CongestionControl>(const CongestionSite&)> make = {};
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken.
void provide(CongestionScheme scheme);

/// All there are.
[[nodiscard]] const Registry<CongestionScheme>& congestion_schemes();

/// One of them as a field.
[[nodiscard]] const Names& registered(const CongestionScheme* kind);
using CongestionName = NameOf<CongestionScheme>;

}  // namespace weft::nic
