// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/core/random.h"

namespace weft::fabric {

/// Something that goes wrong on links, and when. `link` names which: "leaf0-spine1" for both directions between two
/// switches, "leaf0>spine1" for one, "end3" for the link of an end, "spine1" for every link of a switch, which is then
/// gone, "*" for all; "plane3" and "end5-plane3" for links to one of the planes of a network (planes.h), `links` of
/// those that an end has to it. Without `until` it stays.
struct Fault {
  std::string link = "*";
  Time from{};
  Time until{};
  double loss = 0;
  double bit_errors = 0;
  double rate = 1;
  Time every{};
  Time jitter{};
  bool down = false;
  int links = 0;
  int node = -1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("link", link,
          "Links at fault: leaf0-spine1, leaf0>spine1 for one direction, end3, spine1 for a whole switch, * for all, "
          "end3-plane0 and plane0 in a network of planes");
    visit("from", from, "When the fault begins");
    visit("until", until, "When the fault ends; 0: never");
    visit("loss", loss, "Share of the packets that arrive damaged", Range{0, 1});
    visit("bit_errors", bit_errors, "Bits that arrive wrong, as a share of all", Range{0, 1});
    visit("rate", rate, "Share of the rate that is left; a link that carries nothing is `down`", kShareAboveZero);
    visit("every", every,
          "Period after which the share of the rate is drawn anew, evenly from `rate` to 1; 0: it is `rate` throughout",
          Range{0, 1'000'000'000'000'000});
    visit("jitter", jitter, "Packets take longer by up to so much, drawn for each; they keep their order",
          Range{0, 10'000'000'000'000});
    visit("down", down, "Nothing passes; a packet that is being sent still arrives");
    visit("links", links, "Links that are down, of those from an end to the plane that `link` names; 0: all",
          Range{0, 1024});
    visit("node", node, "scale_up.fabric: the node in whose network it happens; -1: in all nodes",
          Range{-1, (1 << 20) - 1});
  }

  [[nodiscard]] Time end() const { return until == Time() ? kNever : until; }
  /// Whether it is none, as that of another node.
  [[nodiscard]] bool is_nothing() const { return !down && !damages() && rate >= 1 && jitter == Time(); }
  /// What it is for a node's network: nothing in that of another node.
  [[nodiscard]] Fault in_node(int number) const;
  /// Whether it is the same at all times and for all packets.
  [[nodiscard]] bool is_constant() const {
    return from == Time() && until == Time() && every == Time() && jitter == Time() && !damages();
  }
  /// Whether packets come to harm.
  [[nodiscard]] bool damages() const { return loss > 0 || bit_errors > 0; }
};

/// The faults of one direction of one link, with random numbers of its own.
class LinkFaults {
 public:
  explicit LinkFaults(const Random& random) : random_(random), key_(Random(random).next()), jitter_(key_, "jitter") {}

  void add(const Fault& fault);
  /// Of its links, as the faults name them, without repetition.
  [[nodiscard]] std::vector<std::string> names() const;

  /// The earliest time from `at` on at which the link is up; kNever if it stays down.
  [[nodiscard]] Time up_at(Time at) const;
  /// Whether a packet of this size that leaves at `at` arrives damaged. Draws.
  bool damages(Time at, std::int64_t wire_bytes);
  /// How many units of a packet arrive damaged, and are sent until they do not. Draws.
  std::int64_t damaged_units(Time at, std::int64_t wire_bytes, std::int64_t unit);
  /// How long it takes to send what takes `length` at the full rate.
  [[nodiscard]] Time stretched(Time at, Time length) const;
  /// How much longer the flight of a packet that leaves at `at` takes. Draws.
  Time jitter(Time at);

 private:
  [[nodiscard]] double survives(Time at, std::int64_t wire_bytes) const;
  [[nodiscard]] double share(std::size_t fault, Time at) const;

  std::vector<Fault> faults_;
  Random random_;
  std::uint64_t key_;  ///< of shares that are drawn by period
  Random jitter_;
};

}  // namespace weft::fabric
