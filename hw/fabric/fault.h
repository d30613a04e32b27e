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
/// gone, "*" for all. Without `until` it stays.
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

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("link", link,
          "Links at fault: leaf0-spine1, leaf0>spine1 for one direction, end3, spine1 for a whole switch, * for all");
    visit("from", from, "When the fault begins");
    visit("until", until, "When the fault ends; 0: never");
    visit("loss", loss, "Share of the packets that arrive damaged", Range{0, 1});
    visit("bit_errors", bit_errors, "Bits that arrive wrong, as a share of all", Range{0, 1});
    visit("rate", rate, "Share of the rate that is left", Range{0, 1});
    visit("every", every,
          "Period after which the share of the rate is drawn anew, evenly from `rate` to 1; 0: it is `rate` throughout",
          Range{0, 1'000'000'000'000'000});
    visit("jitter", jitter, "Packets take longer by up to so much, drawn for each; they keep their order",
          Range{0, 10'000'000'000'000});
    visit("down", down, "Nothing passes; a packet that is being sent still arrives");
  }

  [[nodiscard]] Time end() const { return until == Time() ? kNever : until; }
  /// Whether packets come to harm.
  [[nodiscard]] bool damages() const { return loss > 0 || bit_errors > 0; }
};

/// The faults of one direction of one link, with random numbers of its own.
class LinkFaults {
 public:
  explicit LinkFaults(const Random& random) : random_(random), key_(Random(random).next()), jitter_(key_, "jitter") {}

  void add(const Fault& fault);

  /// The earliest time from `at` on at which the link is up; kNever if it stays down.
  [[nodiscard]] Time up_at(Time at) const;
  /// Whether a packet of this size that leaves at `at` arrives damaged. Draws.
  bool damages(Time at, std::int64_t wire_bytes);
  /// How long it takes to send what takes `length` at the full rate.
  [[nodiscard]] Time stretched(Time at, Time length) const;
  /// How much longer the flight of a packet that leaves at `at` takes. Draws.
  Time jitter(Time at);

 private:
  [[nodiscard]] double share(std::size_t fault, Time at) const;

  std::vector<Fault> faults_;
  Random random_;
  std::uint64_t key_;  ///< of shares that are drawn by period
  Random jitter_;
};

}  // namespace weft::fabric
